//! Locks that survive their owner: a process may be killed at any instruction, and the next locker
//! gets the lock, and is told that its owner died.
//!
//! ```
//! use leeward::robust::{LockError, Mutex};
//! // Or in memory that processes share: `shared::Region`, `Mutex::at`.
//! static ACCOUNT: Mutex<[u64; 2]> = Mutex::new([100, 0]);
//!
//! let mut account = ACCOUNT.lock().or_else(|error| {
//!     // The last owner was killed, perhaps between the two stores below.
//!     error.repair(|account| account[1] = 100 - account[0])
//! })?;
//! account.with(|account| {
//!     account[0] -= 10;
//!     account[1] += 10;
//! });
//! # drop(account);
//! # Ok::<(), LockError<[u64; 2]>>(())
//! ```
//!
//! # What owner death means
//! | the lock was | its owner | the next locker gets |
//! |---|---|---|
//! | usable | unlocked it | `Ok` |
//! | usable, or being repaired | died: was killed, exited, called `execve` | [`LockError::OwnerDied`] and the lock |
//! | given with `OwnerDied` | marked it consistent and unlocked | `Ok` |
//! | given with `OwnerDied` | unlocked it | [`LockError::NotRecoverable`], forever |
//!
//! A [`RwLock`]'s readers have nothing to leave half-written: it has [a table of its
//! own](RwLock#what-a-death-means).
//!
//! An owner that is killed while it locks or unlocks is reported as dead although its data is
//! whole. A panic is not a death: the guard is dropped as usual, without poisoning.
//!
//! # How
//! Each thread has a list of the robust locks that it holds, which the kernel walks when the thread
//! exits. glibc registers a list for each thread that it starts; these locks join it, so they mix
//! with pthread's robust mutexes in any order. A thread made by raw `clone` is given a list, and a
//! page for it. Sleeps are always on the *shared* futex, also in one process, because that is where
//! the kernel wakes. [The guide](crate::guide::robust) has the words, the order of the steps and
//! what a death between any two of them leaves.
//!
//! # Limits, and what to do about them
//! - **2,048 locks.** The kernel stops after so many entries of a dying thread's list, pthread's
//!   among them; the rest stay locked. Hold fewer. Waiters for such a lock get
//!   [`LockError::OwnerLost`], and [`Mutex::declare_owner_dead`] frees it.
//! - **Memory that goes.** Between an unlock and the moment when the thread's pending entry is
//!   cleared, another thread may take the lock, free it and use its memory for something else. A
//!   kill just then has the kernel look at a word that is no lock, and mark it if it happens to
//!   hold the dead thread's number. Unmap or reuse the memory only when every lock and unlock call
//!   on it has returned: [`Mutex::at`] asks for that. (`FUTEX_ROBUST_UNLOCK`, a flag of the wakes
//!   and of `FUTEX_UNLOCK_PI` since Linux 7.2, ends this race: the kernel unlocks, clears the
//!   pending entry and wakes. It is not used here: it stores 0, where these locks keep a bit for
//!   the threads that still sleep, which would be stranded.)
//! - **Trust.** The links are addresses in shared memory, as pthread's are: processes that share a
//!   lock trust one another to keep to the protocol. A *word* with garbage in it soon becomes an
//!   error or a lock ([`LockError::OwnerLost`], [`LockError::WouldDeadlock`]), unless it names a
//!   thread that lives: then only timed calls end ([`LockError::TimedOut`]).
//! - **Pid namespaces.** Owners are known by thread number, which differs between namespaces: two
//!   owners would look the same. All processes that share a lock must be of one namespace.
//! - **execve** ends the thread's hold: the next locker gets `OwnerDied`, since the new program
//!   knows nothing of the lock. Unlock before.
//! - **Kernels before 6.2** do not always wake another thread if a woken waiter is killed before it
//!   takes the lock. The other waiters recheck every 30 seconds there.
//! - **musl** registers a list late and without asking: robust locks are refused there
//!   ([`ListError::Libc`]), as on any libc but glibc.
//! - **Sandboxes** see `kill(owner, 0)`: a wait that has lasted 30 seconds, or is at its deadline,
//!   asks by it whether the owner exists.
//! - **Without the feature `threads`** (which `std` brings) there is no thread-local storage, so
//!   each lock and unlock asks the kernel which thread calls: two system calls, and one each time
//!   that a guard is asked for the value.
//!
//! # Fork
//! A guard's copy in the child of a fork opens nothing: its drop does nothing, and asking it for
//! the value is a panic, also in a child that was given the dead owner's thread number. Children of
//! `fork`, `_Fork` and raw `clone` may lock. The child of `vfork` shares its parent's memory, and
//! may not.
//!
//! # Signals
//! A signal handler may not lock or unlock: one that interrupts a lock or unlock of its own thread
//! would take over that call's pending entry.

#[cfg(not(feature = "threads"))]
#[path = "current/none.rs"]
mod current;
#[cfg(feature = "threads")]
#[path = "current/thread.rs"]
mod current;

mod error;
mod light;
mod list;
mod lock;
mod mutex;
#[doc(hidden)]
pub mod raw;
mod rwlock;
mod sleepers;
mod unlock;

pub use error::ListError;
pub use light::LightMutex;
pub use mutex::{Guard, LockError, Mutex};
pub use rwlock::{ReadGuard, RwLock, RwLockError, WriteGuard};
pub use unlock::{ByExchange, ByStore, Unlock};

pub use crate::bytes::AnyBytes;
