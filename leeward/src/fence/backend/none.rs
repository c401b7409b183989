//! The strategy of platforms without membarrier, and of loom: both halves are full fences. Chosen
//! at compile time.

use core::sync::atomic::AtomicU64;

use super::counters::Counters;
use super::strategy::{Error, Strategy};
use crate::atomic::{Ordering, fence};

/// The number of heavy fences.
static ISSUED: AtomicU64 = AtomicU64::new(0);

/// Executes a full fence.
#[inline(always)]
pub(super) fn light() {
    // SeqCst: partner of the fences in `heavy`.
    fence(Ordering::SeqCst);
}

/// Executes a heavy fence, which is a full one here, and counts it.
pub(super) fn run() -> Result<(), Error> {
    // SeqCst: partner of the fences in `light`.
    fence(Ordering::SeqCst);
    // Relaxed: a count.
    ISSUED.fetch_add(1, Ordering::Relaxed);
    Ok(())
}

pub(super) fn init() -> Result<Strategy, Error> {
    Ok(Strategy::Symmetric)
}

/// Returns true: a full fence is always possible.
pub(super) fn is_possible() -> bool {
    true
}

pub(super) fn chosen() -> Option<Strategy> {
    Some(Strategy::Symmetric)
}

pub(super) fn force(strategy: Strategy) -> Result<(), Error> {
    match strategy {
        Strategy::Symmetric => Ok(()),
        other => Err(Error::Refused(other)),
    }
}

pub(super) fn counters() -> Counters {
    // Relaxed: a count.
    Counters { symmetric: ISSUED.load(Ordering::Relaxed), ..Counters::default() }
}
