//! A waiter: the node that a waiting thread or future places itself, on its stack or in its task.
//! Nothing is allocated to wait. Made by `wait` and `wait_async`, linked by `bucket`.

pub(crate) mod wake_queue;

use core::cell::UnsafeCell;
use core::marker::PhantomPinned;
use core::ptr::NonNull;
use core::task::Waker;

use crate::atomic::{AtomicPtr, AtomicU32, Ordering, Tracked};
use crate::mutant::{mutated, order};
use crate::table::bucket::Bucket;
use crate::table::key::Key;
use crate::{Flag, Host, Priority};

/// Not queued yet.
const IDLE: u32 = 0;
/// In a bucket's list, or about to leave it.
const QUEUED: u32 = Flag::WAITING;
/// In a bucket's list, and its owner is awake and spins.
const SPINNING: u32 = Flag::SPINNING;
/// A waker chose it; never in a list.
const WOKEN: u32 = 2;
/// It chose to go; wakers pass it over, and it takes itself out of the list.
const LEFT: u32 = 3;
/// A thread that exits assigned the lock to it; still in its list.
const ASSIGNED: u32 = 4;

/// How a waiter is told.
pub(crate) enum Handle<H: Host> {
    /// A thread that parks.
    Task(H::Task),
    /// A future that is polled.
    Waker(Waker),
}

impl<H: Host> Handle<H> {
    /// No lock is held: this runs the host's code or the executor's.
    pub(crate) fn unpark(self, host: &H) {
        match self {
            Handle::Task(task) => host.unpark(task),
            Handle::Waker(waker) => waker.wake(),
        }
    }
}

/// How a waiter that was chosen is told.
pub(crate) struct Woken<H: Host> {
    pub(crate) handle: Handle<H>,
    /// Its owner is awake, and sees it.
    pub(crate) spinning: bool,
}

impl<H: Host> Woken<H> {
    /// No lock is held: this runs the host's code or the executor's.
    pub(crate) fn unpark(self, host: &H) {
        if !self.spinning {
            self.handle.unpark(host);
        }
    }
}

/// What came of wanting to wake a waiter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Decision {
    /// It had left.
    Left,
    /// It is woken. Its owner is awake, and sees it.
    Spinning,
    /// It is woken, and its owner is to be unparked.
    Asleep,
}

/// What belongs to whoever holds the lock of the bucket that the waiter is in; before it is queued,
/// and after it was woken or has left, to its owner.
pub(crate) struct Links<H: Host> {
    pub(crate) next: Option<NonNull<Waiter<H>>>,
    pub(crate) previous: Option<NonNull<Waiter<H>>>,
    /// Changed by requeue.
    pub(crate) key: Key,
    /// Kept by requeue.
    pub(crate) bitset: u32,
    pub(crate) priority: Priority,
    /// The bucket's count when it came.
    pub(crate) sequence: u64,
    /// Taken by the waker that chose it.
    pub(crate) handle: Option<Handle<H>>,
    /// The bitset of the wake that chose it.
    pub(crate) woken_by: u32,
    /// What it is part of, on its owner's frame too: the flag of a group (waitv), or its claim
    /// where it inherits.
    part_of: Option<NonNull<()>>,
    inherits: bool,
}

impl<H: Host> Links<H> {
    /// The flag of the group that it waits with.
    pub(crate) fn group(&self) -> Option<NonNull<Flag>> {
        self.part_of.filter(|_| !self.inherits).map(NonNull::cast)
    }

    /// Its claim (`pi::claim`, which knows the type), where it inherits priorities.
    pub(crate) fn inheriting(&self) -> Option<NonNull<()>> {
        self.part_of.filter(|_| self.inherits)
    }
}

/// A node. Pinned from when it is queued until it was woken or has left.
pub(crate) struct Waiter<H: Host> {
    /// | state | from | by |
    /// |---|---|---|
    /// | idle | | |
    /// | queued | idle | its owner, under the bucket's lock |
    /// | spinning | queued | its owner, before it parks: one compare-exchange |
    /// | queued | spinning | its owner, the same way |
    /// | woken | queued, spinning | a waker, under the bucket's lock: one compare-exchange |
    /// | left | queued | its owner, at a time-out or signal or when dropped: one compare-exchange, no lock |
    /// | assigned | queued, spinning | a thread that exits, under the graph's lock |
    /// | woken | assigned | its owner, under both |
    ///
    /// With a claim (`pi_graph`) it is woken and leaves under the lock of the bucket and of the
    /// graph: both.
    ///
    /// As soon as it is woken its owner may return, and the node be gone. One that has left is
    /// still in its bucket's list, until its owner has taken it out; that owner needs the lock for
    /// it, so whoever holds the lock may touch what it finds there.
    flag: Flag,
    /// The bucket whose list it is in; null in none. Changed under that bucket's lock only
    /// (requeue: both buckets').
    bucket: AtomicPtr<Bucket<H>>,
    links: UnsafeCell<Links<H>>,
    tracked: Tracked,
    _pinned: PhantomPinned,
}

// SAFETY: what is not atomic belongs to one thread at a time, by the bucket's lock and by the
// state; keys are numbers, and handles may be sent.
unsafe impl<H: Host> Send for Waiter<H> where H::Task: Send {}
// SAFETY: as above.
unsafe impl<H: Host> Sync for Waiter<H> where H::Task: Send {}

impl<H: Host> Waiter<H> {
    pub(crate) fn new(key: Key, bitset: u32, priority: Priority) -> Waiter<H> {
        let links = Links {
            next: None,
            previous: None,
            key,
            bitset,
            priority,
            sequence: 0,
            handle: None,
            woken_by: 0,
            part_of: None,
            inherits: false,
        };
        Waiter {
            flag: Flag(AtomicU32::new(IDLE)),
            bucket: AtomicPtr::new(core::ptr::null_mut()),
            links: UnsafeCell::new(links),
            tracked: Tracked::new(),
            _pinned: PhantomPinned,
        }
    }

