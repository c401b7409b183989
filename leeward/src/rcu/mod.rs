//! Userspace RCU: readers walk shared data without locks, fences or atomic read-modify-writes; a writer publishes a
//! new version, waits until every reader that may hold the old one has left, and frees it.
//!
//! ```
//! use leeward::rcu::{self, RcuCell};
//! let config = RcuCell::<String>::new(String::from("listen 80"));
//!
//! // A reader: two moves, a load, a move.
//! let guard = rcu::read();
//! assert_eq!(config.load(&guard), "listen 80");
//! drop(guard);
//!
//! // A writer, three ways.
//! config.replace(String::from("listen 81")).defer();                  // freed later, on the domain's worker
//! let old: Box<String> = config.replace(String::from("listen 82")).synchronize();   // back in hand, after a grace period
//! assert_eq!(*old, "listen 81");
//! config.update(|now| format!("{now}; tls")).defer();                 // computed from the current one
//! rcu::barrier();                                                     // everything deferred has run
//! ```
//!
//! # Choosing
//! | a reader | how | costs | when |
//! |---|---|---|---|
//! | [`read`] | thread-local slot, taken at a thread's first section | two loads, a store; a store | nearly always |
//! | [`Reader`] | a handle that you keep | the same less the look into thread-local storage | `no_std`, foreign threads, hot loops |
//! | [`qsbr::Reader`] | a handle; no sections, [`quiescent`](qsbr::Reader::quiescent) now and then | nothing; two loads and a comparison | event loops |
//! | a domain declared `: Full` | any of the above with a full fence in the reader | some ten nanoseconds | writers that must not call the kernel |
//!
//! All of them share one slot type and one grace period and may be mixed in one domain. A domain
//! ([`rcu_domain!`](crate::rcu_domain)) is a set of readers and writers; a grace period waits for the readers of its
//! own domain only. [`Global`] is the one that this module's functions use.
//!
//! # Rules that the compiler keeps
//! A guard of one domain opens no cell of another; no reference outlives its guard; guards do not travel between
//! threads; nothing that was loaded survives [`quiescent`](qsbr::Reader::quiescent); what is retired is `Send +
//! 'static`.
//!
//! # Rules that it cannot keep
//! A section must end (a stalled grace period [reports](Domain::set_stall_limit) the reader), and `synchronize`
//! inside a section panics.

#[cfg(feature = "std")]
mod automatic;
mod backing;
mod callback;
mod cell;
mod defer;
mod domain;
mod fork;
mod grace;
mod guard;
mod head;
mod limit;
#[cfg(not(feature = "std"))]
#[path = "local/none.rs"]
mod local;
#[cfg(feature = "std")]
#[path = "local/std.rs"]
mod local;
#[cfg(all(test, leeward_loom))]
mod loom_tests;
mod no_memory;
mod protects;
pub mod qsbr;
mod reader;
mod retired;
mod slot;
mod stall;
mod stats;
#[cfg(feature = "std")]
mod thread_local;
mod tickets;
mod worker;

pub use backing::Backing;
pub use cell::{RcuCell, RcuOption};
pub use domain::{Cookie, Domain};
pub use guard::Guard;
pub use limit::{Full, Limit, Policy};
pub use no_memory::NoMemory;
pub use protects::Protects;
pub use reader::{DetachedReader, Reader};
pub use retired::Retired;
pub use stall::Stall;
pub use stats::Stats;

/// What [`rcu_domain!`](crate::rcu_domain) expands to; nothing here is for anybody else.
#[doc(hidden)]
pub mod hidden {
    #[cfg(feature = "std")]
    pub use super::automatic::leave_thread;
    pub use super::backing::State;
    #[cfg(feature = "std")]
    pub use super::thread_local::{Local, LocalSlot, ThreadExit};
}

crate::rcu_domain! {
    /// The domain that is there already: what this module's functions work on.
    pub struct Global;
}

/// Enters a section of [`Global`]; see [`Domain::read`].
#[cfg(feature = "std")]
#[inline(always)]
#[track_caller]
pub fn read() -> Guard<'static> {
    Global::read()
}

/// Waits for a grace period of [`Global`]; see [`Domain::synchronize`].
#[track_caller]
pub fn synchronize() {
    Global::synchronize();
}

/// Runs `callback` after a grace period of [`Global`]; see [`Domain::defer`].
pub fn defer(callback: impl FnOnce() + Send + 'static) {
    Global::defer(callback);
}

/// Waits until everything that was deferred in [`Global`] has run; see [`Domain::barrier`].
#[track_caller]
pub fn barrier() {
    Global::barrier();
}

/// Asks for a grace period of [`Global`]; see [`Domain::start_poll`].
pub fn start_poll() -> Cookie {
    Global::start_poll()
}

/// Whether it is over; see [`Domain::poll`].
pub fn poll(cookie: &Cookie) -> bool {
    Global::poll(cookie)
}

/// What [`Global`] has done so far; see [`Domain::stats`].
pub fn stats() -> Stats {
    Global::stats()
}
