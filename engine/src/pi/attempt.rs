//! One attempt to take a lock: the lock is taken, or its owner is found; and what is done before
//! the next attempt. Used by `lock`, `unlock`, `requeue` and `waiter`, calls `graph` and the host.

use core::ptr::NonNull;

use crate::abi::{FUTEX_OWNER_DIED as OWNER_DIED, FUTEX_TID_MASK as OWNER, FUTEX_WAITERS as WAITERS};
use crate::mutant::mutated;
use crate::ops::call::Call;
use crate::pi::graph::Waits;
use crate::table::key::Key;
use crate::table::locked::LockedBucket;
use crate::table::wait_list::FoundWaiter;
use crate::waiter::Waiter;
use crate::{Access, Address, Errno, Fault, Host, Inheritance, Owner, Thread};

/// The number of attempts after which a call returns `EAGAIN`, because other threads kept changing
/// the word or its page kept going away.
const TRIES: u32 = 10_000;

/// The outcome of an attempt to take a lock.
pub(crate) enum Attempt<'a, H: Host> {
    /// The lock was free; the thread owns it now.
    Taken,
    /// Another thread owns the lock. The graph's lock (`waits`) has been held since before the
    /// owner was found: the owner's exit has not begun, or waits for the graph's lock. `settled`:
    /// the word names the owner. `beside`: a waiter for this lock, if there is one.
    Owned { owner: Thread, settled: bool, waits: Waits<'a, H>, beside: Option<NonNull<Waiter<H>>> },
}

/// Why an attempt ended; the call ends too, or begins again ([`Call::serve`]).
pub(crate) enum Stop {
    /// The word's page is not accessible.
    Fault,
    /// The word changed meanwhile.
    Changed,
    /// The owner, which has this number, is exiting.
    Exiting(u32),
    /// The call ends with this error.
    Errno(Errno),
}

impl From<Fault> for Stop {
    fn from(_: Fault) -> Stop {
        Stop::Fault
    }
}

impl From<Errno> for Stop {
    fn from(errno: Errno) -> Stop {
        Stop::Errno(errno)
    }
}

impl<'a, H: Host> Call<'a, H> {
    /// Locks the graph of claims. The caller may hold locks of buckets.
    pub(crate) fn waits(&self) -> Waits<'a, H> {
        self.engine.graph().lock(self.host)
    }

    /// Takes the lock with that key for `who`, if it is free; otherwise finds its owner, having set
    /// the waiters bit. With `waiters`, sets the waiters bit of a free lock too.
    pub(crate) fn attempt(
        &self,
        locked: &mut LockedBucket<'a, H>,
        key: &Key,
        address: Address,
        who: Thread,
        waiters: bool,
        inheritance: &dyn Inheritance<H>,
    ) -> Result<Attempt<'a, H>, Stop> {
        let value = self.host.load(address)?;
        // The thread owns the lock: it would wait for itself.
        if value & OWNER == who.number {
            return Err(Errno::EDEADLK.into());
        }
        if let Some(first) = locked.list().first(key) {
            return self.owner_by_claims(&first, value);
        }
        // No thread waits for the lock, and none owns it: it is taken. The owner-died bit stays, so
        // that the program learns of the death.
        if value & OWNER == 0 {
            let waiters = if waiters { WAITERS } else { 0 };
            self.exchange(address, value, value & OWNER_DIED | waiters | who.number)?;
            return Ok(Attempt::Taken);
        }
        // The first waiter: from now on the owner's unlock takes a call, which waits for this
        // bucket's lock.
        self.exchange(address, value, value | WAITERS)?;
        self.owner_by_word(key, address, value | WAITERS, inheritance)
    }

    /// Finds the owner of a lock for which others wait: the claim of the first of them leads to it.
    /// The word held `value`.
    fn owner_by_claims(&self, first: &FoundWaiter<H>, value: u32) -> Result<Attempt<'a, H>, Stop> {
        // A waiter of another kind is an error.
        let claim = self.engine.graph().claim_of(first)?;
        let mut waits = self.waits();
        let (owner, settled) = waits.owner(claim).ok_or(Errno::EINVAL)?;
        // The word contradicts the claims, unless it need not name the owner: an exit has assigned
        // the lock and the new owner has not written the word yet, or the owner's robust list was
        // walked and its locks are not handed off yet.
        let died = value & OWNER == 0 && value & OWNER_DIED != 0;
        if settled && value & OWNER != owner.number && !died {
            return Err(Errno::EINVAL.into());
        }
        Ok(Attempt::Owned { owner, settled, waits, beside: Some(first.node) })
    }

    /// Finds the owner of a lock for which no other thread waits: the thread that the word names.
    /// The word held `value` when this thread had set the waiters bit.
    fn owner_by_word(
        &self,
        key: &Key,
        address: Address,
        value: u32,
        inheritance: &dyn Inheritance<H>,
    ) -> Result<Attempt<'a, H>, Stop> {
        let number = value & OWNER;
        let early = if mutated!(find_inside) { Some(inheritance.find(number)) } else { None };
        // The graph is locked before the owner is looked up:
        // - If the owner's exit comes first, `find` answers that the owner exits, or is gone.
        // - If this lock comes first, the exit waits for it, and then finds the claim.
        let waits = self.waits();
        match early.unwrap_or_else(|| inheritance.find(number)) {
            // A private word that names a thread of another space.
            Owner::Outside(_) if key.is_private() => Err(Errno::EPERM.into()),
            Owner::Thread(id) | Owner::Outside(id) => {
                Ok(Attempt::Owned { owner: Thread { id, number }, settled: true, waits, beside: None })
            }
            // The owner is exiting: the caller waits for the end of that, with no lock held.
            Owner::Exiting => Err(Stop::Exiting(number)),
            Owner::Forbidden => Err(Errno::EPERM.into()),
            // There is no such thread. If the word has changed, the owner's exit has marked it: the
            // call begins again.
            Owner::Nobody if self.host.load(address)? != value => Err(Stop::Changed),
            // The word has not changed, and no exit will mark it.
            Owner::Nobody => Err(Errno::ESRCH.into()),
        }
    }

    /// Exchanges the word from `old` to `new`, or fails with [`Stop::Changed`].
    pub(crate) fn exchange(&self, address: Address, old: u32, new: u32) -> Result<(), Stop> {
        if self.host.compare_exchange(address, old, new)? == old { Ok(()) } else { Err(Stop::Changed) }
    }

    /// Serves what ended an attempt, with no lock held; an error ends the call, which otherwise
    /// begins again.
    pub(crate) fn serve(
        &self,
        stop: Stop,
        address: Address,
        tries: &mut u32,
        inheritance: &dyn Inheritance<H>,
    ) -> Result<(), Errno> {
        *tries += 1;
        if *tries == TRIES {
            return Err(Errno::EAGAIN);
        }
        match stop {
            Stop::Fault => self.host.fault_in(address, Access::Write),
            Stop::Changed => {
                self.host.spin(*tries);
                Ok(())
            }
            Stop::Exiting(number) => inheritance.await_exit(number),
            Stop::Errno(errno) => Err(errno),
        }
    }
}
