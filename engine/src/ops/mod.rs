//! The operations on futex words, one file each. An operation is a method of
//! [`Engine`](crate::Engine), which makes a `call` and does its work through that one's methods.

pub(crate) mod call;
pub(crate) mod cutoff;
pub(crate) mod node;
pub(crate) mod requeue;
pub(crate) mod wait;
pub(crate) mod wait_async;
pub(crate) mod waitv;
pub(crate) mod wake;
pub(crate) mod wake_op;
