//! An intrusive queue: wait-free pushes by any thread, pops by one thread at a time.
//!
//! A producer exchanges the tail for its node, then links the node behind the one it found. The
//! consumer that finds no link where the tail says that there is more waits for that producer. The
//! second step is an exchange too, so that the producer learns that it is awaited.
//!
//! The construction of Mathieu Desnoyers and Lai Jiangshan ("wait-free concurrent queue", 2012), and of
//! Dmitry Vyukov ("intrusive MPSC node-based queue", 2010), written anew from their descriptions.

use core::marker::PhantomData;
use core::ptr::{self, NonNull};
use core::time::Duration;

use super::link::{self, AWAITED, Node, RawLink, is_missing};
use crate::atomic::{AtomicPtr, AtomicU32, Ordering, const_fn};
use crate::collect::try_pop::TryPop;
use crate::futex::{Futex, Private, Timeout, Wait};
use crate::mutant::{check, mutated, order};
use crate::process::{fork, fork_mark};
use crate::raw::spin_budget::SpinBudget;

/// The tail of an empty queue whose consumer sleeps, or is about to.
const SLEEPING: *mut Node = ptr::without_provenance_mut(1);

/// How long a wait for a link takes at most in the child of a fork, where its producer may not be.
const LONG: Duration = Duration::from_millis(1);

/// A queue of [`Node`]s inside the caller's objects; 128 bytes, valid when zeroed (empty).
///
/// It owns nothing: the caller says from which object a node is, and frees it. A popped node may be
/// freed or pushed again at once.
///
/// ```
/// use leeward::collect::raw::{Node, Queue};
/// use leeward::futex::Timeout;
/// use std::ptr::NonNull;
///
/// static QUEUE: Queue = Queue::new();
/// let node = Node::new();
/// // SAFETY: the node is in no queue, and lives until it is popped.
/// unsafe { QUEUE.push(NonNull::from(&node)) };
/// // SAFETY: no other thread pops.
/// let popped = unsafe { QUEUE.pop(Timeout::Never) };
/// assert_eq!(popped.value(), Some(NonNull::from(&node)));
/// ```
///
/// # Who may do what
/// `push`, `is_empty` and being spliced *to*: any thread at any time. `pop`, `try_pop` and being
/// spliced *from*: one thread at a time, by a lock or because there is one consumer.
///
/// # Order
/// What a thread did before a push happens before the return of the pop of that node.
///
/// # Cost
/// - A push: two exchanges, of the tail and of the link behind it. Where the second is a store, the
///   producer cannot learn that the consumer sleeps, but by a fence.
/// - A pop: two loads and a store; a compare-exchange more for the last node.
/// - System calls only where a thread sleeps.
///
/// # A producer that is preempted
/// Between its two exchanges a producer holds up the consumer, and no other producer. `pop` rechecks
/// for some microseconds, then sleeps until the producer wakes it; `try_pop` says `Busy`.
///
/// # Lifetime
/// The queue must live until each call on it has returned.
///
/// # Fork
/// The child may use the queue. A producer that was between its two exchanges is not there: its node
/// and those behind it cannot be reached in the child. `pop` then returns `Busy` after a millisecond
/// (in a process that the library knows to be the child of a fork); the child may forget the queue
/// and make a new one. [`collect::Queue`](crate::collect::Queue) loses no other value.
///
/// # Signals
/// `push` and `is_empty` are async-signal-safe.
#[repr(C)]
pub struct Queue<F: Futex = Private> {
    /// The last node; null: the queue is empty; [`SLEEPING`].
    tail: AtomicPtr<Node>,
    /// The consumer's words lie in a cache line of their own.
    space: [usize; 64 / size_of::<usize>() - 1],
    /// The first node, or a link that is missing.
    first: RawLink,
    /// 1: the consumer sleeps, or is about to; it sleeps on this word.
    asleep: AtomicU32,
    reserved: [u32; 13],
    futex: PhantomData<fn() -> F>,
}

/// What the consumer found.
enum Found<'a> {
    Node(NonNull<Node>),
    Empty,
    /// The link that a producer has not written.
    Gap(&'a RawLink),
}

impl Queue {
    const_fn! {
        /// Returns an empty queue.
        #[allow(clippy::new_without_default)]
        pub fn new() -> Self {
            Self::new_in()
        }
    }
}

impl<F: Futex> Queue<F> {
    const_fn! {
        /// Returns an empty queue.
        ///
        /// It is on the futexes that its type names; [`new`](Queue::new) returns one for a single process.
        pub fn new_in() -> Self {
            Queue {
                tail: AtomicPtr::new(ptr::null_mut()),
                space: [0; 64 / size_of::<usize>() - 1],
                first: AtomicPtr::new(ptr::null_mut()),
                asleep: AtomicU32::new(0),
                reserved: [0; 13],
                futex: PhantomData,
            }
        }
    }

