//! A claim: what a thread that waits with priority inheritance adds to its waiter. An edge of the
//! graph (`graph`), linked into its trees (`tree`).

use core::cell::UnsafeCell;
use core::pin::Pin;
use core::ptr::NonNull;

use crate::atomic::Tracked;
use crate::mutant::mutated;
use crate::pi::tree::{Link, TREES};
use crate::table::key::Key;
use crate::table::wait_list::Found;
use crate::waiter::Waiter;
use crate::{Host, Priority, Thread};

/// A pointer to a claim, which lies on its thread's stack.
pub(crate) type ClaimPtr<H> = NonNull<Claim<H>>;

/// What a thread that waits with priority inheritance adds to its waiter. In the graph from when it
/// waits for a lock until it leaves or is is handed the lock; one that waits to be moved to a lock
/// is not in it yet.
pub(crate) struct Claim<H: Host> {
    /// Whose lock guards it: known by its address, since its engine is borrowed as long as the
    /// claim is there.
    graph: *const (),
    /// Who waits.
    pub(crate) thread: Thread,
    /// WAIT_REQUEUE_PI: the only lock that it may be moved to.
    pub(crate) target: Option<Key>,
    edge: UnsafeCell<Edge<H>>,
    tracked: Tracked,
}

/// What the graph's lock guards of a claim, from when its waiter is queued.
pub(crate) struct Edge<H: Host> {
    pub(super) node: Option<NonNull<Waiter<H>>>,
    pub(super) handle: Option<H::Task>,
    /// The lock. `None`: not in the graph.
    pub(super) key: Option<Key>,
    /// Of the lock's top waiter: whose the lock is.
    pub(super) owned: Option<Owned>,
    pub(super) own: Priority,
    /// Its own priority, or one that its thread is lent: whichever is more urgent.
    pub(super) urgency: Priority,
    pub(super) arrival: u64,
    pub(crate) links: [Link<ClaimPtr<H>>; TREES],
}

/// What there is to know of a lock for which somebody waits.
#[derive(Clone, Copy)]
pub(crate) struct Owned {
    pub(super) by: Thread,
    /// The lock's word names the owner; else a thread that exited assigned the lock to the owner,
    /// which will write the word.
    pub(super) settled: bool,
}

impl<H: Host> Claim<H> {
    /// What the graph's lock guards: its holder's.
    #[inline]
    pub(super) fn edge(&self) -> *mut Edge<H> {
        self.tracked.touch();
        self.edge.get()
    }

    /// Whether it is, or will be, in that graph. In another engine's it is where two engines serve
    /// one space.
    pub(crate) fn is_of(&self, graph: *const ()) -> bool {
        self.graph == graph || mutated!(claim_engine)
    }
}

/// A waiter with its claim.
pub(crate) struct Claimant<H: Host> {
    pub(crate) node: Waiter<H>,
    claim: Claim<H>,
}

impl<H: Host> Claimant<H> {
    pub(crate) fn new(graph: *const (), key: Key, own: Priority, thread: Thread, target: Option<Key>) -> Claimant<H> {
        let edge = Edge {
            node: None,
            handle: None,
            key: None,
            owned: None,
            own,
            urgency: own,
            arrival: 0,
            links: [Link::NOWHERE; TREES],
        };
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
        this.node.inherit(NonNull::from(&this.claim).cast());
    }

    pub(crate) fn claim(&self) -> ClaimPtr<H> {
        NonNull::from(&self.claim)
    }

    pub(crate) fn thread(&self) -> Thread {
        self.claim.thread
    }
}

impl<H: Host> Found<H> {
    /// Its claim, if it inherits priorities.
    pub(crate) fn claim(&self) -> Option<ClaimPtr<H>> {
        // What `Claimant::tie` put there.
        self.inheriting.map(NonNull::cast)
    }
}
