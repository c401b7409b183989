//! How many nodes a table has, counted by each writer for itself.

use crate::atomic::{AtomicUsize, Ordering, const_fn};
use crate::writer::{Fresh, PerWriter, with_index};

/// What one writer added less what it removed, modulo the size of a word.
struct Count(AtomicUsize);

impl Fresh for Count {
    fn fresh() -> Count {
        Count(AtomicUsize::new(0))
    }
}

/// The counts of all writers.
pub(super) struct Counts(PerWriter<Count>);

impl Counts {
    const_fn! {
        pub(super) fn new() -> Counts {
            Counts(PerWriter::new())
        }
    }

    /// Counts one more, and returns the writer's count before.
    #[inline]
    pub(super) fn add(&self) -> usize {
        self.change(1)
    }

    /// Counts one less, and returns the writer's count before.
    #[inline]
    pub(super) fn subtract(&self) -> usize {
        self.change(usize::MAX)
    }

    #[inline]
    fn change(&self, by: usize) -> usize {
        with_index(|index| {
            let count = &self.0.get(index).0;
            // Relaxed, both: no other thread writes it meanwhile.
            let before = count.load(Ordering::Relaxed);
            count.store(before.wrapping_add(by), Ordering::Relaxed);
            before
        })
    }

    /// Returns the sum. A removal that is seen before its insertion shows as 0.
    pub(super) fn sum(&self) -> usize {
        // Relaxed: counts.
        let sum = self.0.iter().fold(0, |sum: usize, count| sum.wrapping_add(count.0.load(Ordering::Relaxed)));
        if sum > isize::MAX as usize { 0 } else { sum }
    }

    /// Sets the sum, in the child of a fork.
    pub(super) fn set(&self, sum: usize) {
        // Relaxed, both: no other thread of the child counts before.
        self.0.iter().for_each(|count| count.0.store(0, Ordering::Relaxed));
        self.0.get(0).0.store(sum, Ordering::Relaxed);
    }
}
