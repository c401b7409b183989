//! A simulated machine: processors with store buffers, run queues, address spaces with lazy TLB,
//! user memory that faults, interrupts that come late. A [`Thread`] of it is a
//! [`Host`](crate::Host) with [`Processors`](crate::Processors), so the engine's own code runs on
//! it, unchanged.
//!
//! Nothing happens but by a [`Step`]: an access of a thread or of the machine's own kernel, a
//! buffered store that reaches memory, an interrupt that arrives, a context switch. Which step
//! comes next is decided
//! - by a seed ([`Machine::run`]): one schedule, the same for the same seed, and replayable by
//!   itself ([`Machine::replay`]); or
//! - by trying all ([`Machine::explore`]): every schedule there is, breadth first, so that what
//!   goes wrong is shown in the fewest steps ([`Machine::print`]).
//!
//! To try all, the engine's code is asked again and again: given these answers to what it asked so
//! far, what does it ask next? So calls become trees, and a place in a tree is a part of the
//! machine's state. Programs that are explored must therefore do the same whenever they get the
//! same answers: membarrier calls do, futex calls (which change tables and queues of the engine's
//! own) do not. Futex calls run by seeds.
//!
//! ```
//! use leeward_engine::simulation::{Machine, Model, Setup, Spawn, Start};
//!
//! // Each thread stores one word and loads the other's: may both loads be stale?
//! let both_stale = |model| {
//!     let mut setup = Setup::new(&[Start::Runs(0), Start::Runs(1)]);
//!     setup.model = model;
//!     for (own, other) in [(0, 4), (4, 0)] {
//!         setup.threads.push(Spawn::new("side", 0, move |thread| {
//!             thread.set(own, 1);
//!             thread.get(other).into()
//!         }));
//!     }
//!     Machine::new(setup).explore(10_000, &|results, _| results == [0, 0]).found
//! };
//! assert!(both_stale(Model::Sc).is_none());
//! assert!(both_stale(Model::Tso).is_some());
//! ```
//!
//! # Your kernel's switch path
//! What the machine's kernel does in a context switch, in its handlers and for membarrier is a
//! [`SwitchPath`]. Authors of kernels write theirs, and [`try_path`] tries it in all cases;
//! `examples/kernel_membarrier.rs` is to be copied for that.
//!
//! # Memory models
//! | model | what may pass what |
//! |---|---|
//! | [`Model::Sc`] | nothing |
//! | [`Model::Tso`] | loads pass earlier stores: a first-in first-out buffer a processor (x86) |
//! | [`Model::Pso`] | also stores pass stores to other words, unless they release |
//! | [`Model::Weak`] | loads pass loads: a load may read an older value, back to the last barrier or acquire |
//!
//! In the weak model the acquisition of a lock orders no earlier access. All are multi-copy atomic.
//! Not covered: loads that are done after later stores (load buffering),
//! stores that reach other processors at different times (POWER), more than one outstanding access
//! a word out of order. Buffers belong to processors, not to threads: a context switch leaves them
//! as they are.
//!
//! The engine's own atomics (its tables and queues) are the real machine's: run futexes under
//! [`Model::Sc`].

mod explore;
mod kernel;
mod live;
mod machine;
mod memory;
mod path;
mod print;
mod setup;
mod shapes;
mod steps;
mod thread;
mod trial;
mod unfold;

pub use explore::{Found, Report};
pub use live::{End, Run};
pub use machine::{Machine, Step};
pub use path::{Cpu, Linux2010, Occupant, SwitchPath};
pub use setup::{Bank, Cut, Model, PAGE, Page, Program, Setup, Spawn, Start};
pub use shapes::{Case, Situation, cases, missing_barrier};
pub use thread::Thread;
pub use trial::{Trial, try_path};
