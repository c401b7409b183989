//! An intrusive stack: pushes by any thread, lock-free or wait-free; all nodes are popped at once by
//! any thread, and single ones by one thread at a time or under RCU.
//!
//! After R. Kent Treiber ("Systems programming: coping with parallelism", 1986); the push by an exchange
//! after Mathieu Desnoyers' description of his wait-free stack (2012).

use core::marker::PhantomData;
use core::ptr::{self, NonNull};

use super::link::{self, END, Node, is_missing};
use crate::atomic::{AtomicPtr, Ordering, const_fn};
use crate::collect::try_pop::TryPop;
use crate::futex::{Futex, Private, Timeout};
use crate::mutant::order;
use crate::raw::spin_budget::SpinBudget;

/// A stack of [`Node`]s inside the caller's objects; a pointer, valid when zeroed (empty).
///
/// It owns nothing: the caller says from which object a node is, and frees it.
///
/// ```
/// use leeward::collect::raw::{Node, Stack};
/// use std::ptr::NonNull;
///
/// static STACK: Stack = Stack::new();
/// let node = Node::new();
/// // SAFETY: the node is in no stack, and lives until it is popped.
/// unsafe { STACK.push(NonNull::from(&node)) };
/// let top = STACK.pop_all();
/// assert_eq!(top, Some(NonNull::from(&node)));
/// // SAFETY: the node came from `pop_all`, and lives.
/// assert!(unsafe { Stack::<leeward::futex::Private>::next(top.unwrap()) }.is_none());
/// ```
///
/// # Two ways to push
/// | | [`push`](Self::push) | [`push_wait_free`](Self::push_wait_free) |
/// |---|---|---|
/// | steps | a compare-exchange, again if another thread was faster | two exchanges |
/// | a thread that is preempted in it | holds up no thread | holds up pops and walks that reach its node |
///
/// Both may be used on one stack.
///
/// # Popping one node
/// `pop` reads the top node's link and then exchanges the top. If meanwhile the node was popped,
/// freed, and pushed again with another link, the exchange would succeed and break the stack (ABA).
/// So either one thread at a time calls `pop` or [`pop_all`](Self::pop_all) (a lock, or one
/// consumer), or each `pop` is inside a read section of RCU and popped nodes are freed or pushed
/// again after a grace period.
///
/// # Order
/// What a thread did before a push happens before the return of the pop of that node.
///
/// # Cost
/// See the table; a pop: two loads and a compare-exchange; `pop_all`: one exchange. System calls
/// only where a thread waits for a preempted `push_wait_free`.
///
/// # Fork
/// The child may use the stack. Below a node whose producer was in the midst of `push_wait_free` it
/// cannot be walked there: the link is missing for ever.
///
/// # Signals
/// The pushes, `pop_all` and `is_empty` are async-signal-safe.
#[repr(transparent)]
pub struct Stack<F: Futex = Private> {
    /// The top node; null: the stack is empty.
    top: AtomicPtr<Node>,
    futex: PhantomData<fn() -> F>,
}

impl Stack {
    const_fn! {
        /// Returns an empty stack.
        #[allow(clippy::new_without_default)]
        pub fn new() -> Self {
            Self::new_in()
        }
    }
}

impl<F: Futex> Stack<F> {
    const_fn! {
        /// Returns an empty stack.
        ///
        /// It is on the futexes that its type names; [`new`](Stack::new) returns one for a single process.
        pub fn new_in() -> Self {
            Stack { top: AtomicPtr::new(ptr::null_mut()), futex: PhantomData }
        }
    }

    /// Pushes a node by a compare-exchange, lock-free. Returns true if the stack was empty.
    ///
    /// # Safety
    /// The node is in no queue or stack, and lives and stays where it is until it is popped.
    #[inline]
    pub unsafe fn push(&self, node: NonNull<Node>) -> bool {
        // The node that a thread finds at this address below its own may be another one than it loaded
        // (`below`).
        node.as_ptr().expose_provenance();
        // SAFETY: the caller's promise.
        let link = unsafe { &node.as_ref().next };
        // Relaxed: the exchange decides.
        let mut top = self.top.load(Ordering::Relaxed);
        loop {
            // Relaxed: published by the exchange.
            link.store(if top.is_null() { END } else { top }, Ordering::Relaxed);
            // Release: partner of the acquires in `pop` and `pop_all`.
            let order = order!(Release, stack_push_release);
            match self.top.compare_exchange_weak(top, node.as_ptr(), order, Ordering::Relaxed) {
                Ok(_) => return top.is_null(),
                Err(now) => top = now,
            }
        }
    }

    /// Pushes a node by an exchange, wait-free. Returns true if the stack was empty.
    ///
    /// # Safety
    /// As [`push`](Self::push).
    #[inline]
    pub unsafe fn push_wait_free(&self, node: NonNull<Node>) -> bool {
        // As in `push`.
        node.as_ptr().expose_provenance();
        // SAFETY: the caller's promise.
        let link = unsafe { &node.as_ref().next };
        // Relaxed: published by the exchange.
        link.store(ptr::null_mut(), Ordering::Relaxed);
        // Release: as in `push`.
        let top = self.top.swap(node.as_ptr(), order!(Release, stack_push_wait_free_release));
        link::write::<F>(link, if top.is_null() { END } else { top });
        top.is_null()
    }

