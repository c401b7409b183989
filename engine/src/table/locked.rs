//! Where a key is (a bucket and its lock word), and a bucket whose lock is held: queueing, leaving,
//! migrating. Found by `table`, used by the operations. Waking and moving are in `select`.

use core::ptr::NonNull;

use crate::atomic::prefetch;
use crate::mutant::{check, mutated};
use crate::table::Table;
use crate::table::bucket::Bucket;
use crate::table::key::Key;
use crate::table::lock_word::{self, Filter, LockWord};
use crate::table::plan;
use crate::table::wait_list::WaitList;
use crate::waiter::{Handle, Waiter};
use crate::{Host, Space};

/// A bucket with so many waiters makes the engine ask whether the table is too small.
const CROWDED: usize = 2;

/// A key's bucket, its lock word, which is reached without touching the bucket's line, and the bit
/// that the key's waiters set in its filter.
pub(crate) struct BucketRef<'a, H: Host> {
    pub(crate) bucket: &'a Bucket<H>,
    pub(crate) lock_word: &'a LockWord,
    pub(crate) filter_bit: u32,
}

impl<H: Host> Clone for BucketRef<'_, H> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<H: Host> Copy for BucketRef<'_, H> {}

impl<'a, H: Host> BucketRef<'a, H> {
    /// In which order two buckets are locked: by the tables' ranks, then by address.
    pub(crate) fn order(&self) -> (u32, usize) {
        (self.bucket.plan().rank, core::ptr::from_ref(self.bucket).addr())
    }

    /// Takes the lock.
    #[inline(always)]
    pub(crate) fn lock(self, host: &'a H, space: &'a Space<H>) -> Locked<'a, H> {
        self.lock_with(host, space, 0)
    }

    /// Takes the lock, in one step with setting the key's filter bit: to queue there. The bit is
    /// gone with the lock if nothing was queued.
    #[inline(always)]
    pub(crate) fn enter(self, host: &'a H, space: &'a Space<H>) -> Locked<'a, H> {
        self.lock_with(host, space, self.filter_bit)
    }

    #[inline(always)]
    fn lock_with(self, host: &'a H, space: &'a Space<H>, filter_bit: u32) -> Locked<'a, H> {
        // Both lines come at once.
        prefetch(self.bucket);
        Locked::new(self, self.lock_word.lock(host, filter_bit), space)
    }
}

impl<H: Host> Table<H> {
    /// Where a key with that hash is in this table, or has been.
    #[inline]
    pub(crate) fn bucket_ref(&self, hash: u64) -> BucketRef<'_, H> {
        let number = hash as usize;
        BucketRef {
            bucket: self.bucket(number),
            lock_word: self.lock_word(number),
            filter_bit: lock_word::filter_bit(hash),
        }
    }

    /// Where a key with that hash is: here, or in the table that took over.
    #[inline]
    pub(crate) fn follow(&self, hash: u64) -> BucketRef<'_, H> {
        let migrated = self.lock_word(hash as usize).has_migrated();
        let table = if migrated { self.successor(hash) } else { self };
        table.bucket_ref(hash)
    }

    #[cold]
    #[inline(never)]
    fn successor(&self, hash: u64) -> &Table<H> {
        let mut table = self;
        // In this order: what has migrated has somewhere to go.
        while table.lock_word(hash as usize).has_migrated() {
            let Some(next) = table.next() else { break };
            table = next;
        }
        table
    }
}

impl<H: Host> Bucket<H> {
    fn bucket_ref(&self, filter_bit: u32) -> BucketRef<'_, H> {
        BucketRef { bucket: self, lock_word: self.lock_word(), filter_bit }
    }

    /// Takes the lock.
    pub(crate) fn lock<'a>(&'a self, host: &'a H, space: &'a Space<H>) -> Locked<'a, H> {
        self.bucket_ref(0).lock(host, space)
    }
}

/// A bucket whose lock is held. Nothing is called meanwhile that may sleep.
pub(crate) struct Locked<'a, H: Host> {
    pub(super) bucket_ref: BucketRef<'a, H>,
    held: lock_word::Held<'a, H>,
    space: &'a Space<H>,
}

