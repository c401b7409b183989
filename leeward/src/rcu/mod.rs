//! Userspace RCU: readers walk shared data without locks, fences or atomic read-modify-writes; a
//! writer publishes a new version, waits until every reader that may hold the old one has left, and
//! frees it.
//!
//! ```
//! use leeward::rcu::{self, RcuCell};
//! let config = RcuCell::new(String::from("listen 80"));
//!
//! // A reader.
//! let guard = rcu::read();
//! assert_eq!(config.load(&guard), "listen 80");
//! drop(guard);
//!
//! // A writer, three ways.
//! config.replace(String::from("listen 81")).defer();      // freed later, on the domain's worker
//! let old: Box<String> =                                  // returned after a grace period
//!     config.replace(String::from("listen 82")).synchronize();
//! assert_eq!(*old, "listen 81");
//! config.update(|now| format!("{now}; tls")).defer();     // computed from the current value
//! rcu::barrier();                                         // everything deferred has run
//! ```
//!
//! The book's page [`guide::rcu`](crate::guide::rcu) describes the algorithm, and
//! [`guide::migrating`](crate::guide::migrating) translates programs from liburcu, crossbeam-epoch
//! and arc-swap call by call.
//!
//! # Choosing
//! | a reader | what it is | when |
//! |---|---|---|
//! | [`read`] | a slot in thread-local storage, taken at first use | nearly always |
//! | [`Reader`] | a handle that its owner keeps | `no_std`, foreign threads, hot loops |
//! | [`qsbr::Reader`] | a handle that announces quiescent states | event loops |
//! | any, in a domain declared `: Full` | executes [full fences] | writers must make no system call |
//!
//! [full fences]: crate::fence::Full
//!
//! All of them share one slot type and one grace period and may be mixed in one domain. A domain
//! ([`rcu_domain!`](crate::rcu_domain)) is a set of readers and writers; a grace period waits for
//! the readers of its own domain only. [`Global`] is the domain that this module's functions use.
//!
//! # Rules that the compiler keeps
//! - A guard of one domain opens no cell of another.
//! - No reference outlives its guard, and guards do not travel between threads.
//! - Nothing that was loaded survives [`quiescent`](qsbr::Reader::quiescent).
//! - What is retired is `Send + 'static`.
//!
//! # Rules that it cannot keep
//! - A section must end. A stalled grace period [reports](Domain::set_stall_limit) the reader.
//! - [`synchronize`] and [`barrier`] must not be called inside a section: they panic.
//!
//! # Cost
//! | call | common path | rare path |
//! |---|---|---|
//! | [`read`] and the guard's drop | some loads and two stores | a thread's first takes a slot |
//! | [`Reader::read`] and the guard's drop | the same, without thread-local storage | |
//! | [`quiescent`](qsbr::Reader::quiescent) | two loads, a comparison | a store and a full fence |
//! | any section of a `: Full` domain | two full fences more, some ten nanoseconds | |
//! | [`synchronize`] | a heavy fence, a load for each slot; no reader: a fence | one fence more and a sleep |
//! | [`defer`] | an allocation and two atomic operations | a system call to wake the worker |
//! | [`poll_state`] | a load | |
//!
//! A section executes no fence and no locked instruction. A reader that a writer sleeps for wakes
//! it when it leaves, by a futex wake, after which it yields its processor once.
//! [`guide::performance`](crate::guide::performance) says how the costs grow with threads and
//! processors.
//!
//! # Fork
//! `fork` needs no call around it. In the child:
//! - sections, guards and handles of the forking thread go on;
//! - sections of other threads are over: **references that another thread's guard protected are not
//!   protected**, and the child must not use them;
//! - detached handles and leaked guards keep their slots;
//! - grace periods that were running are forgotten, and the worker is started again when needed;
//! - callbacks that were queued run in the parent alone, unless
//!   [`set_child_adopts`](Domain::set_child_adopts) says otherwise.
//!
//! Children of `vfork`, `_Fork` and the raw `clone` call run no fork handler; they may only read.
//! [`guide::fork`](crate::guide::fork) has the details.
//!
//! # Signals
//! A signal handler may enter a section, load from cells, and drop the guard, at any instruction
//! that it interrupts, if
//! - it reads through a handle of its thread ([`Reader`]), or the thread is registered
//!   ([`Domain::register`], or an earlier [`read`]) and has not yet run its thread-local
//!   destructors, and
//! - it leaves every section that it enters, and none that it did not enter.
//!
//! A handler must call nothing else of this module: other functions may allocate, wait or take
//! locks.

mod backing;
#[cfg(all(feature = "c", not(leeward_loom)))]
pub mod c;
#[cfg(not(all(feature = "c", not(leeward_loom))))]
#[path = "c/none.rs"]
mod c;
mod cells;
mod declare;
mod domain;
#[cfg(all(feature = "epoch", not(leeward_loom)))]
pub mod epoch;
mod fork;
pub(crate) mod free;
mod grace;
mod kind;
#[cfg(all(test, leeward_loom))]
mod loom_tests;
mod no_memory;
mod section;

