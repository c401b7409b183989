//! WAIT_REQUEUE_PI and CMP_REQUEUE_PI: wait on a word, and be moved from there to a lock that
//! inherits priorities: the wait of a condition variable whose mutex is such a lock. After Darren
//! Hart's requeue to PI futexes (Linux 2.6.31, 2009).

use core::pin::pin;
use core::ptr::NonNull;

use crate::linux::abi::FUTEX_TID_MASK as OWNER;
use crate::mutant::check;
use crate::ops::call::{Call, HeldTwo};
use crate::pi::attempt::{Attempt, Stop};
use crate::pi::graph::Waits;
use crate::pi::hand_off::{Notified, wake};
use crate::pi::waiter::{ClaimEnd, Claiming};
use crate::table::key::Key;
use crate::table::wait_list::FoundWaiter;
use crate::waiter::Waiter;
use crate::{Access, Deadline, Engine, Errno, Host, Inheritance, Requeue, Thread, Word};

/// How a wait for a lock by way of another word ended ([`Engine::wait_requeue_pi`]).
///
/// ```
/// # #[cfg(feature = "std")] {
/// use leeward_engine::{Clock, Deadline, WaitPi, Word, parking::ParkingLot};
/// use std::sync::atomic::AtomicU32;
///
/// let lot = ParkingLot::new(2).unwrap();
/// // SAFETY: the words that are named are aligned, and outlive the calls.
/// let (engine, host) = unsafe { lot.parts() };
/// let words = [AtomicU32::new(0), AtomicU32::new(0)];
/// let [word, lock] =
///     words.each_ref().map(|word| Word::private(word.as_ptr().expose_provenance() as u64));
/// assert_eq!(engine.wait_requeue_pi(host, word, 1, None, lock), Ok(WaitPi::Changed));
/// let past = Deadline { clock: Clock::Monotonic, at: 0 };
/// assert_eq!(engine.wait_requeue_pi(host, word, 0, Some(past), lock), Ok(WaitPi::TimedOut));
/// # }
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WaitPi {
    /// The calling thread owns the lock.
    Acquired,
    /// The word did not hold the expected value; or a signal came after the thread had been moved
    /// to the lock, which it does not own: `EAGAIN`.
    Changed,
    /// The deadline has passed: `ETIMEDOUT`. The thread does not own the lock.
    TimedOut,
    /// A signal came before the thread was moved: `EINTR`, unless the host makes the call again.
    Interrupted,
}

