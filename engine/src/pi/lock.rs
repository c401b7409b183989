//! LOCK_PI, LOCK_PI2 and TRYLOCK_PI: locks whose word names their owner, which runs as urgently as
//! the most urgent thread that waits for the lock. After Ingo Molnar and Thomas Gleixner's PI
//! futexes (Linux 2.6.18, 2006).
//!
//! The word is 0, or holds the owner's number, [`FUTEX_WAITERS`](crate::abi::FUTEX_WAITERS)
//! (unlocking takes a call) and [`FUTEX_OWNER_DIED`](crate::abi::FUTEX_OWNER_DIED).

use core::pin::pin;

use crate::mutant::step;
use crate::ops::call::Call;
use crate::pi::attempt::Attempt;
use crate::pi::waiter::{ClaimEnd, Claiming};
use crate::{Access, Deadline, Engine, Errno, Host, Priority, Word};

/// How a wait for a lock ended.
///
/// ```
/// # #[cfg(feature = "std")] {
/// use leeward_engine::{Clock, Deadline, LockPi, parking::ParkingLot};
/// use std::sync::atomic::AtomicU32;
///
/// let (lot, word) = (ParkingLot::new(2).unwrap(), AtomicU32::new(0));
/// assert_eq!(lot.lock_pi(&word, None), Ok(LockPi::Acquired));
/// let past = Deadline { clock: Clock::Monotonic, at: 0 };
/// std::thread::scope(|threads| {
///     threads.spawn(|| assert_eq!(lot.lock_pi(&word, Some(past)), Ok(LockPi::TimedOut)));
/// });
/// lot.unlock_pi(&word).unwrap();
/// # }
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LockPi {
    /// The calling thread owns the lock. If the word has the owner-died bit, a former owner died
    /// while it held the lock.
    Acquired,
    /// The deadline has passed: `ETIMEDOUT`. The thread does not own the lock, and it will not be
    /// handed the lock later.
    TimedOut,
    /// A signal came: `EINTR`, or the host makes the call again, as Linux always does. The thread
    /// does not own the lock, and it will not be handed the lock later.
    Interrupted,
}

impl<H: Host> Engine<H> {
    /// Takes a lock. While another thread owns it, sleeps until the lock is handed to the calling
    /// thread, until the deadline, or until a signal. Meanwhile the owner runs at least as urgently
    /// as the calling thread; if the owner waits too, so does the owner of what it waits for, and
    /// so on. The lock is handed to its most urgent waiter, and among equals to the one that came
    /// first.
    ///
    /// Memory ordering: what the former owner did before it unlocked happens before this returns
    /// with [`LockPi::Acquired`].
    ///
    /// # Cost
    /// A free lock: a bucket's lock and a compare-exchange. Otherwise also the engine's one lock
    /// for inheritance, held for a chain of at most 1,024 owners, with twelve steps in trees for
    /// each; a step costs the logarithm of the number of threads that wait with priority
    /// inheritance. In the bucket's list: a pass to the first waiter for this lock, or, if there is
    /// none, over those that are less urgent. Nothing is allocated for the waiter: it is on the
    /// caller's stack.
    ///
    /// # Errors
    /// - `ENOSYS`: the host has no [`Inheritance`](crate::Inheritance).
    /// - `EDEADLK`: the thread owns the lock; its owner waits, directly or not, for the thread; or
    ///   the chain has more than 1,024 owners.
    /// - `ESRCH`: the word names no thread.
    /// - `EPERM`: the word names a thread that may not own the lock.
    /// - `EAGAIN`: the owner is exiting (the answer of
    ///   [`await_exit`](crate::Inheritance::await_exit)); or the word changed in 10,000 attempts.
    /// - `EINVAL`: the word is misaligned or has not 32 bits; a waiter of another kind waits there;
    ///   or the word does not name the owner for which others wait.
    /// - `EFAULT`: the word cannot be written.
    pub fn lock_pi(&self, host: &H, word: Word, until: Option<Deadline>) -> Result<LockPi, Errno> {
        self.acquire_pi(host, word, until, false)
    }

