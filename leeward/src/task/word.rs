//! The word of [`Permits`](super::permits::Permits): how many are free, and whether a task waits.
//!
//! | bits | meaning |
//! |---|---|
//! | 0 | waiting: a task may be queued. Then the word changes under the queue's lock only |
//! | 1 | closed: no task gets a permit any more |
//! | 2 | single: one permit at most is free. It never changes |
//! | 3- | free permits; none while a task waits |

use crate::mutant::check;

/// A task may be queued.
pub(super) const WAITING: usize = 1;
/// No task gets a permit any more.
pub(super) const CLOSED: usize = 2;
/// One permit at most is free: what is given beyond it is gone.
pub(super) const SINGLE: usize = 4;
/// One permit in the word.
pub(super) const ONE: usize = 8;
/// The greatest number of permits: all that the word has place for.
pub(super) const MOST: usize = usize::MAX >> 3;

/// Returns the word with more free permits, unless they would be more than `MOST`.
#[inline]
pub(super) const fn plus(state: usize, count: usize) -> Option<usize> {
    let Some(more) = count.checked_mul(ONE) else { return None };
    // A sum that is too great for the word is one of more than `MOST`.
    state.checked_add(more)
}

/// Returns the word with more free permits, as many as there may be at most.
#[inline]
pub(super) fn more(state: usize, count: usize) -> usize {
    let most = if check!(notify_one_at_most, state & SINGLE != 0) { 1 } else { MOST };
    let free = (state / ONE).saturating_add(count).min(most);
    (state & (ONE - 1)) | (free * ONE)
}
