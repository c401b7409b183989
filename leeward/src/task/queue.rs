//! A queue of tasks that wait, linked through nodes which lie in the waiting futures: no
//! allocation.
//!
//! Each future has its [`Node`] and is pinned before the node is linked. Pin promises that the
//! memory is not used for anything else before the future is dropped, and that drop takes the node
//! out ([`Locked::remove`]). So a future that is leaked stays in the queue, in memory that stays.
//!
//! The child of a fork is the exception: memory that other threads of the parent had, such as their
//! stacks, is used again there without any drop. So the queue knows the process that filled it
//! (`process/`, the fork mark), and is emptied by the first call of another one that needs the
//! queue, or would wait for its tasks.
//!
//! Called by `permits.rs`; calls [`raw::Mutex`](crate::raw::Mutex). No waker is cloned, woken or
//! dropped under the queue's lock, since a waker is foreign code.

use core::cell::{Cell, UnsafeCell};
use core::marker::PhantomPinned;
use core::ptr;
use core::task::Waker;

use crate::atomic::{AtomicU32, Ordering, const_fn};
use crate::futex::{self, Timeout};
use crate::mutant::{mutated, order};
use crate::process::fork_mark;
use crate::raw::Mutex;

/// The node is in no queue.
const IDLE: u32 = 0;
/// The node is in a queue.
const QUEUED: u32 = 1;
/// The node was taken out of the queue, and its owner has what it waited for.
const GRANTED: u32 = 2;
/// The node was taken out of the queue, and its owner gets nothing.
const REFUSED: u32 = 3;

/// What a node was told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Verdict {
    /// Its owner has what it waited for.
    Granted,
    /// Its owner gets nothing.
    Refused,
}

/// A place in a queue: a part of a future.
pub(super) struct Node {
    /// The neighbours; null: none. Guarded by the queue's lock, as is the waker, while the node is
    /// linked; the owner's otherwise.
    next: Cell<*const Node>,
    prev: Cell<*const Node>,
    waker: UnsafeCell<Option<Waker>>,
    /// How many permits the owner waits for. It does not change while the node is linked.
    wanted: Cell<u32>,
    /// The number of the process in which the node was linked; the owner's.
    process: Cell<u32>,
    /// `IDLE`, `QUEUED`, `GRANTED` or `REFUSED`. The owner changes it while the node is not linked;
    /// the thread that takes the node out stores the verdict, and uses the node no more.
    status: AtomicU32,
    /// The node has an address.
    _pinned: PhantomPinned,
}

// SAFETY: each field says who may use it when; the waker is Send.
unsafe impl Send for Node {}
// SAFETY: as above. Shared references to a node serve its queue, under the queue's lock.
unsafe impl Sync for Node {}

impl Node {
    /// Returns a node that is in no queue.
    #[inline]
    pub(super) fn new(wanted: u32) -> Node {
        Node {
            next: Cell::new(ptr::null()),
            prev: Cell::new(ptr::null()),
            waker: UnsafeCell::new(None),
            wanted: Cell::new(wanted),
            process: Cell::new(0),
            status: AtomicU32::new(IDLE),
            _pinned: PhantomPinned,
        }
    }

    /// Returns how many permits the node's owner waits for.
    #[inline]
    pub(super) fn wanted(&self) -> u32 {
        self.wanted.get()
    }

    /// Returns true if the node is in no queue, and its owner has not been told anything.
    #[inline]
    pub(super) fn is_idle(&self) -> bool {
        // Relaxed: only the owner takes a node into this state and out of it.
        self.status.load(Ordering::Relaxed) == IDLE
    }

    /// Returns what the node was told, if it was: it is in no queue then.
    #[inline]
    pub(super) fn verdict(&self) -> Option<Verdict> {
        // Acquire: partner of the release in `pop`: what was done before the permits were given
        // happens before, and so does the last use of the node by others.
        match self.status.load(order!(Acquire, task_verdict_acquire)) {
            GRANTED => Some(Verdict::Granted),
            REFUSED => Some(Verdict::Refused),
            _ => None,
        }
    }

