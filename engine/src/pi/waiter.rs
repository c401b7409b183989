//! A claimant: a thread that waits for a lock that inherits priorities, or to be moved to one, from
//! when it is queued until it owns the lock or has left. Used by `lock` and `requeue`, calls
//! `attempt` and `hand_off`.

use core::pin::Pin;
use core::ptr::NonNull;

use crate::abi::{FUTEX_OWNER_DIED as OWNER_DIED, FUTEX_WAITERS as WAITERS};
use crate::mutant::{check, mutated};
use crate::ops::call::Call;
use crate::pi::attempt::Stop;
use crate::pi::claim::Claimant;
use crate::pi::hand_off::{Notified, assign};
use crate::table::locked::LockedBucket;
use crate::waiter::Waiter;
use crate::{Deadline, Errno, Host, Inheritance, ParkEnd, Word};

/// A guard for a claimant that may be queued: takes it out when dropped.
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
    /// The thread owns the lock.
    Acquired,
    /// The deadline has passed.
    TimedOut,
    /// A signal came. `claimed`: the thread waited for the lock, and no longer to be moved to it.
    Interrupted { claimed: bool },
    /// The word that the thread waits for until it is moved holds another value.
    Changed,
}

/// The state in which a claimant was found when its thread wanted it to leave.
enum Left {
    /// It was moved to the lock, and stays.
    Moved,
    /// It has left. `claimed`: it waited for the lock, and no longer to be moved to it.
    Gone { claimed: bool },
    /// It was woken: its thread owns the lock.
    Woken,
    /// The lock is assigned to its thread, whose number the word does not hold yet.
    Assigned,
}

impl<H: Host> Claiming<'_, H> {
    fn node(&self) -> &Waiter<H> {
        &self.claimant.get_ref().node
    }

    /// Sleeps until the thread owns the lock or its wait has ended. `word` is the word that the
    /// thread waits for until it is moved to the lock, and the value that it expects there; with
    /// `None` the thread waits for the lock itself, whose word its own signal handlers do not
    /// change.
    pub(crate) fn park(&self, until: Option<Deadline>, word: Option<(Word, u64)>) -> Result<ClaimEnd, Errno> {
        let flag = self.node().flag();
        loop {
            let end = if flag.is_waiting() { self.call.host.park(flag, until) } else { ParkEnd::Unparked };
            let mut changed = Ok(false);
            let left = match end {
                // The flag says that the wait is over: woken as the owner, or the lock was
                // assigned.
                ParkEnd::Unparked | ParkEnd::Recheck if !flag.is_waiting() => self.chosen(),
                // Unparked for no reason: sleep on.
                ParkEnd::Unparked => continue,
                // A signal handler may have changed the word that the thread waited for first. Only
                // a waiter that was not moved to the lock leaves because of that.
                ParkEnd::Recheck => {
                    changed = word.map_or(Ok(false), |(word, expected)| self.call.has_changed(word, expected));
                    match changed {
                        Ok(false) => continue,
                        _ => self.leave(mutated!(recheck_moved)),
                    }
                }
                // It leaves the list that it is in, unless its thread became the owner first.
                ParkEnd::TimedOut | ParkEnd::Interrupted => self.leave(true),
            };
            return match left {
                Left::Moved => continue,
                Left::Gone { .. } if end == ParkEnd::TimedOut => Ok(ClaimEnd::TimedOut),
                Left::Gone { claimed } if end == ParkEnd::Interrupted => Ok(ClaimEnd::Interrupted { claimed }),
                // The recheck ended the wait: another value, or a fault that could not be served.
                Left::Gone { .. } => changed.map(|_| ClaimEnd::Changed),
                Left::Woken => Ok(ClaimEnd::Acquired),
                // The thread owns the lock, and has to write the word that says so.
                Left::Assigned => self.settle().map(|()| ClaimEnd::Acquired),
            };
        }
    }

    /// Returns how the claimant was chosen, after its flag said that it was.
    fn chosen(&self) -> Left {
        if self.node().is_woken() { Left::Woken } else { Left::Assigned }
    }

    /// Locks the bucket that the node is in; returns `None` if it is in none.
    fn lock(&self) -> Option<LockedBucket<'_, H>> {
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

    /// Takes the claimant out of its list and of the graph, unless its thread owns the lock by now.
    /// With `claimed` false, a claimant that was moved to the lock stays too.
    fn leave(&self, claimed: bool) -> Left {
        let node = self.node();
        // Both locks, in their order: an unlock holds both, and an exit the graph's, so the state
        // that is found here cannot change.
        let mut locked = self.lock();
        let mut waits = self.call.waits();
        // An unlock or a requeue came first: the thread owns the lock, although its deadline
        // passed.
        if check!(pi_leave_decision, node.is_woken()) {
            return Left::Woken;
        }
        // An exit came first.
        if check!(pi_leave_decision, node.is_assigned()) {
            return Left::Assigned;
        }
        // It was moved to the lock: the word that it waited for before no longer matters.
        if !claimed && waits.has(self.claimant.claim()) {
            return Left::Moved;
        }
        let owner = waits.remove(self.claimant.claim());
        if let Some(locked) = &mut locked {
            node.decide_to_leave();
            locked.remove(NonNull::from(node));
        }
        // The owner is no longer lent this thread's priority.
        if let Some(owner) = owner {
            waits.lend(owner.id, self.inheritance);
        }
        Left::Gone { claimed: owner.is_some() }
    }

    /// Writes the thread's number into the word of the lock that an exiting thread assigned to it.
    /// If it cannot, it hands the lock to the next waiter.
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

    /// Writes the number and takes the claimant out of its list, or fails with no lock held.
    fn settle_once(&self) -> Result<(), Stop> {
        let me = self.claimant.get_ref().thread();
        let mut locked = self.lock();
        let value = self.call.host.load(self.lock.address)?;
        self.call.exchange(self.lock.address, value, OWNER_DIED | WAITERS | me.number)?;
        let mut waits = self.call.waits();
        if let Some(locked) = &mut locked {
            waits.settle(me.id, &locked.key(NonNull::from(self.node())));
            locked.remove(NonNull::from(self.node()));
        }
        self.node().settled();
        Ok(())
    }

    /// Hands an assigned lock on to the next waiter, because this thread cannot write the word.
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
        // Does something only when a host callback unwound: otherwise the node is idle, woken or
        // has left.
        if self.node().flag().is_waiting() {
            self.leave(true);
        }
        if self.node().is_assigned() {
            self.renounce();
        }
    }
}
