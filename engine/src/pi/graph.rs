//! Who waits for whom with priority inheritance: a graph over all locks of the engine, behind one
//! lock. Used by the operations of this folder.
//!
//! An edge is a *claim*: a thread that waits for a lock, and the thread that owns it. It lies with
//! its waiter on the waiting thread's stack. There is no record of a lock beside the claims to it,
//! so nothing is allocated, and nothing is left when the last one goes. The top waiter of a lock
//! has the most urgent claim to it; of equals, the one that came first. That claim says whose the
//! lock is, for all of them.
//!
//! The claims are in trees (`tree`): each step here costs the logarithm of their number.
//!
//! The graph's lock is taken behind buckets' locks, and never the other way round.

use core::cell::UnsafeCell;
use core::ptr::NonNull;

use crate::atomic::Tracked;
use crate::mutant::mutated;
use crate::pi::claim::{Claim, ClaimPtr, Claimant, Edge, Owned};
use crate::pi::tree::{BY_LOCK, BY_OWNER, BY_THREAD, Group, Link, Rank, TREES, Trees};
use crate::table::bucket::Bucket;
use crate::table::key::Key;
use crate::table::lock_word::{Held, LockWord};
use crate::table::wait_list::Found;
use crate::waiter::Waiter;
use crate::{Errno, Host, Inheritance, Priority, Thread};

/// How many owners, each waiting for the next, are followed: a longer chain counts as a circle, as
/// on Linux.
pub const MOST_CHAIN: usize = 1024;

/// The graph.
pub(crate) struct Graph<H: Host> {
    /// Its lock.
    lock: LockWord,
    tracked: Tracked,
    heads: UnsafeCell<Heads<H>>,
}

struct Heads<H: Host> {
    roots: [Option<ClaimPtr<H>>; TREES],
    arrivals: u64,
}

// SAFETY: heads and claims are reached by the lock's holder only; tasks in them may be sent.
unsafe impl<H: Host> Send for Graph<H> where H::Task: Send {}
// SAFETY: as above.
unsafe impl<H: Host> Sync for Graph<H> where H::Task: Send {}

impl<H: Host> Graph<H> {
    pub(crate) fn new() -> Graph<H> {
        let heads = Heads { roots: [None; TREES], arrivals: 0 };
        Graph { lock: LockWord::new(), tracked: Tracked::new(), heads: UnsafeCell::new(heads) }
    }

    pub(crate) fn lock<'a>(&'a self, host: &'a H) -> Waits<'a, H> {
        Waits { graph: self, _held: self.lock.lock(host, 0) }
    }

    /// By what its claims know it.
    fn identity(&self) -> *const () {
        core::ptr::from_ref(self).cast()
    }

    /// A waiter with a claim that is not in the graph yet.
    pub(crate) fn claimant(&self, key: Key, own: Priority, thread: Thread, target: Option<Key>) -> Claimant<H> {
        Claimant::new(self.identity(), key, own, thread, target)
    }

    /// The claim of a waiter, by the holder of its list's lock. `EINVAL`: it waits otherwise, or by
    /// another engine.
    pub(crate) fn claim_of(&self, found: &Found<H>) -> Result<ClaimPtr<H>, Errno> {
        let claim = found.claim().ok_or(Errno::EINVAL)?;
        // SAFETY: its waiter is in the list, and what is asked for never changes.
        if unsafe { claim.as_ref() }.is_of(self.identity()) { Ok(claim) } else { Err(Errno::EINVAL) }
    }
}

/// The graph, whose lock is held.
pub(crate) struct Waits<'a, H: Host> {
    graph: &'a Graph<H>,
    _held: Held<'a, H>,
}

