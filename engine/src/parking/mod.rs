//! A host made of a Linux process's own threads: the engine as a portable parking lot.
//!
//! Threads sleep on the real futex, on their waiter's flag; nothing else of the kernel's futexes is
//! used for waiting. A thread spins for some microseconds before it sleeps, as long as that is of
//! use to it. [`ParkingLot`] is the whole, and safe. [`Process`] is the host alone, for engines
//! that are used by address. [`Exits`], [`Lending`], [`park`], [`Parked`], [`Gathering`], [`spin`]
//! and [`now`] are its parts, for hosts whose threads are Linux's and whose memory is their own.
//!
//! # Signals
//! - *A wake is async-signal-safe*, as the kernel's is: a handler may call [`ParkingLot::wake`] or
//!   [`Engine::wake`](crate::Engine::wake), whatever it interrupted. If it interrupted its own
//!   thread in a call by the same host that held a lock, that call makes the wake as soon as it has
//!   given the lock up, and the handler's call answers 0. (So a handler may release a semaphore,
//!   which counts before it wakes.) Where futures wait on the word too, the handler may call their
//!   executors' wakers. In a library that is loaded at run time a thread calls the lot once before
//!   its handlers do, so that its thread-local variables exist.
//! - *Nothing else is*: waits, requeues, wake-ops, futures, locks with priority inheritance and the
//!   telling of an exit may meet a lock that their own thread holds, and hang.
//! - *A handler that changes the word of a wait ends it*, as with the kernel's, also without a
//!   wake. [`park`] says where that holds at each instruction, and where not in the last few before
//!   the sleep.
//! - *Several lots*: a handler that interrupted the holder of one lot's lock may wait for a lock of
//!   another lot. So if handlers that wake by one lot interrupt threads that call a second one, no
//!   handler that wakes by the second may interrupt threads that call the first.
//! - *A handler that runs while its thread sleeps ends the wait*
//!   ([`Wait::Interrupted`](crate::Wait::Interrupted)), unless it was installed with `SA_RESTART`,
//!   the wait has no deadline, and the system reports interruptions as [`park`] says.
//!
//! # Real-time threads
//! - *Order*: a wake chooses threads with a deadline (`SCHED_DEADLINE`) first, then real-time
//!   threads (`SCHED_FIFO`, `SCHED_RR`) by their priority, then all others in the order in which
//!   they came, as Linux does. When a thread waits, the kernel is asked how it is scheduled if its
//!   last answer is 10 ms old (and a tick of the kernel's): for so long a change may go unnoticed.
//!   What a thread is lent does not count.
//! - *A lock of the engine's whose holder was preempted*: a real-time thread sleeps for it, and the
//!   holder runs with its priority meanwhile, so that no third thread comes between them. This is
//!   the kernel's own inheritance (FUTEX_LOCK_PI), which takes no privilege. Which of the threads
//!   that hold such locks has this one is not known: the real-time thread waits for them in turn,
//!   for 1 ms each at most, since one that has another lock may be in a handler for long. It begins
//!   when a first real-time thread waits or meets such a lock, or with [`expect_real_time`];
//!   holders that were in before are waited for by naps of 50 µs. [The
//!   guide](crate::guide) has measured delays.
//! - *Spins*: a real-time thread does not yield before it sleeps.
//! - What the host keeps of threads (levels, exits, heads of robust lists) is guarded by locks of
//!   its own, which are waited for as the engine's are.
//!
//! # Memory
//! No call uses the standard library's locks or collections, or the heap but by the host's
//! [`Memory`](crate::Memory): tables grow with no lock held, and stay as they are where there is no
//! memory. Thread-local variables have no destructors: a thread may call at any time of its end.
//!
//! # Forks
//! The child of a fork has a copy of a lot, with the waiters and the locks that the parent's other
//! threads had at that moment, and not those threads. Unless no other thread was in a call, the
//! child has to make a lot of its own and leave the copy alone.
//!
//! # System calls
//! Beside futex: `sched_getattr` (a thread's first wait, and one every 10 ms),
//! `sched_setscheduler`, `tgkill` with signal 0 and `gettid` for locks with inheritance,
//! `sched_yield` and `nanosleep` where a lock is taken, `mmap` where a handler wants more than four
//! wakes at a time. Where a sandbox refuses them with an errno, threads are ordinary ones. If it
//! refuses `mmap`, the process ends with a line on standard error: a handler's wake must not be
//! lost.
//!
//! # Waking many
//! A wake of many threads moves them to one word first, by one system call each, and wakes them by
//! one more: 40 sleepers are 40 requeues and a wake. Fewer calls cannot do it: FUTEX_REQUEUE moves
//! from one word, and each thread sleeps on a word of its own, so that a wake of one disturbs no
//! other.

mod call;
mod deferred;
mod exits;
mod gather;
mod held;
mod inheritance;
mod lending;
mod life;
mod lot;
mod park;
mod process;
mod robust;
mod schedule;
mod short;
mod spin;
mod spin_before_sleep;
mod table;
mod thread;
#[cfg(all(target_arch = "x86_64", target_pointer_width = "64"))]
mod unbroken;
#[cfg(not(all(target_arch = "x86_64", target_pointer_width = "64")))]
#[path = "unbroken_unknown.rs"]
mod unbroken;
pub mod user_memory;

pub use exits::{Exiting, Exits};
pub use gather::Gathering;
pub use held::expect_real_time;
pub use lending::Lending;
pub use lot::ParkingLot;
pub use park::{Parked, park};
pub use process::{Deferral, Process};
pub use spin::spin;

use crate::Clock;
use crate::linux::abi::FUTEX_BITSET_MATCH_ANY;

const NANOS: u64 = 1_000_000_000;

/// Makes a call of the system's futex, for waiters of any bitset. The kernel checks the addresses.
#[inline(always)]
fn futex(word: usize, operation: i32, value: u32, fourth: usize, on: usize) -> Result<u32, i32> {
    unbroken::forget();
    call::futex([word, operation as usize, value as usize, fourth, on, FUTEX_BITSET_MATCH_ANY as usize])
}

/// Returns the nanoseconds since a clock's beginning. May be called from a signal handler, and in
/// the child of a fork.
pub fn now(clock: Clock) -> u64 {
    now_by(match clock {
        Clock::Monotonic => libc::CLOCK_MONOTONIC,
        Clock::Realtime => libc::CLOCK_REALTIME,
    })
}

/// Returns the nanoseconds since the beginning of a clock, which is named by the kernel's number.
fn now_by(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: it fills a variable of this frame.
    unsafe { libc::clock_gettime(clock, &mut time) };
    (time.tv_sec as u64).saturating_mul(NANOS).saturating_add(time.tv_nsec as u64)
}