    /// One of several that one thread waits with, and of which any ends its wait: it parks on the
    /// group's flag.
    pub(crate) fn in_group(key: Key, bitset: u32, priority: Priority, group: &Flag, handle: Handle<H>) -> Waiter<H> {
        let mut node = Waiter::new(key, bitset, priority);
        let links = node.links.get_mut();
        links.part_of = Some(NonNull::from(group).cast());
        links.handle = Some(handle);
        node
    }

    /// Its owner, before it is queued: it waits for a lock that inherits priorities, or to be moved
    /// to one. `claim` is a `Claim` of `pi::claim`.
    pub(crate) fn inherit(&self, claim: NonNull<()>) {
        // SAFETY: idle: the links are its owner's, which is the caller.
        let links = unsafe { &mut *self.links() };
        links.part_of = Some(claim);
        links.inherits = true;
    }

    /// Its owner, before it is queued.
    pub(crate) fn set_priority(&self, priority: Priority) {
        // SAFETY: idle: the links are its owner's, which is the caller.
        unsafe { (*self.links()).priority = priority };
    }

    /// Where its owner parks.
    pub(crate) fn flag(&self) -> &Flag {
        &self.flag
    }

    /// Never queued.
    pub(crate) fn is_idle(&self) -> bool {
        // Relaxed: only its owner changes that.
        self.flag.0.load(Ordering::Relaxed) == IDLE
    }

    pub(crate) fn is_woken(&self) -> bool {
        // Acquire: as in `Flag::is_waiting`.
        let order = if mutated!(woken_acquire) { Ordering::Relaxed } else { Ordering::Acquire };
        self.flag.0.load(order) == WOKEN
    }

    /// Decides that it leaves; false: it was woken.
    pub(crate) fn decide_to_leave(&self) -> bool {
        // Relaxed on success: tells wakers to pass it over, nothing else. Acquire on failure: as in
        // `Flag::is_waiting`.
        self.flag.0.compare_exchange(QUEUED, LEFT, Ordering::Relaxed, order!(Acquire, leave_acquire)).is_ok()
    }

    /// Whether it decided to leave: to be passed over, which saves a decision that would fail. Out
    /// of date at once, so `decide_to_wake` decides.
    pub(crate) fn has_left(&self) -> bool {
        // Relaxed: as above.
        self.flag.0.load(Ordering::Relaxed) == LEFT
    }

    /// Whether it was handed its lock by a thread that exits, and has to settle that.
    pub(crate) fn is_assigned(&self) -> bool {
        // Acquire: as in `Flag::is_waiting`.
        self.flag.0.load(Ordering::Acquire) == ASSIGNED
    }

    /// Assigns its lock to it: the owner exits, and cannot write the word. Under the graph's lock,
    /// with which it can change no more by others.
    pub(crate) fn assign(&self) {
        // Release: what the exiting thread did happens before the wait's return; partner:
        // `is_assigned`, `is_waiting`.
        self.flag.0.store(ASSIGNED, Ordering::Release);
    }

    /// Its owner, to which the lock was assigned, is out of its list.
    pub(crate) fn settled(&self) {
        // Relaxed: nobody else knows the node any more.
        self.flag.0.store(WOKEN, Ordering::Relaxed);
    }

    /// Decides that it is woken; after that it may be gone.
    pub(crate) fn decide_to_wake(&self) -> Decision {
        // Release: what the waker did, to the links too, happens before the wait's return; partner:
        // `is_woken`, `is_waiting`, `decide_to_leave`. Relaxed on failure: nothing was learnt.
        let mut state = QUEUED;
        // Once more for each time that its owner begins or ends a spin meanwhile, which it does
        // once or twice a park.
        loop {
            match self.flag.0.compare_exchange(state, WOKEN, order!(Release, wake_release), Ordering::Relaxed) {
                Ok(QUEUED) if !mutated!(spin_unpark) => return Decision::Asleep,
                Ok(_) => return Decision::Spinning,
                Err(now @ (QUEUED | SPINNING)) => state = now,
                Err(_) => return Decision::Left,
            }
        }
    }

    /// It is in `bucket`'s list from now on, whose lock the caller holds.
    pub(crate) fn put_into(&self, bucket: &Bucket<H>) {
        // Release: a pointer that its owner follows; partner: `bucket`.
        let order = if mutated!(put_release) { Ordering::Relaxed } else { Ordering::Release };
        self.bucket.store(core::ptr::from_ref(bucket).cast_mut(), order);
    }

    /// It is in no list from now on; the caller holds the lock of the bucket that it was in, and
    /// touches it no more.
    pub(crate) fn taken_out(&self) {
        // Release: the caller's last touch happens before its owner's return; partner: `bucket`.
        self.bucket.store(core::ptr::null_mut(), order!(Release, taken_release));
    }

    /// Its owner queues it: before the bucket's lock is given up.
    pub(crate) fn queued(&self) {
        // Relaxed: wakers find it under the lock, and its owner knows.
        self.flag.0.store(QUEUED, Ordering::Relaxed);
    }

    /// The bucket whose list it is in, which may change until the lock of it is held.
    pub(crate) fn bucket(&self) -> Option<NonNull<Bucket<H>>> {
        // Acquire: partners: `put_into`, `taken_out`.
        NonNull::new(self.bucket.load(Ordering::Acquire))
    }

    /// The links, to whom they belong (see [`Links`]).
    pub(crate) fn links(&self) -> *mut Links<H> {
        self.tracked.touch();
        self.links.get()
    }
}