impl<H: Host> Waits<'_, H> {
    fn heads(&mut self) -> &mut Heads<H> {
        self.graph.tracked.touch();
        // SAFETY: the lock is held, and this borrows the guard.
        unsafe { &mut *self.graph.heads.get() }
    }

    /// A claim that is in the graph, or whose waiter is in the list of a bucket of which the caller
    /// holds the lock.
    fn claim_at(&self, claim: ClaimPtr<H>) -> &Claim<H> {
        // SAFETY: it is there until its owner has taken this lock and found it gone.
        unsafe { claim.as_ref() }
    }

    #[inline]
    pub(crate) fn edge(&mut self, claim: ClaimPtr<H>) -> &mut Edge<H> {
        let edge = self.claim_at(claim).edge();
        // SAFETY: the lock's holder's, and this borrows the guard.
        unsafe { &mut *edge }
    }

    /// The claim by which a thread waits.
    fn waiting(&mut self, thread: u64) -> Option<ClaimPtr<H>> {
        self.first(BY_THREAD, Group::Thread(thread))
    }

    /// The most urgent claim to a lock, of equals the first: it says whose the lock is.
    fn most_urgent(&mut self, key: &Key) -> Option<ClaimPtr<H>> {
        self.first(BY_LOCK, Group::Lock(*key))
    }

    /// Whose the lock is that a claim in the graph is to.
    fn owned(&mut self, claim: ClaimPtr<H>) -> Option<Owned> {
        let key = self.edge(claim).key?;
        let first = self.most_urgent(&key)?;
        self.edge(first).owned
    }

    /// A claim becomes the one that says whose its lock is.
    fn make_top(&mut self, claim: ClaimPtr<H>, owned: Owned) {
        self.edge(claim).owned = Some(owned);
        self.put(BY_OWNER, claim);
    }

    /// It is that no more, if it was; what it said.
    fn unmake_top(&mut self, claim: ClaimPtr<H>) -> Option<Owned> {
        let owned = self.edge(claim).owned.take()?;
        self.take(BY_OWNER, claim);
        Some(owned)
    }

    /// Puts a claim among those to its lock, which is `owned` if there are no others.
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

    /// Takes a claim out from among those to its lock, which is `owned`.
    fn unlink_claim(&mut self, claim: ClaimPtr<H>, owned: Owned) {
        let before = self.unmake_top(claim);
        self.take(BY_LOCK, claim);
        let key = self.edge(claim).key.take();
        // One that was not the first leaves the first as it is.
        let next = key.filter(|_| before.is_some()).and_then(|key| self.most_urgent(&key));
        if let Some(next) = next {
            self.make_top(next, owned);
        }
    }

    /// The top waiter of a lock that a thread owns.
    pub(crate) fn top_waiter(&mut self, owner: u64, key: &Key) -> Option<ClaimPtr<H>> {
        let top = self.most_urgent(key)?;
        let owned = self.edge(top).owned?;
        (owned.by.id == owner).then_some(top)
    }

    /// A lock of a thread for which somebody waits.
    pub(crate) fn lock_of(&mut self, owner: u64) -> Option<Key> {
        let claim = self.first(BY_OWNER, Group::Owner(owner))?;
        self.edge(claim).key
    }

    /// Whether the waiter of a claim in the graph is in the list of that bucket, whose lock is
    /// held.
    pub(crate) fn is_in(&mut self, claim: ClaimPtr<H>, bucket: &Bucket<H>) -> bool {
        let Some(node) = self.edge(claim).node else { return false };
        // SAFETY: with its claim, which is there.
        unsafe { node.as_ref() }.bucket() == Some(NonNull::from(bucket))
    }

    /// Whether a claim is in the graph.
    pub(crate) fn has(&mut self, claim: ClaimPtr<H>) -> bool {
        self.edge(claim).key.is_some()
    }

    /// Whose a claim in the graph is.
    pub(crate) fn thread(&self, claim: ClaimPtr<H>) -> Thread {
        self.claim_at(claim).thread
    }

    /// Who owns the lock that a queued waiter waits for, and whether the word says so; `None`: it
    /// waits to be moved to one.
    pub(crate) fn owner(&mut self, claim: ClaimPtr<H>) -> Option<(Thread, bool)> {
        if let Some(owned) = self.owned(claim) {
            return Some((owned.by, owned.settled));
        }
        let thread = self.claim_at(claim).thread;
        let node = self.edge(claim).node?;
        // SAFETY: with its claim, which is there.
        let assigned = unsafe { node.as_ref() }.is_assigned();
        assigned.then_some((thread, mutated!(pi_unsettled)))
    }

    /// Whether a thread would wait for itself, if it waited for this owner; the walk is of
    /// [`MOST_CHAIN`] steps at most.
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

    /// Puts a claim into the graph: it waits for a lock of `owner`, behind those that are as
    /// urgent. Its thread's own priority.
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

    /// Takes a claim out of the graph; whose lock it was, if it was there.
    pub(crate) fn remove(&mut self, claim: ClaimPtr<H>) -> Option<Thread> {
        let owned = self.owned(claim)?;
        self.take(BY_THREAD, claim);
        self.unlink_claim(claim, owned);
        Some(owned.by)
    }

    /// Takes a lock's top waiter out of the graph, and makes it the owner for those that go on
    /// waiting; its thread, waiter and handle.
    pub(crate) fn hand_off(&mut self, top: ClaimPtr<H>, settled: bool) -> NewOwner<H> {
        let thread = self.claim_at(top).thread;
        if self.has(top) {
            self.take(BY_THREAD, top);
            self.unlink_claim(top, Owned { by: thread, settled });
        }
        let edge = self.edge(top);
        NewOwner { thread, node: edge.node, handle: edge.handle.take() }
    }

    /// The handle of one that is woken without having waited for the lock.
    pub(crate) fn take_handle(&mut self, claim: ClaimPtr<H>) -> Option<H::Task> {
        self.edge(claim).handle.take()
    }

    /// A lock's word names its owner from now on.
    pub(crate) fn settle(&mut self, owner: u64, key: &Key) {
        if let Some(top) = self.top_waiter(owner, key) {
            let edge = self.edge(top);
            edge.owned = edge.owned.map(|owned| Owned { settled: true, ..owned });
        }
    }

    /// What a thread is lent: the urgency of the most urgent one that waits for a lock of its.
    fn lent(&mut self, owner: u64) -> Option<Priority> {
        let claim = self.first(BY_OWNER, Group::Owner(owner))?;
        Some(self.edge(claim).urgency)
    }

    /// Claims to locks of a thread have come, gone or changed: tells the host what it is lent; and
    /// if the thread waits itself, so for the owner of that lock, and so on while anything changes.
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

    /// A thread's own priority has changed: its claim, if it has one, gets another place.
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
            // There urgency, which may change, has no meaning.
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
