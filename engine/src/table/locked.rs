//! A bucket reference, and a bucket whose lock is held: queueing, leaving, migrating. Found by
//! `table`, used by the operations. Waking and moving are in `select`.

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

/// A bucket with more waiters than this makes the engine ask whether the table is too small.
const CROWDED: usize = 2;

/// A reference to a key's bucket: the bucket, its lock word, which is reached without touching the
/// bucket's line, and the bit that the key's waiters set in its filter.
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
    /// Returns the order in which two buckets are locked: by the tables' ranks, then by address.
    pub(crate) fn order(&self) -> (u32, usize) {
        (self.bucket.plan().rank, core::ptr::from_ref(self.bucket).addr())
    }

    /// Takes the lock.
    #[inline(always)]
    pub(crate) fn lock(self, host: &'a H, space: &'a Space<H>) -> LockedBucket<'a, H> {
        self.lock_with(host, space, 0)
    }

    /// Takes the lock, and in one step sets the key's filter bit: to queue there. The unlocking
    /// takes the bit away again if nothing was queued.
    #[inline(always)]
    pub(crate) fn enter(self, host: &'a H, space: &'a Space<H>) -> LockedBucket<'a, H> {
        self.lock_with(host, space, self.filter_bit)
    }

    #[inline(always)]
    fn lock_with(self, host: &'a H, space: &'a Space<H>, filter_bit: u32) -> LockedBucket<'a, H> {
        // Both cache lines are fetched at once.
        prefetch(self.bucket);
        LockedBucket::new(self, self.lock_word.lock(host, filter_bit), space)
    }
}

impl<H: Host> Table<H> {
    /// Returns where a key with that hash is in this table, or has been.
    #[inline]
    pub(crate) fn bucket_ref(&self, hash: u64) -> BucketRef<'_, H> {
        let number = hash as usize;
        BucketRef {
            bucket: self.bucket(number),
            lock_word: self.lock_word(number),
            filter_bit: lock_word::filter_bit(hash),
        }
    }

    /// Returns where a key with that hash is: here, or in the table that took over.
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
        // The bit is read before the pointer: a bucket that has migrated has a successor.
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
    pub(crate) fn lock<'a>(&'a self, host: &'a H, space: &'a Space<H>) -> LockedBucket<'a, H> {
        self.bucket_ref(0).lock(host, space)
    }
}

/// A bucket whose lock is held. No method of the host that may sleep is called meanwhile.
pub(crate) struct LockedBucket<'a, H: Host> {
    pub(super) bucket_ref: BucketRef<'a, H>,
    held: lock_word::HeldWord<'a, H>,
    space: &'a Space<H>,
}

impl<'a, H: Host> LockedBucket<'a, H> {
    /// Wraps a lock that the lock word has just taken.
    pub(crate) fn new(
        bucket_ref: BucketRef<'a, H>,
        held: lock_word::HeldWord<'a, H>,
        space: &'a Space<H>,
    ) -> LockedBucket<'a, H> {
        let mut locked = LockedBucket { bucket_ref, held, space };
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

    /// Has this lock's time without preemption end before that of `other`, if this lock is dropped
    /// first and was taken first. What was made last ends first then, as a host may rely on.
    pub(crate) fn ends_before(&mut self, other: &mut Self) {
        self.ends_before_lock(&mut other.held);
    }

    /// Does what [`ends_before`](Self::ends_before) does, for a lock that is no bucket's.
    pub(crate) fn ends_before_lock(&mut self, other: &mut lock_word::HeldWord<'a, H>) {
        self.held.swap_preemption(other);
    }

    /// Returns the filter and the migrated bit as the unlocking will store them.
    pub(crate) fn filter(&self) -> Filter {
        self.held.filter
    }

    /// Returns true if a waiter with that key is a private one in the global table, where its space
    /// counts it.
    fn is_global_user(&self, key: &Key) -> bool {
        key.is_private() && plan::is_global(self.bucket_ref.bucket.plan().rank)
    }

