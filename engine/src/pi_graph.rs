//! Who waits for whom with priority inheritance: a graph over all locks of the engine, behind one lock. Used by `pi` and `pi_requeue`.
//!
//! An edge is a *claim*: a thread that waits for a lock, and the thread that owns it. It lies with its waiter on the waiting thread's
//! stack. There is no record of a lock beside the claims to it, so nothing is allocated, and nothing is left when the last one goes. A lock's heir is
//! the most urgent claim among those with its key and its owner; of equals, the one that came first.
//!
//! The graph's lock is taken behind buckets' locks, and never the other way round.

use core::cell::UnsafeCell;
use core::pin::Pin;
use core::ptr::NonNull;

use crate::atomic::Tracked;
use crate::bucket::Bucket;
use crate::gate::{Gate, Held};
use crate::key::Key;
use crate::mutant::mutated;
use crate::waiter::Waiter;
use crate::{Host, Inheritance, Priority, Thread};

/// How many owners, each waiting for the next, are followed: a longer chain counts as a circle, as on Linux.
pub const MOST_CHAIN: usize = 1024;
/// Lists by thread and by owner: 1 KiB.
const HEADS: usize = 64;

const BY_THREAD: usize = 0;
const BY_OWNER: usize = 1;

type Place<H> = NonNull<Claim<H>>;

/// What a thread that waits with priority inheritance adds to its waiter. In the graph from when it waits for a lock until it leaves or is
/// the lock's heir; one that waits to be moved to a lock is not in it yet.
pub(crate) struct Claim<H: Host> {
    /// Whose lock guards it: known by its address, since its engine is borrowed as long as the claim is there.
    graph: *const Graph<H>,
    /// Who waits.
    pub(crate) thread: Thread,
    /// WAIT_REQUEUE_PI: the only lock that it may be moved to.
    pub(crate) target: Option<Key>,
    edge: UnsafeCell<Edge<H>>,
    tracked: Tracked,
}

/// What the graph's lock guards of a claim, from when its waiter is queued.
struct Edge<H: Host> {
    node: Option<NonNull<Waiter<H>>>,
    handle: Option<H::Task>,
    /// The lock.
    key: Option<Key>,
    /// Its owner. `None`: not in the graph.
    owner: Option<Thread>,
    /// The lock's word does not name the owner yet, which is an heir of a thread that exits.
    unsettled: bool,
    own: Priority,
    /// Its own priority, or one that its thread is lent: whichever is more urgent.
    urgency: Priority,
    arrival: u64,
    links: [Link<H>; 2],
}

struct Link<H: Host> {
    next: Option<Place<H>>,
    previous: Option<Place<H>>,
}

impl<H: Host> Claim<H> {
    /// Whether it is, or will be, in that graph. In another engine's it is where two engines serve one space.
    pub(crate) fn is_of(&self, graph: &Graph<H>) -> bool {
        core::ptr::eq(self.graph, graph) || mutated!(claim_engine)
    }
}

/// A waiter with its claim.
pub(crate) struct Claimant<H: Host> {
    pub(crate) node: Waiter<H>,
    claim: Claim<H>,
}

impl<H: Host> Claimant<H> {
    pub(crate) fn new(graph: &Graph<H>, key: Key, own: Priority, thread: Thread, target: Option<Key>) -> Claimant<H> {
        let edge = Edge {
            node: None,
            handle: None,
            key: None,
            owner: None,
            unsettled: false,
            own,
            urgency: own,
            arrival: 0,
            links: [const { Link { next: None, previous: None } }; 2],
        };
        let graph = core::ptr::from_ref(graph);
        let claim = Claim { graph, thread, target, edge: UnsafeCell::new(edge), tracked: Tracked::new() };
        Claimant { node: Waiter::new(key, u32::MAX, own), claim }
    }

