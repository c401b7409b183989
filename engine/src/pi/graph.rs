//! The graph of threads that wait for each other with priority inheritance, over all locks of the
//! engine, behind one lock. Used by the operations of this folder.
//!
//! An edge is a *claim*: it leads from a thread that waits for a lock to the thread that owns it.
//! It lies beside its waiter on the waiting thread's stack. A lock has no record but the claims to
//! it, so nothing is allocated, and nothing is left when the last claim goes. The top waiter of a
//! lock has the most urgent claim to it; among equals, the one that came first. The top waiter's
//! claim says which thread owns the lock, for all claims to it.
//!
//! The claims are in trees (`tree`): each step here costs the logarithm of their number.
//!
//! The graph's lock is taken after buckets' locks, and never the other way round.

use core::cell::UnsafeCell;
use core::ptr::NonNull;

use crate::atomic::Tracked;
use crate::mutant::mutated;
use crate::pi::claim::{Claim, ClaimPtr, Claimant, Edge, Owned};
use crate::pi::tree::{BY_LOCK, BY_OWNER, BY_THREAD, Group, Link, Rank, TREES, Trees};
use crate::table::bucket::Bucket;
use crate::table::key::Key;
use crate::table::lock_word::{HeldWord, LockWord};
use crate::table::locked::LockedBucket;
use crate::table::wait_list::FoundWaiter;
use crate::waiter::Waiter;
use crate::{Errno, Host, Inheritance, Priority, Thread};

/// The greatest number of owners, each waiting for the next, that are followed. A longer chain
/// counts as a circle, as on Linux.
pub const MOST_CHAIN: usize = 1024;

/// The graph of all claims of an engine.
pub(crate) struct Graph<H: Host> {
    /// The lock that guards `heads` and the claims' edges. Its holder does not sleep.
    lock: LockWord,
    tracked: Tracked,
    heads: UnsafeCell<Heads<H>>,
}

/// The trees' roots, and the count of arrivals.
struct Heads<H: Host> {
    roots: [Option<ClaimPtr<H>>; TREES],
    /// The number of claims that ever came to the graph.
    arrivals: u64,
}

// SAFETY: only the lock's holder reaches heads and claims, and the tasks in them may be sent.
unsafe impl<H: Host> Send for Graph<H> where H::Task: Send {}
// SAFETY: as above.
unsafe impl<H: Host> Sync for Graph<H> where H::Task: Send {}

impl<H: Host> Graph<H> {
    pub(crate) fn new() -> Graph<H> {
        let heads = Heads { roots: [None; TREES], arrivals: 0 };
        Graph { lock: LockWord::new(), tracked: Tracked::new(), heads: UnsafeCell::new(heads) }
    }

    /// Locks the graph.
    pub(crate) fn lock<'a>(&'a self, host: &'a H) -> Waits<'a, H> {
        Waits { graph: self, held: self.lock.lock(host, 0) }
    }

    /// Returns the address by which claims identify their graph.
    fn identity(&self) -> *const () {
        core::ptr::from_ref(self).cast()
    }

    /// Makes a waiter with a claim that is not in the graph yet.
    pub(crate) fn claimant(&self, key: Key, own: Priority, thread: Thread, target: Option<Key>) -> Claimant<H> {
        Claimant::new(self.identity(), key, own, thread, target)
    }

    /// Returns the claim of a waiter, of whose list the caller holds the lock. `EINVAL` if it is a
    /// waiter of another kind, or of another engine.
    pub(crate) fn claim_of(&self, found: &FoundWaiter<H>) -> Result<ClaimPtr<H>, Errno> {
        let claim = found.claim().ok_or(Errno::EINVAL)?;
        // SAFETY: its waiter is in the list, and the field that is read never changes.
        if unsafe { claim.as_ref() }.is_of(self.identity()) { Ok(claim) } else { Err(Errno::EINVAL) }
    }
}

