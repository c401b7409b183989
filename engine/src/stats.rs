//! What a store did, for tests and operators: counted under the buckets' locks, so that counting
//! costs no line of its own.

use crate::table::Table;
use crate::table::space::PrivateTable;
use crate::{Host, Space};

/// What a store (a space's own, or the engine's global one) did since it was made.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Stats {
    /// Waits that were queued in it.
    pub queued: u64,
    /// Times that one of its locks was taken.
    pub locked: u64,
    /// Waiters that are in it.
    pub waiters: u64,
    /// Buckets that serve.
    pub buckets: usize,
    /// Bytes of its tables, those that were replaced included.
    pub bytes: usize,
    /// Times that there was no memory for a larger table.
    pub refused: u64,
}

impl Stats {
    /// Adds what a table did, and those that it replaced.
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
            // The look itself is not counted.
            list.locked -= 1;
            self.queued += list.queued;
            self.locked += list.locked;
            self.waiters += list.waiters as u64;
        }
    }
}

impl<H: Host> Space<H> {
    /// What its own table did. Takes each bucket's lock in turn.
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
