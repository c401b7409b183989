//! A node: the part of a future that stands in a queue, or keeps what the future was handed. Its
//! links belong to `line.rs` or to `handed.rs`, whichever it is in.

use core::cell::{Cell, UnsafeCell};
use core::marker::PhantomPinned;
use core::mem;
use core::ptr;
use core::task::{RawWakerVTable, Waker};

use crate::atomic::{AtomicU32, Ordering};

/// What a node is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub(super) enum Status {
    /// It is in no queue, and its owner has not been told anything. Only the owner takes a node
    /// into this state, and out of it.
    Idle,
    /// It is in the line.
    Queued,
    /// It was taken out of the line: the queue keeps the permits until its owner comes for them.
    Handed,
    /// It was taken out of the line, and its owner gets nothing.
    Refused,
    /// Its owner has the permits, in a call that has not returned. Only the owner takes a node into
    /// this state, and out of it.
    Held,
}

/// Which task a waker wakes: two are equal if `Waker::will_wake` says so of their wakers.
///
/// It owns nothing. A task that is gone may have the name of one that came later to its address.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Task {
    data: *const (),
    table: *const RawWakerVTable,
}

impl Task {
    /// Returns the task that `waker` wakes.
    #[inline]
    fn of(waker: &Waker) -> Task {
        Task { data: waker.data(), table: waker.vtable() }
    }
}

/// Who is to be woken.
enum Contact {
    /// No task: the node is idle or held, or was refused; or no poll has queued it.
    Nobody,
    /// The task that polled last. The node is queued.
    Waker(Waker),
    /// The task whose waker was taken out, to be woken. The node was handed permits.
    Woken(Task),
}

/// The address of a linked node, or none.
pub(super) struct TaskLink(Cell<*const TaskNode>);

impl TaskLink {
    /// Returns a link to nothing.
    #[inline]
    pub(super) const fn none() -> TaskLink {
        TaskLink(Cell::new(ptr::null()))
    }

    /// Returns the node. The caller has locked the queue.
    #[inline]
    pub(super) fn get(&self) -> Option<&TaskNode> {
        // SAFETY: null, or a node that is linked, and so alive (`LockedQueue::push`).
        unsafe { self.0.get().as_ref() }
    }

    /// Links to a node, or to none.
    #[inline]
    pub(super) fn set(&self, node: Option<&TaskNode>) {
        self.0.set(node.map_or(ptr::null(), ptr::from_ref));
    }

    /// Returns true if this is the link to that node.
    #[inline]
    pub(super) fn is(&self, node: &TaskNode) -> bool {
        ptr::eq(self.0.get(), node)
    }
}

/// A place in a queue: a part of a future.
///
/// While it is linked, which it is if it is queued or handed permits and the queue
/// [has](super::queue::LockedQueue::has) it, the queue's lock guards all of it; the owner does
/// otherwise.
pub(super) struct TaskNode {
    /// The neighbours in the line; or, where it was handed permits, the subtrees of lesser and of
    /// greater nodes.
    pub(super) prev: TaskLink,
    pub(super) next: TaskLink,
    contact: UnsafeCell<Contact>,
    /// How many permits the owner waits for. It does not change while the node is linked.
    wanted: Cell<u32>,
    /// The number of the process in which the node was linked.
    pub(super) process: Cell<u32>,
    /// When the owner was polled last, by the queue's count of polls. That count may wrap around.
    pub(super) polled: Cell<u32>,
    /// A [`Status`]. Atomic, since the owner asks whether it is idle or held without the lock.
    status: AtomicU32,
    /// The node has an address.
    _pinned: PhantomPinned,
}

// SAFETY: each field says who may use it when; the waker is Send.
unsafe impl Send for TaskNode {}
// SAFETY: as above. Shared references to a node serve its queue, under the queue's lock.
unsafe impl Sync for TaskNode {}

impl TaskNode {
    /// Returns a node that is in no queue.
    #[inline]
    pub(super) fn new(wanted: u32) -> TaskNode {
        TaskNode {
            prev: TaskLink::none(),
            next: TaskLink::none(),
            contact: UnsafeCell::new(Contact::Nobody),
            wanted: Cell::new(wanted),
            process: Cell::new(0),
            polled: Cell::new(0),
            status: AtomicU32::new(Status::Idle as u32),
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
        self.is(Status::Idle)
    }

    /// Returns true if the node has that status: one that only the owner changes, or the caller has
    /// locked the queue.
    #[inline]
    pub(super) fn is(&self, status: Status) -> bool {
        // Relaxed: the owner's own store, or one under the lock.
        self.status.load(Ordering::Relaxed) == status as u32
    }

    /// Sets the status.
    #[inline]
    pub(super) fn set(&self, status: Status) {
        // Relaxed: as in `is`.
        self.status.store(status as u32, Ordering::Relaxed);
    }

    /// Sets the task to be woken. Returns the waker that was there.
    ///
    /// # Safety
    /// As for `take_waker`.
    pub(super) unsafe fn set_waker(&self, waker: Waker) -> Option<Waker> {
        // SAFETY: the caller's promise.
        let old = mem::replace(unsafe { &mut *self.contact.get() }, Contact::Waker(waker));
        if let Contact::Waker(old) = old { Some(old) } else { None }
    }

    /// Takes the waker out, and leaves its task's name if `is_handed`.
    ///
    /// # Safety
    /// The caller has locked the queue, or is the owner of a node that is not linked.
    pub(super) unsafe fn take_waker(&self, is_handed: bool) -> Option<Waker> {
        // SAFETY: the caller's promise.
        let contact = unsafe { &mut *self.contact.get() };
        let task = match contact {
            Contact::Waker(waker) if is_handed => Contact::Woken(Task::of(waker)),
            _ => Contact::Nobody,
        };
        let old = mem::replace(contact, task);
        if let Contact::Waker(old) = old { Some(old) } else { None }
    }

    /// Returns true if the node's waker wakes the same task as `waker`.
    ///
    /// # Safety
    /// As for `take_waker`.
    pub(super) unsafe fn will_wake(&self, waker: &Waker) -> bool {
        // SAFETY: the caller's promise.
        let contact = unsafe { &*self.contact.get() };
        matches!(contact, Contact::Waker(own) if own.will_wake(waker))
    }

    /// Returns the task that polled the node's owner last.
    ///
    /// # Safety
    /// As for `take_waker`.
    pub(super) unsafe fn task(&self) -> Option<Task> {
        // SAFETY: the caller's promise.
        match unsafe { &*self.contact.get() } {
            Contact::Nobody => None,
            Contact::Waker(waker) => Some(Task::of(waker)),
            Contact::Woken(task) => Some(*task),
        }
    }
}
