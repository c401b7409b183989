//! How long somebody who must wait looks again before he sleeps: a while on the processor, then a few times having given
//! it away, since whoever holds the lock may need this very processor.
//!
//! A sleep and a wake cost some 50 microseconds on a busy machine; most locks are held for less than one.

use crate::atomic::{looks, spin_hint};
use crate::futex::Futex;

/// Rounds of looking; each looks half as often as the next.
const SPINS: u32 = looks(7);
/// Looks with a yield between.
const YIELDS: u32 = looks(8);

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
            F::yield_now();
        }
        self.0 += 1;
        true
    }
}
