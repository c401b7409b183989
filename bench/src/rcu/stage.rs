//! A scheme that is set up, with its loops: the interface that the measurements use. `loops.rs`
//! implements it for everything in Rust, and `foreign.rs` for tables of functions from C and from
//! `kovan/`.

use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::Duration;

/// One shared cell and the loops over it. Every loop registers its thread if the scheme requires
/// it, and stores the number of sections, writes or retirements that it has done to `tally`.
pub trait Stage: Send + Sync {
    /// Returns the time of about `n` sections (whole batches) in one thread, with the loop at one
    /// of the [`ALIGNMENTS`](crate::alignment::ALIGNMENTS).
    fn section(&self, n: u64, alignment: u32) -> Duration;

    /// Enters and leaves empty sections until `stop`. Counts and checks the flag after each.
    fn read(&self, stop: &AtomicBool, tally: &AtomicU64);

    /// Enters sections and spins in each for `inside`, until `stop`.
    fn dwell(&self, stop: &AtomicBool, tally: &AtomicU64, inside: Duration);

    /// Writes without pause until `stop`.
    fn write(&self, stop: &AtomicBool, tally: &AtomicU64);

    /// Retires without pause and without waiting until `stop`.
    fn retire(&self, stop: &AtomicBool, tally: &AtomicU64);

    /// Retires once, from a thread that is no reader.
    fn retire_one(&self);

    /// Runs `during` within one section.
    fn hold(&self, during: &mut dyn FnMut());

    /// Runs `during` in a registered thread outside any section.
    fn rest(&self, during: &mut dyn FnMut());

    /// Waits for a grace period, from a thread that is no reader.
    fn synchronize(&self);

    /// Waits until everything retired before is freed.
    fn barrier(&self);
}
