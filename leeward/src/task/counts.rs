//! The counts of a queue: of the permits that are with it, and not in its word, and of polls. Called
//! by `queue.rs` and, through it, by `permits.rs` and `hand_over.rs`.
//!
//! Permits are with a queue that were gathered for the first task, and those that tasks were handed
//! and did not come for.
//!
//! The queue's lock guards all numbers. Those of permits are core's atomics, also in a model, because
//! of a fork beside a thread that moves permits from one to the other: the copy has them in one at
//! most. What is taken away is stored first, and each addition is a release, so no copy has the
//! second store without the first. What is in neither at that moment is lost to the child.

use core::cell::Cell;
use core::sync::atomic::{AtomicU32, AtomicUsize};

use crate::atomic::Ordering;
use crate::mutant::mutated;

/// The counts of a queue.
pub(super) struct Counts {
    /// What the first task has so far.
    gathered: AtomicUsize,
    /// The sum of what was handed over, or less: what is beyond the greatest `u32` is not counted, and
    /// lost to the child of a fork.
    handed: AtomicU32,
    /// How often owners of nodes in the line were polled. It may wrap around.
    polls: Cell<u32>,
}

impl Counts {
    /// Returns counts of nothing.
    pub(super) const fn new() -> Counts {
        Counts { gathered: AtomicUsize::new(0), handed: AtomicU32::new(0), polls: Cell::new(0) }
    }

    /// Returns how many permits the first task has so far.
    #[inline]
    pub(super) fn gathered(&self) -> usize {
        // Relaxed: guarded by the lock.
        self.gathered.load(Ordering::Relaxed)
    }

    /// Adds permits to those of the first task; at most `most` in all.
    pub(super) fn gather(&self, count: usize, most: usize) {
        // Release: the head of the file.
        self.gathered.store(self.gathered().saturating_add(count).min(most), Ordering::Release);
    }

    /// Takes permits out of those of the first task, for good.
    pub(super) fn spend(&self, count: u32) {
        // Relaxed: guarded by the lock, as in each function here.
        self.gathered.store(self.gathered() - count as usize, Ordering::Relaxed);
    }

    /// Keeps gathered permits for the first task, whose node leaves the line.
    pub(super) fn hand(&self, count: u32) {
        self.spend(count);
        let handed = self.handed.load(Ordering::Relaxed).saturating_add(count);
        // Release: the head of the file.
        self.handed.store(handed, Ordering::Release);
    }

    /// Lets a task have what it was handed.
    pub(super) fn fetch(&self, count: u32) {
        self.handed.store(self.handed.load(Ordering::Relaxed).saturating_sub(count), Ordering::Relaxed);
    }

    /// Takes out what the first task had so far: there is none any more.
    pub(super) fn take_gathered(&self) -> usize {
        let gathered = self.gathered();
        self.gathered.store(0, Ordering::Relaxed);
        gathered
    }

    /// Takes out all there is.
    pub(super) fn take_all(&self) -> usize {
        let handed = self.handed.load(Ordering::Relaxed);
        self.handed.store(0, Ordering::Relaxed);
        let handed = if mutated!(task_forked_handed) { 0 } else { handed as usize };
        self.take_gathered().saturating_add(handed)
    }

    /// Returns how often owners of nodes in the line were polled.
    pub(super) fn polls(&self) -> u32 {
        self.polls.get()
    }

    /// Counts a poll. Returns its number.
    pub(super) fn poll(&self) -> u32 {
        self.polls.set(self.polls.get().wrapping_add(1));
        self.polls.get()
    }
}