    /// Takes a lock if no thread owns it, and returns true if it did. It also takes a lock whose
    /// word has the owner-died bit or the waiters bit and no owner, which a compare-exchange from 0
    /// by the program itself would not take.
    ///
    /// Memory ordering: if it returns true, what the former owner did before it unlocked happens
    /// before the return.
    ///
    /// # Errors
    /// Those of [`lock_pi`](Self::lock_pi), but `EDEADLK` only if the thread owns the lock itself.
    pub fn try_lock_pi(&self, host: &H, word: Word) -> Result<bool, Errno> {
        match self.acquire_pi(host, word, None, true) {
            Ok(end) => Ok(end == LockPi::Acquired),
            Err(errno) => Err(errno),
        }
    }

    /// Takes a lock; with `only_try`, returns [`LockPi::TimedOut`] instead of waiting for it.
    fn acquire_pi(&self, host: &H, word: Word, until: Option<Deadline>, only_try: bool) -> Result<LockPi, Errno> {
        let inheritance = host.inheritance().ok_or(Errno::ENOSYS)?;
        let call = Call::new(self, host);
        let me = inheritance.current();
        let key = call.key_of_u32(word, Access::Write)?;
        let claimant = pin!(self.graph().claimant(key, Priority::NORMAL, me, None));
        let claimant = claimant.into_ref();
        // Before the node can be queued: however this function ends, the node is taken out.
        let claiming = Claiming { call, inheritance, claimant, lock: word };
        claimant.tie(host.task(claimant.get_ref().node.flag()));
        let mut tries = 0;
        loop {
            let key = call.key_of_u32(word, Access::Write)?;
            call.fit(&key);
            let mut entered = call.enter(&key);
            match call.attempt(&mut entered.locked, &key, word.address, me, false, inheritance) {
                Ok(Attempt::Taken) => return Ok(LockPi::Acquired),
                // The word had the owner-died bit and no owner, but the claims of others say that
                // this thread owns the lock: it does, as on Linux.
                Ok(Attempt::Owned { owner, .. }) if owner.id == me.id => return Ok(LockPi::Acquired),
                // Another owns it, and the call is not to wait.
                Ok(Attempt::Owned { .. }) if only_try => return Ok(LockPi::TimedOut),
                Ok(Attempt::Owned { owner, settled, mut waits, beside }) => {
                    // The owner waits, directly or through others, for this thread.
                    if waits.would_circle(me.id, owner.id) {
                        return Err(Errno::EDEADLK);
                    }
                    // First the claim, then the waiter, then the priority lent to the owner, all
                    // under the graph's lock: an unlock or an exit waits for that lock, and finds
                    // all three or none.
                    let own = waits.add(claimant.claim(), &key, owner, settled, inheritance);
                    claimant.get_ref().node.set_priority(own);
                    step!(preemption_order, waits.ends_after(&mut entered.locked));
                    // SAFETY: pinned, idle until now, and `claiming` takes it out before its memory
                    // goes.
                    let crowded = unsafe { entered.place(&claimant.get_ref().node, key, beside) };
                    waits.lend(owner.id, inheritance);
                    // The bucket's lock was released by `place`; the graph's is released here.
                    drop(waits);
                    if crowded {
                        call.fit_waiters(&key);
                    }
                    break;
                }
                // A fault, a changed word or an exiting owner is served with no lock held, and then
                // the call begins again from the key.
                Err(stop) => {
                    drop(entered);
                    call.serve(stop, word.address, &mut tries, inheritance)?;
                }
            }
        }
        claiming.park(until, None).map(|end| match end {
            ClaimEnd::Acquired => LockPi::Acquired,
            ClaimEnd::TimedOut => LockPi::TimedOut,
            ClaimEnd::Interrupted { .. } | ClaimEnd::Changed => LockPi::Interrupted,
        })
    }

    /// Tells the engine that a thread's own priority has changed. If the thread waits for a lock,
    /// its claim gets its new place among the waiters for that lock (among equals, by when it
    /// came), and the lock's owner is lent the priority that it is to be lent now. Without an
    /// [`Inheritance`](crate::Inheritance) nothing happens.
    ///
    /// # Cost
    /// The engine's lock for inheritance, held for a chain of at most 1,024 owners, as in
    /// [`lock_pi`](Self::lock_pi).
    pub fn reprioritize(&self, host: &H, thread: u64) {
        if let Some(inheritance) = host.inheritance() {
            self.graph().lock(host).reprioritize(thread, inheritance);
        }
    }
}
