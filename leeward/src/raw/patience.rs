//! How long somebody who must wait looks again before he sleeps: a little on the processor, then having given it away, since
//! whoever holds the lock may need this very processor. Each look costs the holder the lock's cache line, so the next
//! comes after twice as long.
//!
//! A sleep and a wake cost some 50 microseconds on a busy machine, all of this about 7; most locks are held for less than one.

use crate::atomic::{looks, spin_hint};
use crate::futex::Futex;

/// Looks after 1, 2 and 4 pauses. Twice as many, to 64, cost half of the rate at which eight threads lock on two processors.
const SPINS: u32 = looks(3);
/// Looks after 1, 2, 4 and 8 yields. One yield a time, seven times, gave nine tenths of this rate.
const YIELDS: u32 = looks(4);

/// Of who waits for another thread's word rather than for a lock: yields, with a look after each. Where the two share a processor, the first hands it over.
const HAND_OVER_YIELDS: u32 = looks(4);

/// What is left of it.
pub(crate) struct Patience(u32);

impl Patience {
    pub(crate) const fn new() -> Patience {
        Patience(0)
    }

    /// Waits a little; false when it is time to sleep.
    pub(crate) fn pause<F: Futex>(&mut self) -> bool {
        if self.0 >= SPINS + YIELDS {
            return false;
        }
        if self.0 < SPINS {
            (0..1_u32 << self.0).for_each(|_| spin_hint());
        } else {
            (0..1_u32 << (self.0 - SPINS)).for_each(|_| F::yield_now());
        }
        self.0 += 1;
        true
    }

    /// Waits a little for another thread to do something; false when it is time to sleep.
    pub(crate) fn pause_for_hand_over<F: Futex>(&mut self) -> bool {
        if self.0 >= SPINS + HAND_OVER_YIELDS {
            return false;
        }
        if self.0 < SPINS {
            (0..1_u32 << self.0).for_each(|_| spin_hint());
        } else {
            F::yield_now();
        }
        self.0 += 1;
        true
    }
}
