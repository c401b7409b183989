//! Unmodified programs on `leeward-engine`: a library that is preloaded (`LD_PRELOAD`), traps the
//! program's futex calls by a seccomp filter, and has the engine answer them, with
//! `parking::Process` as the host: its sleeps, exits, priorities. A test tool; the program
//! `leeward-outside` and `ci/outside` use it. x86-64 Linux with glibc.
//!
//! What had to be solved, and where:
//!
//! - *The host's sleeps are futex calls.* They are made by instructions of this library, which the
//!   filter lets pass (`filter`). What the C library calls on this library's behalf is known by the
//!   thread's place (`state`), and goes to the kernel.
//! - *Calls come from within the C library's heap.* This library has its own (`heap`), and keeps its
//!   thread-local destructors itself (`exits`).
//! - *The kernel kills a thread that is trapped with SIGSYS blocked.* `rt_sigprocmask` and
//!   `rt_sigaction` are trapped, and leave SIGSYS out (`signals`).
//! - *A signal comes between comparison and sleep, or its handler jumps out of the wait.* Handlers
//!   run after the wait has ended, at the system call, as with the kernel's futexes (`signals`).
//! - *The kernel walks robust lists, and wakes `pthread_join`, at a thread's end.* `exit` is trapped
//!   and the engine walks (`exits`); a wait for a word that holds a thread's number is passed on
//!   (`futexes`).
//! - *Processes share words.* Words in shared memory are passed on (`regions`). A fork's child makes
//!   an engine of its own: what belongs to one process lies in a page that forks empty (`page`).
//! - *exec keeps the filter and drops the handler.* The filter traps code by its address, which is
//!   another one in the next program (`filter`).
//! - *The host trusts addresses.* They are tried before; what cannot be read or written is passed on
//!   (`futexes`).
//!
//! docs/engine/outside.md says what is not served.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![allow(clippy::doc_markdown)]

mod counts;
mod exits;
mod filter;
mod futexes;
mod heap;
mod native;
mod page;
mod regions;
mod signals;
mod state;
mod trap;

use core::sync::atomic::AtomicU32;

use leeward_engine::{Clock, Deadline, Word, parking};

use crate::state::State;

/// The nanoseconds of the first wait, which no thread ends.
const SOON: u64 = 200_000;

#[global_allocator]
static HEAP: heap::Blocks = heap::Blocks;

/// Runs when the program is loaded.
#[used]
#[unsafe(link_section = ".init_array")]
static BEGIN: extern "C" fn() = begin;

/// Makes the engine and installs the handlers and the filter.
extern "C" fn begin() {
    page::page();
    state::note_directory();
    let State { engine, process } = State::get();
    regions::read();
    exits::adopt_list();
    // What the host looks up once, by the C library, is looked up now: a thread's number, and where
    // the system reports interruptions. The latter is when a wait is about to sleep.
    let word = AtomicU32::new(0);
    let word = Word::private((&raw const word).expose_provenance() as u64);
    let soon = Deadline { clock: Clock::Monotonic, at: parking::now(Clock::Monotonic) + SOON };
    let looked_up = engine.try_lock_pi(process, word).and_then(|_| engine.unlock_pi(process, word));
    let waited = engine.wait(process, word, 0, u32::MAX, Some(soon));
    if looked_up.is_err() || waited.is_err() {
        native::die("the engine answers an error");
    }
    state::counts();
    signals::install(libc::SIGSYS, trap::trapped as *const () as usize);
    signals::install(signals::KICK, signals::kicked as *const () as usize);
    signals::wrap_all();
    filter::install();
}
