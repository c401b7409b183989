//! LOCK_PI, LOCK_PI2 and TRYLOCK_PI: locks whose word names their owner, and whose owner runs as
//! urgently as the most urgent thread that waits for it. After Ingo Molnar and Thomas Gleixner's PI
//! futexes (Linux 2.6.18, 2006).
//!
//! The word: 0, or the owner's number, [`FUTEX_WAITERS`](crate::abi::FUTEX_WAITERS) (unlocking
//! needs a call), [`FUTEX_OWNER_DIED`](crate::abi::FUTEX_OWNER_DIED).

use core::pin::pin;

use crate::ops::call::Call;
use crate::pi::attempt::Attempt;
use crate::pi::waiter::{ClaimEnd, Claiming};
use crate::{Access, Deadline, Engine, Errno, Host, Priority, Word};

/// How a wait for a lock ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LockPi {
    /// The calling thread owns the lock. If the word has the owner-died bit, its owner has died
    /// with it.
    Acquired,
    /// The time is up: `ETIMEDOUT`. The thread does not own the lock, and nobody will hand it to
    /// it.
    TimedOut,
    /// A signal came: `EINTR`, or the host calls again, as Linux always does. As above.
    Interrupted,
}

impl<H: Host> Engine<H> {
    /// Takes a lock, and sleeps for it while another owns it: until it is handed to the calling
    /// thread, or until the deadline, or a signal. Meanwhile its owner runs at least as urgently,
    /// and if that waits too, the owner of what it waits for, and so on. The most urgent waiter is
    /// handed the lock, of equals the one that came first.
    ///
    /// Memory ordering: what the former owner did before it unlocked happens before this returns
    /// with [`LockPi::Acquired`].
    ///
    /// # Cost
    /// Free: a bucket's lock and a compare-exchange. Else also the engine's one lock for
    /// inheritance, for each owner in the chain, of 1,024 owners at most, twelve steps in trees:
    /// each costs the logarithm of the threads that wait with priority inheritance. Of the bucket's
    /// list: a pass to the first who waits for this lock, and if there is none, one over those that
    /// are less urgent.
    ///
    /// # Errors
    /// `ENOSYS`: the host has no [`Inheritance`](crate::Inheritance). `EDEADLK`: the thread owns the lock, or its owner
    /// waits, directly or not, for the thread (or through more than 1,024 others). `ESRCH`: the
    /// word names nobody. `EPERM`: it names one that may not own locks. `EAGAIN`: its owner is
    /// exiting (what [`Inheritance::await_exit`](crate::Inheritance::await_exit) answers); or others changed the word 10,000 times.
    /// `EINVAL`: a misaligned word; somebody waits for it otherwise; the word does not name the
    /// owner for whom others wait. `EFAULT`: the word cannot be written.
    pub fn lock_pi(&self, host: &H, word: Word, until: Option<Deadline>) -> Result<LockPi, Errno> {
        self.acquire_pi(host, word, until, false)
    }

    /// Takes a lock if nobody owns it; whether it did. Also where the word has the owner-died bit
    /// or the waiters bit and no owner, which a compare-exchange by the program itself would not
    /// take.
    ///
    /// # Errors
    /// As [`lock_pi`](Self::lock_pi), but for circles of more than one thread.
    pub fn try_lock_pi(&self, host: &H, word: Word) -> Result<bool, Errno> {
        match self.acquire_pi(host, word, None, true) {
            Ok(end) => Ok(end == LockPi::Acquired),
            Err(errno) => Err(errno),
        }
    }

    fn acquire_pi(&self, host: &H, word: Word, until: Option<Deadline>, only_try: bool) -> Result<LockPi, Errno> {
        let inheritance = host.inheritance().ok_or(Errno::ENOSYS)?;
        let call = Call::new(self, host);
        let me = inheritance.current();
        let key = call.key(word, Access::Write)?;
        let claimant = pin!(self.graph().claimant(key, Priority::NORMAL, me, None));
        let claimant = claimant.into_ref();
        // Before the node can be queued: whatever happens, it is taken out.
        let claiming = Claiming { call, inheritance, claimant, lock: word };
        claimant.tie(host.task(claimant.get_ref().node.flag()));
        let mut tries = 0;
        loop {
            let key = call.key(word, Access::Write)?;
            call.fit(&key);
            let mut entered = call.enter(&key);
            match call.attempt(&mut entered.locked, &key, word.address, me, false, inheritance) {
                Ok(Attempt::Taken) => return Ok(LockPi::Acquired),
                // The word had the owner-died bit and no owner, which is not so. As on Linux: the
                // thread has the lock.
                Ok(Attempt::Owned { owner, .. }) if owner.id == me.id => return Ok(LockPi::Acquired),
                // Another owns it, and the call is not to wait.
                Ok(Attempt::Owned { .. }) if only_try => return Ok(LockPi::TimedOut),
                Ok(Attempt::Owned { owner, settled, mut waits, beside }) => {
                    // The owner waits, directly or through others, for this thread.
                    if waits.would_circle(me.id, owner.id) {
                        return Err(Errno::EDEADLK);
                    }
                    // First the claim, then the waiter, then what the owner is lent, all under the
                    // graph's lock: an unlock or an exit waits for that, and finds all three or
                    // none.
                    let own = waits.add(claimant.claim(), &key, owner, settled, inheritance);
                    claimant.get_ref().node.set_priority(own);
                    // SAFETY: pinned, idle until now, and `claiming` takes it out before it goes.
                    let crowded = unsafe { entered.place(&claimant.get_ref().node, key, beside) };
                    waits.lend(owner.id, inheritance);
                    // The bucket's lock went with `place`, the graph's goes here.
                    drop(waits);
                    if crowded {
                        call.fit_waiters(&key);
                    }
                    break;
                }
                // A fault, a changed word, an owner that exits: served with no lock held, and then
                // once more from the key.
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

    /// The own priority of a thread has changed, which may be waiting: it gets its place among
    /// those who wait for the same lock (of equals, by when it came), and the lock's owner is lent
    /// what it is lent now.
    pub fn reprioritize(&self, host: &H, thread: u64) {
        if let Some(inheritance) = host.inheritance() {
            self.graph().lock(host).reprioritize(thread, inheritance);
        }
    }
}
