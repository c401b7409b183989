//! waitv: sleep until any of several words is woken. Each word has a waiter of its own, in its own
//! bucket's list and decided by itself; the waiters of a call share the flag that their thread
//! sleeps on. Calls what `wait` shares.

use core::ops::Range;
use core::pin::Pin;

use crate::mutant::{check, mutated, step};
use crate::ops::call::Call;
use crate::ops::wait::Stayed;
use crate::waiter::{Handle, Waiter};
use crate::{Access, Deadline, Engine, Errno, Fault, Flag, Host, ParkEnd, Word};

/// The greatest number of words that one call waits for.
pub const MOST_WORDS: usize = 128;
/// The bitset of a waiter that any wake may choose.
const ANY: u32 = u32::MAX;

/// An entry of a wait on several words ([`Engine::waitv`]): the word, the value that it is expected
/// to hold, and the memory of its waiter, so that a call allocates nothing.
///
/// ```
/// # #[cfg(feature = "std")] {
/// use leeward_engine::{Config, Engine, Heap, WaitAny, WaitEntry, Word, parking::Process};
/// use std::sync::atomic::AtomicU32;
///
/// let engine = Engine::new(Config::small(7), Heap).unwrap();
/// // SAFETY: the words that are named are aligned, and outlive the call.
/// let host = unsafe { Process::new(2, 7) };
/// let words = [AtomicU32::new(0), AtomicU32::new(5)];
/// let at = |word: &AtomicU32| Word::private(word.as_ptr().expose_provenance() as u64);
/// let mut entries = words.each_ref().map(|word| WaitEntry::new(at(word), 0));
/// // The second word does not hold the expected 0: there is nothing to wait for.
/// assert_eq!(engine.waitv(&host, &mut entries, None), Ok(WaitAny::Changed));
/// # }
/// ```
pub struct WaitEntry<H: Host> {
    word: Word,
    expected: u64,
    node: Option<Waiter<H>>,
}

impl<H: Host> WaitEntry<H> {
    /// Makes an entry that waits for `word` as long as it holds `expected`.
    pub const fn new(word: Word, expected: u64) -> WaitEntry<H> {
        WaitEntry { word, expected, node: None }
    }

    /// Returns the entry's node, which is there as long as a call uses the entry.
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
///
/// ```
/// # #[cfg(feature = "std")] {
/// use leeward_engine::{WaitAny, WaitEntry, Word, parking::ParkingLot};
/// use std::sync::atomic::AtomicU32;
///
/// let lot = ParkingLot::new(2).unwrap();
/// // SAFETY: the words that are named are aligned, and outlive the call.
/// let (engine, host) = unsafe { lot.parts() };
/// let words = [AtomicU32::new(0), AtomicU32::new(0)];
/// let at = |word: &AtomicU32| Word::private(word.as_ptr().expose_provenance() as u64);
/// let mut entries = words.each_ref().map(|word| WaitEntry::new(at(word), 0));
/// std::thread::scope(|threads| {
///     // Wakes until the waiter is there.
///     threads.spawn(|| while lot.wake(&words[1], 1) == 0 {});
///     assert_eq!(engine.waitv(host, &mut entries, None), Ok(WaitAny::Woken(1)));
/// });
/// # }
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WaitAny {
    /// A wake chose this thread by the word with this index. Where several wakes did, it is the
    /// last one's in the order of the words, as on Linux; the other wakes are used up too, so the
    /// caller has to look at all the words.
    Woken(usize),
    /// One of the words did not hold its expected value: `EAGAIN`.
    Changed,
    /// The deadline has passed: `ETIMEDOUT`. No wake chose this thread.
    TimedOut,
    /// A signal came: `EINTR`, unless the host makes the call again. No wake chose this thread.
    Interrupted,
}

impl<H: Host> Engine<H> {
    /// Sleeps while each word holds its expected value: until a wake chooses this thread by any of
    /// them, until the deadline, or until a signal. The words are compared in their order, each in
    /// one step with queueing its waiter. A word may be given more than once, and the words may be
    /// of several sizes.
    ///
    /// Memory ordering: what happens before the wake of the word at an index happens before a
    /// return with [`WaitAny::Woken`] of that index.
    ///
    /// # Cost
    /// For each word the cost of a [`wait`](Self::wait), and a second lock for each word whose
    /// waiter was not woken. A requeue moves each word's waiter by itself.
    ///
    /// # Errors
    /// `EINVAL`: no word, more than [`MOST_WORDS`], a misaligned one, one whose size the host does
    /// not [serve](Host::serves), or one that cannot hold its expected value. `EFAULT`: a word is
    /// not accessible. Also each error of [`Host::fault_in`] and [`Host::resolve_shared`].
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
                if check!(size_holds, !entry.word.size.holds(entry.expected)) {
                    return Err(Errno::EINVAL);
                }
                // The tasks of all entries are made before the first word is compared: see
                // `Host::task`.
                let handle = Handle::Task(host.task(&flag));
                entry.node = Some(Waiter::in_group(key, ANY, priority, &flag, handle));
            }
            // Before a node can be queued: however this function ends, the nodes are taken out.
            let mut group = Group { call, entries, flag: &flag, listed: 0..0 };
            match group.queue()? {
                Queueing::Ended(end) => return Ok(end),
                Queueing::Again => continue,
                Queueing::Queued => return group.park(until),
            }
        }
    }
}

