//! LOCK_PI, LOCK_PI2, TRYLOCK_PI and UNLOCK_PI: locks whose word names their owner, and whose owner runs as urgently as the most urgent thread that waits for
//! it. After Ingo Molnar and Thomas Gleixner's PI futexes (Linux 2.6.18, 2006).
//!
//! The word: 0, or the owner's number, [`FUTEX_WAITERS`](crate::abi::FUTEX_WAITERS) (unlocking needs a call), [`FUTEX_OWNER_DIED`](crate::abi::FUTEX_OWNER_DIED).

use core::pin::pin;
use core::ptr::NonNull;

use crate::linux::abi::{FUTEX_OWNER_DIED as OWNER_DIED, FUTEX_TID_MASK as OWNER, FUTEX_WAITERS as WAITERS};
use crate::mutant::mutated;
use crate::ops::call::Call;
use crate::pi::graph::{Claimant, Waits};
use crate::pi::waiter::{ClaimEnd, Claiming, Exiting, Told, wake};
use crate::table::key::Key;
use crate::table::locked::Locked;
use crate::waiter::Waiter;
use crate::{Access, Address, Deadline, Engine, Errno, Fault, Host, Inheritance, Owner, Priority, Thread, Word};

/// How often a call begins again because others changed the word, or because its page went, before it is `EAGAIN`.
const TRIES: u32 = 10_000;

/// How a wait for a lock ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LockPi {
    /// The calling thread owns the lock. If the word has the owner-died bit, its owner has died with it.
    Acquired,
    /// The time is up: `ETIMEDOUT`. The thread does not own the lock, and nobody will hand it to it.
    TimedOut,
    /// A signal came: `EINTR`, or the host calls again, as Linux always does. As above.
    Interrupted,
}

impl<H: Host> Engine<H> {
    /// Takes a lock, and sleeps for it while another owns it: until it is handed to the calling thread, or until the deadline, or a signal.
    /// Meanwhile its owner runs at least as urgently, and if that waits too, the owner of what it waits for, and so on. The most urgent waiter is handed the lock, of
    /// equals the one that came first.
    ///
    /// Memory ordering: what the former owner did before it unlocked happens before this returns with [`LockPi::Acquired`].
    ///
    /// # Cost
    /// Free: a bucket's lock and a compare-exchange. Else also the engine's one lock for inheritance, for each owner in the chain, of 1,024 owners at
    /// most, twelve steps in trees: each costs the logarithm of the threads that wait with priority inheritance. Of the bucket's list: a pass to the first
    /// who waits for this lock, and if there is none, one over those that are less urgent.
    ///
    /// # Errors
    /// `ENOSYS`: the host has no [`Inheritance`]. `EDEADLK`: the thread owns the lock, or its owner waits, directly or not, for the thread (or through more
    /// than 1,024 others). `ESRCH`: the word names nobody. `EPERM`: it names one that may not own locks. `EAGAIN`: its owner is exiting (what
    /// [`Inheritance::await_exit`] answers); or others changed the word 10,000 times. `EINVAL`: a misaligned word; somebody waits for it otherwise; the
    /// word does not name the owner for whom others wait. `EFAULT`: the word cannot be written.
    pub fn lock_pi(&self, host: &H, word: Word, until: Option<Deadline>) -> Result<LockPi, Errno> {
        self.acquire_pi(host, word, until, false)
    }