/// The held lock of the graph: its methods read and change who waits for whom.
pub(crate) struct Waits<'a, H: Host> {
    graph: &'a Graph<H>,
    held: HeldWord<'a, H>,
}

impl<'a, H: Host> Waits<'a, H> {
    /// Has this lock's time without preemption end after that of a bucket's lock, which was taken
    /// first and is given up first.
    pub(crate) fn ends_after(&mut self, locked: &mut LockedBucket<'a, H>) {
        locked.ends_before_lock(&mut self.held);
    }
}

impl<H: Host> Waits<'_, H> {
    fn heads(&mut self) -> &mut Heads<H> {
        self.graph.tracked.touch();
        // SAFETY: the lock is held, and this borrows the guard.
        unsafe { &mut *self.graph.heads.get() }
    }

    /// Returns a claim that is in the graph, or whose waiter is in the list of a bucket of which
    /// the caller holds the lock.
    fn claim_at(&self, claim: ClaimPtr<H>) -> &Claim<H> {
        // SAFETY: its thread takes this lock before it frees the claim, and so waits for us.
        unsafe { claim.as_ref() }
    }

    /// Returns the part of a claim that the lock guards.
    #[inline]
    pub(crate) fn edge(&mut self, claim: ClaimPtr<H>) -> &mut Edge<H> {
        let edge = self.claim_at(claim).edge();
        // SAFETY: it belongs to the lock's holder, and this borrows the guard.
        unsafe { &mut *edge }
    }

    /// Returns the claim by which a thread waits.
    fn waiting(&mut self, thread: u64) -> Option<ClaimPtr<H>> {
        self.first(BY_THREAD, Group::Thread(thread))
    }

    /// Returns the most urgent claim to a lock, among equals the first: the top waiter's.
    fn most_urgent(&mut self, key: &Key) -> Option<ClaimPtr<H>> {
        self.first(BY_LOCK, Group::Lock(*key))
    }

    /// Returns the ownership of the lock that a claim in the graph is for.
    fn owned(&mut self, claim: ClaimPtr<H>) -> Option<Owned> {
        let key = self.edge(claim).key?;
        let first = self.most_urgent(&key)?;
        self.edge(first).owned
    }

    /// Makes a claim the top waiter's of its lock, which is `owned`.
    fn make_top(&mut self, claim: ClaimPtr<H>, owned: Owned) {
        self.edge(claim).owned = Some(owned);
        self.put(BY_OWNER, claim);
    }

    /// Makes a claim an ordinary one, if it was the top waiter's; returns the ownership that it
    /// held.
    fn unmake_top(&mut self, claim: ClaimPtr<H>) -> Option<Owned> {
        let owned = self.edge(claim).owned.take()?;
        self.take(BY_OWNER, claim);
        Some(owned)
    }

    /// Links a claim among those to its lock; `owned` is the lock's ownership if there are no
    /// others.
    fn link_claim(&mut self, claim: ClaimPtr<H>, key: &Key, owned: Owned) {
        let before = self.most_urgent(key);
        self.edge(claim).key = Some(*key);
        self.put(BY_LOCK, claim);
        match before {
            None => self.make_top(claim, owned),
            Some(before) if self.rank(BY_LOCK, claim) < self.rank(BY_LOCK, before) => {
                let owned = self.unmake_top(before).unwrap_or(owned);
                self.make_top(claim, owned);
            }
            Some(_) => {}
        }
    }

    /// Unlinks a claim from those to its lock, whose ownership is `owned` from now on.
    fn unlink_claim(&mut self, claim: ClaimPtr<H>, owned: Owned) {
        let before = self.unmake_top(claim);
        self.take(BY_LOCK, claim);
        let key = self.edge(claim).key.take();
        // If the claim was not the top waiter's, the top waiter stays.
        let next = key.filter(|_| before.is_some()).and_then(|key| self.most_urgent(&key));
        if let Some(next) = next {
            self.make_top(next, owned);
        }
    }

    /// Returns the top waiter of a lock, if it waits for a lock that `owner` owns.
    pub(crate) fn top_waiter(&mut self, owner: u64, key: &Key) -> Option<ClaimPtr<H>> {
        let top = self.most_urgent(key)?;
        let owned = self.edge(top).owned?;
        (owned.by.id == owner).then_some(top)
    }

    /// Returns a lock that `owner` owns and for which a thread waits.
    pub(crate) fn lock_of(&mut self, owner: u64) -> Option<Key> {
        let claim = self.first(BY_OWNER, Group::Owner(owner))?;
        self.edge(claim).key
    }

    /// Returns true if the waiter of a claim in the graph is in the list of that bucket, whose lock
    /// is held.
    pub(crate) fn is_in(&mut self, claim: ClaimPtr<H>, bucket: &Bucket<H>) -> bool {
        let Some(node) = self.edge(claim).node else { return false };
        // SAFETY: it lies beside its claim, which is there.
        unsafe { node.as_ref() }.bucket() == Some(NonNull::from(bucket))
    }

    /// Returns true if a claim is in the graph.
    pub(crate) fn has(&mut self, claim: ClaimPtr<H>) -> bool {
        self.edge(claim).key.is_some()
    }

    /// Returns the thread that waits by a claim in the graph.
    pub(crate) fn thread(&self, claim: ClaimPtr<H>) -> Thread {
        self.claim_at(claim).thread
    }

    /// Returns the owner of the lock that a queued waiter waits for, and true if the lock's word
    /// names that owner. Returns `None` if the waiter waits to be moved to a lock.
    pub(crate) fn owner(&mut self, claim: ClaimPtr<H>) -> Option<(Thread, bool)> {
        if let Some(owned) = self.owned(claim) {
            return Some((owned.by, owned.settled));
        }
        let thread = self.claim_at(claim).thread;
        let node = self.edge(claim).node?;
        // SAFETY: it lies beside its claim, which is there.
        let assigned = unsafe { node.as_ref() }.is_assigned();
        assigned.then_some((thread, mutated!(pi_unsettled)))
    }

    /// Returns true if a thread would wait for itself, directly or not, if it waited for this
    /// owner; or if more than [`MOST_CHAIN`] owners would have to be followed to find out.
    pub(crate) fn would_circle(&mut self, thread: u64, owner: u64) -> bool {
        let mut owner = owner;
        for _ in 0..MOST_CHAIN {
            if owner == thread {
                return true;
            }
            if mutated!(chain_check) {
                return false;
            }
            let Some(claim) = self.waiting(owner) else { return false };
            let Some(owned) = self.owned(claim) else { return false };
            owner = owned.by.id;
        }
        true
    }

    /// Adds a claim to the graph: its thread waits for a lock of `owner`, behind those that are as
    /// urgent. Returns the thread's own priority.
    pub(crate) fn add(
        &mut self,
        claim: ClaimPtr<H>,
        key: &Key,
        owner: Thread,
        settled: bool,
        host: &dyn Inheritance<H>,
    ) -> Priority {
        let thread = self.claim_at(claim).thread.id;
        let own = host.priority(thread);
        let lent = self.lent(thread);
        let heads = self.heads();
        let arrival = heads.arrivals;
        heads.arrivals += 1;
        let edge = self.edge(claim);
        edge.own = own;
        edge.urgency = lent.map_or(own, |lent| own.min(lent));
        edge.arrival = arrival;
        self.put(BY_THREAD, claim);
        self.link_claim(claim, key, Owned { by: owner, settled });
        own
    }

    /// Removes a claim from the graph, if it is there, and returns the owner of its lock.
    pub(crate) fn remove(&mut self, claim: ClaimPtr<H>) -> Option<Thread> {
        let owned = self.owned(claim)?;
        self.take(BY_THREAD, claim);
        self.unlink_claim(claim, owned);
        Some(owned.by)
    }

    /// Removes a lock's top waiter from the graph, and makes it the owner for those that go on
    /// waiting. Returns its thread, waiter and handle.
    pub(crate) fn hand_off(&mut self, top: ClaimPtr<H>, settled: bool) -> NewOwner<H> {
        let thread = self.claim_at(top).thread;
        if self.has(top) {
            self.take(BY_THREAD, top);
            self.unlink_claim(top, Owned { by: thread, settled });
        }
        let edge = self.edge(top);
        NewOwner { thread, node: edge.node, handle: edge.handle.take() }
    }

    /// Takes the handle of a waiter that is woken without having waited for the lock.
    pub(crate) fn take_handle(&mut self, claim: ClaimPtr<H>) -> Option<H::Task> {
        self.edge(claim).handle.take()
    }

    /// Notes that a lock's word names its owner from now on.
    pub(crate) fn settle(&mut self, owner: u64, key: &Key) {
        if let Some(top) = self.top_waiter(owner, key) {
            let edge = self.edge(top);
            edge.owned = edge.owned.map(|owned| Owned { settled: true, ..owned });
        }
    }

    /// Returns what a thread is lent: the urgency of the most urgent waiter for a lock of its.
    fn lent(&mut self, owner: u64) -> Option<Priority> {
        let claim = self.first(BY_OWNER, Group::Owner(owner))?;
        Some(self.edge(claim).urgency)
    }

    /// Tells the host what a thread is lent, after claims to its locks came, went or changed. If
    /// that thread waits itself, does the same for the owner of the lock that it waits for, and so
    /// on as long as an urgency changes.
    pub(crate) fn lend(&mut self, thread: u64, host: &dyn Inheritance<H>) {
        let mut thread = thread;
        for _ in 0..MOST_CHAIN {
            let lent = self.lent(thread);
            if !(lent.is_none() && mutated!(boost_undone)) {
                host.lend(thread, lent);
            }
            let Some(claim) = self.waiting(thread) else { return };
            let edge = self.edge(claim);
            let urgency = lent.map_or(edge.own, |lent| edge.own.min(lent));
            let (Some(key), true) = (edge.key, edge.urgency != urgency) else { return };
            let Some(owned) = self.owned(claim) else { return };
            if mutated!(urgency_moves) {
                self.edge(claim).urgency = urgency;
            } else {
                self.unlink_claim(claim, owned);
                self.edge(claim).urgency = urgency;
                self.link_claim(claim, &key, owned);
            }
            thread = owned.by.id;
        }
    }

    /// Moves a thread's claim, if it has one, to its place by the thread's new own priority.
    pub(crate) fn reprioritize(&mut self, thread: u64, host: &dyn Inheritance<H>) {
        if let Some(claim) = self.waiting(thread) {
            let own = host.priority(thread);
            self.edge(claim).own = own;
            self.lend(thread, host);
        }
    }
}

