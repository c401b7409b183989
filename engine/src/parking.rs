//! A host made of a Linux process's own threads: the engine as a portable parking lot.
//!
//! Threads sleep on the real futex, on their waiter's flag; nothing else of the kernel's futexes is used. They look for some microseconds first, as long as that
//! is of use to them.
//! [`ParkingLot`] is the whole, and safe. [`Process`] is the host alone, for engines that are used by address; [`park`]
//! and [`Parked`] are its sleep, for hosts that have memory of their own.

mod call;
mod deferred;
mod exits;
mod gather;
mod held;
mod inheritance;
mod lending;
mod life;
mod look;
mod lot;
mod park;
mod process;
mod robust;
mod schedule;
mod short;
mod spin;
mod thread;
#[cfg(all(target_arch = "x86_64", target_pointer_width = "64"))]
mod unbroken;
#[cfg(not(all(target_arch = "x86_64", target_pointer_width = "64")))]
#[path = "parking/unbroken_unknown.rs"]
mod unbroken;

pub use gather::Gathering;
pub use held::expect_real_time;
pub use lot::ParkingLot;
pub use park::{Parked, park};
pub use process::Process;
pub use spin::spin;

use crate::Clock;
use crate::abi::FUTEX_BITSET_MATCH_ANY;

const NANOS: u64 = 1_000_000_000;

/// The system's futex, for waiters of any bitset. The kernel checks the addresses.
#[inline(always)]
fn futex(word: usize, operation: i32, value: u32, fourth: usize, on: usize) -> Result<u32, i32> {
    call::futex([word, operation as usize, value as usize, fourth, on, FUTEX_BITSET_MATCH_ANY as usize])
}

/// Nanoseconds since a clock's beginning.
pub fn now(clock: Clock) -> u64 {
    now_by(match clock {
        Clock::Monotonic => libc::CLOCK_MONOTONIC,
        Clock::Realtime => libc::CLOCK_REALTIME,
    })
}

/// The same by the kernel's number of the clock.
fn now_by(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: fills ours.
    unsafe { libc::clock_gettime(clock, &mut time) };
    (time.tv_sec as u64).saturating_mul(NANOS).saturating_add(time.tv_nsec as u64)
}
