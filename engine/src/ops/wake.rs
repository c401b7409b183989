//! WAKE and WAKE_BITSET. A wake that finds no waiter takes no lock: it loads the bucket's lock
//! word, whose filter has a bit for each word that a thread waits for or is about to wait for.
//!
//! # Pair W
//! The pair that keeps such a wake from being lost. The waiter is a thread in `Call::enter`, or a
//! requeue, which queues for others.
//!
//! ```text
//!    processor of the waiter                       processor of the waker
//!    -----------------------                       ----------------------
//!    exchange: lock word |= taken + filter bit     store the futex word (the program)
//!    full fence                                    full fence
//!    load the futex word                           load the lock word
//!    as expected: queue, unlock, sleep             bit clear: return 0
//!    else: unlock without the bit, return          bit set: take the lock, wake
//! ```
//!
//! - If the waiter's fence comes first, the waker's load sees the filter bit. The waker takes the
//!   lock, after the waiter has released it, and finds the waiter in the list, or the waiter has
//!   decided not to sleep.
//! - If the waker's fence comes first, the waiter's load sees the new value, and the waiter does
//!   not sleep.
//!
//! Without either fence both loads may be stale: the wake returns 0, and the waiter sleeps forever.
//! Where the waiter's lock word is one of a larger table, the waker's has the migrated bit, or the
//! waker's fence came first.

use crate::atomic::{Ordering, fence, prefetch};
use crate::mutant::{mutated, step};
use crate::ops::call::Call;
use crate::ops::cutoff::Cutoff;
use crate::table::Table;
use crate::table::key::Key;
use crate::table::lock_word;
use crate::table::space::{PrivateTable, TablePin};
use crate::waiter::wake_queue::{ChosenWaiter, WakeQueue};
use crate::{Access, Address, Engine, Errno, Host, Node, Scope, Size, Word};

impl<H: Host> Engine<H> {
    /// Wakes up to `count` of the word's waiters that have a bit of `bitset` in common with the
    /// wake: the most urgent first, and among equals the one that has waited longest. Returns how
    /// many were woken. The word is not read, and its memory may be gone. Of its address all
    /// waiters are woken, also those that wait there for a word of another size.
    ///
    /// Memory ordering: a full fence comes first, also where no thread waits. What happens before
    /// the wake happens before the return of the waiters that it wakes.
    ///
    /// Where the host [defers](Host::defer_wake) the wake, because a signal handler interrupted its
    /// own thread while that holds a lock, the answer is 0.
    ///
    /// # Cost
    /// If no thread waits in the bucket for a word with the same filter bit: a fence and a load,
    /// and no lock. Otherwise one lock for each 16 woken, held for at most one pass over the
    /// bucket's waiters, and for a second pass if it finds none. Waiters that come after the call
    /// began are not woken, so it ends.
    ///
    /// # Errors
    /// `EINVAL`: a bitset of 0, a misaligned word, one whose size the host does not
    /// [serve](Host::serves), or one that is a lock with priority inheritance for which threads
    /// wait. `EFAULT`: a shared word that is not accessible; a private word that is not has no
    /// waiters.
    pub fn wake(&self, host: &H, word: Word, count: u32, bitset: u32) -> Result<u32, Errno> {
        if bitset == 0 {
            return Err(Errno::EINVAL);
        }
        let call = Call::new(self, host);
        if word.scope == Scope::Private && word.node == Node::Hashed && word.size == Size::U32 {
            call.check(&word)?;
            if let PrivateTable::Present(table) = call.space.private_table() {
                // Arguments go by value: where no thread waits, nothing of the call is stored to
                // memory, which the fence would wait for.
                let deserted = call.is_deserted_at(table, word.address);
                return if deserted { Ok(0) } else { self.wake_private(host, table, word.address, count, bitset) };
            }
        }
        self.wake_elsewhere(host, word, count, bitset)
    }

    /// Wakes waiters of a private word, whose space has a table and whose filter bit is set.
    #[cold]
    #[inline(never)]
    fn wake_private(&self, host: &H, table: &Table<H>, address: Address, count: u32, bits: u32) -> Result<u32, Errno> {
        if host.defer_wake(self, Word::private(address), count, bits) {
            return Ok(0);
        }
        let call = Call::new(self, host);
        let key = Key::private(call.space.number(), address);
        if count == 1 {
            call.wake_one(Some(TablePin::Private(table)), &key, bits)
        } else {
            call.wake_some(&key, count, bits, None, 0)
        }
    }

    /// Wakes waiters of any other word: a shared one, one that names a node, one of another size
    /// than 32 bits, or one whose space has no table yet.
    #[inline(never)]
    fn wake_elsewhere(&self, host: &H, word: Word, count: u32, bits: u32) -> Result<u32, Errno> {
        let call = Call::new(self, host);
        let key = call.key(word, Access::Read)?;
        if call.is_deserted(&key) || host.defer_wake(self, word, count, bits) {
            return Ok(0);
        }
        call.wake_there(&key, count, bits)
    }
}

