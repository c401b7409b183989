//! A claimant: a thread that waits for a lock that inherits priorities, or to be moved to one, from when it is queued until it has the lock or has left. Used
//! by `pi` and `pi_requeue`.

use core::pin::Pin;
use core::ptr::NonNull;

use crate::linux::abi::{FUTEX_OWNER_DIED as OWNER_DIED, FUTEX_WAITERS as WAITERS};
use crate::mutant::mutated;
use crate::ops::call::Call;
use crate::pi::graph::{Claimant, Waits};
use crate::pi::lock::Stop;
use crate::table::key::Key;
use crate::table::locked::Locked;
use crate::waiter::{Decision, Waiter};
use crate::{Deadline, Engine, Errno, Host, Inheritance, ParkEnd, Word};

/// Hands a lock of a thread that cannot write its word to its heir, which will, in its own call.
pub(crate) fn bequeath<H: Host>(
    waits: &mut Waits<'_, H>,
    owner: u64,
    key: &Key,
    inheritance: &dyn Inheritance<H>,
    told: &mut Told<'_, H>,
) {
    let Some(heir) = waits.heir(owner, key) else { return };
    let handed = waits.hand_over(heir, mutated!(pi_unsettled));
    told.handle = handed.handle;
    if let Some(node) = handed.node {
        // SAFETY: its owner needs the graph's lock to go.
        unsafe { node.as_ref() }.make_heir();
    }
    waits.lend(owner, inheritance);
    waits.lend(handed.thread.id, inheritance);
}

/// A thread that exits, until its locks are handed over: all of them, also where a callback panics meanwhile.
pub(crate) struct Exiting<'a, H: Host> {
    pub(crate) engine: &'a Engine<H>,
    pub(crate) host: &'a H,
    pub(crate) inheritance: &'a dyn Inheritance<H>,
    pub(crate) me: u64,
    pub(crate) done: bool,
}

impl<H: Host> Exiting<'_, H> {
    /// How many.
    pub(crate) fn finish(&mut self) -> u32 {
        let mut count = 0;
        loop {
            let mut told = Told::nobody(self.host);
            let mut waits = self.engine.graph().lock(self.host);
            let Some(key) = waits.lock_of(self.me) else {
                self.done = true;
                return count;
            };
            bequeath(&mut waits, self.me, &key, self.inheritance, &mut told);
            count += 1;
        }
    }
}

impl<H: Host> Drop for Exiting<'_, H> {
    fn drop(&mut self) {
        // Does something where the host panicked; then a second panic aborts.
        if !self.done && !mutated!(exit_rest) {
            self.finish();
        }
    }
}

/// Who is to be unparked when the locks were given up, also where the host panics meanwhile: declared before them.
pub(crate) struct Told<'a, H: Host> {
    host: &'a H,
    pub(crate) handle: Option<H::Task>,
    /// It is awake, and sees it.
    pub(crate) looking: bool,
}

impl<'a, H: Host> Told<'a, H> {
    pub(crate) fn nobody(host: &'a H) -> Told<'a, H> {
        Told { host, handle: None, looking: false }
    }
}

impl<H: Host> Drop for Told<'_, H> {
    fn drop(&mut self) {
        if let Some(handle) = self.handle.take().filter(|_| !self.looking) {
            self.host.unpark(handle);
        }
    }
}

/// Wakes a waiter of this bucket, which is not in the graph, and whose handle was taken; the graph's lock is held. It may be gone from now on.
/// Whether it is awake, and sees that.
pub(crate) fn wake<H: Host>(locked: &mut Locked<'_, H>, node: NonNull<Waiter<H>>) -> bool {
    locked.remove(node);
    // SAFETY: in no list, but its owner needs the graph's lock to go, unless it was woken.
    unsafe { node.as_ref() }.decide_to_wake() == Decision::Looking
}

/// A claimant that may be queued: taken out when this ends.
pub(crate) struct Claiming<'a, H: Host> {
    pub(crate) call: Call<'a, H>,
    pub(crate) inheritance: &'a dyn Inheritance<H>,
    pub(crate) claimant: Pin<&'a Claimant<H>>,
    /// The lock's word.
    pub(crate) lock: Word,
}

/// How a claimant's wait ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ClaimEnd {
    /// The lock is the thread's.
    Acquired,
    /// The time is up.
    TimedOut,
    /// A signal came; `claimed`: when the thread waited for the lock, and not any more to be moved
    /// to it.
    Interrupted { claimed: bool },
    /// The word that it waited for before being moved holds another value.
    Changed,
}

/// How a claimant was found when its owner wanted it to leave.
enum Left {
    /// It stays, since it was moved to the lock.
    Moved,
    /// It has left; whether it waited for a lock already.
    Gone { claimed: bool },
    /// It was woken: the lock is its.
    Woken,
    /// The lock is its, and the word does not say so.
    Heir,
}