    /// Pops the top node. `Busy`: the time was up while it waited for a `push_wait_free`.
    ///
    /// # Safety
    /// No other thread calls this or `pop_all` meanwhile, or all are inside read sections and nodes
    /// are used again after a grace period (see *Popping one node*).
    #[inline]
    pub unsafe fn pop(&self, timeout: Timeout) -> TryPop<NonNull<Node>> {
        // Acquire: partner of the releases in the pushes.
        let mut top = self.top.load(order!(Acquire, stack_pop_acquire));
        loop {
            let Some(node) = NonNull::new(top) else { return TryPop::Empty };
            // SAFETY: the node is not freed meanwhile, by the caller's promise.
            let Some(next) = (unsafe { Self::link_of(node, timeout) }) else { return TryPop::Busy };
            let next = if next == END { ptr::null_mut() } else { next };
            // Relaxed: the node was acquired above. Acquire on failure: as above.
            match self.top.compare_exchange(top, next, Ordering::Relaxed, Ordering::Acquire) {
                Ok(_) => return TryPop::Value(node),
                Err(now) => top = now,
            }
        }
    }

    /// Pops all nodes at once, wait-free; returns the top node, from which [`next`](Self::next) leads
    /// to the others.
    #[inline]
    pub fn pop_all(&self) -> Option<NonNull<Node>> {
        // Acquire: partner of the releases in the pushes.
        NonNull::new(self.top.swap(ptr::null_mut(), order!(Acquire, stack_pop_all_acquire)))
    }

    /// Returns the node below, of those that `pop_all` returned; `None`: this is the last. It waits
    /// for a `push_wait_free` that has not linked the node.
    ///
    /// # Safety
    /// The node came from [`pop_all`](Self::pop_all) or from this call, and was not freed or pushed.
    #[inline]
    pub unsafe fn next(node: NonNull<Node>) -> Option<NonNull<Node>> {
        loop {
            // SAFETY: the caller's promise.
            if let Some(next) = unsafe { Self::link_of(node, Timeout::Never) } {
                return NonNull::new(next).filter(|next| next.as_ptr() != END);
            }
        }
    }

    /// Returns the node below, as [`next`](Self::next), if that is possible without waiting; `Empty`:
    /// this is the last.
    ///
    /// # Safety
    /// As [`next`](Self::next).
    pub unsafe fn try_next(node: NonNull<Node>) -> TryPop<NonNull<Node>> {
        // SAFETY: the caller's promise.
        match unsafe { Self::link_of(node, Timeout::Now) } {
            None => TryPop::Busy,
            Some(next) => NonNull::new(next).filter(|next| next.as_ptr() != END).map_or(TryPop::Empty, TryPop::Value),
        }
    }

    /// Returns a node's link once it is written; `None`: the time is up.
    ///
    /// # Safety
    /// The node is not freed meanwhile.
    #[inline]
    unsafe fn link_of(node: NonNull<Node>, timeout: Timeout) -> Option<*mut Node> {
        // SAFETY: the caller's promise.
        let link = unsafe { &node.as_ref().next };
        // Acquire: partner of the release in `link::write`: the nodes below are read by it.
        let next = link.load(Ordering::Acquire);
        if is_missing(next) { Self::await_link(link, timeout) } else { Some(below(next)) }
    }

    #[cold]
    #[inline(never)]
    fn await_link(link: &link::RawLink, timeout: Timeout) -> Option<*mut Node> {
        let mut budget = SpinBudget::for_event(timeout);
        let mut is_late = timeout == Timeout::Now;
        loop {
            // Acquire: as in `link_of`.
            let next = link.load(Ordering::Acquire);
            if !is_missing(next) {
                return Some(below(next));
            }
            if is_late {
                return None;
            }
            if !budget.pause::<F>() {
                is_late = link::wait::<F>(link, timeout);
            }
        }
    }

    /// Returns true if the stack is empty.
    #[inline]
    pub fn is_empty(&self) -> bool {
        // Relaxed: says nothing about a node.
        self.top.load(Ordering::Relaxed).is_null()
    }
}

/// Returns the node that is at this address now, by a link's value. Between the load of the top and
/// the exchange of a push, the top node may be popped and freed, and another one be pushed whose
/// address is the same: the exchange succeeds, and the link is right, but the pointer in it is one to
/// the node before. Both pushes expose their nodes, so a pointer to the one that is there is had from
/// its address.
#[inline]
fn below(link: *mut Node) -> *mut Node {
    ptr::with_exposed_provenance_mut(link.addr())
}

impl<F: Futex> core::fmt::Debug for Stack<F> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Stack").field("is_empty", &self.is_empty()).finish_non_exhaustive()
    }
}

// SAFETY: the unsafe calls say what the caller promises of the nodes.
unsafe impl<F: Futex> Send for Stack<F> {}

// SAFETY: as above.
unsafe impl<F: Futex> Sync for Stack<F> {}