impl<H: Host> Engine<H> {
    /// Sleeps while `word` holds `expected`, until a [`requeue_pi`](Self::requeue_pi) from `word`
    /// to `lock` moves this thread there and the lock is handed to it. A requeue to another lock
    /// does not move it. The deadline or a signal takes the thread out of whichever of the two it
    /// waits for.
    ///
    /// Memory ordering: what the lock's former owner did before it unlocked happens before this
    /// returns with [`WaitPi::Acquired`].
    ///
    /// # Cost
    /// A bucket's lock, as [`wait`](Self::wait), and another one and the lock for inheritance where
    /// the wait ends by the deadline or a signal. The waiter is on the caller's stack.
    ///
    /// # Errors
    /// `ENOSYS`: the host has no [`Inheritance`]. `EINVAL`: `word` and `lock` are one word, are of
    /// different scope, or one is misaligned or has not 32 bits. `EFAULT`: `word` is not
    /// accessible, or `lock` cannot be written.
    pub fn wait_requeue_pi(
        &self,
        host: &H,
        word: Word,
        expected: u32,
        until: Option<Deadline>,
        lock: Word,
    ) -> Result<WaitPi, Errno> {
        let inheritance = host.inheritance().ok_or(Errno::ENOSYS)?;
        if word.address == lock.address || word.scope != lock.scope {
            return Err(Errno::EINVAL);
        }
        let call = Call::new(self, host);
        let me = inheritance.current();
        let target = call.key_of_u32(lock, Access::Write)?;
        let key = call.key_of_u32(word, Access::Read)?;
        let claimant = pin!(self.graph().claimant(key, inheritance.priority(me.id), me, Some(target)));
        let claimant = claimant.into_ref();
        // Before the node can be queued: however this function ends, the node is taken out.
        let claiming = Claiming { call, inheritance, claimant, lock };
        claimant.tie(host.task(claimant.get_ref().node.flag()));
        loop {
            let key = call.key_of_u32(word, Access::Read)?;
            call.fit(&key);
            let entered = call.enter(&key);
            let Ok(value) = host.load(word.address) else {
                drop(entered);
                host.fault_in(word.address, Access::Read)?;
                continue;
            };
            if value != expected {
                return Ok(WaitPi::Changed);
            }
            if key == target {
                return Err(Errno::EINVAL);
            }
            // SAFETY: pinned, idle until now, and `claiming` takes it out before its memory goes.
            let crowded = unsafe { entered.place(&claimant.get_ref().node, key, None) };
            if crowded {
                call.fit_waiters(&key);
            }
            break;
        }
        Ok(match claiming.park(until, Some((word, expected.into())))? {
            ClaimEnd::Acquired => WaitPi::Acquired,
            ClaimEnd::TimedOut => WaitPi::TimedOut,
            ClaimEnd::Interrupted { claimed: false } => WaitPi::Interrupted,
            ClaimEnd::Interrupted { claimed: true } | ClaimEnd::Changed => WaitPi::Changed,
        })
    }

    /// Moves waiters from `word` to `lock`, if `word` holds `expected`. The first waiter gets the
    /// lock, if that is free, and is woken. Up to `requeue` others (if the lock was not free, the
    /// first one and up to `requeue` others) wait for the lock from then on, with their priorities.
    /// So at most one thread is woken. Returns how many were moved or woken. All of them must have
    /// named this lock ([`wait_requeue_pi`](Self::wait_requeue_pi)).
    ///
    /// # Cost
    /// Two buckets' locks and the one for inheritance, held for one pass over each bucket, and for
    /// each waiter a walk of at most 1,024 owners.
    ///
    /// # Errors
    /// Those of [`lock_pi`](Self::lock_pi) for `lock`, and:
    /// - `EINVAL`: `word` and `lock` are one word, or of different scope, or one has not 32 bits; or
    ///   a waiter is of another kind or named another lock: those before it were moved.
    /// - `EDEADLK`: a waiter owns the lock, or would wait for itself: it stays where it is, and
    ///   those before it were moved.
    /// - `EFAULT`: `word` is not accessible, or `lock` cannot be written.
    pub fn requeue_pi(&self, host: &H, word: Word, lock: Word, requeue: u32, expected: u32) -> Result<Requeue, Errno> {
        let inheritance = host.inheritance().ok_or(Errno::ENOSYS)?;
        if word.address == lock.address || word.scope != lock.scope {
            return Err(Errno::EINVAL);
        }
        let call = Call::new(self, host);
        let mut tries = 0;
        loop {
            let from = call.key_of_u32(word, Access::Read)?;
            let to = call.key_of_u32(lock, Access::Write)?;
            if from == to {
                return Err(Errno::EINVAL);
            }
            let held = call.lock_two(&from, &to);
            match host.load(word.address) {
                Err(_) => {
                    drop(held);
                    host.fault_in(word.address, Access::Read)?;
                    continue;
                }
                Ok(value) if value != expected => return Ok(Requeue::Changed),
                Ok(_) => {}
            }
            let mut one_try = RequeueTry { call, held, from, to, lock, inheritance, woken: Notified::none(host) };
            let moved = one_try.run(requeue);
            drop(one_try);
            match moved {
                Ok(count) => return Ok(Requeue::Done(count)),
                Err(stop) => call.serve(stop, lock.address, &mut tries, inheritance)?,
            }
        }
    }
}

