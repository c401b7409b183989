//! waitv: sleep until any of several words is woken. One waiter a word, each in its own bucket's
//! list and decided by itself; what they share is the flag that their thread sleeps on.

use core::ops::Range;
use core::pin::Pin;

use crate::mutant::{mutated, step};
use crate::ops::call::Call;
use crate::ops::wait::Stayed;
use crate::waiter::{Handle, Waiter};
use crate::{Access, Deadline, Engine, Errno, Fault, Flag, Host, ParkEnd, Word};

/// The most words of one call.
pub const MOST_WORDS: usize = 128;
/// Any wake, whatever its bitset.
const ANY: u32 = u32::MAX;

/// An entry of a wait on several words: the word, what it is expected to hold, and the memory of
/// its waiter, so that a call allocates nothing.
pub struct WaitEntry<H: Host> {
    word: Word,
    expected: u32,
    node: Option<Waiter<H>>,
}

impl<H: Host> WaitEntry<H> {
    /// An entry for `word`: it is waited for as long as it holds `expected`.
    pub const fn new(word: Word, expected: u32) -> WaitEntry<H> {
        WaitEntry { word, expected, node: None }
    }

    /// The node, which is there as long as a call uses the entry.
    fn node(&self) -> Pin<&Waiter<H>> {
        let node = self.node.as_ref().expect("a call has put it there");
        // SAFETY: the call borrows the entry for as long as the node may be in a list, and moves
        // nothing.
        unsafe { Pin::new_unchecked(node) }
    }
}

impl<H: Host> core::fmt::Debug for WaitEntry<H> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("WaitEntry").field("word", &self.word).field("expected", &self.expected).finish_non_exhaustive()
    }
}

/// How a wait on several words ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WaitAny {
    /// A wake chose this thread by the word with this index; where several did, it is the last of
    /// them, as on Linux. The others' wakes are used up too: look at all the words.
    Woken(usize),
    /// One of the words did not hold its value: `EAGAIN`.
    Changed,
    /// The time is up: `ETIMEDOUT`. No wake chose this thread.
    TimedOut,
    /// A signal came: `EINTR`, or the host calls again. No wake chose this thread.
    Interrupted,
}

impl<H: Host> Engine<H> {
    /// Sleeps while each word holds what is expected of it, until a wake chooses this thread by any
    /// of them, or until the deadline, or a signal. The words are looked at in their order, each in
    /// one step with being queued. A word may be given more than once.
    ///
    /// Memory ordering: as [`wait`](Self::wait).
    ///
    /// # Cost
    /// For each word what a `wait` costs, and once more a lock for those that were not woken.
    /// Requeues move each word's waiter by itself.
    ///
    /// # Errors
    /// `EINVAL`: no word or more than [`MOST_WORDS`], a misaligned one. `EFAULT`: nothing is there.
    /// What the host answers.
    pub fn waitv(&self, host: &H, entries: &mut [WaitEntry<H>], until: Option<Deadline>) -> Result<WaitAny, Errno> {
        if entries.is_empty() || entries.len() > MOST_WORDS {
            return Err(Errno::EINVAL);
        }
        let call = Call::new(self, host);
        loop {
            let flag = Flag::new_group();
            let priority = host.priority();
            for entry in entries.iter_mut() {
                let key = call.key(entry.word, Access::Read)?;
                // Of all before the first word is compared: see `Host::task`.
                let handle = Handle::Task(host.task(&flag));
                entry.node = Some(Waiter::in_group(key, ANY, priority, &flag, handle));
            }
            // From here on: whatever happens, they are taken out.
            let mut group = Group { call, entries, flag: &flag, listed: 0..0 };
            match group.queue()? {
                Queueing::Ended(end) => return Ok(end),
                Queueing::Again => continue,
                Queueing::Queued => return group.park(until),
            }
        }
    }
}

/// Where queueing them got to.
enum Queueing {
    /// They are all queued.
    Queued,
    /// A fault was served, with none of them queued.
    Again,
    Ended(WaitAny),
}

