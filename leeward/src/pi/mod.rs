//! Priority inheritance: while a thread waits for a [`Mutex`], its owner runs with the waiter's
//! priority if that is higher, so that threads of middling priority cannot keep both from running.
//!
//! These locks are for programs with real-time threads. Others use [`sync::Mutex`], which is faster
//! when it is contended. The word holds the owner's number, and the kernel keeps the queue (Linux'
//! `FUTEX_LOCK_PI` family, 2.6.18, 2006; Sha, Rajkumar and Lehoczky, "Priority Inheritance
//! Protocols", 1990). The word's bits are in [the guide](crate::guide::locks_small).
//!
//! ```
//! use leeward::pi::{Error, Mutex};
//! let count = Mutex::new(0);
//! let mut guard = count.lock()?;
//! *guard += 1;
//! assert_eq!(count.lock().unwrap_err(), Error::Deadlock);
//! # drop(guard);
//! # Ok::<(), Error>(())
//! ```
//!
//! # Deadlock
//! The kernel follows the chain of waits before it lets a thread wait. A thread that would wait for
//! itself, directly or through other threads and the `pi` locks that they wait for, gets
//! [`Error::Deadlock`] instead.
//!
//! # Owners that exit
//! An owner that exits without unlocking (it leaked the guard) leaves the lock locked. A thread
//! that waits for it then, or later wants it, gets [`Error::OwnerGone`]. (If a later thread happens
//! to have the owner's number, the wait goes on while that thread lives.) The kernel would give the
//! lock to a waiter; but what the lock guards may be in use through the leaked guard, so no thread
//! gets it again. Locks that survive their owner are the [robust ones](crate::robust); these do not.
//!
//! # Fork
//! In the child of a fork, a private lock that the forking thread held is that thread's copy: its
//! guard unlocks it there, and until then the child's other threads get [`Error::OwnerGone`] where
//! they would wait. A lock that another thread held stays locked, with the same error. The child of
//! `vfork`, `_Fork` or raw `clone` may not use these locks, since it takes itself for its parent.
//!
//! # Signals
//! These locks are not async-signal-safe.
//!
//! [`sync::Mutex`]: crate::sync::Mutex

mod lock;
mod mapped;
mod raw;

pub use lock::{Mutex, MutexGuard};
pub use mapped::MappedMutexGuard;
pub use raw::RawMutex;

/// The reason why a lock was not taken.
///
/// ```
/// use leeward::pi::{Error, Mutex};
/// static LOCK: Mutex<u32> = Mutex::new(0);
/// // A thread that exits without unlocking.
/// std::thread::spawn(|| std::mem::forget(LOCK.lock())).join().unwrap();
/// assert_eq!(LOCK.lock().unwrap_err(), Error::OwnerGone);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Error {
    /// The caller holds the lock, or its wait would close a circle of waits.
    Deadlock,
    /// The owner is not a thread of this process: it exited without unlocking; or, in the child of
    /// a fork, the word of a copied lock names a thread of the parent. (Of a shared lock: the owner
    /// is not a thread of this pid namespace.)
    OwnerGone,
    /// The time limit passed; or, of a `try_lock`, another thread holds the lock.
    TimedOut,
    /// The kernel refuses such locks (it was built without them, or a sandbox forbids them); the
    /// value is the number of its error.
    Refused(i32),
}

impl core::fmt::Display for Error {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Error::Deadlock => f.write_str("waiting for this lock would be waiting for the caller itself"),
            Error::OwnerGone => f.write_str("the lock's owner has exited without unlocking it"),
            Error::TimedOut => f.write_str("another thread holds the lock"),
            Error::Refused(errno) => write!(f, "the system refuses priority-inheriting locks: error {errno}"),
        }
    }
}

impl core::error::Error for Error {}