    /// Makes the node one whose owner has what it waits for.
    ///
    /// The caller is the node's owner, and the node is in no queue.
    #[inline]
    pub(super) fn grant(&self) {
        // Relaxed: read by the owner.
        self.status.store(GRANTED, Ordering::Relaxed);
    }

    /// Makes the node one that was told nothing.
    ///
    /// The caller is the node's owner, and the node is in no queue.
    #[inline]
    pub(super) fn reset(&self) {
        // Relaxed: read by the owner.
        self.status.store(IDLE, Ordering::Relaxed);
    }
}

/// A wait queue with its lock.
pub(super) struct Queue {
    lock: Mutex,
    /// Twice the number of the process whose nodes are in the queue; 0: none was there yet. The
    /// last bit: a thread of that process is emptying the queue.
    process: AtomicU32,
    /// The first and the last node; null: none. Guarded by the lock, as is the next.
    head: Cell<*const Node>,
    tail: Cell<*const Node>,
    /// The permits that the first node's owner has so far.
    gathered: Cell<usize>,
}

// SAFETY: the cells are guarded by the lock, and nodes are Send and Sync.
unsafe impl Send for Queue {}
// SAFETY: as above.
unsafe impl Sync for Queue {}

impl Queue {
    const_fn! {
        /// Returns an empty queue.
        pub(super) fn new() -> Queue {
            Queue {
                lock: Mutex::new(),
                process: AtomicU32::new(0),
                head: Cell::new(ptr::null()),
                tail: Cell::new(ptr::null()),
                gathered: Cell::new(0),
            }
        }
    }

    /// Locks the queue, [entered](Self::enter).
    #[inline]
    pub(super) fn lock(&self, settle: impl FnOnce(&Cell<usize>)) -> Locked<'_> {
        self.enter(settle);
        self.lock.lock();
        Locked { queue: self }
    }

    /// Empties the queue if another process filled it, and has `settle` done what that means for
    /// the permits, of which some may be gathered, before another thread can lock the queue.
    #[inline]
    pub(super) fn enter(&self, settle: impl FnOnce(&Cell<usize>)) {
        let process = fork_mark::now() * 2;
        // Acquire: partner of the release in `adopt`: the queue is empty.
        if self.process.load(Ordering::Acquire) != process {
            self.adopt(process, settle);
        }
    }

    /// Makes the queue that of `process`, the calling one: empty, settled and unlocked.
    #[cold]
    #[inline(never)]
    fn adopt(&self, process: u32, settle: impl FnOnce(&Cell<usize>)) {
        loop {
            // Acquire: partner of the release below.
            let old = self.process.load(Ordering::Acquire);
            if old == process {
                return;
            }
            if old == process | 1 {
                // That thread needs a few instructions, but it may have lost its processor to us.
                futex::wait(&self.process, old, Timeout::Never);
                continue;
            }
            // A new queue is empty.
            let next = if old == 0 { process } else { process | 1 };
            // Acquire: as above. Relaxed on failure: read again.
            if self.process.compare_exchange(old, next, Ordering::Acquire, Ordering::Relaxed).is_err() {
                continue;
            }
            // No thread of this process uses the lock or the list before the store below.
            if old != 0 && !mutated!(task_forked) {
                self.lock.reset();
                self.head.set(ptr::null());
                self.tail.set(ptr::null());
                settle(&self.gathered);
            }
            // Release: partner of the acquires here and in `lock`.
            self.process.store(process, Ordering::Release);
            if old != 0 {
                futex::wake(&self.process, futex::ALL);
            }
            return;
        }
    }
}

/// A queue whose lock the calling thread holds.
pub(super) struct Locked<'a> {
    queue: &'a Queue,
}

impl Drop for Locked<'_> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: locked by `Queue::lock`.
        unsafe { self.queue.lock.unlock() };
    }
}

