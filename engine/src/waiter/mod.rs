//! A waiter: the node that a waiting thread or future makes on its own stack or in its task, so
//! that waiting allocates nothing. Made by `ops::wait`, `wait_async` and `waitv`, and by
//! `pi::waiter`; linked by `table::wait_list`.

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

/// The waiter is not queued yet.
const IDLE: u32 = 0;
/// The waiter is in a bucket's list, or about to leave it.
const QUEUED: u32 = Flag::WAITING;
/// The waiter is in a bucket's list, and its owner is awake and spins.
const SPINNING: u32 = Flag::SPINNING;
/// A waker chose the waiter, which is in no list.
const WOKEN: u32 = 2;
/// The waiter's owner chose to go: wakers pass the waiter over, and the owner takes it out of the
/// list.
const LEFT: u32 = 3;
/// A thread that exits assigned its lock to the waiter, which is still in its list.
const ASSIGNED: u32 = 4;

/// The handle by which a waiter's owner is woken.
pub(crate) enum Handle<H: Host> {
    /// The handle of a thread that parks.
    Task(H::Task),
    /// The waker of the context that polled a future last.
    Waker(Waker),
}

impl<H: Host> Handle<H> {
    /// Wakes the owner. No lock is held: this runs the host's code or the executor's.
    pub(crate) fn unpark(self, host: &H) {
        match self {
            Handle::Task(task) => host.unpark(task),
            Handle::Waker(waker) => waker.wake(),
        }
    }
}

/// The handle of a waiter that a waker chose.
pub(crate) struct Woken<H: Host> {
    pub(crate) handle: Handle<H>,
    /// True if the owner is awake, sees that it was woken, and need not be unparked.
    pub(crate) spinning: bool,
}

impl<H: Host> Woken<H> {
    /// Unparks the owner unless it is awake. No lock is held: this runs the host's code or the
    /// executor's.
    pub(crate) fn unpark(self, host: &H) {
        if !self.spinning {
            self.handle.unpark(host);
        }
    }
}

/// The outcome of a waker's try to wake a waiter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Decision {
    /// The waiter had left.
    Left,
    /// The waiter is woken. Its owner is awake, and sees it.
    Spinning,
    /// The waiter is woken, and its owner is to be unparked.
    Asleep,
}

/// The part of a waiter that is not atomic. It belongs to the holder of the lock of the bucket that
/// the waiter is in; before the waiter is queued, and after it was woken or has left, to its owner.
pub(crate) struct Links<H: Host> {
    pub(crate) next: Option<NonNull<Waiter<H>>>,
    pub(crate) previous: Option<NonNull<Waiter<H>>>,
    /// The key that is waited for, which a requeue changes.
    pub(crate) key: Key,
    /// The bits of which a wake must have one; a requeue keeps them.
    pub(crate) bitset: u32,
    pub(crate) priority: Priority,
    /// The bucket's count when the waiter came: wakes have a cutoff by it.
    pub(crate) sequence: u64,
    /// The handle of the owner, which the waker that chooses the waiter takes.
    pub(crate) handle: Option<Handle<H>>,
    /// The bitset of the wake that chose the waiter.
    pub(crate) woken_by: u32,
    /// What the waiter is part of, on its owner's frame too: its claim if `inherits`, else the flag
    /// of its group (waitv).
    part_of: Option<NonNull<()>>,
    inherits: bool,
}

impl<H: Host> Links<H> {
    /// Returns the flag of the group that the waiter is part of.
    pub(crate) fn group(&self) -> Option<NonNull<Flag>> {
        self.part_of.filter(|_| !self.inherits).map(NonNull::cast)
    }

    /// Returns the waiter's claim (`pi::claim` knows the type) if it inherits priorities.
    pub(crate) fn inheriting(&self) -> Option<NonNull<()>> {
        self.part_of.filter(|_| self.inherits)
    }
}

