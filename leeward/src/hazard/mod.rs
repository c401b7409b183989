//! Hazard pointers: a reader protects one object by two stores and no fence; what was retired is
//! freed when no hazard pointer names it. Memory is bounded whatever a reader does.
//!
//! ```
//! use leeward::hazard::{self, Cell, HazardPointer};
//!
//! static CONFIG: Cell<String> = Cell::empty();
//! CONFIG.store(String::from("listen 80"));
//!
//! // A reader, on any thread. It may sleep, or keep the reference across `.await`.
//! let mut hazard = HazardPointer::new();
//! let config = hazard.protect(&CONFIG).unwrap();
//! assert_eq!(config, "listen 80");
//!
//! // A writer waits for nobody. What it replaced is retired, and freed sooner or later.
//! CONFIG.store(String::from("listen 81"));
//! assert_eq!(config, "listen 80");
//! hazard.reset_protection();
//! hazard::reclaim(); // now
//! ```
//!
//! The algorithm is Maged Michael's ("Hazard Pointers: Safe Memory Reclamation for Lock-Free
//! Objects", 2004) with an [asymmetric pair of fences](crate::fence) between the reader and the
//! reclaimer. The names are those of C++26's `<hazard_pointer>`. The book's page is
//! [`guide::hazard`](crate::guide::hazard).
//!
//! # RCU or hazard pointers
//! [`rcu`](crate::rcu) protects all that a reader finds in a section by two stores, but a reader
//! that does not leave keeps everything that is retired meanwhile. A hazard pointer protects one
//! object, and keeps one, however long.
//!
//! # One domain
//! There are no domains, as [`rcu`](crate::rcu) has them. A domain there keeps readers of one set of
//! data from being waited for by the writers of another. Nobody waits for a hazard pointer, which holds
//! back one object at most. So a second domain would divide the objects that wait for a scan, with heavy
//! fences for each; and a cell of the one with a hazard pointer of the other would protect nothing.
//!
//! # Cost
//! | call | common path | rare path |
//! |---|---|---|
//! | [`protect`](HazardPointer::protect) | two loads, a store | again, when the cell changes meanwhile |
//! | [`reset_protection`](HazardPointer::reset_protection) | a store | |
//! | [`retire`](Retired::retire) | a compare-exchange | at every 256th: a heavy fence, a scan, destructors |
//!
//! # Where heavy fences are refused
//! A program may forbid itself the system calls of heavy fences when it has used them for a while.
//! Then nothing can be freed, and all that is retired is kept, without a bound; readers and writers go
//! on. A fence is asked for again whenever twice as many objects wait as the last time, and by
//! [`reclaim`]; if it is granted, all goes on as before.
//!
//! # Rules that the compiler keeps
//! - A reference ends before its hazard pointer protects something else, and before its cell ends.
//! - What is retired is `Send + 'static`.
//!
//! # Tasks
//! A task may hold a hazard pointer, and what it protects, across an `.await`, and go on on another
//! thread: the slot belongs to the hazard pointer, and the executor's handing over of the task orders
//! what one thread did with the object before what the next does. The future is `Send` if the value is
//! `Sync`.
//!
//! ```
//! use leeward::hazard::{Cell, HazardPointer};
//! static CONFIG: Cell<String> = Cell::empty();
//! CONFIG.store(String::from("listen 80"));
//! fn spawn(task: impl Future<Output = ()> + Send + 'static) {
//!     # let mut task = std::pin::pin!(task);
//!     # let _ = task.as_mut().poll(&mut std::task::Context::from_waker(std::task::Waker::noop()));
//! }
//! spawn(async {
//!     let mut hazard = HazardPointer::new();
//!     let config = hazard.protect(&CONFIG).unwrap();
//!     std::future::ready(()).await;                       // kept, also if it is replaced
//!     assert_eq!(config, "listen 80");
//! });
//! ```
//!
//! # Threads, forks, signals, panics
//! Hazard pointers belong to no thread. Destructors run on threads that retire; a panic of one
//! leaves that call, and the other objects are freed later. In the child of a fork everything that
//! any thread protected stays protected, and what was retired before is freed in the parent alone.
//! Signal handlers may protect and reset, by a hazard pointer of their own, and call nothing else
//! here.

mod cell;
mod list;
#[cfg(all(test, leeward_loom))]
mod loom_tests;
mod node;
mod pointer;
mod raw;
mod reclaim;
mod retired;
mod slot;
mod state;
mod turn;
mod update;

pub use cell::Cell;
pub use pointer::{Changed, HazardPointer, NoMemory};
pub use raw::retire_raw;
pub use reclaim::{reclaim, waiting};
pub use retired::Retired;
