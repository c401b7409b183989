//! A bucket: some futexes' waiters behind one lock, the most urgent first, oldest first among equals. Found by `table`, changed by the operations. Its lock is its gate's (`gate`),
//! on another cache line.

use core::cell::UnsafeCell;
use core::ptr::NonNull;

use crate::atomic::Tracked;
use crate::gate::{self, Gate, Sign};
use crate::key::Key;
use crate::mutant::mutated;
use crate::pi_graph::Claim;
use crate::spot::Spot;
use crate::table::{self, Table};
use crate::waiter::{Handle, Links, Waiter};
use crate::{Errno, Host, Priority, Space};

/// A bucket with so many waiters makes the engine ask whether the table is too small.
const CROWDED: usize = 2;

/// One of a table's: the list, on a cache line of its own.
#[repr(align(64))]
pub(crate) struct Bucket<H: Host> {
    chain: UnsafeCell<Chain<H>>,
    tracked: Tracked,
    /// Of the same table, whose allocation all of these are in.
    gate: NonNull<Gate>,
    table: NonNull<Table<H>>,
}

/// What the lock guards.
pub(crate) struct Chain<H: Host> {
    head: Option<NonNull<Waiter<H>>>,
    tail: Option<NonNull<Waiter<H>>>,
    /// The number that the next waiter gets. Never goes back, not even in the table that comes after.
    pub(crate) next_number: u64,
    /// Waiters in the list.
    pub(crate) waiters: usize,
    /// How many waiters were queued here by a wait.
    pub(crate) queued: u64,
    /// How often the lock was taken.
    pub(crate) locked: u64,
}

// SAFETY: the chain is reached by the lock's holder only; tasks in it may be sent.
unsafe impl<H: Host> Send for Bucket<H> where H::Task: Send {}
// SAFETY: as above.
unsafe impl<H: Host> Sync for Bucket<H> where H::Task: Send {}

impl<H: Host> Bucket<H> {
    /// A bucket of `table`, with its gate there, both of which outlive it.
    pub(crate) fn new(table: NonNull<Table<H>>, gate: NonNull<Gate>) -> Bucket<H> {
        let chain = Chain { head: None, tail: None, next_number: 0, waiters: 0, queued: 0, locked: 0 };
        Bucket { chain: UnsafeCell::new(chain), tracked: Tracked::new(), gate, table }
    }

    fn gate(&self) -> &Gate {
        // SAFETY: freed together with this.
        unsafe { self.gate.as_ref() }
    }

    pub(crate) fn table(&self) -> &Table<H> {
        // SAFETY: as above.
        unsafe { self.table.as_ref() }
    }

    fn spot(&self, tag: u32) -> Spot<'_, H> {
        Spot { bucket: self, gate: self.gate(), tag }
    }

    /// Takes the lock.
    pub(crate) fn lock<'a>(&'a self, host: &'a H, space: &'a Space<H>) -> Locked<'a, H> {
        self.spot(0).lock(host, space)
    }
}

/// A bucket whose lock is held. Nothing is called meanwhile that may sleep.
pub(crate) struct Locked<'a, H: Host> {
    spot: Spot<'a, H>,
    held: gate::Held<'a, H>,
    space: &'a Space<H>,
}