/// A waiter: the node of a bucket's list. Pinned from when it is queued until it was woken or has
/// left.
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
    /// A waiter with a claim (`pi::graph`) is woken, and leaves, under two locks: its bucket's and
    /// the graph's.
    ///
    /// As soon as a waiter is woken its owner may return, and the node be gone. A waiter that has
    /// left is still in its bucket's list until its owner has taken it out, for which the owner
    /// needs the lock: the lock's holder may touch what it finds there.
    flag: Flag,
    /// The bucket whose list the waiter is in; null if it is in none. Changed under that bucket's
    /// lock only (a requeue holds both buckets').
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

    /// Makes one of several waiters with which one thread waits, and of which any ends its wait.
    /// The thread parks on the group's flag.
    pub(crate) fn in_group(key: Key, bitset: u32, priority: Priority, group: &Flag, handle: Handle<H>) -> Waiter<H> {
        let mut node = Waiter::new(key, bitset, priority);
        let links = node.links.get_mut();
        links.part_of = Some(NonNull::from(group).cast());
        links.handle = Some(handle);
        node
    }

    /// Attaches a claim (a `Claim` of `pi::claim`): the waiter waits for a lock that inherits
    /// priorities, or to be moved to one. Called by the owner before the waiter is queued.
    pub(crate) fn inherit(&self, claim: NonNull<()>) {
        // SAFETY: idle: the links are its owner's, which is the caller.
        let links = unsafe { &mut *self.links() };
        links.part_of = Some(claim);
        links.inherits = true;
    }

    /// Sets the priority. Called by the owner before the waiter is queued.
    pub(crate) fn set_priority(&self, priority: Priority) {
        // SAFETY: idle: the links are its owner's, which is the caller.
        unsafe { (*self.links()).priority = priority };
    }

    /// Returns the flag on which the owner parks.
    pub(crate) fn flag(&self) -> &Flag {
        &self.flag
    }

    /// Returns true if the waiter was never queued.
    pub(crate) fn is_idle(&self) -> bool {
        // Relaxed: only its owner, the caller, changes that.
        self.flag.0.load(Ordering::Relaxed) == IDLE
    }

    pub(crate) fn is_woken(&self) -> bool {
        // Acquire: as in `Flag::is_waiting`.
        self.flag.0.load(order!(Acquire, woken_acquire)) == WOKEN
    }

    /// Decides that the waiter leaves. Returns false if it was woken before.
    pub(crate) fn decide_to_leave(&self) -> bool {
        // Relaxed on success: it only tells wakers to pass the waiter over. Acquire on failure: as
        // in `Flag::is_waiting`.
        self.flag.0.compare_exchange(QUEUED, LEFT, Ordering::Relaxed, order!(Acquire, leave_acquire)).is_ok()
    }

    /// Returns true if the waiter decided to leave: a waker then passes it over, without a decision
    /// that would fail. Out of date at once, so `decide_to_wake` decides.
    pub(crate) fn has_left(&self) -> bool {
        // Relaxed: an estimate.
        self.flag.0.load(Ordering::Relaxed) == LEFT
    }

    /// Returns true if a thread that exits assigned its lock to the waiter, whose owner has to
    /// settle that.
    pub(crate) fn is_assigned(&self) -> bool {
        // Acquire: as in `Flag::is_waiting`.
        self.flag.0.load(Ordering::Acquire) == ASSIGNED
    }

    /// Assigns the lock of a thread that exits to the waiter: that thread cannot write the lock's
    /// word. Called under the graph's lock, with which no other thread can change the waiter's
    /// state any more.
    pub(crate) fn assign(&self) {
        // Release: what the exiting thread did happens before the wait's return; partner:
        // `is_assigned`, `is_waiting`.
        self.flag.0.store(ASSIGNED, Ordering::Release);
    }

    /// Ends an assignment. Called by the owner, which has taken the waiter out of its list.
    pub(crate) fn settled(&self) {
        // Relaxed: no other thread knows the node any more.
        self.flag.0.store(WOKEN, Ordering::Relaxed);
    }

    /// Decides that the waiter is woken; after that it may be gone.
    pub(crate) fn decide_to_wake(&self) -> Decision {
        // Release: what the waker did, to the links too, happens before the wait's return; partner:
        // `is_woken`, `is_waiting`, `decide_to_leave`. Relaxed on failure: nothing was learnt.
        let mut state = QUEUED;
        // The loop runs once more for each time that the owner begins or ends a spin meanwhile,
        // which it does once or twice a park.
        loop {
            match self.flag.0.compare_exchange(state, WOKEN, order!(Release, wake_release), Ordering::Relaxed) {
                Ok(QUEUED) if !mutated!(spin_unpark) => return Decision::Asleep,
                Ok(_) => return Decision::Spinning,
                Err(now @ (QUEUED | SPINNING)) => state = now,
                Err(_) => return Decision::Left,
            }
        }
    }

    /// Notes that the waiter is in `bucket`'s list from now on. The caller holds that bucket's
    /// lock.
    pub(crate) fn put_into(&self, bucket: &Bucket<H>) {
        // Release: a pointer that its owner follows; partner: `bucket`.
        self.bucket.store(core::ptr::from_ref(bucket).cast_mut(), order!(Release, put_release));
    }

    /// Notes that the waiter is in no list from now on. The caller holds the lock of the bucket
    /// that the waiter was in, and touches it no more.
    pub(crate) fn taken_out(&self) {
        // Release: the caller's last touch happens before its owner's return; partner: `bucket`.
        self.bucket.store(core::ptr::null_mut(), order!(Release, taken_release));
    }

    /// Marks the waiter as queued. Called by the owner before the bucket's lock is given up.
    pub(crate) fn queued(&self) {
        // Relaxed: wakers find it under the lock, and its owner knows.
        self.flag.0.store(QUEUED, Ordering::Relaxed);
    }

    /// Returns the bucket whose list the waiter is in, which may change until that bucket's lock is
    /// held.
    pub(crate) fn bucket(&self) -> Option<NonNull<Bucket<H>>> {
        // Acquire: the bucket, or the last touch of the thread that took the waiter out; partners:
        // `put_into`, `taken_out`.
        NonNull::new(self.bucket.load(Ordering::Acquire))
    }

    /// Returns the links, for the thread that they belong to (see [`Links`]).
    pub(crate) fn links(&self) -> *mut Links<H> {
        self.tracked.touch();
        self.links.get()
    }
}