/// The outcome of queueing all nodes of a call.
enum Queueing {
    /// All nodes are queued.
    Queued,
    /// A fault was served, with no node queued: the call begins again.
    Again,
    /// The call ends so, with no node queued.
    Ended(WaitAny),
}

/// A guard for the nodes of a call, of which some may be queued: takes them out when dropped.
struct Group<'a, H: Host> {
    call: Call<'a, H>,
    entries: &'a [WaitEntry<H>],
    flag: &'a Flag,
    /// The indices of the entries whose nodes may be queued.
    listed: Range<usize>,
}

impl<H: Host> Group<'_, H> {
    /// Compares the words and queues their nodes, in order.
    fn queue(&mut self) -> Result<Queueing, Errno> {
        let host = self.call.host;
        for entry in self.entries {
            let node = entry.node();
            // SAFETY: idle, so the links belong to the owner, which is this call.
            let key = unsafe { (*node.get_ref().links()).key };
            // Before queueing: the host may panic when the node is queued already.
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

    /// Parks until the wait ends, and returns how it did.
    fn park(&mut self, until: Option<Deadline>) -> Result<WaitAny, Errno> {
        loop {
            if !self.flag.is_waiting() {
                step!(group_settle, self.settle());
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
            // A node that was chosen meanwhile decides the answer, so that no wake is lost.
            return Ok(self.leave().map_or(end, WaitAny::Woken));
        }
    }

    /// Compares the words again; returns true if one of them has changed and its node has left.
    #[inline(never)]
    fn recheck(&self) -> Result<bool, Errno> {
        for entry in self.entries {
            if let Stayed::Left = self.call.recheck(entry.node(), entry.word, entry.expected)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns true if a wake chose one of the nodes.
    fn any_woken(&self) -> bool {
        self.entries.iter().any(|entry| entry.node().is_woken())
    }

    /// Waits for the decision of the waker that set the flag. It sets the flag under the lock of a
    /// bucket, and then decides about a node there under the same lock: so after this has locked
    /// each node's bucket once, the decision is made.
    fn settle(&self) {
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

    /// Takes all nodes out, and returns the index of the last one that was woken. Where the host
    /// panicked on the way, a second call goes on from there.
    fn leave(&mut self) -> Option<usize> {
        let mut woken = None;
        while !self.listed.is_empty() {
            let index = self.listed.start;
            let node = self.entries[index].node();
            // The last node may be idle: then it was neither woken, nor has it left.
            if !self.call.leave(node) && node.is_woken() {
                woken = Some(index);
            }
            // After `leave`: until then the node may be in a list.
            self.listed.start += 1;
        }
        woken
    }
}

impl<H: Host> Drop for Group<'_, H> {
    fn drop(&mut self) {
        // Runs only when a host callback unwound; otherwise no node is queued. A panic here is a
        // double panic and aborts, as in `Queued`.
        self.leave();
    }
}