impl<'a, H: Host> Locked<'a, H> {
    /// The lock has just been taken, by the gate.
    pub(crate) fn new(spot: Spot<'a, H>, held: gate::Held<'a, H>, space: &'a Space<H>) -> Locked<'a, H> {
        let mut locked = Locked { spot, held, space };
        locked.chain().locked += 1;
        locked
    }

    pub(crate) fn chain(&mut self) -> &mut Chain<H> {
        self.spot.bucket.tracked.touch();
        // SAFETY: the lock is held, and this borrows the guard.
        unsafe { &mut *self.spot.bucket.chain.get() }
    }

    /// What the gate says when the lock is given up.
    pub(crate) fn sign(&self) -> Sign {
        self.held.sign
    }

    /// A private waiter in the global table, where its space counts it.
    fn is_stray(&self, key: &Key) -> bool {
        key.is_private() && table::is_global(self.spot.bucket.table().rank())
    }

    /// So many waiters more.
    fn enter(&mut self, tag: u32, count: usize) {
        self.held.sign = self.held.sign.with(tag);
        self.chain().waiters += count;
    }

    /// So many fewer.
    fn exit(&mut self, count: u32) {
        let chain = self.chain();
        chain.waiters -= count as usize;
        if chain.waiters == 0 {
            self.held.sign = self.held.sign.of(0);
        }
    }

    /// Waiters with that key went, and wait nowhere any more.
    fn discharge(&mut self, key: &Key, count: u32) {
        self.exit(count);
        if self.is_stray(key) {
            self.space.remove_strays(count);
        }
    }

    /// Nobody was found: the tags of those who wait are put together anew, without those of who is gone.
    #[cold]
    #[inline(never)]
    fn retag(&mut self) {
        let table = self.spot.bucket.table();
        let mut tags = 0;
        let chain = self.chain();
        let mut cursor = chain.head.filter(|_| !mutated!(retag));
        while let Some(node) = cursor {
            let links = chain.links(node);
            cursor = links.next;
            tags |= table.tag(&links.key);
        }
        self.held.sign = self.held.sign.of(tags);
    }

    /// Queues a node whose owner entered the bucket, and holds a stray's place in the space if it is one. Whether the bucket looks crowded: it has 3
    /// waiters, 5, 9 and so on, and not all of one word.
    ///
    /// # Safety
    /// It is idle, and stays where it is until it was woken or has been taken out.
    pub(crate) unsafe fn queue(&mut self, node: &Waiter<H>, handle: Handle<H>, key: Key) -> bool {
        // SAFETY: idle: the links are its owner's, which is the caller.
        let links = unsafe { &mut *node.links() };
        links.handle = Some(handle);
        // SAFETY: the caller's promise.
        unsafe { self.place(node, key) }
    }

    /// [`queue`](Self::queue) for a node that keeps its handle elsewhere.
    ///
    /// # Safety
    /// The same.
    pub(crate) unsafe fn place(&mut self, node: &Waiter<H>, key: Key) -> bool {
        // SAFETY: as above.
        let links = unsafe { &mut *node.links() };
        links.key = key;
        node.queued();
        if self.is_stray(&key) && !mutated!(stray_hold) {
            self.space.add_stray();
        }
        let tag = self.spot.tag;
        let chain = self.chain();
        chain.queued += 1;
        let before = chain.waiters;
        let crowded = before >= CROWDED && before.is_power_of_two() && !chain.ends_with(&key);
        self.enter(tag, 1);
        self.append(NonNull::from(node));
        crowded
    }

    /// Puts a node into the list, behind those that are as urgent.
    pub(crate) fn append(&mut self, node: NonNull<Waiter<H>>) {
        self.number(node);
        self.chain().insert(node);
        self.put_into(node);
    }

    /// The same for one of several, the most urgent first: `last` is the one that was appended before. All of them together cost one pass over
    /// the list.
    fn append_behind(&mut self, last: &mut Option<NonNull<Waiter<H>>>, node: NonNull<Waiter<H>>) {
        self.number(node);
        self.chain().insert_behind(*last, node);
        *last = Some(node);
        self.put_into(node);
    }

    fn number(&mut self, node: NonNull<Waiter<H>>) {
        let chain = self.chain();
        let number = chain.next_number;
        chain.next_number += 1;
        chain.links(node).number = number;
    }

    fn put_into(&mut self, node: NonNull<Waiter<H>>) {
        let bucket = self.spot.bucket;
        self.chain().waiter(node).put_into(bucket);
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
        self.discharge(&key, 1);
    }

    /// Wakes up to `most` waiters with that key, a bit of `bits`, and a number below `horizon`, as far as there is room: `take` answers whether
    /// there is for another. One that waits for a lock that inherits priorities is not to be woken so, and ends it: `EINVAL`. Whoever finds nobody
    /// sees to it that the next does so at the gate.
    #[inline]
    pub(crate) fn wake(
        &mut self,
        key: &Key,
        bits: u32,
        most: u32,
        horizon: u64,
        mut take: impl FnMut(Handle<H>) -> bool,
    ) -> Result<u32, Errno> {
        let mut woken = Ok(0);
        let mut taken = 0;
        let mut room = true;
        let chain = self.chain();
        let mut cursor = chain.head;
        while let Some(node) = cursor {
            if woken == Ok(most) || !room {
                break;
            }
            let links = chain.links(node);
            cursor = links.next;
            if links.key == *key && links.claim().is_some() {
                woken = Err(Errno::EINVAL);
                break;
            }
            let matches =
                links.key == *key && links.bitset & bits != 0 && (links.number < horizon || mutated!(horizon));
            if !matches || chain.waiter(node).has_left() {
                continue;
            }
            taken += 1;
            if let Some(handle) = chain.claim(node, bits) {
                room = take(handle);
                woken = woken.map(|woken| woken + 1);
            }
        }
        if taken != 0 {
            self.discharge(key, taken);
        } else if cursor.is_none() {
            self.retag();
        }
        woken
    }

    /// Gives up to `most` waiters of `from` another key, in this bucket or in that of `to`; how many. Equal keys: counted, and left
    /// where they are. One pass over each list: both are sorted, so the moved ones go to places ever further back. `EINVAL` as for [`wake`](Self::wake).
    pub(crate) fn requeue(
        &mut self,
        mut to: Option<&mut Locked<'_, H>>,
        from: &Key,
        key: &Key,
        most: u32,
        horizon: u64,
    ) -> Result<u32, Errno> {
        let mut moved = 0;
        let mut last = None;
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
            self.give(to.as_deref_mut(), node, key, &mut last);
        }
        Ok(moved)
    }

