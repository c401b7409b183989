//! A claimant: a thread that waits for a lock that inherits priorities, or to be moved to one, from
//! when it is queued until it has the lock or has left. Used by `lock` and `requeue`.

use core::pin::Pin;
use core::ptr::NonNull;

use crate::abi::{FUTEX_OWNER_DIED as OWNER_DIED, FUTEX_WAITERS as WAITERS};
use crate::mutant::{check, mutated};
use crate::ops::call::Call;
use crate::pi::attempt::Stop;
use crate::pi::claim::Claimant;
use crate::pi::hand_off::{Notified, assign};
use crate::table::locked::Locked;
use crate::waiter::Waiter;
use crate::{Deadline, Errno, Host, Inheritance, ParkEnd, Word};

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
    /// The lock is assigned to it, and the word does not say so.
    Assigned,
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
                // The flag says that the wait is over: woken as the owner, or the lock was
                // assigned.
                ParkEnd::Unparked | ParkEnd::Recheck if !flag.is_waiting() => self.chosen(),
                // For no reason: sleep on.
                ParkEnd::Unparked => continue,
                // A handler may have changed the word that the thread waited for first. Only a
                // waiter that was not moved to the lock leaves for that.
                ParkEnd::Recheck => {
                    changed = word.map_or(Ok(false), |(word, expected)| self.call.has_changed(word, expected));
                    match changed {
                        Ok(false) => continue,
                        _ => self.leave(mutated!(recheck_moved)),
                    }
                }
                // Out of whichever list it is in, unless the lock became the thread's first.
                ParkEnd::TimedOut | ParkEnd::Interrupted => self.leave(true),
            };
            return match left {
                Left::Moved => continue,
                Left::Gone { .. } if end == ParkEnd::TimedOut => Ok(ClaimEnd::TimedOut),
                Left::Gone { claimed } if end == ParkEnd::Interrupted => Ok(ClaimEnd::Interrupted { claimed }),
                // The recheck ended it: by another value, or by a fault that could not be served.
                Left::Gone { .. } => changed.map(|_| ClaimEnd::Changed),
                Left::Woken => Ok(ClaimEnd::Acquired),
                // The thread owns the lock, and has to write the word that says so.
                Left::Assigned => self.settle().map(|()| ClaimEnd::Acquired),
            };
        }
    }

    /// How one was chosen whose flag says so.
    fn chosen(&self) -> Left {
        if self.node().is_woken() { Left::Woken } else { Left::Assigned }
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
        // Both locks, in their order: an unlock holds both, an exit the graph's. So what is found
        // now does not change.
        let locked = self.lock();
        let mut waits = self.call.waits();
        // An unlock or a requeue was first: the lock is the thread's, though its time is up.
        if check!(pi_leave_decision, node.is_woken()) {
            return Left::Woken;
        }
        // An exit was first.
        if check!(pi_leave_decision, node.is_assigned()) {
            return Left::Assigned;
        }
        // Moved to the lock: the word that was waited for before means nothing any more.
        if !claimed && waits.has(self.claimant.claim()) {
            return Left::Moved;
        }
        let owner = waits.remove(self.claimant.claim());
        if let Some(mut locked) = locked {
            node.decide_to_leave();
            locked.remove(NonNull::from(node));
        }
        // The owner is lent less by one.
        if let Some(owner) = owner {
            waits.lend(owner.id, self.inheritance);
        }
        Left::Gone { claimed: owner.is_some() }
    }

    /// Writes its thread's number into the word of a lock that an exiting thread assigned to it. If
    /// it cannot, the lock goes to the next waiter.
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

    /// Hands an assigned lock on to the next waiter: its thread cannot write the word.
    fn renounce(&self) {
        let mut notified = Notified::none(self.call.host);
        let Some(mut locked) = self.lock() else { return };
        let mut waits = self.call.waits();
        let key = locked.key(NonNull::from(self.node()));
        locked.remove(NonNull::from(self.node()));
        self.node().settled();
        assign(&mut waits, self.claimant.get_ref().thread().id, &key, self.inheritance, &mut notified);
    }
}

impl<H: Host> Drop for Claiming<'_, H> {
    fn drop(&mut self) {
        // Does something where the host panicked; else it is idle, woken or has left.
        if self.node().flag().is_waiting() {
            self.leave(true);
        }
        if self.node().is_assigned() {
            self.renounce();
        }
    }
}
