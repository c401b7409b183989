//! Which reads of a closed lock count for the others: one in sixteen, drawn by chance, so that a
//! thread that reads several locks in turn counts for each of them.
//!
//! After Donald Knuth's linear congruential generator of 32 bits, whose upper bits are good.

use crate::atomic::{AtomicU64, IS_MODEL, Ordering, const_fn, outside_model};

/// One read in this many is drawn on average; each is in a model.
pub(super) const DRAWN_IN: u32 = 1 + outside_model(15);

/// A thread's draws; written by that thread alone. Upper half: the generator's state; lower half:
/// how many calls lie before the next draw, that one included.
pub(super) struct Chance(AtomicU64);

impl Chance {
    const_fn! {
        pub(super) fn new() -> Self {
            Chance(AtomicU64::new(1 + DRAWN_IN as u64))
        }
    }

    /// Returns true once in sixteen calls on average; in a model, at each call.
    #[inline(always)]
    pub(super) fn is_drawn(&self) -> bool {
        if IS_MODEL {
            return true;
        }
        // Relaxed, both: the thread's own word.
        let left = self.0.load(Ordering::Relaxed).wrapping_sub(1);
        self.0.store(left, Ordering::Relaxed);
        let is_drawn = left as u32 == 0;
        if is_drawn {
            self.draw();
        }
        is_drawn
    }

    /// Draws how many calls lie before the next one that is drawn: 1 to 31.
    #[cold]
    #[inline(never)]
    fn draw(&self) {
        // Relaxed, both: the thread's own word.
        let state = (self.0.load(Ordering::Relaxed) >> 32).wrapping_mul(0x19_660d).wrapping_add(0x3c6e_f35f) << 32;
        self.0.store(state | (1 + (state >> 59) % 31), Ordering::Relaxed);
    }
}
