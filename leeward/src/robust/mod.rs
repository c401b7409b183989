//! Locks that survive their owner: a process may be killed at any instruction, and what it held is given to the next one,
//! with the news.
//!
//! ```
//! use leeward::robust::{LockError, Mutex};
//! // In memory that processes share: `shared::Region`, `Mutex::at`.
//! static ACCOUNT: Mutex<[u64; 2]> = Mutex::new([100, 0]);
//!
//! let mut account = ACCOUNT.lock().or_else(|error| {
//!     // Whoever had it was killed, perhaps between the two stores below.
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
//! | the lock was | its owner | the next one gets |
//! |---|---|---|
//! | usable | unlocked it | `Ok` |
//! | usable, or being repaired | died (killed, exited, or called `execve`) | [`LockError::OwnerDied`] and the lock |
//! | given with `OwnerDied` | marked it consistent and unlocked | `Ok` |
//! | given with `OwnerDied` | unlocked it | [`LockError::NotRecoverable`], for ever |
//!
//! An owner that is killed while it locks or unlocks is announced as dead although its data is whole. A panic is no death: the guard
//! is dropped as ever, without poisoning.
//!
//! # How
//! Each thread has a list of the robust locks that it holds, which the kernel walks when the thread is no more. libc registers one for
//! each thread that it starts; it is joined, so that these locks mix with pthread's robust mutexes in any order. A thread made by raw `clone` is
//! given one, and keeps a page for it. [`LightMutex`] is unlocked by a store; what that asks of sleepers is told there. Sleeps are always on the *shared* futex, also in one process: that is where the kernel wakes.
//!
//! # Limits, and what to do about them
//! - **2,048 locks.** The kernel gives up after so many entries of a dying thread's list, pthread's among them; the rest stay locked. Hold
//!   fewer. Who waits for such a lock is told by [`LockError::OwnerLost`], and [`Mutex::declare_owner_dead`] frees it.
//! - **Memory that goes.** Between an unlock and the moment that the thread's pending entry is cleared, another thread may take the lock, free
//!   it and use its memory otherwise; a kill just then has the kernel look at a word that is no lock, and mark it if it holds the dead thread's number by chance. Unmap
//!   or use memory otherwise only when every lock and unlock call on it has returned: [`Mutex::at`] asks for it. (`FUTEX_ROBUST_UNLOCK`, a flag of
//!   the wakes and of `FUTEX_UNLOCK_PI` since Linux 7.2, ends this race: the kernel unlocks, clears the pending entry and wakes. Nothing here uses it: it
//!   stores 0, where these locks keep a bit for those who sleep still, who would be stranded.)
//! - **Trust.** The links are addresses in shared memory, as pthread's are: processes that share a lock trust one another to keep to the protocol. A *word* with
//!   anything in it is an error or a lock, soon, unless it names a thread that lives (then only timed calls end): [`LockError::OwnerLost`], [`LockError::WouldDeadlock`], [`LockError::TimedOut`].
//! - **Signal handlers** may not lock or unlock: one that interrupts a lock or unlock of its own thread would take over its pending entry.
//! - **Pid namespaces.** Owners are known by thread number, which is another in each namespace: two owners would look the same. All processes that share a
//!   lock must be of one namespace.
//! - **execve** ends the thread's hold: what it holds is told to have died, since the new program knows nothing of it. Unlock before.
//! - **vfork**'s child shares its parent's memory, and may not lock. Children of `fork`, `_Fork` and raw `clone` may; guards that they were copied with open
//!   nothing there, also in a child that was given the dead owner's thread number.
//! - **Kernels before 6.2** do not always wake another when a woken waiter is killed before it takes the lock: then the others look by themselves, every 30 seconds.
//! - **musl** registers a list late and without asking: robust locks are refused there ([`ListError::Libc`]), as on any libc but glibc.
//! - **Sandboxes**: a wait that has lasted 30 seconds, or is at its deadline, asks by `kill(owner, 0)` whether the owner exists.
//!
//! Without the feature `std` there is no thread-local storage, and each lock and unlock asks the kernel who is calling: two system calls, and one each time that a guard is asked for the value.

#[cfg(not(feature = "std"))]
#[path = "current/none.rs"]
mod current;
#[cfg(feature = "std")]
#[path = "current/std.rs"]
mod current;

mod error;
mod light;
mod list;
mod lock;
mod mutex;
mod sleepers;
mod unlock;

pub use error::ListError;
pub use light::LightMutex;
pub use mutex::{Guard, LockError, Mutex};
pub use unlock::{ByExchange, ByStore, Unlock};

pub use crate::bytes::AnyBytes;