impl<H: Host> Trees for Waits<'_, H> {
    type Node = ClaimPtr<H>;

    fn root(&mut self, by: usize) -> &mut Option<ClaimPtr<H>> {
        &mut self.heads().roots[by]
    }

    fn link(&mut self, by: usize, claim: ClaimPtr<H>) -> &mut Link<ClaimPtr<H>> {
        &mut self.edge(claim).links[by]
    }

    #[inline]
    fn rank(&mut self, by: usize, claim: ClaimPtr<H>) -> Rank {
        let thread = self.claim_at(claim).thread.id;
        let edge = self.edge(claim);
        let group = match (by, edge.key, edge.owned) {
            (BY_LOCK, Some(key), _) => Group::Lock(key),
            (BY_OWNER, _, Some(Owned { by, .. })) => Group::Owner(by.id),
            // In the tree by threads urgency, which may change, has no meaning.
            _ => return (Group::Thread(thread), Priority::NORMAL, edge.arrival),
        };
        (group, edge.urgency, edge.arrival)
    }
}

/// The waiter to which a lock was handed off.
pub(crate) struct NewOwner<H: Host> {
    pub(crate) thread: Thread,
    pub(crate) node: Option<NonNull<Waiter<H>>>,
    pub(crate) handle: Option<H::Task>,
}