    /// Ties the two together, where they stay, before the waiter is queued.
    pub(crate) fn tie(self: Pin<&Self>, handle: H::Task) {
        let this = self.get_ref();
        // SAFETY: not queued: its owner's, which is the caller.
        let edge = unsafe { &mut *this.claim.edge.get() };
        edge.node = Some(NonNull::from(&this.node));
        edge.handle = Some(handle);
        this.node.inherit(NonNull::from(&this.claim));
    }

    pub(crate) fn claim(&self) -> Place<H> {
        NonNull::from(&self.claim)
    }

    pub(crate) fn thread(&self) -> Thread {
        self.claim.thread
    }
}

/// The graph.
pub(crate) struct Graph<H: Host> {
    /// Its lock.
    gate: Gate,
    tracked: Tracked,
    heads: UnsafeCell<Heads<H>>,
}

struct Heads<H: Host> {
    lists: [[Option<Place<H>>; HEADS]; 2],
    arrivals: u64,
}

// SAFETY: heads and claims are reached by the lock's holder only; tasks in them may be sent.
unsafe impl<H: Host> Send for Graph<H> where H::Task: Send {}
// SAFETY: as above.
unsafe impl<H: Host> Sync for Graph<H> where H::Task: Send {}

impl<H: Host> Graph<H> {
    pub(crate) fn new() -> Graph<H> {
        let heads = Heads { lists: [[None; HEADS]; 2], arrivals: 0 };
        Graph { gate: Gate::new(), tracked: Tracked::new(), heads: UnsafeCell::new(heads) }
    }

    pub(crate) fn lock<'a>(&'a self, host: &'a H) -> Waits<'a, H> {
        Waits { graph: self, _held: self.gate.lock(host, 0) }
    }
}

