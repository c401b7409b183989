//! What a writer does with a locked list by a cursor.

use core::cmp;

use super::cursor::Cursor;
use super::locked::Locked;
use super::retired::Retired;
use crate::rcu::Domain;

impl<'l, T, D: Domain> Locked<'l, T, D> {
    /// Returns a cursor at the first value.
    pub fn cursor_front(&mut self) -> Cursor<'_, 'l, T, D> {
        let mut cursor = Cursor::new(self);
        cursor.move_next();
        cursor
    }

    /// Returns a cursor at the last value.
    pub fn cursor_back(&mut self) -> Cursor<'_, 'l, T, D> {
        let mut cursor = Cursor::new(self);
        cursor.move_prev();
        cursor
    }

    /// Takes the first value out, and returns it.
    pub fn pop_front(&mut self) -> Option<Retired<'l, T, D>> {
        self.cursor_front().remove_current()
    }

    /// Takes the last value out, and returns it.
    pub fn pop_back(&mut self) -> Option<Retired<'l, T, D>> {
        self.cursor_back().remove_current()
    }

    /// Adds a value before the first one that is greater, as `compare` says, which is given the value
    /// that is there first and the new one second; at the end, if there is none. A list whose values
    /// all came by this is sorted, and equal values are in the order in which they came.
    ///
    /// ```
    /// let list = leeward::collect::List::new();
    /// for number in [3, 1, 2] {
    ///     list.lock().insert_sorted_by(number, u32::cmp);
    /// }
    /// assert!(list.into_iter().eq([1, 2, 3]));
    /// ```
    pub fn insert_sorted_by(&mut self, value: T, mut compare: impl FnMut(&T, &T) -> cmp::Ordering) {
        let mut cursor = self.cursor_front();
        cursor.seek(|there| compare(there, &value).is_gt());
        cursor.insert_before(value);
    }

    /// Takes out the values for which `keeps` returns false, in order.
    ///
    /// # Panics
    /// If `keeps` does: those that were looked at before are done with.
    pub fn retain(&mut self, mut keeps: impl FnMut(&T) -> bool) {
        let mut cursor = self.cursor_front();
        while let Some(value) = cursor.current() {
            if keeps(value) {
                cursor.move_next();
            } else {
                drop(cursor.remove_current());
            }
        }
    }
}
