//! The word of [`Permits`](super::permits::Permits): how many are free, and whether a task waits.
//!
//! | bits | meaning |
//! |---|---|
//! | 0 | waiting: a task may be queued. Then the word changes under the queue's lock only |
//! | 1 | closed: no task gets a permit any more |
//! | 2- | free permits; none while a task waits |

/// A task may be queued.
pub(super) const WAITING: usize = 1;
/// No task gets a permit any more.
pub(super) const CLOSED: usize = 2;
/// One permit in the word.
pub(super) const ONE: usize = 4;
/// The greatest number of permits.
pub(super) const MOST: usize = usize::MAX >> 3;

/// Returns the word with more free permits, unless they would be more than `MOST`.
#[inline]
pub(super) const fn plus(state: usize, count: usize) -> Option<usize> {
    let Some(more) = count.checked_mul(ONE) else { return None };
    match state.checked_add(more) {
        Some(next) if next < (MOST + 1) * ONE => Some(next),
        _ => None,
    }
}

/// Returns the word with more free permits, at most `MOST`.
#[inline]
pub(super) const fn more(state: usize, count: usize) -> usize {
    let sum = (state / ONE).saturating_add(count);
    let free = if sum > MOST { MOST } else { sum };
    (state & (ONE - 1)) | (free * ONE)
}
