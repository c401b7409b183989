//! One shard: a hash table behind an asymmetric readers-writer lock that knows when a thread would
//! wait for itself.
//!
//! A thread that reads a shard shows that in one of its slots (`RawRwLock::is_read_here`), or, if it
//! has no slot left, in a list of its own (`held`). A thread that writes a shard shows its id in the
//! shard. Both are looked at only where a lock cannot be had at once.

use core::cell::UnsafeCell;
use core::marker::PhantomData;

use hashbrown::HashTable;

use super::held;
use crate::asym::RawRwLock;
use crate::atomic::{AtomicU64, Ordering};
use crate::marker::GuardNoSend;
use crate::mutant::{check, step};
use crate::process::thread;

/// The value of `writer` while no thread writes; no thread's id.
const NONE: u64 = 0;

/// A part of a [`ShardMap`](super::ShardMap), for the keys with some of the hashes: a table of entries behind
/// a lock of its own. [`ShardMap::shards`](super::ShardMap::shards) returns them.
///
/// ```
/// use leeward::collect::ShardMap;
/// let map = ShardMap::from([("a", 1), ("b", 2)]);
/// assert_eq!(map.shards().iter().map(|shard| shard.len()).sum::<usize>(), map.len());
/// ```
// The hash table and its lock are alone on their cache lines (two, because processors fetch lines in
// pairs).
//
// | field | written by | meaning |
// |---|---|---|
// | `lock` | all | who may use `table` |
// | `writer` | the thread that has `lock` for writing | its id; else 0 |
// | `table` | that thread | the entries |
#[repr(align(128))]
pub struct Shard<T> {
    lock: RawRwLock,
    writer: AtomicU64,
    table: UnsafeCell<HashTable<T>>,
}

// SAFETY: `lock` lets threads share the table, or one change it. Entries are reached from other
// threads (`Sync`) and taken out by them (`Send`).
unsafe impl<T: Send + Sync> Sync for Shard<T> {}

impl<T> Shard<T> {
    pub(super) fn new(table: HashTable<T>) -> Shard<T> {
        Shard { lock: RawRwLock::new(), writer: AtomicU64::new(NONE), table: UnsafeCell::new(table) }
    }

    /// Locks the shard for reading. Panics if the calling thread writes it.
    #[inline(always)]
    #[track_caller]
    pub(super) fn read(&self) -> ReadGuard<'_, T> {
        // Shown by the thread's first slot, if it enters by that.
        let is_noted = !self.lock.enter_open() && self.read_closed();
        ReadGuard { shard: self, is_noted, thread: PhantomData }
    }

    /// Locks the shard for reading by the ordinary lock, if that is free for readers, which the
    /// thread's first slot shows. Returns true if the read is in the thread's list.
    #[inline(never)]
    #[track_caller]
    fn read_closed(&self) -> bool {
        !self.lock.enter_at_once() && self.read_slow()
    }

    #[cold]
    #[inline(never)]
    #[track_caller]
    fn read_slow(&self) -> bool {
        if check!(shard_read_sees_own_write, self.is_written_here()) {
            panic!("leeward: a thread reads a shard of a ShardMap that it has locked: drop the RefMut or entry first");
        }
        self.lock.lock_shared();
        self.note_read()
    }

    /// Locks the shard for reading unless that would take waiting.
    #[inline]
    pub(super) fn try_read(&self) -> Option<ReadGuard<'_, T>> {
        self.lock.try_lock_shared().then(|| self.noted())
    }

    /// Locks the shard for reading unless a writer has it. Other writers may wait.
    pub(super) fn try_read_past_waiting(&self) -> Option<ReadGuard<'_, T>> {
        self.lock.try_lock_shared_recursive().then(|| self.noted())
    }

    /// Sees to it that the thread finds a read lock that it has taken. Returns true if the thread's
    /// list has it then.
    fn note_read(&self) -> bool {
        let is_noted = !self.lock.is_read_here();
        if is_noted {
            step!(shard_notes_reads, held::add(self.lock.name()));
        }
        is_noted
    }

    /// Returns the guard of a read lock that the thread has taken, and notes it.
    fn noted(&self) -> ReadGuard<'_, T> {
        ReadGuard { shard: self, is_noted: self.note_read(), thread: PhantomData }
    }

    /// Locks the shard for writing. Panics if the calling thread reads or writes it.
    #[inline]
    #[track_caller]
    pub(super) fn write(&self) -> WriteGuard<'_, T> {
        if !self.lock.lock_exclusive_closed() {
            self.write_slow();
        }
        self.note_write()
    }

    #[cold]
    #[inline(never)]
    #[track_caller]
    fn write_slow(&self) {
        if check!(shard_write_sees_own_read, self.is_read_here()) {
            panic!("leeward: a thread writes a shard of a ShardMap that it reads: drop the Ref or iterator first");
        }
        if check!(shard_write_sees_own_write, self.is_written_here()) {
            panic!("leeward: a thread writes a shard of a ShardMap that it has locked: drop the RefMut or entry first");
        }
        self.lock.lock_exclusive();
    }

    /// Locks the shard for writing unless that would take waiting.
    pub(super) fn try_write(&self) -> Option<WriteGuard<'_, T>> {
        self.lock.try_lock_exclusive().then(|| self.note_write())
    }

    #[inline]
    fn note_write(&self) -> WriteGuard<'_, T> {
        // Relaxed: no other thread compares it with this thread's id.
        self.writer.store(thread::current(), Ordering::Relaxed);
        WriteGuard { shard: self, thread: PhantomData }
    }

    fn is_written_here(&self) -> bool {
        // Relaxed: only this thread stores its own id.
        self.writer.load(Ordering::Relaxed) == thread::current()
    }

    fn is_read_here(&self) -> bool {
        self.lock.is_read_here() || held::has(self.lock.name())
    }

    pub(super) fn get_mut(&mut self) -> &mut HashTable<T> {
        self.table.get_mut()
    }

    pub(super) fn into_table(self) -> HashTable<T> {
        self.table.into_inner()
    }
}

