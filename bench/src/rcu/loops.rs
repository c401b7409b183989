//! The loops that every row takes, written once over `Scheme` and compiled for each. `c/urcu.c` has
//! the same loops in C, so that liburcu's read side is inlined into them as it would be into a C
//! program.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::scheme::{BATCH, Node, Scheme};
use super::stage::Stage;
use crate::alignment::{ALIGNMENTS, align};

/// A scheme's cell, which shares its cache lines with nothing.
#[repr(align(128))]
pub struct Running<S: Scheme>(S);

impl<S: Scheme> Running<S> {
    /// Opens a fresh cell.
    pub fn open() -> Self {
        Running(S::open())
    }

    /// Runs one batch of empty sections and nothing else. The loop has one of the `ALIGNMENTS`.
    #[inline(never)]
    fn batch<const ALIGNMENT: u32>(&self, reader: &mut S::Reader<'_>) {
        align::<ALIGNMENT>();
        for _ in 0..BATCH {
            self.0.section(reader, Node::look);
        }
        self.0.quiescent(reader);
    }

    /// Runs one batch of a reader's job, which counts and checks the stop flag between two
    /// sections. Returns the new count.
    #[inline(never)]
    fn job<const ALIGNMENT: u32>(
        &self,
        reader: &mut S::Reader<'_>,
        stop: &AtomicBool,
        tally: &AtomicU64,
        mut done: u64,
    ) -> u64 {
        align::<ALIGNMENT>();
        for _ in 0..BATCH {
            if stop.load(Ordering::Relaxed) {
                break;
            }
            self.0.section(reader, Node::look);
            done += 1;
            tally.store(done, Ordering::Relaxed);
        }
        self.0.quiescent(reader);
        done
    }

    /// Calls `step` until told to stop, and publishes the count after each call.
    #[inline(always)]
    fn until(stop: &AtomicBool, tally: &AtomicU64, mut step: impl FnMut()) {
        let mut done = 0;
        while !stop.load(Ordering::Relaxed) {
            step();
            done += 1;
            tally.store(done, Ordering::Relaxed);
        }
    }
}

impl<S: Scheme> Stage for Running<S> {
    fn section(&self, n: u64, alignment: u32) -> Duration {
        let batch = match alignment % ALIGNMENTS {
            0 => Self::batch::<0>,
            1 => Self::batch::<1>,
            2 => Self::batch::<2>,
            _ => Self::batch::<3>,
        };
        let mut reader = self.0.reader();
        self.0.section(&mut reader, Node::look);
        let began = Instant::now();
        for _ in 0..n.div_ceil(BATCH) {
            batch(self, &mut reader);
        }
        began.elapsed()
    }

    fn read(&self, stop: &AtomicBool, tally: &AtomicU64) {
        let mut reader = self.0.reader();
        let mut done = 0;
        while !stop.load(Ordering::Relaxed) {
            done = self.job::<0>(&mut reader, stop, tally, done);
            done = self.job::<1>(&mut reader, stop, tally, done);
            done = self.job::<2>(&mut reader, stop, tally, done);
            done = self.job::<3>(&mut reader, stop, tally, done);
        }
    }

    fn dwell(&self, stop: &AtomicBool, tally: &AtomicU64, inside: Duration) {
        let mut reader = self.0.reader();
        Self::until(stop, tally, || {
            self.0.section(&mut reader, |node| {
                let until = Instant::now() + inside;
                while Instant::now() < until {}
                node.look();
            });
            self.0.quiescent(&mut reader);
        });
    }

    fn write(&self, stop: &AtomicBool, tally: &AtomicU64) {
        let mut writer = self.0.writer();
        Self::until(stop, tally, || self.0.replace(&mut writer));
    }

    fn retire(&self, stop: &AtomicBool, tally: &AtomicU64) {
        let mut writer = self.0.writer();
        Self::until(stop, tally, || self.0.retire(&mut writer));
    }

    fn retire_one(&self) {
        self.0.retire(&mut self.0.writer());
    }

    fn hold(&self, during: &mut dyn FnMut()) {
        let mut reader = self.0.reader();
        self.0.section(&mut reader, |node| {
            during();
            node.look();
        });
    }

    fn rest(&self, during: &mut dyn FnMut()) {
        let mut reader = self.0.reader();
        self.0.section(&mut reader, Node::look);
        self.0.rest(&mut reader, during);
    }

    fn synchronize(&self) {
        self.0.synchronize();
    }

    fn barrier(&self) {
        self.0.barrier();
    }
}
