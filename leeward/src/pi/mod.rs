//! Priority inheritance: while a thread waits for a [`Mutex`], its owner runs with the waiter's priority if that is higher,
//! so that threads of middling priority cannot keep both from running.
//!
//! For programs with real-time threads; others want [`sync::Mutex`](crate::sync::Mutex), which is faster when it is
//! contended. The word holds the owner's number, and the kernel keeps the queue (Linux's `FUTEX_LOCK_PI` family, 2.6.18, 2006;
//! Sha, Rajkumar and Lehoczky, "Priority Inheritance Protocols", 1990).
//!
//! The kernel looks before it lets anybody wait: a thread that would wait for itself, directly or by way of others and the
//! `pi` locks that they wait for, gets [`Error::Deadlock`] instead.
//!
//! An owner that exits without unlocking (a leaked guard) leaves the lock locked: whoever waits for it or wants it gets
//! [`Error::OwnerGone`] (and waits for a later thread that happens to have the owner's number, while that lives). The kernel
//! would give it to one that waits; but what the owner locked may be in other hands, so nobody has it again. Locks whose
//! owner may die are [robust](https://man7.org/linux/man-pages/man2/get_robust_list.2.html) ones; these are not.
//!
//! In the child of a fork, a private lock that the forking thread held is that thread's copy: its guard unlocks it there, and until
//! then the child's other threads get [`Error::OwnerGone`] where they would wait. One that another thread held stays locked, with the
//! same error.
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

mod lock;
mod raw;

pub use lock::{Mutex, MutexGuard};
pub use raw::RawMutex;

/// Why a lock was not taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Error {
    /// The caller holds it, or waits would go round in a circle.
    Deadlock,
    /// The owner is no thread of this process any more; in the child of a fork, the parent's thread that a copied lock's word
    /// names never was one. (Of a shared lock: no thread of this pid namespace.)
    OwnerGone,
    /// The time is up; or, when trying: somebody holds it.
    TimedOut,
    /// The kernel refuses such locks (built without them, or a sandbox): the number of its error.
    Refused(i32),
}

impl core::fmt::Display for Error {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Error::Deadlock => f.write_str("waiting for this lock would be waiting for the caller itself"),
            Error::OwnerGone => f.write_str("the lock's owner has exited without unlocking it"),
            Error::TimedOut => f.write_str("somebody else holds the lock"),
            Error::Refused(errno) => write!(f, "the system refuses priority-inheriting locks: error {errno}"),
        }
    }
}

impl core::error::Error for Error {}
