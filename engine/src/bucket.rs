//! A bucket: some futexes' waiters behind one lock, oldest first. Found by `store`, changed by the operations.
//!
//! The lock word and the list are on different cache lines: threads that look at the lock while somebody holds it do
//! not take the line that its holder works on. The count of waiters lies beside the lock: whoever queues changes both.

use core::cell::UnsafeCell;
use core::ptr::NonNull;

use crate::atomic::{AtomicU32, Ordering, Tracked, Turn};
use crate::batch::Batch;
use crate::key::Key;
use crate::mutant::mutated;
use crate::pi_graph::Claim;
use crate::unwind::Off;
use crate::waiter::{Handle, Links, Waiter};
use crate::{Errno, Host, Priority, Space, table};

/// The bucket's waiters were moved into a larger table.
const MOVED: u32 = 1 << 31;

const FREE: u32 = 0;
const TAKEN: u32 = 1;

#[repr(align(64))]
struct Gate {
    /// | bits | meaning |
    /// |---|---|
    /// | 0-30 | waiters: those in the list, and those that are about to lock the bucket to get there |
    /// | 31 | the list moved to the table's successor, and stays empty |
    waiters: AtomicU32,
    /// 0 free, 1 taken.
    lock: AtomicU32,
    turn: Turn,
    /// The table's: buckets are locked in this order, then by address.
    rank: u32,
}

#[repr(align(64))]
struct Queue<H: Host> {
    chain: UnsafeCell<Chain<H>>,
    tracked: Tracked,
}

/// What the lock guards.
pub(crate) struct Chain<H: Host> {
    head: Option<NonNull<Waiter<H>>>,
    tail: Option<NonNull<Waiter<H>>>,
    /// The number that the next waiter gets. Never goes back, not even in the table that comes after.
    pub(crate) next_number: u64,
    /// How many waiters were queued here by a wait.
    pub(crate) queued: u64,
    /// How often the lock was taken.
    pub(crate) locked: u64,
}

/// One of a table's.
#[repr(C)]
pub(crate) struct Bucket<H: Host> {
    gate: Gate,
    queue: Queue<H>,
}

// SAFETY: the chain is reached by the lock's holder only; tasks in it may be sent.
unsafe impl<H: Host> Send for Bucket<H> where H::Task: Send {}
// SAFETY: as above.
unsafe impl<H: Host> Sync for Bucket<H> where H::Task: Send {}

impl<H: Host> Bucket<H> {
    pub(crate) fn new(rank: u32) -> Bucket<H> {
        let chain = Chain { head: None, tail: None, next_number: 0, queued: 0, locked: 0 };
        Bucket {
            gate: Gate { waiters: AtomicU32::new(0), lock: AtomicU32::new(FREE), turn: Turn::new(), rank },
            queue: Queue { chain: UnsafeCell::new(chain), tracked: Tracked::new() },
        }
    }

    /// In which order two buckets are locked.
    pub(crate) fn order(&self) -> (u32, usize) {
        (self.gate.rank, core::ptr::from_ref(self).addr())
    }

    /// The table's rank.
    pub(crate) fn rank(&self) -> u32 {
        self.gate.rank
    }

