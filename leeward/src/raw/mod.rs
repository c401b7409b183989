//! Lock words without data: what [`sync`](crate::sync) and the other faces are made of, for who makes his own.
//!
//! Each is generic over the place to sleep, [`Futex`](crate::futex::Futex), and constant when new.

#[cfg(not(leeward_loom))]
mod api;
mod condvar;
mod light_mutex;
mod lock;
mod mutex;
#[cfg(all(test, leeward_loom))]
mod mutex_loom_tests;

#[cfg(all(feature = "std", not(leeward_loom)))]
pub(crate) use api::deadline;
pub use condvar::{Condvar, Plain, Requeue, Scheme, WakeOp};
pub use light_mutex::LightMutex;
pub use lock::Lock;
pub use mutex::Mutex;
