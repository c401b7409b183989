//! What the tables of a space or of the engine did, for tests and operators. The counters lie in
//! the buckets and change under their locks, so that counting costs no cache line of its own.

use crate::table::Table;
use crate::table::space::PrivateTable;
use crate::{Host, Space};

/// What the tables of a space ([`Space::stats`]) or of an engine
/// ([`Engine::stats`](crate::Engine::stats)) did since they were made.
///
/// Reading it takes each bucket's lock in turn, so the numbers are not of one moment.
///
/// ```
/// use leeward_engine::parking::ParkingLot;
/// use std::sync::atomic::AtomicU32;
///
/// let lot = ParkingLot::new(2).unwrap();
/// lot.wait(&AtomicU32::new(1), 0, None);
/// // The word had changed, so no thread was queued, and no lock was taken.
/// let stats = lot.stats();
/// assert_eq!((stats.queued, stats.waiters, stats.locked), (0, 0, 0));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Stats {
    /// How many waiters were queued. A waiter that a requeue moves is not counted again.
    pub queued: u64,
    /// How often a lock of a bucket was taken.
    pub locked: u64,
    /// How many waiters are queued now.
    pub waiters: u64,
    /// How many buckets the table has that serves now.
    pub buckets: usize,
    /// How many bytes the tables take, those that were replaced included.
    pub bytes: usize,
    /// How often there was no memory for a larger table.
    pub refused: u64,
}

impl Stats {
    /// Adds what a table and the tables that it replaced did.
    pub(crate) fn add_tables<H: Host>(&mut self, table: &Table<H>, host: &H, space: &Space<H>) {
        let mut table = Some(table);
        while let Some(current) = table {
            self.add_table(current, host, space);
            table = current.older();
        }
    }

    fn add_table<H: Host>(&mut self, table: &Table<H>, host: &H, space: &Space<H>) {
        self.bytes += table.bytes();
        for bucket in table.buckets() {
            let mut locked = bucket.lock(host, space);
            let list = locked.list();
            // This look at the list does not count.
            list.locked -= 1;
            self.queued += list.queued;
            self.locked += list.locked;
            self.waiters += list.waiters as u64;
        }
    }
}

impl<H: Host> Space<H> {
    /// Returns what the space's private table did; all zero but [`Stats::refused`] while it has
    /// none. Takes each bucket's lock in turn.
    pub fn stats(&self, host: &H) -> Stats {
        let mut stats = Stats { refused: self.resize().refused(), ..Stats::default() };
        if let PrivateTable::Present(table) = self.private_table() {
            let table = table.newest();
            stats.buckets = table.len();
            stats.add_tables(table, host, self);
        }
        stats
    }
}