impl<'a, H: Host> Locked<'a, H> {
    /// The lock has just been taken, by the lock word.
    pub(crate) fn new(
        bucket_ref: BucketRef<'a, H>,
        held: lock_word::Held<'a, H>,
        space: &'a Space<H>,
    ) -> Locked<'a, H> {
        let mut locked = Locked { bucket_ref, held, space };
        locked.list().locked += 1;
        locked
    }

    pub(crate) fn list(&mut self) -> &mut WaitList<H> {
        // SAFETY: the lock is held, and this borrows the guard.
        unsafe { &mut *self.bucket_ref.bucket.list() }
    }

    pub(crate) fn bucket(&self) -> &'a Bucket<H> {
        self.bucket_ref.bucket
    }

    /// The filter and the migrated bit as they are stored when the lock is given up.
    pub(crate) fn filter(&self) -> Filter {
        self.held.filter
    }

    /// Returns true if a waiter with that key is a private one in the global table, where its space
    /// counts it.
    fn is_global_user(&self, key: &Key) -> bool {
        key.is_private() && plan::is_global(self.bucket_ref.bucket.plan().rank)
    }

    /// So many waiters more.
    pub(super) fn enter(&mut self, filter_bit: u32, count: usize) {
        self.held.filter = self.held.filter.with(filter_bit);
        self.list().waiters += count;
    }

    /// So many fewer.
    pub(super) fn exit(&mut self, count: u32) {
        let list = self.list();
        list.waiters -= count as usize;
        if list.waiters == 0 {
            self.held.filter = self.held.filter.of(0);
        }
    }

    /// Waiters with that key went, and wait nowhere any more.
    pub(super) fn discharge(&mut self, key: &Key, count: u32) {
        self.exit(count);
        if self.is_global_user(key) {
            self.space.remove_global_users(count);
        }
    }

    /// Rebuilds the filter from the waiters that are in the list, since a wake found none: without
    /// the bits of those that are gone.
    #[cold]
    #[inline(never)]
    pub(super) fn rebuild_filter(&mut self) {
        let plan = self.bucket_ref.bucket.plan();
        let mut filter_bits = 0;
        let list = self.list();
        let mut cursor = list.head.filter(|_| !mutated!(rebuild_filter));
        while let Some(node) = cursor {
            let links = list.links(node);
            cursor = links.next;
            filter_bits |= plan.filter_bit(&links.key);
        }
        self.held.filter = self.held.filter.of(filter_bits);
    }

    /// Queues a node whose owner entered the bucket, and is counted in the space if it is a private
    /// one in the global table. Whether the bucket looks crowded: it has 3 waiters, 5, 9 and so on,
    /// and not all of one word.
    ///
    /// # Safety
    /// It is idle, and stays where it is until it was woken or has been taken out.
    pub(crate) unsafe fn queue(&mut self, node: &Waiter<H>, handle: Handle<H>, key: Key) -> bool {
        // SAFETY: idle: the links are its owner's, which is the caller.
        let links = unsafe { &mut *node.links() };
        // Forgotten, since none was there.
        core::mem::forget(links.handle.replace(handle));
        // SAFETY: the caller's promise.
        unsafe { self.place(node, key, None) }
    }

    /// [`queue`](Self::queue) for a node that keeps its handle elsewhere. `beside` is one of the
    /// list: the node is put behind it, as one as urgent, which is no pass over the list.
    ///
    /// # Safety
    /// The same.
    pub(crate) unsafe fn place(&mut self, node: &Waiter<H>, key: Key, beside: Option<NonNull<Waiter<H>>>) -> bool {
        let priority = beside.map(|beside| self.list().priority(beside));
        // SAFETY: as above.
        let links = unsafe { &mut *node.links() };
        links.key = key;
        links.priority = priority.unwrap_or(links.priority);
        node.queued();
        if check!(global_user_hold, self.is_global_user(&key)) {
            self.space.add_global_user();
        }
        let filter_bit = self.bucket_ref.filter_bit;
        let list = self.list();
        list.queued += 1;
        let before = list.waiters;
        let crowded = before >= CROWDED && before.is_power_of_two() && !list.ends_with(&key);
        self.enter(filter_bit, 1);
        match beside {
            Some(_) => self.append_beside(beside, NonNull::from(node)),
            None => self.append(NonNull::from(node)),
        }
        crowded
    }

    fn append_beside(&mut self, beside: Option<NonNull<Waiter<H>>>, node: NonNull<Waiter<H>>) {
        self.assign_sequence(node);
        self.list().link(beside, node);
        self.put_into(node);
    }

    /// Puts a node into the list, behind those that are as urgent.
    pub(crate) fn append(&mut self, node: NonNull<Waiter<H>>) {
        self.assign_sequence(node);
        self.list().insert(node);
        self.put_into(node);
    }

    /// The same for one of several, the most urgent first: `last` is the one that was appended
    /// before. All of them together cost one pass over the list.
    pub(super) fn append_behind(&mut self, last: &mut Option<NonNull<Waiter<H>>>, node: NonNull<Waiter<H>>) {
        self.assign_sequence(node);
        self.list().insert_behind(*last, node);
        *last = Some(node);
        self.put_into(node);
    }

    fn assign_sequence(&mut self, node: NonNull<Waiter<H>>) {
        let list = self.list();
        let sequence = list.next_sequence;
        list.next_sequence += 1;
        list.links(node).sequence = sequence;
    }

    fn put_into(&mut self, node: NonNull<Waiter<H>>) {
        let bucket = self.bucket_ref.bucket;
        self.list().waiter(node).put_into(bucket);
    }

    /// The key of a node of this list.
    pub(crate) fn key(&mut self, node: NonNull<Waiter<H>>) -> Key {
        self.list().links(node).key
    }

    /// Takes a node of this list out of it: its owner, which has decided to leave, does.
    pub(crate) fn remove(&mut self, node: NonNull<Waiter<H>>) {
        let list = self.list();
        list.unlink(node);
        let key = list.links(node).key;
        list.waiter(node).taken_out();
        self.discharge(&key, 1);
    }

    /// Takes the first node out of the list, to be adopted by another before anything else is done.
    pub(crate) fn pop(&mut self) -> Option<NonNull<Waiter<H>>> {
        let list = self.list();
        let node = list.head?;
        list.unlink(node);
        Some(node)
    }

    /// Puts a node that another table's bucket had into the list, its sequence number kept.
    pub(crate) fn adopt(&mut self, node: NonNull<Waiter<H>>) {
        self.enter(if mutated!(adopt_filter_bit) { 0 } else { self.bucket_ref.filter_bit }, 1);
        self.list().insert(node);
        self.put_into(node);
    }

    /// The list, whose waiters were all taken, stays empty from now on: its successor's buckets
    /// serve. They, and the waiters in them, are seen by the thread that sees the migrated bit.
    pub(crate) fn close(&mut self) {
        self.list().waiters = 0;
        self.held.filter = Filter::CLOSED;
    }
}