    /// Whether nobody waits here nor is about to, and none were moved away: one look, so that nothing slips between two.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        // Relaxed: the fence before it orders it (pair W).
        let waiters = self.gate.waiters.load(Ordering::Relaxed);
        waiters == 0 || (mutated!(moved_mark) && waiters == MOVED)
    }

    /// How many wait, or are about to: an estimate.
    #[inline]
    pub(crate) fn waiters(&self) -> u32 {
        // Relaxed: an estimate.
        self.gate.waiters.load(Ordering::Relaxed) & !MOVED
    }

    #[inline]
    pub(crate) fn has_moved(&self) -> bool {
        // Acquire: the successor is there, with the waiters that were here; partner: `Locked::close`.
        self.gate.waiters.load(Ordering::Acquire) & MOVED != 0
    }

    /// One more waiter; how many there were.
    pub(crate) fn enter(&self) -> u32 {
        // Relaxed: the fence behind it orders it (pair W).
        self.gate.waiters.fetch_add(1, Ordering::Relaxed) & !MOVED
    }

    /// So many fewer.
    pub(crate) fn exit(&self, count: u32) {
        // Relaxed: a waker that sees the old number takes the lock needlessly.
        self.gate.waiters.fetch_sub(count, Ordering::Relaxed);
    }

    /// Takes the lock.
    pub(crate) fn lock<'a>(&'a self, host: &'a H, space: &'a Space<H>) -> Locked<'a, H> {
        let off = Off::new(host);
        if !self.try_lock() {
            self.lock_contended(host);
        }
        let mut locked = Locked { bucket: self, space, _off: off };
        locked.chain().locked += 1;
        locked
    }

    #[inline]
    fn try_lock(&self) -> bool {
        // Acquire: what was done under the lock before; partner: `Locked::drop`. Relaxed on failure: nothing learnt.
        let order = if mutated!(lock_acquire) { Ordering::Relaxed } else { Ordering::Acquire };
        self.gate.lock.compare_exchange(FREE, TAKEN, order, Ordering::Relaxed).is_ok()
    }

    #[cold]
    #[inline(never)]
    fn lock_contended(&self, host: &H) {
        let mut tries = 0_u32;
        loop {
            host.spin(tries);
            tries = tries.saturating_add(1);
            // Relaxed: `try_lock` acquires.
            let free = || self.gate.lock.load(Ordering::Relaxed) == FREE;
            if self.gate.turn.look(free, || self.try_lock()) {
                return;
            }
        }
    }
}

/// A bucket whose lock is held. Nothing is called meanwhile that may sleep.
pub(crate) struct Locked<'a, H: Host> {
    bucket: &'a Bucket<H>,
    space: &'a Space<H>,
    // Preemption is on again when the lock was given up.
    _off: Off<'a, H>,
}

impl<H: Host> Drop for Locked<'_, H> {
    fn drop(&mut self) {
        // Release: what was done under the lock; partner: `Bucket::try_lock`.
        let order = if mutated!(lock_release) { Ordering::Relaxed } else { Ordering::Release };
        self.bucket.gate.lock.store(FREE, order);
        self.bucket.gate.turn.pass();
    }
}

