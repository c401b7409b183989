//! The node of an intrusive queue or stack, its link to the next node, and waiting for a link whose
//! producer was preempted between publishing its node and linking it.

use core::ptr;

use crate::__leeward_static;
use crate::atomic::{AtomicPtr, AtomicU32, Ordering, const_fn};
use crate::futex::{ALL, Futex, Timeout, Wait};
use crate::mutant::{check, order};

/// What the caller's object has inside, one for each queue or stack that it may be in; a pointer.
///
/// ```
/// use leeward::collect::raw::Node;
/// struct Job { node: Node, number: u32 }
/// let job = Job { node: Node::new(), number: 7 };
/// assert_eq!((size_of_val(&job.node), job.number), (size_of::<usize>(), 7));
/// ```
#[repr(transparent)]
pub struct Node {
    /// | value | meaning |
    /// |---|---|
    /// | null | not linked yet, or the last of a queue |
    /// | [`AWAITED`] | not linked yet, and a thread waits for it |
    /// | [`END`] | the last of a stack |
    /// | else | the next node |
    pub(super) next: RawLink,
}

/// A word that leads to a node.
pub(super) type RawLink = AtomicPtr<Node>;

impl Node {
    const_fn! {
        /// Returns a node that is in no queue or stack. A push needs no other preparation.
        #[allow(clippy::new_without_default)]
        pub fn new() -> Self {
            Node { next: AtomicPtr::new(ptr::null_mut()) }
        }
    }

    /// Takes the link away, of a node that no thread should read any more.
    pub(crate) fn forget_next(&self) {
        // Relaxed: nothing is published.
        self.next.store(ptr::null_mut(), Ordering::Relaxed);
    }
}

impl core::fmt::Debug for Node {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Node").finish_non_exhaustive()
    }
}

/// A link that a thread waits for.
pub(super) const AWAITED: *mut Node = ptr::without_provenance_mut(1);
/// The link of the last node of a stack.
pub(super) const END: *mut Node = ptr::without_provenance_mut(2);

/// Returns true if a link does not lead on yet.
#[inline]
pub(super) fn is_missing(next: *mut Node) -> bool {
    next.is_null() || next == AWAITED
}

__leeward_static! {
    LINKED: AtomicU32 = AtomicU32::new(0);
}

/// Writes a link, and wakes the thread that waits for it. From here on what the link lies in may be
/// gone.
#[inline]
pub(super) fn write<F: Futex>(link: &RawLink, next: *mut Node) {
    // Release: partner of the acquires that read the link: what was done before the push is seen.
    let before = link.swap(next, order!(Release, collect_link_release));
    if check!(collect_link_wake, before == AWAITED) {
        wake::<F>();
    }
}

/// Wakes the threads that wait for links: this is rare, so all wait on one word. (For the C face.)
#[doc(hidden)]
#[cold]
#[inline(never)]
pub fn wake<F: Futex>() {
    // Release: partner of the acquire in `wait`.
    LINKED.fetch_add(1, Ordering::Release);
    let word: &AtomicU32 = &LINKED;
    F::wake(word, ALL);
}

/// Sleeps until the link is written, until `timeout` at most. Returns true if the time is up. It may
/// return at any time.
pub(super) fn wait<F: Futex>(link: &RawLink, timeout: Timeout) -> bool {
    // Acquire: the count is loaded before the mark is made, so a producer that finds the mark changes
    // it later.
    let count = LINKED.load(Ordering::Acquire);
    // Relaxed, both: the mark is all that is published.
    let marked = link.compare_exchange(ptr::null_mut(), AWAITED, Ordering::Relaxed, Ordering::Relaxed);
    let is_marked = marked.map_or_else(|now| now == AWAITED, |_| true);
    is_marked && F::wait(&LINKED, count, timeout) == Wait::TimedOut
}

/// Makes the static in a model, before there is a second thread.
#[cfg(all(test, leeward_loom))]
pub(super) fn set_up() {
    LINKED.load(Ordering::Relaxed);
}
