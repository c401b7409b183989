//! One bucket's waiters on their way into a larger table, under its lock.

use crate::mutant::mutated;
use crate::table::Table;
use crate::table::bucket::Locked;
use crate::{Host, Space};

/// A bucket that is being emptied. Its waiters arrive all, also where a callback of the host's panics meanwhile: with some here and some there, a key
/// would have two buckets.
pub(crate) struct Moving<'a, H: Host> {
    from: Locked<'a, H>,
    to: &'a Table<H>,
    host: &'a H,
    space: &'a Space<H>,
    closed: bool,
}

impl<'a, H: Host> Moving<'a, H> {
    /// Moves the waiters of a bucket to another table, and marks it as moved.
    pub(crate) fn run(from: Locked<'a, H>, to: &'a Table<H>, host: &'a H, space: &'a Space<H>) {
        Moving { from, to, host, space, closed: false }.finish();
    }

    fn finish(&mut self) {
        while let Some(key) = self.from.chain().first_key() {
            let mut to = self.to.spot(key.hash(self.to.plan().seed)).lock(self.host, self.space);
            // No callback between the two: a waiter is in one list or the other.
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

impl<H: Host> Drop for Moving<'_, H> {
    fn drop(&mut self) {
        // Does something where the host panicked; then a second panic aborts.
        if !mutated!(move_rest) {
            self.finish();
        }
    }
}