impl<'a, H: Host> Locked<'a, H> {
    pub(crate) fn bucket(&self) -> &'a Bucket<H> {
        self.bucket
    }

    pub(crate) fn chain(&mut self) -> &mut Chain<H> {
        self.bucket.queue.tracked.touch();
        // SAFETY: the lock is held, and this borrows the guard.
        unsafe { &mut *self.bucket.queue.chain.get() }
    }

    /// A private waiter in the global table, where its space counts it.
    fn is_stray(&self, key: &Key) -> bool {
        key.is_private() && self.bucket.rank() == table::GLOBAL
    }

    /// So many waiters with that key fewer.
    fn exit(&self, key: &Key, count: u32) {
        self.bucket.exit(count);
        if self.is_stray(key) {
            self.space.remove_strays(count);
        }
    }

    /// Queues a node whose owner entered the bucket, and holds a stray's place in the space if it is one.
    ///
    /// # Safety
    /// It is idle, and stays where it is until it was woken or has been taken out.
    pub(crate) unsafe fn queue(&mut self, node: &Waiter<H>, handle: Handle<H>, key: Key) {
        // SAFETY: idle: the links are its owner's, which is the caller.
        let links = unsafe { &mut *node.links() };
        links.handle = Some(handle);
        // SAFETY: the caller's promise.
        unsafe { self.place(node, key) };
    }

    /// [`queue`](Self::queue) for a node that keeps its handle elsewhere.
    ///
    /// # Safety
    /// The same.
    pub(crate) unsafe fn place(&mut self, node: &Waiter<H>, key: Key) {
        // SAFETY: as above.
        let links = unsafe { &mut *node.links() };
        links.key = key;
        node.queued();
        if self.is_stray(&key) && !mutated!(stray_hold) {
            self.space.add_stray();
        }
        self.append(NonNull::from(node));
        self.chain().queued += 1;
    }

    /// Puts a node into the list, behind those that are as urgent.
    pub(crate) fn append(&mut self, node: NonNull<Waiter<H>>) {
        let bucket = self.bucket;
        let chain = self.chain();
        let number = chain.next_number;
        chain.next_number += 1;
        chain.links(node).number = number;
        chain.insert(node);
        chain.waiter(node).put_into(bucket);
    }

    /// The key of a node of this list.
    pub(crate) fn key(&mut self, node: NonNull<Waiter<H>>) -> Key {
        self.chain().links(node).key
    }

    /// Takes a node of this list out of it: its owner, which has decided to leave, does.
    pub(crate) fn remove(&mut self, node: NonNull<Waiter<H>>) {
        let chain = self.chain();
        chain.unlink(node);
        let key = chain.links(node).key;
        chain.waiter(node).taken_out();
        self.exit(&key, 1);
    }

    /// Wakes up to `most` waiters with that key, a bit of `bits`, and a number below `horizon`, as far as the batch has room. One that waits
    /// for a lock that inherits priorities is not to be woken so, and ends it: `EINVAL`.
    pub(crate) fn wake(
        &mut self,
        key: &Key,
        bits: u32,
        most: u32,
        horizon: u64,
        batch: &mut Batch<H>,
    ) -> Result<u32, Errno> {
        let mut woken = Ok(0);
        let mut taken = 0;
        let chain = self.chain();
        let mut cursor = chain.head;
        while let Some(node) = cursor {
            if woken == Ok(most) || batch.is_full() {
                break;
            }
            let links = chain.links(node);
            cursor = links.next;
            if links.key == *key && links.claim().is_some() {
                woken = Err(Errno::EINVAL);
                break;
            }
            let matches = links.key == *key && links.bitset & bits != 0 && links.number < horizon;
            if !matches || chain.waiter(node).has_left() {
                continue;
            }
            taken += 1;
            if let Some(handle) = chain.claim(node, bits) {
                batch.push(handle);
                woken = woken.map(|woken| woken + 1);
            }
        }
        if taken != 0 {
            self.exit(key, taken);
        }
        woken
    }

    /// Gives up to `most` waiters of `from` another key, in this bucket or in that of `to`; how many. Equal keys: counted, and left
    /// where they are. `EINVAL` as for [`wake`](Self::wake).
    pub(crate) fn requeue(
        &mut self,
        mut to: Option<&mut Locked<'_, H>>,
        from: &Key,
        key: &Key,
        most: u32,
        horizon: u64,
    ) -> Result<u32, Errno> {
        let mut moved = 0;
        let mut cursor = self.chain().head;
        while let Some(node) = cursor {
            if moved == most {
                break;
            }
            let chain = self.chain();
            let links = chain.links(node);
            cursor = links.next;
            let inherits = links.claim().is_some();
            if links.key != *from || links.number >= horizon || chain.waiter(node).has_left() {
                continue;
            }
            if inherits {
                return Err(Errno::EINVAL);
            }
            moved += 1;
            if from == key {
                continue;
            }
            self.give(to.as_deref_mut(), node, key);
        }
        Ok(moved)
    }

    /// Gives a waiter of this bucket another key, in this bucket or in that of `to`, behind those that are there.
    pub(crate) fn give(&mut self, to: Option<&mut Locked<'_, H>>, node: NonNull<Waiter<H>>, key: &Key) {
        let chain = self.chain();
        chain.links(node).key = *key;
        if mutated!(requeue_bitset) {
            chain.links(node).bitset = u32::MAX;
        }
        chain.unlink(node);
        match to {
            // Appended behind the horizon: a loop over the list does not meet it again as one of its old key.
            None => self.append(node),
            Some(to) => {
                to.bucket.enter();
                to.append(node);
                self.bucket.exit(1);
            }
        }
    }

    /// Takes the first node out of the list, to be appended elsewhere before the lock is given up; with its key.
    pub(crate) fn pop(&mut self) -> Option<(NonNull<Waiter<H>>, Key)> {
        let chain = self.chain();
        let node = chain.head?;
        let key = chain.links(node).key;
        chain.unlink(node);
        Some((node, key))
    }

    /// Puts a node that another table's bucket had into the list, its number kept.
    pub(crate) fn adopt(&mut self, node: NonNull<Waiter<H>>) {
        let bucket = self.bucket;
        bucket.enter();
        let chain = self.chain();
        chain.insert(node);
        chain.waiter(node).put_into(bucket);
    }

    /// The list, from which so many were taken, stays empty from now on: its successor's buckets serve.
    pub(crate) fn close(&mut self, taken: u32) {
        // Release: the successor, and the waiters in it, are seen by whoever sees the mark; partner: `has_moved`.
        self.bucket.gate.waiters.fetch_add(MOVED.wrapping_sub(taken), Ordering::Release);
    }
}