    /// Adds `count` to the waiter count, and the bit to the filter.
    pub(super) fn enter(&mut self, filter_bit: u32, count: usize) {
        self.held.filter = self.held.filter.with(filter_bit);
        self.list().waiters += count;
    }

    /// Subtracts `count` from the waiter count; clears the filter at 0.
    pub(super) fn exit(&mut self, count: u32) {
        let list = self.list();
        list.waiters -= count as usize;
        if list.waiters == 0 {
            self.held.filter = self.held.filter.of(0);
        }
    }

    /// Uncounts `count` waiters with that key, which were woken or have left, here and in their
    /// space.
    pub(super) fn discharge(&mut self, key: &Key, count: u32) {
        self.exit(count);
        if self.is_global_user(key) {
            self.space.remove_global_users(count);
        }
    }

    /// Rebuilds the filter from the waiters that are in the list, without the bits of those that
    /// are gone. Called where a wake found no waiter.
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

    /// Queues a node whose owner entered the bucket; counts it in the space if it is a private one
    /// in the global table. Returns true if the bucket looks crowded: it has 3 waiters, 5, 9 and so
    /// on, and not all of one word.
    ///
    /// # Safety
    /// The node is idle, and stays where it is until it was woken or has been taken out.
    pub(crate) unsafe fn queue(&mut self, node: &Waiter<H>, handle: Handle<H>, key: Key) -> bool {
        // SAFETY: idle: the links are its owner's, which is the caller.
        let links = unsafe { &mut *node.links() };
        // The old handle is forgotten and not dropped: there is none.
        core::mem::forget(links.handle.replace(handle));
        // SAFETY: the caller's promise.
        unsafe { self.place(node, key, None) }
    }

    /// Queues a node as [`queue`](Self::queue) does, but for a node that keeps its handle
    /// elsewhere. `beside` is a node of the list: this one is put after it, with its priority,
    /// without a pass over the list.
    ///
    /// # Safety
    /// As for [`queue`](Self::queue).
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

    /// Puts a node into the list, after those that are as urgent.
    pub(crate) fn append(&mut self, node: NonNull<Waiter<H>>) {
        self.assign_sequence(node);
        self.list().insert(node);
        self.put_into(node);
    }

    /// Puts one of several nodes into the list, the most urgent first; `last` is the one that was
    /// appended before. All of them together take one pass over the list.
    pub(super) fn append_after(&mut self, last: &mut Option<NonNull<Waiter<H>>>, node: NonNull<Waiter<H>>) {
        self.assign_sequence(node);
        self.list().insert_after(*last, node);
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

    /// Returns the key of a node of this list.
    pub(crate) fn key(&mut self, node: NonNull<Waiter<H>>) -> Key {
        self.list().links(node).key
    }

    /// Takes a node out of this list. Called by its owner, which has decided to leave.
    pub(crate) fn remove(&mut self, node: NonNull<Waiter<H>>) {
        let list = self.list();
        list.unlink(node);
        let key = list.links(node).key;
        list.waiter(node).taken_out();
        self.discharge(&key, 1);
    }

    /// Takes the first node out of the list. Another bucket adopts it before anything else is done.
    pub(crate) fn pop(&mut self) -> Option<NonNull<Waiter<H>>> {
        let list = self.list();
        let node = list.head?;
        list.unlink(node);
        Some(node)
    }

    /// Puts a node of another table's bucket into the list; it keeps its sequence number.
    pub(crate) fn adopt(&mut self, node: NonNull<Waiter<H>>) {
        self.enter(if mutated!(adopt_filter_bit) { 0 } else { self.bucket_ref.filter_bit }, 1);
        self.list().insert(node);
        self.put_into(node);
    }

    /// Closes a bucket whose waiters were all taken: it stays empty from now on, and its
    /// successor's buckets serve. A thread that sees the migrated bit sees them, and the waiters in
    /// them.
    pub(crate) fn close(&mut self) {
        self.list().waiters = 0;
        self.held.filter = Filter::CLOSED;
    }
}
