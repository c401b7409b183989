//! The lock of a line: a bit of its word. A writer that waits for it spins a little, marks the
//! word, and sleeps in one of the table's rooms.
//!
//! ```text
//! a writer that waits                         the writer that has the lock
//! marks the word                              publishes its word, and finds the mark
//! loads the room's count (Acquire)            adds 1 to the room's count (Release)
//! loads the word: still locked and marked?    wakes the room
//! sleeps if the count is still the same
//! ```
//! If the count is loaded before the addition, the sleep returns at once, or the wake finds the
//! sleeper. If it is loaded after, the word's change is seen, and there is no sleep.

use super::line::{LineLock, Tags};
use super::storage::Table;
use super::{RawTable, TableNode};
use crate::atomic::Ordering;
use crate::futex::{self, Private, Timeout};
use crate::mutant::{mutated, step};
use crate::raw::spin_budget::SpinBudget;

/// The nodes of the line are in the next table.
pub(super) struct Moved;

impl<N: TableNode> RawTable<N> {
    /// Locks the line `index`, and returns its word. What the caller does until `publish` is short:
    /// other writers wait.
    #[inline]
    pub(super) fn lock(&self, table: &Table, index: usize) -> Result<Tags, Moved> {
        let line = table.line(index as u64);
        match line.try_lock(false) {
            LineLock::Yes(tags) => Ok(tags),
            LineLock::Moved => Err(Moved),
            LineLock::Waits => self.lock_contended(table, index),
        }
    }

    #[cold]
    #[inline(never)]
    fn lock_contended(&self, table: &Table, index: usize) -> Result<Tags, Moved> {
        let line = table.line(index as u64);
        let mut budget = SpinBudget::for_lock(Timeout::Never);
        loop {
            let sleeps = !budget.pause::<Private>();
            match line.try_lock(sleeps) {
                LineLock::Yes(tags) => return Ok(tags),
                LineLock::Moved => return Err(Moved),
                LineLock::Waits if sleeps => {
                    let room = &self.rooms[index % self.rooms.len()];
                    // Acquire: partner of the release in `publish`.
                    let count = room.load(Ordering::Acquire);
                    if mutated!(map_lock_recheck) || line.is_awaited() {
                        futex::wait(room, count, Timeout::Never);
                    }
                }
                LineLock::Waits => {}
            }
        }
    }

    /// Publishes the line's word and unlocks it.
    #[inline]
    pub(super) fn publish(&self, table: &Table, index: usize, tags: Tags) {
        if table.line(index as u64).publish(tags) {
            let room = &self.rooms[index % self.rooms.len()];
            // Release: the word's change. Partner: the acquire in `lock_contended`.
            step!(map_room_count, room.fetch_add(1, Ordering::Release));
            step!(map_room_wake, futex::wake(room, futex::ALL));
        }
    }
}