    /// Pushes a node to the end, and wakes the consumer if it sleeps. Returns true if the queue was
    /// empty.
    ///
    /// # Safety
    /// The node is in no queue or stack, and lives and stays where it is until it is popped. The
    /// queue lives until the call has returned.
    #[inline]
    pub unsafe fn push(&self, node: NonNull<Node>) -> bool {
        // SAFETY: the caller's promise.
        unsafe { self.append(node, node) }
    }

    /// Pushes a chain of nodes, linked from `first` to `last`.
    ///
    /// # Safety
    /// As [`push`](Self::push), for each of them; or links between them are missing whose producers
    /// write them still.
    #[inline]
    unsafe fn append(&self, first: NonNull<Node>, last: NonNull<Node>) -> bool {
        // SAFETY: the caller's promise.
        let end = unsafe { &last.as_ref().next };
        // Relaxed: published by the exchange.
        end.store(ptr::null_mut(), Ordering::Relaxed);
        // AcqRel: release publishes the empty link of `last`; acquire, its partner, lets this
        // producer write the link of the node before. Acquire is the partner of the release in
        // `take`, too: the consumer's store to `first` comes before this producer's.
        let before = self.tail.swap(last.as_ptr(), order!(AcqRel, queue_raw_tail_order => Relaxed));
        let was_empty = before.is_null() || before == SLEEPING;
        // SAFETY: the node before is not popped until its link is written.
        let link = if was_empty { &self.first } else { unsafe { &(*before).next } };
        link::write::<F>(link, first.as_ptr());
        if before == SLEEPING {
            self.wake();
        }
        was_empty
    }

    /// Wakes the consumer whose mark a push has found. (For the C face.)
    #[doc(hidden)]
    #[cold]
    #[inline(never)]
    pub fn wake(&self) {
        // Relaxed, both: the consumer's mark, which was acquired, comes after its own exchange.
        let asleep = &self.asleep;
        if asleep.load(Ordering::Relaxed) != 0 && check!(queue_raw_wake, asleep.swap(0, Ordering::Relaxed) != 0) {
            F::wake(&self.asleep, 1);
        }
    }

    /// Pops the first node, waiting until there is one, until `timeout` at most. `Empty`: the time is
    /// up. `Busy`: the time is up while a producer is in the midst of its push; or it may be a thread
    /// that a fork did not copy (see *Fork*), and a millisecond is over.
    ///
    /// # Safety
    /// No other thread pops, or splices from this queue, until the call has returned.
    pub unsafe fn pop(&self, timeout: Timeout) -> TryPop<NonNull<Node>> {
        let mut budget = SpinBudget::for_event(timeout);
        let (mut is_late, mut is_marked) = (false, false);
        let popped = loop {
            // SAFETY: the caller's promise.
            match unsafe { self.take() } {
                Found::Node(node) => break TryPop::Value(node),
                Found::Empty if is_late => break TryPop::Empty,
                Found::Gap(_) if is_late => break TryPop::Busy,
                _ if budget.pause::<F>() => {}
                Found::Empty => {
                    is_marked = true;
                    is_late = self.wait_for_node(timeout);
                }
                Found::Gap(link) => is_late = wait_for_link::<F>(link, timeout),
            }
        };
        if is_marked {
            // Relaxed, both: the mark publishes nothing, and goes with the next push otherwise.
            let _ = self.tail.compare_exchange(SLEEPING, ptr::null_mut(), Ordering::Relaxed, Ordering::Relaxed);
        }
        popped
    }

    /// Pops the first node, if that is possible without waiting. `Busy`: a producer is in the midst
    /// of its push.
    ///
    /// # Safety
    /// As [`pop`](Self::pop).
    #[inline]
    pub unsafe fn try_pop(&self) -> TryPop<NonNull<Node>> {
        // SAFETY: the caller's promise.
        match unsafe { self.take() } {
            Found::Node(node) => TryPop::Value(node),
            Found::Empty => TryPop::Empty,
            Found::Gap(_) => TryPop::Busy,
        }
    }