fn head(id: u64) -> usize {
    // Fibonacci hashing: ids are near one another, or addresses.
    (id.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58) as usize % HEADS
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

    /// A claim that is in the graph, or whose waiter is in the list of a bucket of which the caller holds the lock.
    fn claim(&self, place: Place<H>) -> &Claim<H> {
        // SAFETY: it is there until its owner has taken this lock and found it gone.
        unsafe { place.as_ref() }
    }

    fn edge(&mut self, place: Place<H>) -> &mut Edge<H> {
        let claim = self.claim(place);
        claim.tracked.touch();
        let edge = claim.edge.get();
        // SAFETY: the lock's holder's, and this borrows the guard.
        unsafe { &mut *edge }
    }

    fn link(&mut self, by: usize, id: u64, place: Place<H>) {
        let next = self.heads().lists[by][head(id)].replace(place);
        self.edge(place).links[by] = Link { next, previous: None };
        if let Some(next) = next {
            self.edge(next).links[by].previous = Some(place);
        }
    }

    fn unlink(&mut self, by: usize, id: u64, place: Place<H>) {
        let Link { next, previous } =
            core::mem::replace(&mut self.edge(place).links[by], Link { next: None, previous: None });
        match previous {
            Some(previous) => self.edge(previous).links[by].next = next,
            None => self.heads().lists[by][head(id)] = next,
        }
        if let Some(next) = next {
            self.edge(next).links[by].previous = previous;
        }
    }

    /// The first of a list from `cursor` on for which `what` holds; and what is behind it.
    fn find(
        &mut self,
        by: usize,
        mut cursor: Option<Place<H>>,
        what: impl Fn(&Edge<H>, &Thread) -> bool,
    ) -> Option<(Place<H>, Option<Place<H>>)> {
        while let Some(place) = cursor {
            let thread = self.claim(place).thread;
            let edge = self.edge(place);
            let next = edge.links[by].next;
            if what(edge, &thread) {
                return Some((place, next));
            }
            cursor = next;
        }
        None
    }

    /// The claim by which a thread waits.
    fn waiting(&mut self, thread: u64) -> Option<Place<H>> {
        let first = self.heads().lists[BY_THREAD][head(thread)];
        self.find(BY_THREAD, first, |_, who| who.id == thread).map(|(place, _)| place)
    }

    /// The next claim to a lock of a thread: of one lock, or of any.
    fn owned(
        &mut self,
        owner: u64,
        key: Option<Key>,
        cursor: Option<Place<H>>,
    ) -> Option<(Place<H>, Option<Place<H>>)> {
        let matches = |edge: &Edge<H>| key.is_none() || edge.key == key;
        self.find(BY_OWNER, cursor, |edge, _| edge.owner.is_some_and(|who| who.id == owner) && matches(edge))
    }

    /// The most urgent claim to a lock of a thread (or to any of its locks); of equals the first.
    fn most_urgent(&mut self, owner: u64, key: Option<Key>) -> Option<Place<H>> {
        let mut best = None;
        let mut cursor = self.heads().lists[BY_OWNER][head(owner)];
        while let Some((place, next)) = self.owned(owner, key, cursor) {
            let edge = self.edge(place);
            let rank = (edge.urgency, edge.arrival);
            let better = match best {
                Some((least, _)) => rank < least,
                None => true,
            };
            if better {
                best = Some((rank, place));
            }
            cursor = next;
        }
        best.map(|(_, place)| place)
    }

    /// The heir of a lock that a thread owns.
    pub(crate) fn heir(&mut self, owner: u64, key: &Key) -> Option<Place<H>> {
        self.most_urgent(owner, Some(*key))
    }

    /// A lock of a thread for which somebody waits.
    pub(crate) fn lock_of(&mut self, owner: u64) -> Option<Key> {
        let first = self.heads().lists[BY_OWNER][head(owner)];
        let (place, _) = self.owned(owner, None, first)?;
        self.edge(place).key
    }

    /// Whether the waiter of a claim in the graph is in the list of that bucket, whose lock is held.
    pub(crate) fn is_in(&mut self, place: Place<H>, bucket: &Bucket<H>) -> bool {
        let Some(node) = self.edge(place).node else { return false };
        // SAFETY: with its claim, which is there.
        unsafe { node.as_ref() }.bucket() == Some(NonNull::from(bucket))
    }

    /// Whose a claim in the graph is.
    pub(crate) fn thread(&self, place: Place<H>) -> Thread {
        self.claim(place).thread
    }

    /// Who owns the lock that a queued waiter waits for, and whether the word says so; `None`: it waits to be moved to one.
    pub(crate) fn owner(&mut self, place: Place<H>) -> Option<(Thread, bool)> {
        let thread = self.claim(place).thread;
        let edge = self.edge(place);
        let (owner, unsettled, node) = (edge.owner, edge.unsettled, edge.node);
        if let Some(owner) = owner {
            return Some((owner, !unsettled));
        }
        // SAFETY: with its claim, which is there.
        let heir = unsafe { node?.as_ref() }.is_heir();
        heir.then_some((thread, mutated!(pi_unsettled)))
    }

    /// Whether a thread would wait for itself, if it waited for this owner; the walk is of [`MOST_CHAIN`] steps at most.
    pub(crate) fn would_circle(&mut self, thread: u64, owner: u64) -> bool {
        let mut owner = owner;
        for _ in 0..MOST_CHAIN {
            if owner == thread {
                return true;
            }
            if mutated!(chain_check) {
                return false;
            }
            let Some(place) = self.waiting(owner) else { return false };
            let Some(next) = self.edge(place).owner else { return false };
            owner = next.id;
        }
        true
    }

    /// Puts a claim into the graph: it waits for a lock of `owner`, behind those that are as urgent.
    pub(crate) fn add(&mut self, place: Place<H>, key: &Key, owner: Thread, settled: bool, host: &dyn Inheritance<H>) {
        let thread = self.claim(place).thread.id;
        let own = host.priority(thread);
        let lent = self.lent(thread);
        let heads = self.heads();
        let arrival = heads.arrivals;
        heads.arrivals += 1;
        let edge = self.edge(place);
        edge.key = Some(*key);
        edge.owner = Some(owner);
        edge.unsettled = !settled;
        edge.own = own;
        edge.urgency = lent.map_or(own, |lent| own.min(lent));
        edge.arrival = arrival;
        self.link(BY_THREAD, thread, place);
        self.link(BY_OWNER, owner.id, place);
    }

    /// Takes a claim out of the graph; whose lock it was, if it was there.
    pub(crate) fn remove(&mut self, place: Place<H>) -> Option<Thread> {
        let thread = self.claim(place).thread.id;
        let owner = self.edge(place).owner?;
        self.unlink(BY_THREAD, thread, place);
        self.unlink(BY_OWNER, owner.id, place);
        self.edge(place).owner = None;
        Some(owner)
    }

    /// Takes a lock's heir out of the graph, and makes it the owner for those that go on waiting; its thread, waiter and handle.
    pub(crate) fn hand_over(&mut self, heir: Place<H>, settled: bool) -> Handed<H> {
        let thread = self.claim(heir).thread;
        let edge = self.edge(heir);
        let (key, node, handle) = (edge.key, edge.node, edge.handle.take());
        if let Some(before) = self.remove(heir) {
            let mut cursor = self.heads().lists[BY_OWNER][head(before.id)];
            while let Some((place, next)) = self.owned(before.id, key, cursor) {
                self.unlink(BY_OWNER, before.id, place);
                let edge = self.edge(place);
                edge.owner = Some(thread);
                edge.unsettled = !settled;
                self.link(BY_OWNER, thread.id, place);
                cursor = next;
            }
        }
        Handed { thread, node, handle }
    }

    /// The handle of one that is woken without having waited for the lock.
    pub(crate) fn take_handle(&mut self, place: Place<H>) -> Option<H::Task> {
        self.edge(place).handle.take()
    }

    /// A lock's word names its owner from now on.
    pub(crate) fn settle(&mut self, owner: u64, key: &Key) {
        let mut cursor = self.heads().lists[BY_OWNER][head(owner)];
        while let Some((place, next)) = self.owned(owner, Some(*key), cursor) {
            self.edge(place).unsettled = false;
            cursor = next;
        }
    }

    /// What a thread is lent: the urgency of the most urgent one that waits for a lock of its.
    fn lent(&mut self, owner: u64) -> Option<Priority> {
        let place = self.most_urgent(owner, None)?;
        Some(self.edge(place).urgency)
    }

    /// Claims to locks of a thread have come, gone or changed: tells the host what it is lent; and if the thread waits itself, so for the owner of that
    /// lock, and so on while anything changes.
    pub(crate) fn lend(&mut self, thread: u64, host: &dyn Inheritance<H>) {
        let mut thread = thread;
        for _ in 0..MOST_CHAIN {
            let lent = self.lent(thread);
            if !(lent.is_none() && mutated!(boost_undone)) {
                host.lend(thread, lent);
            }
            let Some(place) = self.waiting(thread) else { return };
            let edge = self.edge(place);
            let urgency = lent.map_or(edge.own, |lent| edge.own.min(lent));
            let (Some(owner), true) = (edge.owner, edge.urgency != urgency) else { return };
            edge.urgency = urgency;
            thread = owner.id;
        }
    }

    /// A thread's own priority has changed: its claim, if it has one, gets another place.
    pub(crate) fn reprioritize(&mut self, thread: u64, host: &dyn Inheritance<H>) {
        if let Some(place) = self.waiting(thread) {
            let own = host.priority(thread);
            self.edge(place).own = own;
            self.lend(thread, host);
        }
    }
}

/// Who was handed a lock.
pub(crate) struct Handed<H: Host> {
    pub(crate) thread: Thread,
    pub(crate) node: Option<NonNull<Waiter<H>>>,
    pub(crate) handle: Option<H::Task>,
}
