//! The migration of a table's waiters into a larger one: bucket by bucket, each under its lock.
//! `resize` says when.

use core::ptr::NonNull;

use crate::mutant::step;
use crate::table::Table;
use crate::table::locked::LockedBucket;
use crate::table::plan::{self, Plan};
use crate::table::space::PrivateTable;
use crate::{Host, Nodes, Space};

impl<H: Host> Space<H> {
    /// Makes sure that the private table has at least `len` buckets, if there is memory, no other
    /// thread resizes it, and no waiter or call uses the global table for the space. Waits and
    /// wakes go on meanwhile.
    pub(crate) fn fit(&self, host: &H, len: usize) {
        let enough = match self.private_table() {
            PrivateTable::Present(table) => table.len() >= len,
            // Users of the global table keep the space there.
            PrivateTable::Absent(users) => users != 0,
        };
        if !enough {
            self.enlarge(host, len, false);
        }
    }

    /// Makes a private table of `len` buckets, unless it has as many by now. Its lock words lie
    /// side by side if `dense`.
    pub(crate) fn enlarge(&self, host: &H, len: usize, dense: bool) {
        self.resize().alone(|| match self.private_table() {
            PrivateTable::Present(table) if table.len() >= len => true,
            PrivateTable::Present(old) => {
                let new = replace(host, self, self.memory(), old, len, dense);
                if let Some(new) = new {
                    self.adopt(new);
                }
                new.is_some()
            }
            PrivateTable::Absent(_) => {
                let node = host.nodes().map(Nodes::local);
                let plan = Plan { len, dense, node, rank: plan::PRIVATE, seed: self.seed() };
                let new = Table::allocate(self.memory(), plan, None);
                if let Some(new) = new.filter(|&new| !self.adopt_first(new)) {
                    // SAFETY: ours, and no other thread has seen it.
                    unsafe { Table::free(new, self.memory()) };
                }
                new.is_some()
            }
        });
    }
}

/// Makes a table that takes over from `old`; returns none if there is no memory. If there is a
/// successor already, the host panicked while waiters migrated to it: the rest of them goes there.
pub(crate) fn replace<H: Host>(
    host: &H,
    space: &Space<H>,
    memory: &H::Memory,
    old: &Table<H>,
    len: usize,
    dense: bool,
) -> Option<NonNull<Table<H>>> {
    if let Some(new) = old.next() {
        migrate(host, space, old, new);
        return Some(new.block());
    }
    let plan = Plan { len, dense, rank: old.plan().rank + 1, ..*old.plan() };
    let new = Table::allocate(memory, plan, Some(old.block()))?;
    old.set_next(new);
    // SAFETY: freed with the old one, which is borrowed.
    migrate(host, space, old, unsafe { new.as_ref() });
    Some(new)
}

/// Moves the waiters of `old` to its successor, bucket by bucket. A thread that comes meanwhile
/// finds a bucket as it was, or closed, and then goes to the successor. So each key has one bucket
/// at any time, and no thread waits for more than a bucket's lock.
fn migrate<H: Host>(host: &H, space: &Space<H>, old: &Table<H>, new: &Table<H>) {
    for (i, bucket) in old.buckets().enumerate() {
        let mut from = bucket.lock(host, space);
        if from.filter().has_migrated() {
            continue;
        }
        // The cutoff of a wake that takes locks several times is a sequence number: they must not
        // go back.
        for j in (i..new.len()).step_by(old.len()) {
            let mut to = new.bucket(j).lock(host, space);
            step!(sequence_moves, to.list().next_sequence = from.list().next_sequence);
        }
        Migration::run(from, new, host, space);
    }
}

/// A migration of one bucket. All of its waiters arrive, also where a callback of the host panics
/// meanwhile: with some here and some there, a key would have two buckets.
pub(crate) struct Migration<'a, H: Host> {
    from: LockedBucket<'a, H>,
    to: &'a Table<H>,
    host: &'a H,
    space: &'a Space<H>,
    closed: bool,
}

impl<'a, H: Host> Migration<'a, H> {
    /// Moves the waiters of a bucket to another table, and sets the migrated bit.
    pub(crate) fn run(from: LockedBucket<'a, H>, to: &'a Table<H>, host: &'a H, space: &'a Space<H>) {
        Migration { from, to, host, space, closed: false }.finish();
    }

    fn finish(&mut self) {
        while let Some(key) = self.from.list().first_key() {
            let mut to = self.to.bucket_ref(key.hash(self.to.plan().seed)).lock(self.host, self.space);
            // No callback comes between the two: a waiter is in one list or the other.
            if let Some(node) = self.from.pop() {
                to.adopt(node);
            }
        }
        if !self.closed {
            self.from.close();
            self.closed = true;
        }
    }
}

impl<H: Host> Drop for Migration<'_, H> {
    fn drop(&mut self) {
        // Does something only if a callback of the host unwound. A panic here is a double panic and
        // aborts.
        step!(migrate_rest, self.finish());
    }
}
