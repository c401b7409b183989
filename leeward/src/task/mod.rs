//! Locks for tasks: where they wait, the task waits and not its thread, on any executor.
//!
//! The interface is that of `tokio::sync`, so that a `use` line is what changes; the locks need no
//! runtime. Each is for data that a task holds across an `.await`; where no `.await` lies between
//! locking and unlocking, [`sync`](crate::sync) is quicker.
//!
//! | lock | bytes beside the data | without contention | a future's bytes |
//! |---|---|---|---|
//! | [`Mutex`] | 40 | a compare-exchange each way | 56 |
//! | [`RwLock`] | 40 | a compare-exchange each way | 56 |
//! | [`Semaphore`] | 40 | a compare-exchange each way | 56 |
//!
//! What follows holds for all of them, and is not repeated at each type.
//!
//! # Fairness
//! Tasks get what they wait for in the order in which their futures were first polled and had to
//! wait. A task that comes later, or a `try_` call, does not pass them. So a task that asks for
//! many permits, or for writing, holds up those behind it, and waits itself for nobody that came
//! later.
//!
//! # Cancellation
//! A future may be dropped at any time. One that waits leaves the queue, and loses its place. One
//! that was handed the lock, and was dropped before its task polled it, hands the lock on to the
//! next. A future that is leaked, after it was polled, keeps its place: what it is handed is lost,
//! as with a leaked guard. A future that was ready may be polled again, and then asks anew.
//!
//! # Wakers
//! Wakers are cloned, woken and dropped outside of all locks, so they may call the same lock. A
//! waker that panics does so in the call that has woken it, a drop of a guard for instance; all
//! other tasks are woken all the same. If several panic in one call, its caller gets the first
//! panic, and the others are reported (by the panic hook) and caught. What no lock can prevent: the
//! process aborts where a guard is dropped because of a panic, and a waker panics in that drop; and
//! at the second panic of one call without the feature `std`.
//!
//! # Executors
//! The futures are `Send` where the data allows it, and so are the guards. They do not take part in
//! tokio's cooperative budget: a task that locks a free lock in a loop without any other `.await`
//! does not give way by that.
//!
//! # Cost
//! A task that waits is a node in its own future: no allocation. Queueing, and giving while a task
//! is queued, take the queue's lock, a [`raw::Mutex`](crate::raw::Mutex), for some instructions.
//!
//! # Panics and aborts
//! The locks do not poison: a panic unlocks. The queue's lock aborts where a
//! [`raw`](crate::raw#panics-and-aborts) lock does.
//!
//! # Fork
//! What is held stays held in the child, by the copy of its guard if that is the forking thread's.
//! Of the tasks that waited none is queued in the child: a future that the child polls again queues
//! anew, and no other one is woken there. What was kept for those that waited is free in the child,
//! for `try_` calls as well.
//!
//! # Signals
//! The locks are not async-signal-safe.

mod mutex;
mod permits;
mod queue;
mod request;
mod rwlock;
mod semaphore;
mod wake_list;

#[cfg(all(test, leeward_loom))]
mod loom_tests;

pub use mutex::{Lock, Mutex, MutexGuard, TryLockError};
pub use rwlock::{Read, RwLock, RwLockReadGuard, RwLockWriteGuard, Write};
pub use semaphore::{Acquire, AcquireError, Semaphore, SemaphorePermit, TryAcquireError};