    /// Takes the first node.
    ///
    /// # Safety
    /// As [`pop`](Self::pop).
    #[inline]
    unsafe fn take(&self) -> Found<'_> {
        // Acquire: partner of the release in `link::write`.
        let first = self.first.load(order!(Acquire, queue_raw_take_acquire));
        if is_missing(first) {
            // Relaxed: nothing is read by it.
            let tail = self.tail.load(Ordering::Relaxed);
            let is_empty = tail.is_null() || tail == SLEEPING;
            return if is_empty { Found::Empty } else { Found::Gap(&self.first) };
        }
        // SAFETY: the first node is in the queue.
        let link = unsafe { &(*first).next };
        // Acquire: as above; the next call reads it from `first`.
        let mut next = link.load(Ordering::Acquire);
        if is_missing(next) {
            // Relaxed: in this order with the exchange, which releases it to the next producer.
            self.first.store(ptr::null_mut(), Ordering::Relaxed);
            // Release: partner of the acquire in `append`: the producer that finds the queue empty
            // writes `first` after this thread did.
            let is_last =
                self.tail.compare_exchange(first, ptr::null_mut(), Ordering::Release, Ordering::Relaxed).is_ok();
            if !is_last {
                next = link.load(Ordering::Acquire);
            }
            if !is_last && is_missing(next) {
                // Relaxed: the consumer's own while the queue is not empty.
                self.first.store(first, Ordering::Relaxed);
                return Found::Gap(link);
            }
            if is_last {
                // SAFETY: no link is null.
                return Found::Node(unsafe { NonNull::new_unchecked(first) });
            }
        }
        // Relaxed: as above.
        self.first.store(next, Ordering::Relaxed);
        // SAFETY: no link is null.
        Found::Node(unsafe { NonNull::new_unchecked(first) })
    }

    /// Sleeps until the queue is not empty. Returns true if the time is up.
    fn wait_for_node(&self, timeout: Timeout) -> bool {
        // Relaxed: the exchange below publishes it. An exchange, so that it and those of producers
        // come one after the other.
        self.asleep.swap(1, Ordering::Relaxed);
        // Release: partner of the acquire in `append`. Relaxed on failure: there is a node, or the
        // mark.
        let order = order!(Release, queue_raw_sleep_release);
        let marked = self.tail.compare_exchange(ptr::null_mut(), SLEEPING, order, Ordering::Relaxed);
        let is_marked = marked.map_or_else(|now| now == SLEEPING, |_| true);
        (is_marked || mutated!(queue_raw_sleep_recheck)) && F::wait(&self.asleep, 1, timeout) == Wait::TimedOut
    }

    /// Moves all nodes of `from` to the end of this queue, in their order, however many there are.
    /// It may have to wait for the producer of the first node, until `timeout` at most; `Busy`: the
    /// time was up, and nothing was changed. `Value`: true if this queue was empty.
    ///
    /// # Safety
    /// As [`pop`](Self::pop), of `from`.
    pub unsafe fn splice(&self, from: &Self, timeout: Timeout) -> TryPop<bool> {
        let mut budget = SpinBudget::for_event(timeout);
        let mut is_late = false;
        let first = loop {
            // Acquire: as in `take`.
            let first = from.first.load(Ordering::Acquire);
            if let Some(first) = NonNull::new(first).filter(|first| first.as_ptr() != AWAITED) {
                break first;
            }
            if from.is_empty() {
                return TryPop::Empty;
            }
            if is_late || timeout == Timeout::Now {
                return TryPop::Busy;
            }
            if !budget.pause::<F>() {
                is_late = wait_for_link::<F>(&from.first, timeout);
            }
        };
        // Relaxed: released by the exchange, as in `take`.
        from.first.store(ptr::null_mut(), Ordering::Relaxed);
        // AcqRel: release as in `take`; acquire, the partner of the release in `append`: the link of
        // the last node is written before this thread's.
        let last = from.tail.swap(ptr::null_mut(), order!(AcqRel, queue_raw_splice_order => Relaxed));
        // SAFETY: the queue was not empty, and no other thread takes nodes out.
        let last = unsafe { NonNull::new_unchecked(last) };
        // SAFETY: the nodes are the caller's; producers of links between them write these still.
        TryPop::Value(unsafe { self.append(first, last) })
    }

    /// Returns true if the queue is empty. A node whose push has not returned counts or not.
    #[inline]
    pub fn is_empty(&self) -> bool {
        // Relaxed: says nothing about a node.
        let tail = self.tail.load(Ordering::Relaxed);
        tail.is_null() || tail == SLEEPING
    }
}

/// Sleeps until the link is written. Returns true if the time is up, or if its producer may not be
/// there.
fn wait_for_link<F: Futex>(link: &RawLink, timeout: Timeout) -> bool {
    let may_be_lost = check!(queue_raw_forked, fork::generation() != 0 || fork_mark::is_child());
    let limit = if may_be_lost { timeout.min(Timeout::after::<F>(LONG)) } else { timeout };
    link::wait::<F>(link, limit)
}

impl<F: Futex> core::fmt::Debug for Queue<F> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Queue").field("is_empty", &self.is_empty()).finish_non_exhaustive()
    }
}

// SAFETY: the unsafe calls say what the caller promises of the nodes.
unsafe impl<F: Futex> Send for Queue<F> {}

// SAFETY: as above.
unsafe impl<F: Futex> Sync for Queue<F> {}
