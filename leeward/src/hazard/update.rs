//! Updates of a cell: its next value is made from the current one, which is protected meanwhile.

use super::cell::Cell;
use super::pointer::HazardPointer;
use super::retired::Retired;

impl<T: Send + 'static> Cell<T> {
    /// Publishes what `next` makes of the current value, again if another thread was quicker, and
    /// returns the old value. `hazard` protects the current value meanwhile, and nothing afterwards.
    ///
    /// ```
    /// use leeward::hazard::{Cell, HazardPointer};
    /// let counter = Cell::new(1);
    /// let mut hazard = HazardPointer::new();
    /// let old = counter.update(&mut hazard, |now| Some(now? + 1));
    /// assert_eq!(old.unwrap().try_into_inner().unwrap(), 1);
    /// assert_eq!(counter.into_inner(), Some(2));
    /// ```
    ///
    /// # Memory ordering
    /// As [`replace`](Self::replace).
    ///
    /// # Panics
    /// If `next` panics; the cell is as it was, and `hazard` protects what `next` was given.
    pub fn update(
        &self,
        hazard: &mut HazardPointer,
        mut next: impl FnMut(Option<&T>) -> Option<T>,
    ) -> Option<Retired<T>> {
        loop {
            let current = hazard.protect(self);
            let new = next(current);
            if let Ok(old) = self.compare_exchange(current, new) {
                hazard.reset_protection();
                return old;
            }
        }
    }
}