/// One attempt of a requeue, with its locks held.
struct RequeueTry<'a, H: Host> {
    call: Call<'a, H>,
    held: HeldTwo<'a, H>,
    from: Key,
    to: Key,
    lock: Word,
    inheritance: &'a dyn Inheritance<H>,
    /// The thread that got the lock. The last field: it is unparked after the locks are released.
    woken: Notified<'a, H>,
}

impl<'a, H: Host> RequeueTry<'a, H> {
    /// Wakes and moves waiters; returns how many.
    fn run(&mut self, requeue: u32) -> Result<u32, Stop> {
        let (call, inheritance) = (self.call, self.inheritance);
        // As on Linux, the lock's word is read also where no thread waits.
        let value = call.host.load(self.lock.address)?;
        // No thread waits for the word: nothing to do.
        let Some(first) = self.held.first.list().first(&self.from) else { return Ok(0) };
        let who = self.named(&first)?;
        // The first waiter owns the lock already.
        if value & OWNER == who.number {
            return Err(Errno::EDEADLK.into());
        }
        let locked = self.held.second.as_mut().unwrap_or(&mut self.held.first);
        // Where others may be moved, the waiters bit is set from the beginning: they will wait for
        // this thread.
        let attempt = call.attempt(locked, &self.to, self.lock.address, who, requeue != 0, inheritance)?;
        let (mut count, mut cursor, owner, settled, mut waits) = match attempt {
            // Another thread owns the lock: all waiters are moved, the first one too.
            Attempt::Owned { owner, settled, waits, .. } => (0, Some(first.node), owner, settled, waits),
            // The lock was free: the first waiter owns it and is woken, and the others will wait
            // for it.
            Attempt::Taken => {
                let mut waits = call.waits();
                self.woken.handle = first.claim().and_then(|claim| waits.take_handle(claim));
                self.woken.spinning = wake(&mut self.held.first, first.node);
                (1, first.next, who, true, waits)
            }
        };
        let mut end = Ok(());
        let mut last = None;
        // One more is moved if none got the lock.
        while i64::from(count) - 1 < i64::from(requeue) {
            let Some(found) = self.held.first.list().seek(cursor, &self.from) else { break };
            cursor = found.next;
            end = self.move_one(&found, owner, settled, &mut waits, &mut last);
            // A waiter that may not be moved ends the call; those before it were moved.
            if end.is_err() {
                break;
            }
            count += 1;
        }
        // Once for all waiters that were moved.
        waits.lend(owner.id, inheritance);
        end.map(|()| count).map_err(Stop::Errno)
    }

    /// Returns the thread of a waiter that may be moved to the lock; any other is an error.
    fn named(&self, found: &FoundWaiter<H>) -> Result<Thread, Errno> {
        let claim = self.call.engine.graph().claim_of(found)?;
        // SAFETY: its waiter is in the list of a bucket whose lock is held.
        let claim = unsafe { claim.as_ref() };
        // The waiter named another lock, or none.
        if check!(requeue_target, claim.target != Some(self.to)) {
            return Err(Errno::EINVAL);
        }
        Ok(claim.thread)
    }

    /// Moves a waiter to the lock of `owner`; `last` is the waiter that was moved before it.
    fn move_one(
        &mut self,
        found: &FoundWaiter<H>,
        owner: Thread,
        settled: bool,
        waits: &mut Waits<'_, H>,
        last: &mut Option<NonNull<Waiter<H>>>,
    ) -> Result<(), Errno> {
        let who = self.named(found)?;
        let claim = found.claim().ok_or(Errno::EINVAL)?;
        if waits.would_circle(who.id, owner.id) {
            return Err(Errno::EDEADLK);
        }
        waits.add(claim, &self.to, owner, settled, self.inheritance);
        self.held.first.give(self.held.second.as_mut(), found.node, &self.to, last);
        Ok(())
    }
}
