//! Lock words without data: what [`sync`](crate::sync) and the other faces are made of, for who makes his own.
//!
//! Each is generic over the place to sleep, [`Futex`](crate::futex::Futex), and constant when new.

#[cfg(not(leeward_loom))]
mod api;
#[cfg(all(feature = "lock_api_05", not(leeward_loom)))]
mod api_05;
mod barrier;
mod condvar;
mod event;
#[cfg(not(leeward_loom))]
mod event_any;
mod forked;
mod latch;
mod light_mutex;
mod lock;
mod mutex;
#[cfg(all(test, leeward_loom))]
mod mutex_loom_tests;
mod once;
pub(crate) mod patience;
mod rwlock;
#[cfg(not(leeward_loom))]
mod rwlock_api;
mod rwlock_state;
mod semaphore;
#[cfg(all(test, leeward_loom))]
mod small_loom_tests;
#[cfg(all(feature = "std", not(leeward_loom)))]
mod timed;

#[cfg(all(feature = "std", not(leeward_loom)))]
pub(crate) use api::deadline;
pub use barrier::{Barrier, BarrierWaitResult};
pub use condvar::{Condvar, Plain, Requeue, Scheme, WakeOp};
pub use event::Event;
pub use latch::Latch;
pub use light_mutex::LightMutex;
pub use lock::Lock;
pub use mutex::Mutex;
pub use once::Once;
pub use rwlock::RwLock;
pub use semaphore::{Permit, Semaphore};
