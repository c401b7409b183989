//! Lock words without data, generic over the place to sleep: what [`sync`](crate::sync) and
//! `shared` are made of, and the parts for callers that build their own locks.
//!
//! The type parameter `F` ([`Futex`](crate::futex::Futex)) says where threads sleep: by default on
//! futexes of one process ([`Private`](crate::futex::Private)). Each `new` is a `const fn`, and
//! zeroed memory is a valid lock of each kind. No lock has a destructor.
//!
//! | lock | bytes | without contention | may a waiter be overtaken? |
//! |---|---|---|---|
//! | [`Mutex`] | 4 | a compare-exchange each way | yes, with a bound |
//! | [`FairMutex`] | 4 | a compare-exchange each way | not by threads that have not slept |
//! | [`LightMutex`] | 8 | a compare-exchange to lock, a store to unlock | yes, without bound |
//! | [`RwLock`] | 8 | one atomic operation each way | readers: with a bound |
//! | [`Condvar`] | 32 | a load to notify | not by threads that come after the notification |
//! | [`Once`] | 4 | a load | all waiters go |
//! | [`Semaphore`] | 4 | a compare-exchange each way | yes, without bound |
//! | [`Barrier`] | 8 | a compare-exchange to arrive | all waiters go |
//! | [`Event`] | 4 | a load to ask, a compare-exchange to set | all waiters go |
//! | [`Latch`] | 4 | a load to ask, a compare-exchange to count down | all waiters go |
//!
//! ```
//! use leeward::raw::{Barrier, LightMutex, Mutex, Once, RwLock, Semaphore};
//! assert_eq!((size_of::<Mutex>(), size_of::<LightMutex>(), size_of::<RwLock>()), (4, 8, 8));
//! assert_eq!((size_of::<Once>(), size_of::<Semaphore>(), size_of::<Barrier>()), (4, 4, 8));
//! ```
//!
//! What follows holds for all of them, and is not repeated at each type.
//!
//! # Waiting
//! A thread that must wait rechecks the word for some microseconds, first after pauses, then after
//! yields, then it sleeps in a system call. The schedule, and where waits do not yield, is on the
//! page [locks](crate::guide::locks). A timed call attempts at least once, also when its time is up
//! already.
//!
//! # Panics and aborts
//! Locking never unwinds, since a guard may be alive while its lock is given up and taken again. A
//! lock that cannot be taken at all ends the process: the panic hook runs and prints one sentence,
//! then the process aborts, and the panic cannot be caught. The types name these cases under
//! "Aborts".
//!
//! # Lifetime
//! A lock must live until every call on it has returned, unless its type says otherwise, as
//! [`Mutex`] does.
//!
//! # Fork
//! The child of a fork has one thread and a copy of each word that is not shared. What the forking
//! thread holds is held by the child's thread; what another thread held stays held, and what that
//! thread would have done (unlock, release, arrive, set) does not come. See the page
//! [fork](crate::guide::fork).
//!
//! # Signals
//! Waiting is not async-signal-safe: the handler may have interrupted the thread that it waits for.
//! [`Semaphore::release`], [`Event::set`], [`Event::clear`] and [`Latch::count_down`] are
//! async-signal-safe.

mod barrier;
mod condvar;
mod event;
#[cfg(not(leeward_loom))]
mod event_any;
mod fair_mutex;
mod forked;
mod latch;
mod light_fair;
mod light_mutex;
mod lock;
#[cfg(not(leeward_loom))]
pub(crate) mod lock_api;
#[cfg(all(test, leeward_loom))]
mod loom_tests;
mod mutex;
mod mutex_state;
mod once;
mod rwlock;
mod rwlock_fair;
mod rwlock_read;
mod rwlock_state;
mod rwlock_upgrade;
mod scheme;
mod semaphore;
#[doc(hidden)]
pub mod slow;
pub(crate) mod spin_budget;

pub use barrier::{Barrier, BarrierWaitResult};
pub use condvar::Condvar;
pub use event::Event;
pub use fair_mutex::FairMutex;
pub use latch::Latch;
pub use light_mutex::LightMutex;
pub use lock::Lock;
#[cfg(all(feature = "std", not(leeward_loom)))]
pub(crate) use lock_api::deadline;
pub use mutex::Mutex;
pub use once::{Once, OnceState};
pub use rwlock::RwLock;
pub use scheme::{Plain, Requeue, Scheme, WakeOp};
pub use semaphore::{Permit, Semaphore};
