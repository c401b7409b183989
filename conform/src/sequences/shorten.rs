//! Makes a sequence that fails as short as it gets, by leaving out steps.
//!
//! The file uses core alone: the tests of leeward include it by its path.

use core::ops::Range;

/// A sequence of which some steps can be left out.
pub trait Steps: Sized {
    /// Returns how many steps there are.
    fn count(&self) -> usize;

    /// Returns the sequence without the steps at these places.
    fn without(&self, places: Range<usize>) -> Self;
}

/// Returns a sequence that fails without the steps that the failure does not need. One step stays at least; of
/// several, none can be left out alone: `fails` returns false then.
pub fn shortened<S: Steps>(mut sequence: S, fails: &mut dyn FnMut(&S) -> bool) -> S {
    let mut size = sequence.count();
    // First many steps at once, at last one.
    while size > 1 {
        size = size.div_ceil(2);
        while leave_out(&mut sequence, size, fails) {}
    }
    sequence
}

/// Leaves out `size` steps that stand together, wherever the sequence still fails. Returns true if it did so.
fn leave_out<S: Steps>(sequence: &mut S, size: usize, fails: &mut dyn FnMut(&S) -> bool) -> bool {
    let before = sequence.count();
    // From the end on: what comes after the failure goes first.
    for first in (0..before).rev() {
        let count = sequence.count();
        if size < count && first + size <= count {
            let fewer = sequence.without(first..first + size);
            if fails(&fewer) {
                *sequence = fewer;
            }
        }
    }
    sequence.count() < before
}
