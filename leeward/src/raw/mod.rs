//! Lock words without data: what [`sync`](crate::sync) and the other faces are made of, for who makes his own.
//!
//! Each is generic over the place to sleep, [`Futex`](crate::futex::Futex), and constant when new.

mod mutex;

pub use mutex::Mutex;
