//! WAIT and WAIT_BITSET: sleep while a word holds a value. Also what the other waits (`wait_async`,
//! `waitv`, `pi::waiter`) share: queueing, comparing again, leaving.

use core::pin::{Pin, pin};

use crate::mutant::{check, mutated};
use crate::ops::call::Call;
use crate::table::key::Key;
use crate::waiter::{Handle, Waiter};
use crate::{Access, Deadline, Engine, Errno, Fault, Host, ParkEnd, Scope, Word};

/// How a wait ended.
///
/// ```
/// # #[cfg(feature = "std")] {
/// use leeward_engine::{Clock, Deadline, Wait, parking::ParkingLot};
/// use std::sync::atomic::AtomicU32;
///
/// let (lot, word) = (ParkingLot::new(2).unwrap(), AtomicU32::new(0));
/// assert_eq!(lot.wait(&word, 1, None), Wait::Changed);
/// let past = Deadline { clock: Clock::Monotonic, at: 0 };
/// assert_eq!(lot.wait(&word, 0, Some(past)), Wait::TimedOut);
/// std::thread::scope(|threads| {
///     // Wakes until the waiter is there.
///     threads.spawn(|| while lot.wake(&word, 1) == 0 {});
///     assert_eq!(lot.wait(&word, 0, None), Wait::Woken);
/// });
/// # }
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wait {
    /// A wake chose this waiter: [`Engine::wake`], or the wake that is part of a requeue or
    /// WAKE_OP.
    Woken,
    /// The word did not hold the expected value: `EAGAIN`.
    Changed,
    /// The deadline has passed: `ETIMEDOUT`. No wake chose this waiter.
    TimedOut,
    /// A signal came: `EINTR`, unless the host makes the call again. No wake chose this waiter.
    Interrupted,
}

impl<H: Host> Engine<H> {
    /// Sleeps while `word` holds `expected`: until a wake that has a bit of `bitset` in common
    /// chooses this waiter, until the deadline, or until a signal. The comparison and the queueing
    /// are one step: a wake that begins after another thread's store to the word finds the waiter,
    /// or the waiter finds the store.
    ///
    /// Memory ordering: what happens before the wake happens before a return with [`Wait::Woken`].
    ///
    /// A requeue may move the waiter to another word while it sleeps; a wake of that word then
    /// chooses it.
    ///
    /// # Cost
    /// If the word holds another value: a load. Otherwise one lock of a bucket, held for a pass
    /// over those of its waiters that are less urgent, and a second lock if the wait ends without a
    /// wake. The waiter is on the caller's stack; the space's table may be allocated or enlarged
    /// first.
    ///
    /// # Errors
    /// `EINVAL`: a bitset of 0, a misaligned word, a size that the host does not
    /// [serve](Host::serves), or an expected value that the word cannot hold. `EFAULT`: the word is
    /// not accessible. Also each error of [`Host::fault_in`] and [`Host::resolve_shared`].
    // Always: only the checks and the comparison are, and a word that does not hold the value needs
    // no call. The sleep is not inlined.
    #[inline(always)]
    pub fn wait(
        &self,
        host: &H,
        word: Word,
        expected: u64,
        bitset: u32,
        until: Option<Deadline>,
    ) -> Result<Wait, Errno> {
        let call = Call::new(self, host);
        let Some(key) = call.key_to_wait(word, expected, bitset)? else { return Ok(Wait::Changed) };
        call.wait(word, expected, bitset, until, key)
    }
}

/// The outcome of comparing the word of a queued waiter again.
pub(crate) enum Stayed {
    /// The word holds the value that is expected.
    Unchanged,
    /// The word holds another value, and the waiter has left.
    Left,
    /// A waker chose the waiter.
    Woken,
    /// A requeue moved the waiter to another word: the value of its first word no longer matters.
    Moved,
}