impl<H: Host> Claiming<'_, H> {
    fn node(&self) -> &Waiter<H> {
        &self.claimant.get_ref().node
    }

    /// Sleeps until the lock is the thread's or the wait for it ends. `word` is what the thread
    /// waits for until it is moved to the lock, and the value that is expected of it; none: it
    /// waits for the lock, whose word the thread's own handlers do not change.
    pub(crate) fn park(&self, until: Option<Deadline>, word: Option<(Word, u32)>) -> Result<ClaimEnd, Errno> {
        let flag = self.node().flag();
        loop {
            let end = if flag.is_waiting() { self.call.host.park(flag, until) } else { ParkEnd::Unparked };
            let mut changed = Ok(false);
            let left = match end {
                ParkEnd::Unparked | ParkEnd::Recheck if !flag.is_waiting() => self.chosen(),
                ParkEnd::Unparked => continue,
                ParkEnd::Recheck => {
                    changed = word.map_or(Ok(false), |(word, expected)| self.call.has_changed(word, expected));
                    match changed {
                        Ok(false) => continue,
                        _ => self.leave(mutated!(recheck_moved)),
                    }
                }
                ParkEnd::TimedOut | ParkEnd::Interrupted => self.leave(true),
            };
            return match left {
                Left::Moved => continue,
                Left::Gone { .. } if end == ParkEnd::TimedOut => Ok(ClaimEnd::TimedOut),
                Left::Gone { claimed } if end == ParkEnd::Interrupted => Ok(ClaimEnd::Interrupted { claimed }),
                Left::Gone { .. } => changed.map(|_| ClaimEnd::Changed),
                Left::Woken => Ok(ClaimEnd::Acquired),
                Left::Heir => self.settle().map(|()| ClaimEnd::Acquired),
            };
        }
    }

    /// How one was chosen whose flag says so.
    fn chosen(&self) -> Left {
        if self.node().is_woken() { Left::Woken } else { Left::Heir }
    }

    /// The lock of the bucket that the node is in; `None`: it is in none.
    fn lock(&self) -> Option<Locked<'_, H>> {
        let node = self.node();
        // A requeue or a larger table may change the bucket until its lock is held.
        while let Some(bucket) = node.bucket() {
            // SAFETY: a bucket of the engine or of the space, both of which the call borrows.
            let locked = unsafe { bucket.as_ref() }.lock(self.call.host, self.call.space);
            if node.bucket() == Some(bucket) {
                return Some(locked);
            }
        }
        None
    }

    /// Takes it out of its list and of the graph, unless the lock is its by now; and with `claimed`
    /// false, unless it was moved to the lock.
    fn leave(&self, claimed: bool) -> Left {
        let node = self.node();
        let locked = self.lock();
        // Whoever wakes it holds the graph's lock until it has.
        let mut waits = self.call.waits();
        if node.is_woken() && !mutated!(pi_leave_decision) {
            return Left::Woken;
        }
        if node.is_heir() && !mutated!(pi_leave_decision) {
            return Left::Heir;
        }
        if !claimed && waits.has(self.claimant.claim()) {
            return Left::Moved;
        }
        let owner = waits.remove(self.claimant.claim());
        if let Some(mut locked) = locked {
            node.decide_to_leave();
            locked.remove(NonNull::from(node));
        }
        if let Some(owner) = owner {
            waits.lend(owner.id, self.inheritance);
        }
        Left::Gone { claimed: owner.is_some() }
    }

    /// The heir of a thread that exited writes its number into the word. If it cannot, the lock goes to the next.
    fn settle(&self) -> Result<(), Errno> {
        let mut tries = 0;
        loop {
            match self.settle_once() {
                Ok(()) => return Ok(()),
                Err(stop) => {
                    if let Err(errno) = self.call.serve(stop, self.lock.address, &mut tries, self.inheritance) {
                        self.renounce();
                        return Err(errno);
                    }
                }
            }
        }
    }

    fn settle_once(&self) -> Result<(), Stop> {
        let me = self.claimant.get_ref().thread();
        let locked = self.lock();
        let value = self.call.host.load(self.lock.address)?;
        self.call.exchange(self.lock.address, value, OWNER_DIED | WAITERS | me.number)?;
        let mut waits = self.call.waits();
        if let Some(mut locked) = locked {
            waits.settle(me.id, &locked.key(NonNull::from(self.node())));
            locked.remove(NonNull::from(self.node()));
        }
        self.node().settled();
        Ok(())
    }

    /// An heir that cannot write the word hands the lock on.
    fn renounce(&self) {
        let mut told = Told::nobody(self.call.host);
        let Some(mut locked) = self.lock() else { return };
        let mut waits = self.call.waits();
        let key = locked.key(NonNull::from(self.node()));
        locked.remove(NonNull::from(self.node()));
        self.node().settled();
        bequeath(&mut waits, self.claimant.get_ref().thread().id, &key, self.inheritance, &mut told);
    }
}

impl<H: Host> Drop for Claiming<'_, H> {
    fn drop(&mut self) {
        // Does something where the host panicked; else it is idle, woken or has left.
        if self.node().flag().is_waiting() {
            self.leave(true);
        }
        if self.node().is_heir() {
            self.renounce();
        }
    }
}
