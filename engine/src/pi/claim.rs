//! A claim: what a thread that waits with priority inheritance keeps beside its waiter. It is an
//! edge of the graph (`graph`), linked into the graph's trees (`tree`).

use core::cell::UnsafeCell;
use core::pin::Pin;
use core::ptr::NonNull;

use crate::atomic::Tracked;
use crate::mutant::mutated;
use crate::pi::tree::{Link, TREES};
use crate::table::key::Key;
use crate::table::wait_list::FoundWaiter;
use crate::waiter::Waiter;
use crate::{Host, Priority, Thread};

/// A pointer to a claim, which lies on its thread's stack.
pub(crate) type ClaimPtr<H> = NonNull<Claim<H>>;

/// A claim of a waiting thread to a lock. It is in the graph from when the thread waits for the
/// lock until the thread leaves or is handed the lock. The claim of a thread that waits to be moved
/// to a lock is not in the graph yet.
pub(crate) struct Claim<H: Host> {
    /// The address of the graph whose lock guards the claim. It identifies the graph, because the
    /// engine is borrowed as long as the claim is there.
    graph: *const (),
    /// The waiting thread.
    pub(crate) thread: Thread,
    /// The only lock that the waiter may be moved to, for WAIT_REQUEUE_PI.
    pub(crate) target: Option<Key>,
    edge: UnsafeCell<Edge<H>>,
    tracked: Tracked,
}

/// The part of a claim that the graph's lock guards, from when its waiter is queued.
pub(crate) struct Edge<H: Host> {
    pub(super) node: Option<NonNull<Waiter<H>>>,
    pub(super) handle: Option<H::Task>,
    /// The lock that the thread waits for; `None` if the claim is not in the graph.
    pub(super) key: Option<Key>,
    /// The lock's owner, in the claim of the lock's top waiter; `None` in the other claims.
    pub(super) owned: Option<Owned>,
    /// The thread's own priority.
    pub(super) own: Priority,
    /// The thread's own priority or the one that it is lent: the more urgent of them.
    pub(super) urgency: Priority,
    /// The number of claims that came to the graph before this one.
    pub(super) arrival: u64,
    pub(crate) links: [Link<ClaimPtr<H>>; TREES],
}

/// The ownership of a lock for which threads wait.
#[derive(Clone, Copy)]
pub(crate) struct Owned {
    pub(super) by: Thread,
    /// True if the lock's word names the owner. Otherwise a thread that exited assigned the lock to
    /// the owner, which will write the word.
    pub(super) settled: bool,
}

impl<H: Host> Claim<H> {
    /// Returns the part that belongs to the holder of the graph's lock.
    #[inline]
    pub(super) fn edge(&self) -> *mut Edge<H> {
        self.tracked.touch();
        self.edge.get()
    }

    /// Returns true if the claim is, or will be, in that graph. It is in another engine's graph
    /// where two engines serve one space.
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

    /// Ties waiter and claim together, at the place where they stay, before the waiter is queued.
    pub(crate) fn tie(self: Pin<&Self>, handle: H::Task) {
        let this = self.get_ref();
        // SAFETY: not queued, so it belongs to its owner, which is the caller.
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

impl<H: Host> FoundWaiter<H> {
    /// Returns the waiter's claim, if it waits with priority inheritance.
    pub(crate) fn claim(&self) -> Option<ClaimPtr<H>> {
        // `Claimant::tie` put it there.
        self.inheriting.map(NonNull::cast)
    }
}
