//! Is this kernel's futex Linux's? Scenarios that a kernel is asked, with the answers that Linux
//! gives.
//!
//! For authors of kernels, library operating systems, sandboxes and emulators. The program
//! `leeward-conform`, which is copied into a guest and started there, asks all scenarios and prints a
//! table; this crate has the scenarios themselves, for a kernel's own test harness, which reaches its
//! system calls by [`Syscalls`]. It needs neither `std` nor an allocator.
//!
//! ```
//! use leeward_conform::linux::Linux;
//! use leeward_conform::{Verdict, ask, scenarios};
//!
//! let scenario = scenarios().find(|scenario| scenario.name == "wait.value_differs").unwrap();
//! assert!(matches!(ask(scenario, &Linux), Verdict::Pass));
//! ```
//!
//! A verdict is one of four. *Pass*: the kernel answers as Linux does. *Wrong*: it answers otherwise,
//! and the text says what and what Linux answers. *Absent*: it lacks the operation and says so
//! (`ENOSYS`), which is no fault. *Unfit*: the scenario could not be set up.

#![no_std]
#![forbid(unsafe_op_in_unsafe_fn)]
// An error is the text of a report, in place: there is no allocator.
#![allow(clippy::result_large_err)]

mod barriers;
mod clocks;
mod code;
mod errno;
mod execute;
mod futex;
mod futex2;
mod futex_pi;
#[cfg(feature = "linux")]
pub mod linux;
pub mod numbers;
mod objects;
mod pages;
mod processes;
pub mod report;
mod robust_list;
mod run;
mod scenario;
mod scenarios;
mod sections;
#[cfg(feature = "sequences")]
pub mod sequences;
mod signals;
mod sleepers;
mod step;
mod syscalls;
mod task_words;
mod text;
mod verdict;
mod world;

#[cfg(all(doctest, feature = "linux"))]
#[doc = include_str!("../README.md")]
struct Readme;

pub use errno::{Answer, Errno};
pub use run::{RESTS, ask, ask_resting};
pub use scenario::{Need, Scenario};
pub use scenarios::all as scenarios;
pub use syscalls::Syscalls;
pub use text::Text;
pub use verdict::{TEXT, Verdict};
