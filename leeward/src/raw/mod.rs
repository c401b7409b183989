//! Lock words without data: what [`sync`](crate::sync) and the other faces are made of, for who makes his own.
//!
//! Each is generic over the place to sleep, [`Futex`](crate::futex::Futex), and constant when new.

mod barrier;
mod condvar;
mod event;
#[cfg(not(leeward_loom))]
mod event_any;
mod forked;
mod latch;
mod light_mutex;
mod lock;
#[cfg(not(leeward_loom))]
mod lock_api;
#[cfg(all(test, leeward_loom))]
mod loom_tests;
mod mutex;
mod once;
mod rwlock;
mod rwlock_read;
mod rwlock_state;
mod semaphore;
pub(crate) mod spin_budget;

pub use barrier::{Barrier, BarrierWaitResult};
pub use condvar::{Condvar, Plain, Requeue, Scheme, WakeOp};
pub use event::Event;
pub use latch::Latch;
pub use light_mutex::LightMutex;
pub use lock::Lock;
#[cfg(all(feature = "std", not(leeward_loom)))]
pub(crate) use lock_api::deadline;
pub use mutex::Mutex;
pub use once::Once;
pub use rwlock::RwLock;
pub use semaphore::{Permit, Semaphore};
