//! Locks for tasks: where they wait, the task waits and not its thread, on any executor.
//!
//! The interface is that of `tokio::sync`, so that a `use` line is what changes; the locks need no
//! runtime. Each is for data that a task holds across an `.await`; where no `.await` lies between
//! locking and unlocking, [`sync`](crate::sync) is quicker.
//!
//! | lock | bytes beside the data | without contention | a future's bytes |
//! |---|---|---|---|
//! | [`Mutex`] | 48 | a compare-exchange each way | 64 |
//! | [`RwLock`] | 48 | a compare-exchange each way | 64 |
//! | [`Semaphore`] | 48 | a compare-exchange each way | 64 |
//! | [`Notify`] | 56, no data | a compare-exchange to notify, one to take that | 72 |
//!
//! The calls whose names end in `_owned` ask for an `Arc` of the lock, which their futures and guards
//! keep alive: these have no lifetime, and serve a task that is spawned.
//!
//! What follows holds for all of them, and is not repeated at each type.
//!
//! # Fairness
//! Tasks get what they wait for in the order in which their futures were first polled and had to
//! wait. A task that comes later, or a `try_` call, does not pass them. Two futures of one task may
//! change places, as told below. So a task that asks for
//! many permits, or for writing, holds up those behind it, and waits itself for nobody that came
//! later.
//!
//! # A future that is kept and not polled
//! A task may poll a future of a lock, keep it without polling it again (as `select!` does with
//! `&mut future` in an arm that did not win), and await another one of the same lock. Where each
//! future has a right of its own to what it is handed, both wait for ever: the first one is handed
//! the lock, and the task polls the second one only. Oxide's [RFD 609] calls that a *futurelock*.
//!
//! Here the two change places: a future that is polled takes what another one of its task was
//! handed, if that one was not polled since this one's last poll; that one gets this one's place
//! in the queue. It may be polled again, and has its turn then. For other tasks nothing changes:
//! as many futures are before theirs as were before. If the two do not want as much, the one that
//! wants more waits for the rest in the first one's place, and the one that wants less leaves the
//! rest to those behind it.
//!
//! ```
//! # use std::{future::Future, pin::pin, task::{Context, Waker}};
//! use leeward::task::Mutex;
//! let (mutex, mut context) = (Mutex::new(0), Context::from_waker(Waker::noop()));
//! let guard = mutex.try_lock().unwrap();
//! let (mut kept, mut awaited) = (pin!(mutex.lock()), pin!(mutex.lock()));
//! assert!(kept.as_mut().poll(&mut context).is_pending());
//! assert!(awaited.as_mut().poll(&mut context).is_pending());
//! drop(guard);                                        // handed to the kept one
//! assert!(awaited.as_mut().poll(&mut context).is_ready());
//! ```
//!
//! A task that polls both in turn loses nothing: each has what it was handed when its turn comes. To
//! give it that chance, a future that finds what another one was handed wakes its task once, and
//! takes it when it is polled again: at its first poll, or if the other one was polled meanwhile.
//!
//! What remains: futures are of one task if their wakers say so ([`Waker::will_wake`]), so not below
//! combinators that give each future a waker of its own, as `FuturesUnordered` does.
//! `try_` calls have no waker, and find the lock held. And a task that keeps a future, and polls none
//! of that lock any more, keeps what the future is handed from all other tasks.
//!
//! [RFD 609]: https://rfd.shared.oxide.computer/rfd/0609
//! [`Waker::will_wake`]: core::task::Waker::will_wake
//!
//! # Cancellation
//! A future may be dropped at any time. One that waits leaves the queue, and loses its place. One
//! that was handed the lock, and was dropped before its task polled it, hands the lock on to the
//! next. A future that is leaked, after it was polled, keeps its place: what it is handed is lost,
//! as with a leaked guard. A future that was ready may be polled again, and then asks anew; one of a
//! [`Notify`] stays ready.
//!
//! # Wakers
//! Wakers are cloned, woken and dropped outside of all locks, so they may call the same lock. A
//! waker that panics does so in the call that has woken or dropped it: a drop of a guard or a future,
//! for instance, or a poll that leaves permits to others. All other tasks are woken all the same. If
//! several panic in one call, its caller gets the first panic, and the others are reported (by the
//! panic hook) and caught. What no lock can prevent: the process aborts where a guard or a future is
//! dropped because of a panic, and a waker panics in that drop; and at the second panic of one call
//! without the feature `std`.
//!
//! # Threads that wait
//! A thread that runs no tasks waits by [`Mutex::blocking_lock`], [`RwLock::blocking_read`] and
//! [`RwLock::blocking_write`]: in turn with the tasks, asleep on a futex, without allocating. There is
//! no way back for it, as dropping a future is one.
//!
//! A task must not call these. Nothing finds it out here, as tokio does by a panic: the call holds up its
//! executor's thread, and all tasks of it. If the task that has the lock needs that thread, both wait for
//! ever; with one thread, this is certain. `try_lock` and its kin may be called anywhere.
//!
//! # Executors
//! The futures are `Send` where the data allows it, and so are the guards. They do not take part in
//! tokio's cooperative budget: a task that locks a free lock in a loop without any other `.await`
//! does not give way by that.
//!
//! # Cost
//! A task that waits is a node in its own future: no allocation. Queueing, giving while a task is
//! queued, and coming for what was handed over take the queue's lock, a
//! [`raw::Mutex`](crate::raw::Mutex), for some instructions: more by the logarithm of the number of
//! futures that were handed something, and did not come for it yet.
//!
//! # Panics and aborts
//! The locks do not poison: a panic unlocks. The queue's lock aborts where a
//! [`raw`](crate::raw#panics-and-aborts) lock does.
//!
//! # Fork
//! What is held stays held in the child, by the copy of its guard if that is the forking thread's.
//! Of the tasks that waited none is queued in the child: a future that the child polls again queues
//! anew, and no other one is woken there. What was kept for those that waited is free in the child,
//! for `try_` calls as well, and so is what futures were handed and had not come for.
//!
//! # Signals
//! The locks are not async-signal-safe.

mod blocking;
mod counts;
mod hand_over;
mod handed;
mod line;
mod mutex;
mod node;
mod notify;
#[cfg_attr(not(feature = "collect"), allow(dead_code))]
mod permits;
mod queue;
#[cfg_attr(not(feature = "collect"), allow(dead_code))]
mod request;
mod rwlock;
mod semaphore;
mod side;
mod wake_list;
mod word;

#[cfg(all(test, leeward_loom))]
mod loom_tests;

#[cfg(any(feature = "collect", leeward_loom))]
pub(crate) use permits::Permits;
#[cfg(any(feature = "collect", leeward_loom))]
pub(crate) use request::{HasPermits, Request};

pub use mutex::{Lock, LockOwned, Mutex, MutexGuard, OwnedMutexGuard, TryLockError};
pub use notify::{Notified, Notify, OwnedNotified};
pub use rwlock::{
    OwnedRwLockReadGuard, OwnedRwLockWriteGuard, Read, ReadOwned, RwLock, RwLockReadGuard, RwLockWriteGuard, Write,
    WriteOwned,
};
pub use semaphore::{
    Acquire, AcquireError, AcquireOwned, OwnedSemaphorePermit, Semaphore, SemaphorePermit, TryAcquireError,
};