pub use backing::Backing;
#[cfg(feature = "std")]
pub use cells::arc::Cache;
pub use cells::arc::{ArcCell, ArcOption};
pub use cells::cell::RcuCell;
pub use cells::conflict::Conflict;
pub use cells::option::RcuOption;
#[cfg(feature = "std")]
pub use cells::reference::Ref;
pub use domain::{Cookie, Domain};
pub use free::head::Head;
pub use free::limit::{Limit, NotQueued, Policy};
#[cfg(feature = "threads")]
pub use free::reclaimed::Reclaimed;
pub use free::retired::{Boxed, Free, Retired};
#[cfg(any(feature = "threads", leeward_loom))]
pub use grace::future::GracePeriod;
pub use grace::stall::Stall;
pub use grace::stats::Stats;
pub use no_memory::NoMemory;
pub use section::guard::Guard;
pub use section::protects::Protects;
#[doc(inline)]
pub use section::qsbr;
pub use section::reader::{DetachedReader, Reader};

/// The items that [`rcu_domain!`](crate::rcu_domain) expands to. They are not for other callers.
#[doc(hidden)]
pub mod hidden {
    pub use super::backing::State;
    pub use super::kind::Kind;
    #[cfg(feature = "std")]
    pub use super::section::automatic::take_slot;
    pub use super::section::slot::Slot;
    #[cfg(feature = "std")]
    pub use super::section::thread_local::{LocalSlot, ThreadExit};
}

crate::rcu_domain! {
    /// The domain that this module's functions work on.
    ///
    /// Libraries that must not wait for their callers' readers declare a domain of their own with
    /// [`rcu_domain!`](crate::rcu_domain).
    ///
    /// ```
    /// use leeward::rcu::{self, Domain, Global};
    /// let guard = rcu::read();            // the same as `Global::read()`
    /// assert!(Global::stats().readers >= 1);
    /// drop(guard);
    /// ```
    pub struct Global;
}

/// Enters a section of [`Global`]; see [`Domain::read`].
///
/// ```
/// use leeward::rcu::{self, RcuCell};
/// let config = RcuCell::new(String::from("listen 80"));
/// let guard = rcu::read();
/// assert_eq!(config.load(&guard), "listen 80");
/// ```
#[cfg(feature = "std")]
#[inline(always)]
#[track_caller]
pub fn read() -> Guard<'static> {
    Global::read()
}

/// Waits for a grace period of [`Global`]; see [`Domain::synchronize`].
///
/// ```
/// use leeward::{rcu, sync::Mutex};
/// let (is_open, entries) = (rcu::RcuCell::new(true), Mutex::new(vec![]));
/// let at_the_end = std::thread::scope(|scope| {
///     scope.spawn(|| {
///         let is_open = is_open.get();
///         if *is_open {
///             entries.lock().push("a visitor");
///         }
///     });
///     is_open.store(false);
///     rcu::synchronize();                 // every section that found `true` has ended
///     entries.lock().len()
/// });
/// assert_eq!(entries.lock().len(), at_the_end);
/// ```
#[track_caller]
pub fn synchronize() {
    Global::synchronize();
}

/// Runs `callback` after a grace period of [`Global`]; see [`Domain::defer`].
///
/// ```
/// use leeward::rcu;
/// use std::sync::mpsc;
/// let (sender, receiver) = mpsc::channel();
/// rcu::defer(move || sender.send("every older section has ended").unwrap());
/// assert!(receiver.recv().is_ok());
/// ```
pub fn defer(callback: impl FnOnce() + Send + 'static) {
    Global::defer(callback);
}

/// Waits until everything that was deferred in [`Global`] has run; see [`Domain::barrier`].
///
/// ```
/// use leeward::rcu;
/// use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
/// static DONE: AtomicBool = AtomicBool::new(false);
/// rcu::defer(|| DONE.store(true, Relaxed));
/// rcu::barrier();
/// assert!(DONE.load(Relaxed));
/// ```
#[track_caller]
pub fn barrier() {
    Global::barrier();
}

/// Asks for a grace period of [`Global`] without waiting; see [`Domain::start_poll`].
///
/// ```
/// use leeward::rcu;
/// let cookie = rcu::start_poll();
/// while !rcu::poll_state(&cookie) {
///     std::thread::yield_now();
/// }
/// ```
pub fn start_poll() -> Cookie {
    Global::start_poll()
}

/// Returns true if the grace period that `cookie` stands for is over; see [`Domain::poll_state`].
///
/// ```
/// use leeward::rcu;
/// let guard = rcu::read();
/// let cookie = rcu::start_poll();
/// assert!(!rcu::poll_state(&cookie));     // this thread's own section is in the way
/// drop(guard);
/// rcu::synchronize();                     // or wait for the worker
/// assert!(rcu::poll_state(&cookie));      // and from now on
/// ```
pub fn poll_state(cookie: &Cookie) -> bool {
    Global::poll_state(cookie)
}

/// Returns what [`Global`] has done so far; see [`Domain::stats`].
///
/// ```
/// use leeward::rcu;
/// rcu::defer(|| ());
/// rcu::barrier();
/// assert!(rcu::stats().callbacks_run >= 1);
/// ```
pub fn stats() -> Stats {
    Global::stats()
}