    /// Gives a waiter of this bucket another key, in this bucket or in that of `to`, behind those that are there. `last` is the one that was given
    /// before, under the same locks, and no less urgent.
    pub(crate) fn give(
        &mut self,
        to: Option<&mut Locked<'_, H>>,
        node: NonNull<Waiter<H>>,
        key: &Key,
        last: &mut Option<NonNull<Waiter<H>>>,
    ) {
        let tag = if mutated!(requeue_tag) { 0 } else { self.spot.bucket.table().tag(key) };
        let chain = self.chain();
        chain.links(node).key = *key;
        if mutated!(requeue_bitset) {
            chain.links(node).bitset = u32::MAX;
        }
        chain.unlink(node);
        match to {
            // Appended behind the horizon: a loop over the list does not meet it again as one of its old key.
            None => {
                self.enter(tag, 0);
                self.append_behind(last, node);
            }
            Some(to) => {
                to.enter(tag, 1);
                to.append_behind(last, node);
                self.exit(1);
            }
        }
    }

    /// Takes the first node out of the list, to be adopted by another before anything else is done.
    pub(crate) fn pop(&mut self) -> Option<NonNull<Waiter<H>>> {
        let chain = self.chain();
        let node = chain.head?;
        chain.unlink(node);
        Some(node)
    }

    /// Puts a node that another table's bucket had into the list, its number kept.
    pub(crate) fn adopt(&mut self, node: NonNull<Waiter<H>>) {
        self.enter(if mutated!(adopt_tag) { 0 } else { self.spot.tag }, 1);
        self.chain().insert(node);
        self.put_into(node);
    }

    /// The list, whose waiters were all taken, stays empty from now on: its successor's buckets serve. They, and the waiters in them, are seen
    /// by whoever sees the mark.
    pub(crate) fn close(&mut self) {
        self.chain().waiters = 0;
        self.held.sign = Sign::CLOSED;
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

    /// The first node's key.
    pub(crate) fn first_key(&mut self) -> Option<Key> {
        let node = self.head?;
        Some(self.links(node).key)
    }

    /// The first waiter with that key.
    pub(crate) fn first(&mut self, key: &Key) -> Option<Found<H>> {
        self.seek(self.head, key)
    }

    /// Whether the last one waits for `key`.
    fn ends_with(&mut self, key: &Key) -> bool {
        self.tail.is_some_and(|tail| self.links(tail).key == *key)
    }

    fn priority(&mut self, node: NonNull<Waiter<H>>) -> Priority {
        self.links(node).priority
    }

    /// Links a node behind the last that is as urgent. With equal priorities, that is the tail.
    fn insert(&mut self, node: NonNull<Waiter<H>>) {
        let priority = self.priority(node);
        let mut previous = self.tail;
        while let Some(other) = previous {
            if self.priority(other) <= priority || mutated!(urgent_first) {
                break;
            }
            previous = self.links(other).previous;
        }
        self.link(previous, node);
    }

    /// The same, looked for from `from` on, which is of the list and no less urgent; or from the head.
    fn insert_behind(&mut self, from: Option<NonNull<Waiter<H>>>, node: NonNull<Waiter<H>>) {
        let priority = self.priority(node);
        let mut previous = self.tail;
        if previous.is_some_and(|tail| self.priority(tail) > priority) {
            previous = from;
            loop {
                let next = previous.map_or(self.head, |previous| self.links(previous).next);
                match next {
                    Some(next) if self.priority(next) <= priority => previous = Some(next),
                    _ => break,
                }
            }
        }
        self.link(previous, node);
    }

    /// Links a node behind another, or at the head.
    fn link(&mut self, previous: Option<NonNull<Waiter<H>>>, node: NonNull<Waiter<H>>) {
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
    fn a_list_is_a_cache_line() {
        assert_eq!(core::mem::size_of::<Bucket<crate::test_host::Nowhere>>(), 64);
    }
}