/// Nodes of which some may be in lists: taken out when this ends.
struct Group<'a, H: Host> {
    call: Call<'a, H>,
    entries: &'a [WaitEntry<H>],
    flag: &'a Flag,
    /// Those that may be.
    listed: Range<usize>,
}

impl<H: Host> Group<'_, H> {
    fn queue(&mut self) -> Result<Queueing, Errno> {
        let host = self.call.host;
        for entry in self.entries {
            let node = entry.node();
            // SAFETY: idle: the links are its owner's.
            let key = unsafe { (*node.get_ref().links()).key };
            // Before: the host may panic when it is queued already.
            step!(group_count, self.listed.end += 1);
            match self.call.queue_once(node, entry.word, entry.expected, key, None) {
                Ok(true) if mutated!(group_count) => self.listed.end += 1,
                Ok(true) => {}
                Ok(false) => {
                    return Ok(Queueing::Ended(self.leave().map_or(WaitAny::Changed, WaitAny::Woken)));
                }
                Err(Fault) => {
                    if let Some(index) = self.leave() {
                        return Ok(Queueing::Ended(WaitAny::Woken(index)));
                    }
                    host.fault_in(entry.word.address, Access::Read)?;
                    return Ok(Queueing::Again);
                }
            }
        }
        Ok(Queueing::Queued)
    }

    fn park(&mut self, until: Option<Deadline>) -> Result<WaitAny, Errno> {
        loop {
            if !self.flag.is_waiting() {
                self.settle();
            }
            if self.any_woken() {
                return Ok(self.leave().map_or(WaitAny::Interrupted, WaitAny::Woken));
            }
            let end = match self.call.host.park(self.flag, until) {
                ParkEnd::Unparked => continue,
                ParkEnd::TimedOut => WaitAny::TimedOut,
                ParkEnd::Interrupted => WaitAny::Interrupted,
                ParkEnd::Recheck => match self.recheck() {
                    Ok(true) => WaitAny::Changed,
                    Ok(false) => continue,
                    Err(errno) => return self.leave().map_or(Err(errno), |index| Ok(WaitAny::Woken(index))),
                },
            };
            // Whoever was chosen first says so: a wake is never lost.
            return Ok(self.leave().map_or(end, WaitAny::Woken));
        }
    }

    /// Compares the words again; returns true if one of them changed, whose node has left.
    #[inline(never)]
    fn recheck(&self) -> Result<bool, Errno> {
        for entry in self.entries {
            if let Stayed::Left = self.call.recheck(entry.node(), entry.word, entry.expected)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn any_woken(&self) -> bool {
        self.entries.iter().any(|entry| entry.node().is_woken())
    }

    /// The flag was told, under the lock of a bucket, right before the decision about a node there:
    /// takes the locks, so that it is made.
    fn settle(&self) {
        if mutated!(group_settle) {
            return;
        }
        for entry in self.entries {
            let node = entry.node();
            if node.is_woken() {
                return;
            }
            if let Some(bucket) = node.bucket() {
                // SAFETY: as in `Call::leave`.
                drop(unsafe { bucket.as_ref() }.lock(self.call.host, self.call.space));
            }
        }
    }

    /// Takes all of them out; the last one that was woken. Where the host panicked on the way,
    /// calling it again goes on from there.
    fn leave(&mut self) -> Option<usize> {
        let mut woken = None;
        while !self.listed.is_empty() {
            let index = self.listed.start;
            let node = self.entries[index].node();
            // The last may be idle: neither.
            if !self.call.leave(node) && node.is_woken() {
                woken = Some(index);
            }
            // Behind it: until then it may be in a list.
            self.listed.start += 1;
        }
        woken
    }
}

impl<H: Host> Drop for Group<'_, H> {
    fn drop(&mut self) {
        // Does something where the host panicked; else none is queued. As in `Queued`.
        self.leave();
    }
}