    /// Takes a lock if nobody owns it; whether it did. Also where the word has the owner-died bit or the waiters bit and no owner, which a compare-exchange
    /// by the program itself would not take.
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
        let claimant = pin!(Claimant::new(self.graph(), key, Priority::NORMAL, me, None));
        let claimant = claimant.into_ref();
        // Before the node can be queued: whatever happens, it is taken out.
        let claiming = Claiming { call, inheritance, claimant, lock: word };
        claimant.tie(host.task(claimant.get_ref().node.flag()));
        let mut tries = 0;
        loop {
            let key = call.key(word, Access::Write)?;
            call.fit(&key);
            let mut entered = call.enter(&key);
            match call.look(&mut entered.locked, &key, word.address, me, false, inheritance) {
                Ok(Look::Taken) => return Ok(LockPi::Acquired),
                // The word had the owner-died bit and no owner, which is not so. As on Linux: the thread has the lock.
                Ok(Look::Owned { owner, .. }) if owner.id == me.id => return Ok(LockPi::Acquired),
                Ok(Look::Owned { .. }) if only_try => return Ok(LockPi::TimedOut),
                Ok(Look::Owned { owner, settled, mut waits, beside }) => {
                    if waits.would_circle(me.id, owner.id) {
                        return Err(Errno::EDEADLK);
                    }
                    let own = waits.add(claimant.claim(), &key, owner, settled, inheritance);
                    claimant.get_ref().node.set_priority(own);
                    // SAFETY: pinned, idle until now, and `claiming` takes it out before it goes.
                    let crowded = unsafe { entered.place(&claimant.get_ref().node, key, beside) };
                    waits.lend(owner.id, inheritance);
                    drop(waits);
                    if crowded {
                        call.fit_waiters(&key);
                    }
                    break;
                }
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

    /// Gives a lock up that the calling thread owns: to the most urgent thread that waits for it, whose number the word holds then, with the waiters bit (as
    /// on Linux, also where nobody else waits); or the word becomes 0. What the thread was lent through it is over.
    ///
    /// Memory ordering: as [`lock_pi`](Self::lock_pi). Cost: as there, whatever the number of waiters.
    ///
    /// # Errors
    /// `ENOSYS`: the host has no [`Inheritance`]. `EPERM`: the word names another. `EINVAL`: a misaligned word; somebody waits for it otherwise, or for another owner;
    /// the word changed to another's meanwhile. `EAGAIN`: it changed, and nobody waits. `EFAULT`: it cannot be written.
    pub fn unlock_pi(&self, host: &H, word: Word) -> Result<(), Errno> {
        let inheritance = host.inheritance().ok_or(Errno::ENOSYS)?;
        let call = Call::new(self, host);
        let me = inheritance.current();
        let mut tries = 0;
        loop {
            // As on Linux: who may unlock is asked before the address is.
            let mut bytes = [0; 4];
            self.read_user(host, word.address, &mut bytes)?;
            let value = u32::from_ne_bytes(bytes);
            if value & OWNER != me.number && !mutated!(unlock_owner) {
                return Err(Errno::EPERM);
            }
            let key = call.key(word, Access::Write)?;
            let mut told = Told::nobody(host);
            match call.unlock(&key, word.address, value, me, inheritance, &mut told) {
                Ok(()) => return Ok(()),
                Err(stop) => call.serve(stop, word.address, &mut tries, inheritance)?,
            }
        }
    }

    /// The calling thread exits, or becomes another program, and its robust list was walked: each lock that it owns and that somebody waits for is handed to the most
    /// urgent of those, which writes its own number into the word, with the waiters and the owner-died bit; how many. What the thread was lent is over. Locks
    /// that nobody waits for are not known here: those in the robust list are marked by its walk.
    ///
    /// The host sees to it beforehand that [`Inheritance::find`] does not answer the thread as an owner any more. Does not touch user memory.
    ///
    /// # Cost
    /// For each lock one hold of the engine's lock for inheritance, for as long as [`unlock_pi`](Self::unlock_pi) holds it.
    pub fn exit_pi(&self, host: &H) -> u32 {
        let Some(inheritance) = host.inheritance() else { return 0 };
        let me = inheritance.current();
        Exiting { engine: self, host, inheritance, me: me.id, done: false }.finish()
    }

    /// The own priority of a thread has changed, which may be waiting: it gets its place among those who wait for the same lock (of equals, by when it came),
    /// and the lock's owner is lent what it is lent now.
    pub fn reprioritize(&self, host: &H, thread: u64) {
        if let Some(inheritance) = host.inheritance() {
            self.graph().lock(host).reprioritize(thread, inheritance);
        }
    }
}

/// What a look at a lock led to.
pub(crate) enum Look<'a, H: Host> {
    /// It was free, and is the thread's.
    Taken,
    /// It is another's. The graph's lock is held since before that was asked: the owner's exit has not begun, or waits for it.
    /// `beside`: one who waits for it.
    Owned { owner: Thread, settled: bool, waits: Waits<'a, H>, beside: Option<NonNull<Waiter<H>>> },
}

/// Why an operation ends or begins again.
pub(crate) enum Stop {
    /// The word's page is not there.
    Fault,
    /// The word changed meanwhile.
    Changed,
    /// The owner, a number, is exiting.
    Exiting(u32),
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
    /// Locks the graph; buckets' locks may be held.
    pub(crate) fn waits(&self) -> Waits<'a, H> {
        self.engine.graph().lock(self.host)
    }

    /// Takes the lock with that key for `who`, if it is free; otherwise tells its owner, having set the waiters bit. `waiters` sets it also where the lock was free.
    pub(crate) fn look(
        &self,
        locked: &mut Locked<'a, H>,
        key: &Key,
        address: Address,
        who: Thread,
        waiters: bool,
        inheritance: &dyn Inheritance<H>,
    ) -> Result<Look<'a, H>, Stop> {
        let value = self.host.load(address)?;
        if value & OWNER == who.number {
            return Err(Errno::EDEADLK.into());
        }
        let Some(first) = locked.chain().first(key) else {
            if value & OWNER == 0 {
                let waiters = if waiters { WAITERS } else { 0 };
                self.exchange(address, value, value & OWNER_DIED | waiters | who.number)?;
                return Ok(Look::Taken);
            }
            self.exchange(address, value, value | WAITERS)?;
            let early = if mutated!(find_inside) { Some(inheritance.find(value & OWNER)) } else { None };
            // Before the owner is asked for: its exit either is seen, or finds the claim.
            let waits = self.waits();
            return match early.unwrap_or_else(|| inheritance.find(value & OWNER)) {
                Owner::Outside(_) if key.is_private() => Err(Errno::EPERM.into()),
                Owner::Thread(id) | Owner::Outside(id) => {
                    let owner = Thread { id, number: value & OWNER };
                    Ok(Look::Owned { owner, settled: true, waits, beside: None })
                }
                Owner::Exiting => Err(Stop::Exiting(value & OWNER)),
                Owner::Forbidden => Err(Errno::EPERM.into()),
                // Its exit has marked the word since, or there is none.
                Owner::Nobody if self.host.load(address)? != value | WAITERS => Err(Stop::Changed),
                Owner::Nobody => Err(Errno::ESRCH.into()),
            };
        };
        // Somebody who waits otherwise.
        let claim = first.claimed(self.engine.graph())?;
        let mut waits = self.waits();
        let (owner, settled) = waits.owner(claim).ok_or(Errno::EINVAL)?;
        // The owner's robust list may have been walked, with its locks not handed over yet.
        let died = value & OWNER == 0 && value & OWNER_DIED != 0;
        if settled && value & OWNER != owner.number && !died {
            return Err(Errno::EINVAL.into());
        }
        Ok(Look::Owned { owner, settled, waits, beside: Some(first.node) })
    }