/// A shard that the calling thread has locked for reading.
pub(super) struct ReadGuard<'a, T> {
    shard: &'a Shard<T>,
    /// True if the read is in the thread's list of those that no slot shows.
    is_noted: bool,
    /// Slots are the thread's own, so the guard stays on its thread.
    thread: PhantomData<GuardNoSend>,
}

// SAFETY: by a shared guard other threads reach shared references to entries, and nothing else.
unsafe impl<T: Sync> Sync for ReadGuard<'_, T> {}

impl<'a, T> ReadGuard<'a, T> {
    #[inline(always)]
    pub(super) fn table(&self) -> &HashTable<T> {
        // SAFETY: the shard is locked for reading as long as the guard is there.
        unsafe { &*self.shard.table.get() }
    }

    /// Unlocks the shard where the thread's first slot does not say that it entered by that.
    #[inline(never)]
    fn leave_closed(&self) {
        if self.is_noted {
            held::remove(self.shard.lock.name());
        }
        // SAFETY: locked for reading by what made the guard, on this thread.
        unsafe { self.shard.lock.unlock_shared() };
    }

    /// Returns the table for as long as the map is borrowed.
    ///
    /// # Safety
    /// What is returned is not used after the guard's drop.
    pub(super) unsafe fn table_unbound(&self) -> &'a HashTable<T> {
        // SAFETY: the shard is locked for reading until the guard's drop; the caller's promise.
        unsafe { &*self.shard.table.get() }
    }
}

impl<T> Drop for ReadGuard<'_, T> {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: locked for reading by what made the guard, on this thread.
        if self.is_noted || !unsafe { self.shard.lock.leave_open() } {
            self.leave_closed();
        }
    }
}

/// A shard that the calling thread has locked for writing.
pub(super) struct WriteGuard<'a, T> {
    shard: &'a Shard<T>,
    /// The writer's id is the thread's, so the guard stays on its thread.
    thread: PhantomData<GuardNoSend>,
}

// SAFETY: as for `ReadGuard`; changing takes the guard itself or an exclusive reference.
unsafe impl<T: Sync> Sync for WriteGuard<'_, T> {}

impl<'a, T> WriteGuard<'a, T> {
    #[inline(always)]
    pub(super) fn table(&mut self) -> &mut HashTable<T> {
        // SAFETY: the shard is locked for writing as long as the guard is there.
        unsafe { &mut *self.shard.table.get() }
    }

    pub(super) fn table_shared(&self) -> &HashTable<T> {
        // SAFETY: as in `table`.
        unsafe { &*self.shard.table.get() }
    }

    /// Returns the table for as long as the map is borrowed.
    ///
    /// # Safety
    /// What is returned is not used after the guard's drop, and the table is not reached in another
    /// way before.
    pub(super) unsafe fn table_unbound(&mut self) -> &'a mut HashTable<T> {
        // SAFETY: the shard is locked for writing until the guard's drop; the caller's promise.
        unsafe { &mut *self.shard.table.get() }
    }

    /// Goes on as a reader. No other writer comes between.
    pub(super) fn downgrade(self) -> ReadGuard<'a, T> {
        let shard = self.shard;
        core::mem::forget(self);
        // Relaxed: as in `note_write`.
        shard.writer.store(NONE, Ordering::Relaxed);
        // SAFETY: the guard that was forgotten had the shard locked for writing, on this thread.
        unsafe { shard.lock.downgrade() };
        shard.noted()
    }
}

impl<T> Drop for WriteGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        // Relaxed: as in `note_write`.
        self.shard.writer.store(NONE, Ordering::Relaxed);
        // SAFETY: locked for writing by what made the guard, on this thread.
        unsafe { self.shard.lock.unlock_exclusive() };
    }
}

#[cfg(test)]
mod tests {
    use core::mem::{MaybeUninit, forget};
    use std::vec::Vec;

    use hashbrown::HashTable;

    use super::Shard;

    /// Puts a shard into `place`, whose last one has ended.
    fn make(place: &mut MaybeUninit<Shard<u8>>) -> &mut Shard<u8> {
        place.write(Shard::new(HashTable::new()))
    }

    /// A guard that was leaked is one of a shard that ended, and says nothing about the next one at its
    /// address.
    #[test]
    fn a_leaked_guard_is_of_its_own_shard() {
        // More reads than a thread has slots, so that the list has the last one.
        let others: Vec<Shard<u8>> = (0..10).map(|_| Shard::new(HashTable::new())).collect();
        let reads: Vec<_> = others.iter().map(Shard::read).collect();
        let mut place = MaybeUninit::uninit();
        let shard = make(&mut place);
        let read = shard.try_read().unwrap();
        assert!(read.is_noted, "a slot shows the read");
        forget(read);
        assert!(shard.is_read_here());
        // SAFETY: made above, and not used again.
        unsafe { core::ptr::drop_in_place(shard) };
        let next = make(&mut place);
        assert!(!next.is_read_here(), "the thread reads a shard that it never met");
        // And its own reads are found and given back.
        let (one, two) = (next.try_read().unwrap(), next.try_read().unwrap());
        assert!(next.is_read_here() && one.is_noted && two.is_noted);
        drop(one);
        assert!(next.is_read_here());
        drop(two);
        assert!(!next.is_read_here());
        drop(next.write());
        drop(reads);
    }
}