impl<H: Host> Call<'_, H> {
    /// Wakes waiters by their key; returns how many.
    pub(crate) fn wake(&self, key: &Key, count: u32, bits: u32) -> Result<u32, Errno> {
        if self.is_deserted(key) { Ok(0) } else { self.wake_there(key, count, bits) }
    }

    /// Wakes waiters by their key, after the filter said that there may be some.
    #[inline(never)]
    fn wake_there(&self, key: &Key, count: u32, bits: u32) -> Result<u32, Errno> {
        if count == 1 {
            self.wake_one(self.pin_table(key), key, bits)
        } else {
            self.wake_some(key, count, bits, None, 0)
        }
    }

    /// Wakes at most one waiter.
    #[inline(always)]
    fn wake_one(&self, pin: Option<TablePin<'_, H>>, key: &Key, bits: u32) -> Result<u32, Errno> {
        // Declared before the lock is taken: if a host callback panics, the lock is released first,
        // and then the waiter is unparked.
        let mut one = ChosenWaiter::none(self.host);
        let mut held = self.lock_pinned(pin, key);
        let woken = held.locked.wake_one(key, bits).map(|chosen| one.choose(chosen));
        if mutated!(unpark_inside) {
            one.unpark();
        }
        drop(held);
        one.unpark();
        woken
    }

    /// Returns true if no thread waits for a key. Has the waker's fence, and takes no lock. Returns
    /// false also where only the holder of the lock can tell.
    #[inline]
    fn is_deserted(&self, key: &Key) -> bool {
        // Pair W, the waker's half, between the program's store to the futex word and the load of
        // the lock word (and of the pointers that lead there).
        // - If our fence comes first, the waiter's load sees the store, and the waiter does not
        //   sleep.
        // - If the waiter's fence comes first, we see its filter bit, or the migrated bit of a
        //   table that has been replaced, and take the lock.
        step!(wake_fence, fence(Ordering::SeqCst));
        let (table, hash) = self.table(key);
        table.lock_word(hash as usize).is_deserted(lock_word::filter_bit(hash))
    }

    /// Returns true if no thread waits for a private word, in the space's own `table`; with the
    /// waker's fence, like [`is_deserted`](Self::is_deserted). What is loaded before the fence does
    /// not change. The call need not ask again which table serves: a table that has been replaced
    /// has the migrated bit in its lock words.
    #[inline(always)]
    fn is_deserted_at(&self, table: &Table<H>, address: Address) -> bool {
        let (view, spread) = (table.view(), self.space.spread());
        // Pair W, the waker's half, as in `is_deserted`:
        // - if our fence comes first, the waiter sees the store to the futex word, and does not
        //   sleep;
        // - if the waiter's fence comes first, we see its filter bit, or the migrated bit of this
        //   table.
        step!(wake_fence_own, fence(Ordering::SeqCst));
        let hash = spread.hash_behind(address);
        view.lock_word(hash as usize).is_deserted(lock_word::filter_bit(hash))
    }

    /// Wakes one waiter by each key, in their order; returns how many. The words were stored to
    /// before, so one fence serves for all, and the cache lines of their lock words are fetched
    /// together. A key for which a thread waits with priority inheritance is passed over. `next` is
    /// the first key that was not begun with, also where the host panicked.
    pub(crate) fn wake_each(&self, keys: &[Key], next: &mut usize) -> u32 {
        let lock_word = |key: &Key| {
            let (table, hash) = self.table(key);
            (table.lock_word(hash as usize), lock_word::filter_bit(hash))
        };
        keys.iter().for_each(|key| prefetch(lock_word(key).0));
        if keys.is_empty() {
            return 0;
        }
        // Pair W, the waker's half, as in `is_deserted`, once for all keys:
        // - if our fence comes first, a waiter of any of the words sees that it was marked, and
        //   does not sleep;
        // - if the waiter's fence comes first, we see its filter bit, and take the lock.
        step!(wake_fence, fence(Ordering::SeqCst));
        let wake = |key: &Key| {
            let (lock_word, filter_bit) = lock_word(key);
            if lock_word.is_deserted(filter_bit) { 0 } else { self.wake_some(key, 1, u32::MAX, None, 0).unwrap_or(0) }
        };
        let mut woken = 0;
        while let Some(key) = keys.get(*next) {
            *next += 1;
            woken += wake(key);
        }
        woken
    }

    /// Wakes waiters until `count` are woken, of which `woken` were before this call; returns the
    /// new number. The call's waiters are those within `cutoff`, or, without one, those that are
    /// queued now.
    #[cold]
    #[inline(never)]
    pub(crate) fn wake_some(
        &self,
        key: &Key,
        count: u32,
        bits: u32,
        cutoff: Option<Cutoff>,
        woken: u32,
    ) -> Result<u32, Errno> {
        let mut cutoff = cutoff;
        let mut woken = woken;
        let mut wake_queue = WakeQueue::new(self.host);
        while woken < count {
            let mut held = self.lock(key);
            let now = held.cutoff(key);
            // The first hold decides which waiters are this call's.
            let begun = *cutoff.get_or_insert(now);
            // The key is in another table by now, with other sequence numbers: no waiter of the
            // first table is left.
            if !begun.goes_on(now) {
                drop(held);
                wake_queue.unpark(false);
                break;
            }
            let more = held.locked.wake(key, bits, count - woken, begun.below, |handle| wake_queue.push(handle));
            if mutated!(unpark_inside) {
                wake_queue.unpark(true);
            }
            // Unparked without the lock: the host's code and the executors' run here.
            drop(held);
            let full = wake_queue.unpark(more.is_ok_and(|more| more < count - woken));
            // A waiter of another kind ends the call. Those before it were woken.
            woken += more?;
            // Room was left in the queue: the list had no more waiters for this call, or enough
            // were woken.
            if !full {
                break;
            }
        }
        Ok(woken)
    }
}
