//! WAIT and WAIT_BITSET: sleep while a word holds a value.

use core::pin::{Pin, pin};

use crate::mutant::{check, mutated};
use crate::ops::call::Call;
use crate::table::key::Key;
use crate::waiter::{Handle, Waiter};
use crate::{Access, Deadline, Engine, Errno, Fault, Host, ParkEnd, Scope, Word};

/// How a wait ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wait {
    /// A wake (or a requeue's) chose this waiter.
    Woken,
    /// The word did not hold the value: `EAGAIN`.
    Changed,
    /// The time is up: `ETIMEDOUT`. No wake chose this waiter.
    TimedOut,
    /// A signal came: `EINTR`, or the host calls again. No wake chose this waiter.
    Interrupted,
}

impl<H: Host> Engine<H> {
    /// Sleeps while `word` holds `expected`, until a wake that has a bit of `bitset` in common
    /// chooses this waiter, or until the deadline, or a signal. The comparison and the queueing are
    /// one step: a wake that begins after another thread stored to the word finds the waiter, or
    /// the waiter finds the store.
    ///
    /// Memory ordering: what was done before the wake happens before a return with [`Wait::Woken`].
    ///
    /// # Errors
    /// `EINVAL`: a bitset of 0, a misaligned word. `EFAULT`: nothing is there. What the host
    /// answers.
    pub fn wait(
        &self,
        host: &H,
        word: Word,
        expected: u32,
        bitset: u32,
        until: Option<Deadline>,
    ) -> Result<Wait, Errno> {
        let call = Call::new(self, host);
        let Some(key) = call.key_to_wait(word, expected, bitset)? else { return Ok(Wait::Changed) };
        call.wait(word, expected, bitset, until, key)
    }
}

/// What came of comparing the word of a queued waiter again.
pub(crate) enum Stayed {
    /// The word holds the value that is expected.
    Unchanged,
    /// The word holds another value, and the waiter has left.
    Left,
    /// It was woken.
    Woken,
    /// A requeue moved it to another word: what the first one holds means nothing to it.
    Moved,
}

impl<H: Host> Call<'_, H> {
    /// Waits: the word held `expected` a moment ago.
    #[inline(never)]
    fn wait(self, word: Word, expected: u32, bitset: u32, until: Option<Deadline>, key: Key) -> Result<Wait, Errno> {
        let node = pin!(Waiter::new(key, bitset, self.host.priority()));
        let node = node.into_ref();
        // Before the node can be queued: whatever happens, it is taken out.
        let queued = Queued { call: self, node };
        if !self.queue(node, word, expected, key, || Handle::Task(self.host.task(node.get_ref().flag())))? {
            return Ok(Wait::Changed);
        }
        queued.park(word, expected, until)
    }

    /// Checks a wait's arguments, and looks at the word once before anything is locked: `None` if
    /// it has another value.
    pub(crate) fn key_to_wait(&self, word: Word, expected: u32, bitset: u32) -> Result<Option<Key>, Errno> {
        if bitset == 0 {
            return Err(Errno::EINVAL);
        }
        let key = self.key(word, Access::Read)?;
        match self.host.load(word.address) {
            Ok(value) if value != expected => Ok(None),
            // A fault is for `queue` to serve.
            _ => Ok(Some(key)),
        }
    }

    /// Queues a node if the word holds `expected`; whether it did. Faults are served with nothing
    /// locked, and then it begins again from the key.
    pub(crate) fn queue(
        &self,
        node: Pin<&Waiter<H>>,
        word: Word,
        expected: u32,
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

    /// Queues a node if the word holds `expected`; whether it did.
    pub(crate) fn queue_once(
        &self,
        node: Pin<&Waiter<H>>,
        word: Word,
        expected: u32,
        key: Key,
        // Made before the lock is taken: it is the host's code, or the executor's. None: the node
        // has one.
        handle: Option<Handle<H>>,
    ) -> Result<bool, Fault> {
        self.fit(&key);
        let entered = self.enter(&key);
        let value = self.host.load(word.address)?;
        if check!(check_outside, value != expected) {
            return Ok(false);
        }
        let crowded = match handle {
            // SAFETY: pinned, idle until now, and its owner takes it out before it goes (`Queued`,
            // `WaitAsync`).
            Some(handle) => unsafe { entered.queue(node.get_ref(), handle, key) },
            // SAFETY: as above (`Group`).
            None => unsafe { entered.place(node.get_ref(), key, None) },
        };
        if crowded {
            self.fit_waiters(&key);
        }
        Ok(true)
    }

    /// Compares the word again that a queued node waits for: the node leaves if the value is
    /// another one.
    #[inline(never)]
    pub(crate) fn recheck(&self, node: Pin<&Waiter<H>>, word: Word, expected: u32) -> Result<Stayed, Errno> {
        if !self.has_changed(word, expected)? {
            return Ok(Stayed::Unchanged);
        }
        let key = self.key(word, Access::Read)?;
        Ok(self.leave_unmoved(node, &key))
    }

    /// Returns true if a word holds another value than is expected; no lock is held.
    pub(crate) fn has_changed(&self, word: Word, expected: u32) -> Result<bool, Errno> {
        loop {
            match self.host.load(word.address) {
                Ok(value) => return Ok(value != expected && !mutated!(recheck)),
                Err(Fault) => self.host.fault_in(word.address, Access::Read)?,
            }
        }
    }

    /// Takes a node out of its list, unless it was woken, or moved by a requeue to another key than
    /// `key`.
    pub(crate) fn leave_unmoved(&self, node: Pin<&Waiter<H>>, key: &Key) -> Stayed {
        let node = node.get_ref();
        while let Some(bucket) = node.bucket().filter(|_| !node.is_woken()) {
            // SAFETY: as in `leave`.
            let mut locked = unsafe { bucket.as_ref() }.lock(self.host, self.space);
            // Under the lock of the bucket that it is in nobody else decides.
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

    /// Takes a node that is queued, or was, out of whatever bucket it is in now; false if it was
    /// woken. Where the host panicked on the way, calling it again goes on from there.
    pub(crate) fn leave(&self, node: Pin<&Waiter<H>>) -> bool {
        let node = node.get_ref();
        // An exchange would find the same, and cost more.
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
        // A waker had it out of its list already, and then found that it had left.
        true
    }
}

/// A node that may be queued: taken out when this ends.
pub(crate) struct Queued<'a, H: Host> {
    pub(crate) call: Call<'a, H>,
    pub(crate) node: Pin<&'a Waiter<H>>,
}

impl<H: Host> Queued<'_, H> {
    /// Takes it out; false if it was woken.
    pub(crate) fn leave(self) -> bool {
        let left = self.call.leave(self.node);
        core::mem::forget(self);
        left
    }

    fn park(self, word: Word, expected: u32, until: Option<Deadline>) -> Result<Wait, Errno> {
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
            // Whoever was chosen first says so: a wake is never lost.
            return Ok(if self.leave() { end } else { Wait::Woken });
        }
    }
}

impl<H: Host> Drop for Queued<'_, H> {
    fn drop(&mut self) {
        // Does something where the host panicked, and goes on where it panicked while leaving; else
        // the node is idle. A panic here is one within a panic, which aborts: the node would stay.
        self.call.leave(self.node);
    }
}
