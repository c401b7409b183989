//! Locks for the threads of one process: change one `use` line.
//!
//! The guards and the data are [`lock_api`]'s, the locks are this library's ([`raw`](crate::raw)).

/// A mutual exclusion lock.
pub type Mutex<T> = lock_api::Mutex<crate::raw::Mutex, T>;
/// An open lock of a [`Mutex`].
pub type MutexGuard<'a, T> = lock_api::MutexGuard<'a, crate::raw::Mutex, T>;