impl<H: Host> Call<'_, H> {
    /// Waits by a node on this frame. The caller has checked the arguments and seen `expected`
    /// once.
    #[inline(never)]
    fn wait(self, word: Word, expected: u64, bitset: u32, until: Option<Deadline>, key: Key) -> Result<Wait, Errno> {
        let node = pin!(Waiter::new(key, bitset, self.host.priority()));
        let node = node.into_ref();
        // Before the node can be queued: however this function ends, the node is taken out.
        let queued = Queued { call: self, node };
        if !self.queue(node, word, expected, key, || Handle::Task(self.host.task(node.get_ref().flag())))? {
            return Ok(Wait::Changed);
        }
        queued.park(word, expected, until)
    }

    /// Checks a wait's arguments, and loads the word once before anything is locked: `None` if it
    /// holds another value.
    pub(crate) fn key_to_wait(&self, word: Word, expected: u64, bitset: u32) -> Result<Option<Key>, Errno> {
        if bitset == 0 {
            return Err(Errno::EINVAL);
        }
        let key = self.key(word, Access::Read)?;
        match self.load(&word) {
            Ok(value) if value == expected => Ok(Some(key)),
            _ if check!(size_holds, !word.size.holds(expected)) => Err(Errno::EINVAL),
            Ok(_) => Ok(None),
            // `queue` serves the fault.
            Err(Fault) => Ok(Some(key)),
        }
    }

    /// Queues a node if the word holds `expected`, and returns true if it did. Serves faults with
    /// nothing locked, and then begins again from the key.
    pub(crate) fn queue(
        &self,
        node: Pin<&Waiter<H>>,
        word: Word,
        expected: u64,
        mut key: Key,
        handle: impl Fn() -> Handle<H>,
    ) -> Result<bool, Errno> {
        loop {
            match self.queue_once(node, word, expected, key, Some(handle())) {
                Ok(queued) => return Ok(queued),
                Err(Fault) => {
                    self.host.fault_in(word.address, Access::Read)?;
                    if word.scope == Scope::Shared {
                        key = self.key(word, Access::Read)?;
                    }
                }
            }
        }
    }

    /// Queues a node if the word holds `expected`, and returns true if it did; does not serve
    /// faults.
    pub(crate) fn queue_once(
        &self,
        node: Pin<&Waiter<H>>,
        word: Word,
        expected: u64,
        key: Key,
        // The caller makes it, which runs the host's code or the executor's: no lock is held yet.
        // `None`: the node has its handle already.
        handle: Option<Handle<H>>,
    ) -> Result<bool, Fault> {
        self.fit(&key);
        let entered = self.enter(&key);
        let value = self.load(&word)?;
        if check!(check_outside, value != expected) {
            return Ok(false);
        }
        let crowded = match handle {
            // SAFETY: pinned, idle until now, and taken out before its memory goes, by `Queued` or
            // `WaitAsync`.
            Some(handle) => unsafe { entered.queue(node.get_ref(), handle, key) },
            // SAFETY: pinned, idle until now, and taken out before its memory goes, by `Group`.
            None => unsafe { entered.place(node.get_ref(), key, None) },
        };
        if crowded {
            self.fit_waiters(&key);
        }
        Ok(true)
    }

    /// Compares again the word that a queued node waits for. The node leaves if the word holds
    /// another value.
    #[inline(never)]
    pub(crate) fn recheck(&self, node: Pin<&Waiter<H>>, word: Word, expected: u64) -> Result<Stayed, Errno> {
        if !self.has_changed(word, expected)? {
            return Ok(Stayed::Unchanged);
        }
        let key = self.key(word, Access::Read)?;
        Ok(self.leave_unmoved(node, &key))
    }

    /// Returns true if a word holds another value than `expected`. No lock is held.
    pub(crate) fn has_changed(&self, word: Word, expected: u64) -> Result<bool, Errno> {
        loop {
            match self.load(&word) {
                Ok(value) => return Ok(check!(recheck, value != expected)),
                Err(Fault) => self.host.fault_in(word.address, Access::Read)?,
            }
        }
    }

    /// Takes a node out of its list, unless it was woken, or a requeue moved it to another key than
    /// `key`.
    pub(crate) fn leave_unmoved(&self, node: Pin<&Waiter<H>>, key: &Key) -> Stayed {
        let node = node.get_ref();
        while let Some(bucket) = node.bucket().filter(|_| !node.is_woken()) {
            // SAFETY: as in `leave`.
            let mut locked = unsafe { bucket.as_ref() }.lock(self.host, self.space);
            // Only under the lock of the bucket that it is in are decisions about it final.
            if node.bucket() != Some(bucket) || node.is_woken() {
                continue;
            }
            let place = core::ptr::NonNull::from(node);
            if check!(recheck_moved, locked.key(place) != *key) {
                return Stayed::Moved;
            }
            if node.decide_to_leave() {
                locked.remove(place);
                return Stayed::Left;
            }
        }
        Stayed::Woken
    }

    /// Takes a node that is or was queued out of the bucket that it is in now. Returns false if it
    /// was woken. Where the host panicked on the way, a second call goes on from there.
    pub(crate) fn leave(&self, node: Pin<&Waiter<H>>) -> bool {
        let node = node.get_ref();
        // `is_woken` first: the exchange would find the same, and cost more.
        if node.is_woken() || !node.decide_to_leave() && (!node.has_left() || mutated!(leave_resumed)) {
            return mutated!(leave_decision);
        }
        if mutated!(unlink_left) {
            return true;
        }
        // A requeue or a larger table may change the bucket until its lock is held.
        while let Some(bucket) = node.bucket() {
            // SAFETY: a bucket of the engine or of the space, both of which this borrows: no call
            // moves a waiter elsewhere (`TablePin`).
            let mut locked = unsafe { bucket.as_ref() }.lock(self.host, self.space);
            if node.bucket() == Some(bucket) || mutated!(leave_recheck) {
                locked.remove(core::ptr::NonNull::from(node));
                return true;
            }
        }
        // A waker had taken it out of its list, and then found that it had left.
        true
    }
}