impl Locked<'_> {
    /// Returns true if no task waits.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.queue.head.get().is_null()
    }

    /// Returns how many permits the first task waits for.
    #[inline]
    pub(super) fn first_wanted(&self) -> Option<usize> {
        // SAFETY: null, or a node that is linked, and so alive (`push`).
        unsafe { self.queue.head.get().as_ref() }.map(|first| first.wanted() as usize)
    }

    /// Returns the count of permits that the first task has so far.
    #[inline]
    pub(super) fn gathered(&self) -> &Cell<usize> {
        &self.queue.gathered
    }

    /// Links a node as the last. Returns the waker that it had.
    ///
    /// # Safety
    /// The caller is the node's owner; the node is idle, and pinned. Before its memory is used for
    /// anything else, the owner has seen a verdict, or taken the node out, if the queue
    /// [has](Self::has) it.
    pub(super) unsafe fn push(&self, node: &Node, waker: Waker) -> Option<Waker> {
        let last = self.queue.tail.replace(node);
        node.prev.set(last);
        node.next.set(ptr::null());
        // Relaxed, both: the process's own number; and the status is read by the owner, or under
        // the lock.
        node.process.set(self.queue.process.load(Ordering::Relaxed));
        node.status.store(QUEUED, Ordering::Relaxed);
        self.link(last, node);
        // SAFETY: the lock guards it.
        unsafe { &mut *node.waker.get() }.replace(waker)
    }

    /// Makes `next` the node after `prev`; either may be null, which stands for the queue's end.
    fn link(&self, prev: *const Node, next: *const Node) {
        // SAFETY: null, or a node that is linked, and so alive (`push`).
        unsafe { prev.as_ref() }.map_or(&self.queue.head, |prev| &prev.next).set(next);
    }

    /// Returns true if the node, which is its owner's to ask about, is in this queue: it may be in
    /// that of a process from which this one was forked.
    pub(super) fn has(&self, node: &Node) -> bool {
        // Relaxed: the process's own number.
        node.process.get() == self.queue.process.load(Ordering::Relaxed) || mutated!(task_forked)
    }

    /// Takes a node out.
    ///
    /// # Safety
    /// The node is in this queue.
    pub(super) unsafe fn remove(&self, node: &Node) {
        let (prev, next) = (node.prev.get(), node.next.get());
        self.link(prev, next);
        // SAFETY: null, or a node that is linked, and so alive (`push`).
        unsafe { next.as_ref() }.map_or(&self.queue.tail, |next| &next.prev).set(prev);
    }

    /// Takes the first node out, and tells its owner. Returns the waker of the owner's task.
    pub(super) fn pop(&self, verdict: Verdict) -> Option<Waker> {
        // SAFETY: null, or a node that is linked, and so alive (`push`).
        let first = unsafe { self.queue.head.get().as_ref() }?;
        // SAFETY: it is the first one.
        unsafe { self.remove(first) };
        // SAFETY: the lock guards it.
        let waker = unsafe { &mut *first.waker.get() }.take();
        let status = if verdict == Verdict::Granted { GRANTED } else { REFUSED };
        // Release: partner of the acquire in `verdict`. The node may be gone after this.
        first.status.store(status, order!(Release, task_verdict_release));
        waker
    }

    /// Returns true if the node's waker wakes the same task as `waker`.
    ///
    /// # Safety
    /// The node is in this queue.
    pub(super) unsafe fn will_wake(&self, node: &Node, waker: &Waker) -> bool {
        // SAFETY: the lock guards it.
        unsafe { &*node.waker.get() }.as_ref().is_some_and(|old| old.will_wake(waker))
    }

    /// Gives the node another waker. Returns the one that it had.
    ///
    /// # Safety
    /// The node is in this queue.
    pub(super) unsafe fn set_waker(&self, node: &Node, waker: Waker) -> Option<Waker> {
        // SAFETY: the lock guards it.
        unsafe { &mut *node.waker.get() }.replace(waker)
    }
}
