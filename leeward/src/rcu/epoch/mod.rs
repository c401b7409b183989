//! Epochs as values, for authors of data structures: collectors, guards that defer, and atomic
//! pointers with tags, in crossbeam-epoch's words.
//!
//! A structure that was written for crossbeam-epoch 0.9 moves over by its `use` lines:
//!
//! ```
//! use leeward::rcu::epoch::{self as epoch, Atomic, Guard, Owned, Shared};
//! use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};
//!
//! /// A stack of Treiber's.
//! struct Stack(Atomic<Node>);
//! struct Node { value: u32, next: Atomic<Node> }
//!
//! impl Stack {
//!     fn push(&self, value: u32, guard: &Guard) {
//!         let mut node = Owned::new(Node { value, next: Atomic::null() });
//!         loop {
//!             let head = self.0.load(Relaxed, guard);
//!             node.next.store(head, Relaxed);
//!             match self.0.compare_exchange(head, node, AcqRel, Relaxed, guard) {
//!                 Ok(_) => return,
//!                 Err(error) => node = error.new,
//!             }
//!         }
//!     }
//!
//!     fn pop(&self, guard: &Guard) -> Option<u32> {
//!         loop {
//!             let head: Shared<Node> = self.0.load(Acquire, guard);
//!             // SAFETY: loaded under the guard, and nodes are retired under guards of one collector.
//!             let node = unsafe { head.as_ref() }?;
//!             let next = node.next.load(Relaxed, guard);
//!             if self.0.compare_exchange(head, next, AcqRel, Relaxed, guard).is_ok() {
//!                 let value = node.value;
//!                 // SAFETY: this thread has unlinked it.
//!                 unsafe { guard.defer_destroy(head) };
//!                 return Some(value);
//!             }
//!         }
//!     }
//! }
//!
//! let stack = Stack(Atomic::null());
//! let guard = epoch::pin();
//! stack.push(1, &guard);
//! stack.push(2, &guard);
//! assert_eq!((stack.pop(&guard), stack.pop(&guard), stack.pop(&guard)), (Some(2), Some(1), None));
//! ```
//!
//! # Beside crossbeam-epoch
//! - Entering a section executes no fence: the thread that frees issues a heavy one, once for many
//!   retired values.
//! - A deferred call takes three words, and bags are linked, not copied.
//! - In the child of a fork, sections of threads that are not there are over; in crossbeam's they last
//!   for ever.
//! - [`Collector::synchronize`], [`Collector::stats`], [`Collector::set_limit`] and [`Collector::try_end`] are
//!   new.
//! - [`Guard::flush`] makes all calls that may be made; crossbeam's makes some hundreds. What pins and
//!   deferring calls make is bounded in both.
//! - [`Pointable`] is implemented for the same types, and for no others.
//!
//! # Beside the domains of [`rcu`](super)
//! - A domain is a type: its cells, guards and what they retire fit together, or do not compile, and
//!   nothing of it is `unsafe`. A collector is a value, for structures that have their own; that its
//!   guards and pointers fit together is their author's to keep.
//! - What a domain defers runs on its worker, soon, and in order. What is deferred here runs on the
//!   threads that defer and pin, in their calls: it must take no lock that they hold. If they all stop,
//!   it stays until one goes on or its handle is dropped.
//! - [`rcu::barrier`](super::barrier) does not wait for it.
//!
//! # Where heavy fences are refused
//! A collector that is made where no [heavy fence](crate::fence::heavy) is possible has its readers
//! execute full fences. Where such fences become impossible later (a program may forbid itself the
//! system calls), all that is deferred is kept, without a bound, until one is granted or no thread is
//! registered with the collector; all calls go on but [`Collector::synchronize`], which panics. A
//! thread that defers asks again each time that twice as many calls wait as before, 16,384 at most,
//! and at each flush.
//!
//! # Fork
//! In the child, the forking thread's handles, guards and deferred calls go on, and calls that ended
//! threads had left. Calls that other threads had deferred, or were about to make, are made in the
//! parent alone; [`Stats`](super::Stats) may go on counting them as queued.
//!
//! # Signals
//! Nothing here is async-signal-safe.
//!
//! # Source
//! Epochs: K. Fraser, "Practical lock-freedom", 2004. Bags, and who empties them: A. Turon's and the
//! crossbeam project's design. Grace periods are those of [`rcu`](super), taken in steps.

mod atomic;
#[cfg(not(feature = "threads"))]
#[path = "calling/none.rs"]
mod calling;
#[cfg(feature = "threads")]
#[path = "calling/words.rs"]
mod calling;
mod collector;
mod compare_and_set;
#[cfg(feature = "std")]
mod default;
mod deferred;
#[cfg(feature = "std")]
mod entered;
mod forks;
mod guard;
mod handle;
mod lent;
mod local;
mod pointable;
mod pointer;
mod try_end;

pub use atomic::{Atomic, CompareExchangeError};
pub use collector::Collector;
#[allow(deprecated)]
pub use compare_and_set::{CompareAndSetError, CompareAndSetOrdering};
#[cfg(feature = "std")]
pub use default::{default_collector, is_pinned, pin};
#[cfg(feature = "std")]
pub use entered::CollectorGuard;
pub use guard::{Guard, unprotected};
pub use handle::LocalHandle;
pub use pointable::Pointable;
pub use pointer::{Owned, Pointer, Shared};
