//! The selection of waiters of a locked bucket by key: to be woken, or to be moved to another key.
//! Used by the wakes and the requeues.

use core::ptr::NonNull;

use crate::mutant::mutated;
use crate::table::key::Key;
use crate::table::locked::LockedBucket;
use crate::waiter::{Waiter, Woken};
use crate::{Errno, Host};

impl<H: Host> LockedBucket<'_, H> {
    /// Wakes the first waiter with that key and a bit of `bits`, as [`wake`](Self::wake) does.
    #[inline(always)]
    pub(crate) fn wake_one(&mut self, key: &Key, bits: u32) -> Result<Option<Woken<H>>, Errno> {
        let list = self.list();
        let (mut cursor, mut taken) = (list.head, 0);
        let end = loop {
            match list.choose(cursor, key, bits, u64::MAX) {
                Ok(Some((node, next))) => {
                    taken += 1;
                    if let Some(woken) = list.claim(node, bits) {
                        break Ok(Some(woken));
                    }
                    cursor = next;
                }
                Ok(None) => break Ok(None),
                Err(errno) => break Err(errno),
            }
        };
        if taken != 0 {
            self.discharge(key, taken);
        } else if end.is_ok() {
            self.rebuild_filter();
        }
        end
    }

    /// Wakes up to `most` waiters with that key, a bit of `bits`, and a sequence number below
    /// `cutoff`. `take` gets each of them, and returns true if there is room for another. Returns
    /// how many. If none is found, the filter is rebuilt, so that the next wake finds that out by
    /// the filter.
    ///
    /// # Errors
    /// `EINVAL` at a waiter for a lock that inherits priorities, which is not to be woken so.
    #[inline]
    pub(crate) fn wake(
        &mut self,
        key: &Key,
        bits: u32,
        most: u32,
        cutoff: u64,
        mut take: impl FnMut(Woken<H>) -> bool,
    ) -> Result<u32, Errno> {
        let (mut woken, mut taken) = (0, 0);
        let list = self.list();
        let mut cursor = list.head;
        let mut room = true;
        let end = loop {
            if woken == most || !room {
                break Ok(false);
            }
            let (node, next) = match list.choose(cursor, key, bits, cutoff) {
                Ok(Some(found)) => found,
                Ok(None) => break Ok(true),
                Err(errno) => break Err(errno),
            };
            cursor = next;
            taken += 1;
            if let Some(chosen) = list.claim(node, bits) {
                room = take(chosen);
                woken += 1;
            }
        };
        if taken != 0 {
            self.discharge(key, taken);
        } else if end == Ok(true) {
            self.rebuild_filter();
        }
        end.map(|_| woken)
    }

    /// Moves up to `most` waiters of `from` to another key, in this bucket or in that of `to`;
    /// returns how many. If the keys are equal, the waiters are counted and left where they are. It
    /// takes one pass over each list: both are sorted, so the moved waiters go to places ever
    /// further back.
    ///
    /// # Errors
    /// `EINVAL` as for [`wake`](Self::wake).
    pub(crate) fn requeue(
        &mut self,
        mut to: Option<&mut LockedBucket<'_, H>>,
        from: &Key,
        key: &Key,
        most: u32,
        cutoff: u64,
    ) -> Result<u32, Errno> {
        let mut moved = 0;
        let mut last = None;
        let mut cursor = self.list().head;
        while let Some(node) = cursor {
            if moved == most {
                break;
            }
            let list = self.list();
            let links = list.links(node);
            cursor = links.next;
            let inherits = links.inheriting().is_some();
            if links.key != *from || links.sequence >= cutoff || list.waiter(node).has_left() {
                continue;
            }
            if inherits {
                return Err(Errno::EINVAL);
            }
            moved += 1;
            if from == key {
                continue;
            }
            self.give(to.as_deref_mut(), node, key, &mut last);
        }
        Ok(moved)
    }

    /// Moves a waiter of this bucket to another key, in this bucket or in that of `to`, after the
    /// waiters that are there. `last` is the waiter that was moved before, under the same locks,
    /// and is no less urgent.
    pub(crate) fn give(
        &mut self,
        to: Option<&mut LockedBucket<'_, H>>,
        node: NonNull<Waiter<H>>,
        key: &Key,
        last: &mut Option<NonNull<Waiter<H>>>,
    ) {
        let filter_bit = if mutated!(requeue_filter_bit) { 0 } else { self.bucket_ref.bucket.plan().filter_bit(key) };
        let list = self.list();
        list.links(node).key = *key;
        if mutated!(requeue_bitset) {
            list.links(node).bitset = u32::MAX;
        }
        list.unlink(node);
        match to {
            // The waiter gets a sequence number above the cutoff: a loop over the list does not
            // meet it again as one of its old key.
            None => {
                self.enter(filter_bit, 0);
                self.append_after(last, node);
            }
            Some(to) => {
                to.enter(filter_bit, 1);
                to.append_after(last, node);
                self.exit(1);
            }
        }
    }
}
