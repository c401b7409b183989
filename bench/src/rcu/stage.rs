//! A scheme set up and ready to run, with its loops: what the measurements are written against.
//! Implemented twice: by `loops.rs` for everything in Rust, and by `foreign.rs` for tables of
//! functions from C and from `kovan/`.

use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::Duration;

/// One shared cell and the loops over it. Every loop registers its thread where the scheme asks for
/// that, and stores how many sections, writes or retirements it has done to `tally`.
pub trait Stage: Send + Sync {
    /// The time that `n` sections, in whole batches, take in a single thread, their loop at one of
    /// the [`ALIGNMENTS`](crate::alignment::ALIGNMENTS).
    fn section(&self, n: u64, alignment: u32) -> Duration;

    /// Empty sections, flat out, until `stop`: the classic reader, which counts and looks at the
    /// stop flag after each.
    fn read(&self, stop: &AtomicBool, tally: &AtomicU64);

    /// Sections that hold on for `inside`, spinning, back to back, until `stop`.
    fn dwell(&self, stop: &AtomicBool, tally: &AtomicU64, inside: Duration);

    /// Writes, flat out, until `stop`.
    fn write(&self, stop: &AtomicBool, tally: &AtomicU64);

    /// Retirements without waiting, flat out, until `stop`.
    fn retire(&self, stop: &AtomicBool, tally: &AtomicU64);

    /// A single retirement, from a thread that is no reader.
    fn retire_one(&self);

    /// Runs `during` within one section.
    fn hold(&self, during: &mut dyn FnMut());

    /// Runs `during` registered, outside any section.
    fn rest(&self, during: &mut dyn FnMut());

    /// One grace period, called from a thread that is no reader.
    fn synchronize(&self);

    /// Waits for everything retired before.
    fn barrier(&self);
}
