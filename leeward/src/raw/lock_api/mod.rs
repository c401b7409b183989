//! The traits of `lock_api`, which supplies guards and data, in its versions 0.4 and 0.5: what
//! `sync` and `asym` make of the raw locks.
//!
//! Both versions have traits of one name with methods of one name, and each method is the lock's own
//! of that name. They differ in the guards, which are values in 0.5; ours hold nothing, since the
//! lock's word has everything. So a macro that makes one method (`method.rs`) has both shapes of it,
//! and the lists of the methods (`mutex.rs`, `rwlock.rs`) are written once:
//!
//! | the method | returns in 0.4 | in 0.5 |
//! |---|---|---|
//! | `locks` | nothing | the guard |
//! | `tries`, `tries_within` | true if it locked | the guard, if it locked |
//! | `unlocks` | nothing | nothing; takes the guard |
//! | `bumps` | nothing | nothing; borrows the guard |
//! | `turns` | nothing | the guard that it took |
//! | `tries_to_turn` | true if it upgraded | `Ok` or `Err` with the guard that it took |
//!
//! The macros name one another without a path: who calls them imports all of this module.

/// An unlocked lock: locks on futexes of several kinds have `new_in`.
macro_rules! unlocked {
    ([] $lock:ty) => {
        <$lock>::new()
    };
    ([$($generics:tt)+] $lock:ty) => {
        <$lock>::new_in()
    };
}
pub(crate) use unlocked;

/// Keeps what only version 0.5 of lock_api needs.
#[cfg(feature = "lock_api_05")]
macro_rules! only_05 {
    ($($items:tt)*) => { $($items)* };
}
#[cfg(not(feature = "lock_api_05"))]
macro_rules! only_05 {
    ($($items:tt)*) => {};
}
/// Keeps what needs std's clock.
#[cfg(feature = "std")]
macro_rules! only_std {
    ($($items:tt)*) => { $($items)* };
}
#[cfg(not(feature = "std"))]
macro_rules! only_std {
    ($($items:tt)*) => {};
}
// For `asym`, which is not there without threads.
#[allow(unused_imports)]
pub(crate) use {only_05, only_std};

mod locks;
mod method;
mod mutex;
mod rwlock;
#[cfg(feature = "std")]
mod timed;

pub(crate) use method::{guards, method};
pub(crate) use mutex::{mutex, mutex_traits};
pub(crate) use rwlock::{rwlock, rwlock_recursive, rwlock_traits};
#[cfg(feature = "std")]
pub(crate) use timed::{deadline, mutex_timed, rwlock_recursive_timed, rwlock_timed};

/// What guards hold that says whether they are `Send`. These locks may be unlocked by any thread, but
/// a guard that is `Send` is held across an `await` unseen.
#[cfg(not(feature = "send_guard"))]
pub use ::lock_api::GuardNoSend as GuardMarker;
#[cfg(feature = "send_guard")]
pub use ::lock_api::GuardSend as GuardMarker;

/// The same for the guards of lock_api 0.5.
#[cfg(all(feature = "lock_api_05", not(feature = "send_guard")))]
use ::lock_api_05::GuardNoSend as Guard05;
#[cfg(all(feature = "lock_api_05", feature = "send_guard"))]
use ::lock_api_05::GuardSend as Guard05;