/// A guard for a node that may be queued: takes it out when dropped.
pub(crate) struct Queued<'a, H: Host> {
    pub(crate) call: Call<'a, H>,
    pub(crate) node: Pin<&'a Waiter<H>>,
}

impl<H: Host> Queued<'_, H> {
    /// Takes the node out of its list; returns false if it was woken.
    pub(crate) fn leave(self) -> bool {
        let left = self.call.leave(self.node);
        core::mem::forget(self);
        left
    }

    /// Parks until the wait ends, and returns how it did.
    fn park(self, word: Word, expected: u64, until: Option<Deadline>) -> Result<Wait, Errno> {
        let flag = self.node.get_ref().flag();
        loop {
            if !flag.is_waiting() {
                core::mem::forget(self);
                return Ok(Wait::Woken);
            }
            let end = match self.call.host.park(flag, until) {
                ParkEnd::Unparked => continue,
                ParkEnd::TimedOut => Wait::TimedOut,
                ParkEnd::Interrupted => Wait::Interrupted,
                ParkEnd::Recheck => match self.call.recheck(self.node, word, expected) {
                    Ok(Stayed::Left) => return Ok(Wait::Changed),
                    Ok(_) => continue,
                    Err(errno) => return if self.leave() { Err(errno) } else { Ok(Wait::Woken) },
                },
            };
            // A waiter that was chosen meanwhile returns `Woken`, so that no wake is lost.
            return Ok(if self.leave() { end } else { Wait::Woken });
        }
    }
}

impl<H: Host> Drop for Queued<'_, H> {
    fn drop(&mut self) {
        // Runs only when a host callback unwound; goes on with leaving if that was where it
        // panicked. An idle node is left alone. A panic here is a double panic and aborts: the node
        // would stay queued.
        self.call.leave(self.node);
    }
}
