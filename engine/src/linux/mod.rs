//! Linux's system calls and numbers, for hosts that serve Linux programs: the decoders of arguments
//! (`futex`, `futex2`), constants (`abi`), and reading user memory (`user`).

pub mod abi;
pub(crate) mod futex;
pub(crate) mod futex2;
pub(crate) mod user;