    pub(crate) fn exchange(&self, address: Address, old: u32, new: u32) -> Result<(), Stop> {
        if self.host.compare_exchange(address, old, new)? == old { Ok(()) } else { Err(Stop::Changed) }
    }

    /// Does what has to be done, with no lock held, before a call begins again.
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

    /// One try to give a lock up whose word held `value`, which names `me`.
    fn unlock(
        &self,
        key: &Key,
        address: Address,
        value: u32,
        me: Thread,
        inheritance: &dyn Inheritance<H>,
        told: &mut Told<'_, H>,
    ) -> Result<(), Stop> {
        let mut held = self.lock(key);
        let Some(first) = held.locked.chain().first(key) else {
            return match self.host.compare_exchange(address, value, 0)? == value {
                true => Ok(()),
                false => Err(Errno::EAGAIN.into()),
            };
        };
        let claim = first.claimed(self.engine.graph())?;
        let mut waits = self.waits();
        // None: the first waits to be moved, or is the heir of a thread that exits, or the lock is another's.
        let heir = waits.heir(me.id, key).filter(|_| waits.has(claim)).ok_or(Errno::EINVAL)?;
        // In another bucket it is where two spaces have one number.
        if !waits.is_in(heir, held.locked.bucket()) && !mutated!(heir_bucket) {
            return Err(Errno::EINVAL.into());
        }
        let waiters = if mutated!(hand_over_waiters) { 0 } else { WAITERS };
        let now = self.host.compare_exchange(address, value, waiters | waits.thread(heir).number)?;
        if now != value {
            // Without the waiters bit: a waiter has set it meanwhile.
            return Err(if now & OWNER == value { Stop::Changed } else { Errno::EINVAL.into() });
        }
        let handed = waits.hand_over(heir, true);
        told.handle = handed.handle;
        if let Some(node) = handed.node {
            told.looking = wake(&mut held.locked, node);
        }
        waits.lend(me.id, inheritance);
        waits.lend(handed.thread.id, inheritance);
        Ok(())
    }
}