/// A waiter of a list.
pub(crate) struct Found<H: Host> {
    pub(crate) node: NonNull<Waiter<H>>,
    pub(crate) next: Option<NonNull<Waiter<H>>>,
    pub(crate) claim: Option<NonNull<Claim<H>>>,
}

impl<H: Host> Chain<H> {
    /// A node of the list, or one that is being put there.
    fn waiter(&mut self, node: NonNull<Waiter<H>>) -> &Waiter<H> {
        // SAFETY: a node is there until it is out of the list, or was woken; and both need the lock, which is held.
        unsafe { node.as_ref() }
    }

    /// A node's links.
    pub(crate) fn links(&mut self, node: NonNull<Waiter<H>>) -> &mut Links<H> {
        let links = self.waiter(node).links();
        // SAFETY: they belong to the lock's holder, and this borrows the chain.
        unsafe { &mut *links }
    }

    /// The first waiter with that key from a place in the list on: itself, who is behind it, and its claim if it inherits priorities.
    pub(crate) fn seek(&mut self, from: Option<NonNull<Waiter<H>>>, key: &Key) -> Option<Found<H>> {
        let mut cursor = from;
        while let Some(node) = cursor {
            let links = self.links(node);
            let (next, claim, matches) = (links.next, links.claim(), links.key == *key);
            if matches && !self.waiter(node).has_left() {
                return Some(Found { node, next, claim });
            }
            cursor = next;
        }
        None
    }

    /// The first waiter with that key.
    pub(crate) fn first(&mut self, key: &Key) -> Option<Found<H>> {
        self.seek(self.head, key)
    }

    fn priority(&mut self, node: NonNull<Waiter<H>>) -> Priority {
        self.links(node).priority
    }

    /// Links a node behind the last that is as urgent. With equal priorities, that is the tail.
    fn insert(&mut self, node: NonNull<Waiter<H>>) {
        let priority = self.priority(node);
        let mut previous = self.tail;
        while let Some(other) = previous {
            if self.priority(other) <= priority {
                break;
            }
            previous = self.links(other).previous;
        }
        let next = match previous {
            Some(previous) => self.links(previous).next.replace(node),
            None => self.head.replace(node),
        };
        match next {
            Some(next) => self.links(next).previous = Some(node),
            None => self.tail = Some(node),
        }
        let links = self.links(node);
        links.previous = previous;
        links.next = next;
    }

    fn unlink(&mut self, node: NonNull<Waiter<H>>) {
        let links = self.links(node);
        let (previous, next) = (links.previous.take(), links.next.take());
        match previous {
            Some(previous) => self.links(previous).next = next,
            None => self.head = next,
        }
        match next {
            Some(next) => self.links(next).previous = previous,
            None => self.tail = previous,
        }
    }

    /// Takes a node out of the list and decides that it is woken; its handle, or nothing if it decided first that it
    /// leaves. Either way it may be gone from now on.
    fn claim(&mut self, node: NonNull<Waiter<H>>, bits: u32) -> Option<Handle<H>> {
        self.unlink(node);
        let links = self.links(node);
        links.woken_by = bits;
        // Before the decision, with which the node is its owner's, and the group gone too perhaps.
        let handle = if mutated!(handle_late) { None } else { links.handle.take() };
        if let Some(group) = links.group().filter(|_| !mutated!(group_flag)) {
            // SAFETY: on the frame of the node's owner, which needs this bucket's lock to go, unless the node was woken.
            unsafe { group.as_ref() }.tell_group();
        }
        if self.waiter(node).decide_to_wake() {
            // A second exchange, which fails: there loom has the owner go on.
            let late = mutated!(handle_late) && !self.waiter(node).decide_to_wake();
            return if late { self.links(node).handle.take() } else { handle };
        }
        // Given back, so that it is not dropped under the lock.
        self.links(node).handle = handle;
        self.waiter(node).taken_out();
        None
    }
}

#[cfg(all(test, not(leeward_loom)))]
mod tests {
    use super::*;

    #[test]
    fn lock_and_list_are_on_lines_of_their_own() {
        assert_eq!(core::mem::offset_of!(Bucket<crate::test_host::Nowhere>, gate), 0);
        assert_eq!(core::mem::offset_of!(Bucket<crate::test_host::Nowhere>, queue), 64);
        assert_eq!(core::mem::size_of::<Bucket<crate::test_host::Nowhere>>(), 128);
    }
}
