//! Linux's system calls and numbers: what a host decodes by that serves Linux programs.

pub mod abi;
pub(crate) mod futex;
pub(crate) mod futex2;
pub(crate) mod user;
