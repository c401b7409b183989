//! arc-swap 1 by name, and leeward's RCU underneath: a program and all that it depends on change over
//! by a line of its `Cargo.toml`.
//!
//! ```toml
//! [patch.crates-io]
//! arc-swap = { git = "https://github.com/leeward-rs/leeward" }
//! ```
//!
//! ```
//! use arc_swap::ArcSwap;
//! use std::sync::Arc;
//! let hosts = ArcSwap::from_pointee(vec!["a"]);
//! let now = hosts.load();
//! hosts.rcu(|old| [&old[..], &["b"]].concat());
//! let kept: Arc<Vec<&str>> = hosts.load_full();
//! assert_eq!((now.len(), kept.len()), (1, 2));
//! ```
//!
//! # How it works
//! A load is a read section of a domain of this crate's own, in which a [`Guard`] notes in a slot of
//! its thread that it borrows the value: no reader touches the count of an `Arc`, and **no guard is
//! a section**. A guard may be kept for as long as one likes, across an `await`, be sent to another
//! thread, and outlive its `ArcSwap`, and it holds up no grace period: neither of leeward's other
//! domains nor of this one.
//!
//! A writer waits until the sections that may have found the old value have ended (they are some
//! twenty instructions), gives every guard that borrows it a count, and returns it. So what
//! [`swap`](ArcSwapAny::swap) returns has the counts that one expects, `Arc::try_unwrap` included, and
//! a value is dropped at once, by whichever thread lets go of it last, as in arc-swap. Values may
//! borrow, and need not be `Send`.
//!
//! # Differences
//! - **A store, a swap and a successful compare-and-swap cost a grace period**: a heavy fence, which
//!   is a microsecond to a few on bare processors and up to milliseconds on virtual machines whose
//!   interrupts are slow (`leeward doctor` measures it), and longer if a reader has lost its
//!   processor within its section. arc-swap's stores take about a microsecond, and no system call.
//!   Writers of one program share these fences. A loop of `rcu` feels it most.
//! - A thread has eight slots, as there. A ninth guard, and one of a [`RefCnt`] other than `Arc`,
//!   `Pin<Arc>` and their `Option`s, has a count of its own.
//! - A thread's first load allocates. A load is not for signal handlers.
//! - Where no heavy fence is possible, a store panics.
//! - [`RefCnt::TAG`] has no effect, and a pointer that has its bits set is no error.
//! - A clone of a [`RefCnt`] of the user's own must not store into an `ArcSwap`: that panics.
//!
//! # Features
//! `serde`, `weak` and `rwlock-strategy` are there. `RwLock<()>` is a [`Strategy`](strategy::Strategy) by name only: it
//! works as the default one does, and is not locked. `experimental-strategies` and
//! `internal-test-strategies` have no names that last, and none is here;
//! `experimental-thread-local`, which makes arc-swap do without std, changes nothing: this crate asks
//! for std.

extern crate alloc;

pub mod access;
mod arc_swap_any;
mod as_raw;
pub mod cache;
mod debt;
mod guard;
mod ref_cnt;
#[cfg(feature = "serde")]
mod serde;
pub mod strategy;
#[cfg(feature = "weak")]
mod weak;

#[cfg(feature = "weak")]
pub use arc_swap_any::ArcSwapWeak;
pub use arc_swap_any::{ArcSwap, ArcSwapAny, ArcSwapOption, IndependentArcSwap};
pub use as_raw::AsRaw;
pub use cache::Cache;
pub use guard::Guard;
pub use ref_cnt::RefCnt;
pub use strategy::{DefaultStrategy, IndependentStrategy};
