//! A robust readers-writer lock without data: a robust lock for writers, one for each reader's
//! slot, and how a writer and readers see each other.
//!
//! A reader holds a slot, and a writer holds the writers' lock and has found every slot free since.
//! A reader takes its slot first and looks at the writers' lock then; a writer takes the writers'
//! lock first and looks at the slots then. One of the two sees the other:
//!
//! ```text
//! reader                                  writer
//! slot: 0 -> tid  (SeqCst)                writers' lock: 0 -> tid
//! writers' lock free?  (SeqCst)           fence(SeqCst)
//!   yes: it reads                         each slot: held?  wait until it is free
//!   no: gives the slot up, waits          it writes
//! ```
//!
//! - If the reader's taking comes first, the writer finds the slot held, and waits.
//! - If the writer's fence comes first, the reader finds the writers' lock held, and gives way.
//!
//! A reader that gives way takes the writers' lock for a moment, as a turnstile, and its slot under
//! it. So a writer that has the writers' lock waits for those readers only that were inside.
//!
//! All waits are for robust locks: whatever dies, the kernel marks the word and wakes one that
//! waits. What tells whether the data is whole is `writing`, not the mark: a reader that died, in
//! its slot or in the turnstile, and a writer that died before it wrote, have changed nothing.
//! After the big-reader locks of Ingo Molnar and David Miller (2000).

use core::time::Duration;

use super::super::current::{Current, current};
use super::super::lock::{LONG, Lock, Refusal};
use super::super::unlock::ByExchange;
use super::super::{ListError, lock::LockTaken};
use crate::atomic::{AtomicU32, Ordering, compiler_fence, fence};
use crate::futex::{Shared, Timeout, WAIT_ANY_MOST};
use crate::mutant::mutated;
use crate::raw::spin_budget::SpinBudget;

/// How long a reader sleeps before it looks at the slots of a lock with more than `WAIT_ANY_MOST`
/// again.
const NAP: Duration = Duration::from_millis(1);

const WHOLE: u32 = 0;
const WRITING: u32 = 1;

/// The slot of a reader, on a cache line of its own.
#[repr(C, align(64))]
pub(super) struct Slot(Lock);

/// The words of a robust readers-writer lock.
///
/// | offset | field |
/// |---|---|
/// | 0 | the writers' lock |
/// | 40 | `writing` |
/// | 64 | the slots, 64 bytes each |
#[repr(C)]
pub(super) struct Words<const READERS: usize> {
    writers: Lock,
    /// `WRITING` while a writer may have changed a part of the data. Written by the holder of the
    /// writers' lock.
    writing: AtomicU32,
    slots: [Slot; READERS],
}

/// A reader that is inside.
pub(super) struct Reading {
    pub(super) me: Current,
    slot: &'static Slot,
}

/// What a writer learns that is inside.
pub(super) struct Writing {
    pub(super) me: Current,
    /// The last writer died, or left the data as it found it then.
    pub(super) is_inconsistent: bool,
}

/// The reason why a reader is not inside.
pub(super) enum NotReading {
    /// The last writer died: the caller is inside as a writer.
    OwnerDied(Writing),
    Refused(Refusal),
}

/// The state in which a writer leaves the data.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Left {
    Whole,
    /// Inconsistent, for the next one to repair.
    ToTheNext,
    /// Inconsistent, and no thread gets the lock again.
    Unusable,
}

impl Reading {
    /// Gives the slot up. Does nothing in the child of a fork.
    ///
    /// # Safety
    /// It has not been given up before.
    #[inline]
    pub(super) unsafe fn end(&self) {
        // SAFETY: the slot was taken by `me`; the caller's promise.
        unsafe { self.slot.0.unlock::<ByExchange>(self.me, false) };
    }
}

impl<const READERS: usize> Words<READERS> {
    pub(super) const fn new() -> Words<READERS> {
        const { assert!(READERS > 0, "leeward: a robust RwLock has room for one reader at least") };
        Words { writers: Lock::new(), writing: AtomicU32::new(WHOLE), slots: [const { Slot(Lock::new()) }; READERS] }
    }

    /// Returns all slots, the one in which the thread looks first at the beginning.
    #[inline]
    fn slots_from_home(&'static self, me: Current) -> impl Iterator<Item = &'static Slot> {
        const { assert!(READERS > 0, "leeward: a robust RwLock has room for one reader at least") };
        let (before, home) = self.slots.split_at(me.id() as usize % READERS);
        home.iter().chain(before)
    }

    /// Enters as a reader: a compare-exchange, six stores and a load, if no writer is there.
    #[inline]
    pub(super) fn read(&'static self, timeout: Timeout) -> Result<Reading, NotReading> {
        let me = match current() {
            Ok(me) => me,
            Err(error) => return Err(NotReading::Refused(Refusal::NoList(error))),
        };
        let slot = &self.slots[me.id() as usize % READERS];
        if self.is_inside(slot, me, Lock::take_if_free) {
            return Ok(Reading { me, slot });
        }
        self.read_slow(me, timeout)
    }

    /// Takes the slot, and looks whether a writer is there then. Returns false if it is not taken.
    #[inline]
    fn is_inside(
        &'static self,
        slot: &'static Slot,
        me: Current,
        take: impl Fn(&'static Lock, Current) -> bool,
    ) -> bool {
        if mutated!(robust_read_looks_first) {
            return self.writers.is_open() && take(&slot.0, me);
        }
        if !take(&slot.0, me) {
            return false;
        }
        // Partner: the fence in `drain`.
        // - If our taking comes first, the writer finds the slot held, and waits for us.
        // - If the writer's fence comes first, we find the writers' lock held, and give way.
        if mutated!(robust_read_looks) || self.writers.is_open() {
            return true;
        }
        // SAFETY: taken just now.
        unsafe { slot.0.unlock::<ByExchange>(me, false) };
        false
    }

    #[cold]
    #[inline(never)]
    fn read_slow(&'static self, me: Current, timeout: Timeout) -> Result<Reading, NotReading> {
        for slot in self.slots_from_home(me) {
            if !self.writers.is_open() {
                break;
            }
            if self.is_inside(slot, me, Lock::take_in_any_state) {
                return Ok(Reading { me, slot });
            }
        }
        // A writer may be waiting for that slot, and would be waited for.
        if self.slots.iter().any(|slot| slot.0.owner() == me.id()) {
            return Err(NotReading::Refused(Refusal::WouldDeadlock));
        }
        self.writers.lock::<ByExchange>(timeout).map_err(NotReading::Refused)?;
        if mutated!(robust_turnstile_early) {
            // SAFETY: taken just now.
            unsafe { self.writers.unlock::<ByExchange>(me, false) };
            return self.take_slot(me, timeout).map_err(NotReading::Refused);
        }
        if self.is_inconsistent() {
            return Err(match self.become_writer(me, timeout) {
                Ok(writing) => NotReading::OwnerDied(writing),
                Err(refusal) => NotReading::Refused(refusal),
            });
        }
        let reading = self.take_slot(me, timeout);
        // Its release orders the slot's taking before the next writer's look at it.
        // SAFETY: taken above.
        unsafe { self.writers.unlock::<ByExchange>(me, false) };
        reading.map_err(NotReading::Refused)
    }

    /// Takes a slot, with the writers' lock held: so no writer is there, and no reader comes but
    /// those that give way again.
    fn take_slot(&'static self, me: Current, timeout: Timeout) -> Result<Reading, Refusal> {
        match self.take_free_slot(me) {
            Some(reading) => Ok(reading),
            None => self.wait_for_slot(me, timeout),
        }
    }

    /// Takes a slot if one is free.
    fn take_free_slot(&'static self, me: Current) -> Option<Reading> {
        self.slots_from_home(me).find(|slot| slot.0.take_in_any_state(me)).map(|slot| Reading { me, slot })
    }

    /// Waits until any slot is free, and takes it: a reader may wait for what another reader does,
    /// so it may not be kept out by one of them while another's slot is free.
    ///
    /// The caller has the writers' lock, and only threads that have it wait for slots. So there is
    /// one waiter at most, and the one that a wake wakes, the kernel's as well, is the caller.
    #[cold]
    #[inline(never)]
    fn wait_for_slot(&'static self, me: Current, timeout: Timeout) -> Result<Reading, Refusal> {
        let mut budget = SpinBudget::for_lock(timeout);
        let mut until = timeout.min(Timeout::after::<Shared>(LONG));
        loop {
            if let Some(reading) = self.take_free_slot(me) {
                return Ok(reading);
            }
            if self.slots.iter().any(|slot| slot.0.owner() == me.id()) {
                return Err(Refusal::WouldDeadlock);
            }
            if timeout == Timeout::Now {
                return Err(Refusal::WouldBlock);
            }
            if budget.pause::<Shared>() {
                continue;
            }
            self.sleep_on_all(me, until);
            if !until.has_passed::<Shared>() {
                budget = SpinBudget::for_lock(timeout);
                continue;
            }
            if let Some(owner) = self.slots.iter().find_map(|slot| slot.0.lost_owner()) {
                return Err(Refusal::OwnerLost(owner));
            }
            if until == timeout {
                return Err(Refusal::TimedOut);
            }
            until = timeout.min(Timeout::after::<Shared>(LONG));
        }
    }

    /// Sleeps until a slot is given up, or until a time. It may return at any time.
    ///
    /// Each unlock, and the kernel at each death, wakes a sleeper of the word if it finds the mark
    /// in it. A word that has changed since it was marked keeps the caller awake.
    fn sleep_on_all(&'static self, me: Current, until: Timeout) {
        let mut words = [(self.slots[0].0.word(), 0); WAIT_ANY_MOST];
        let mut count = 0;
        for (place, slot) in words.iter_mut().zip(self.slots_from_home(me)) {
            let Some(marked) = slot.0.mark_waiting() else { return };
            *place = (slot.0.word(), marked);
            count += 1;
        }
        if mutated!(robust_any_slot) {
            count = 1;
        }
        // The kernel waits for so many words. The others are looked at after each nap.
        let until = if READERS > WAIT_ANY_MOST { until.min(Timeout::after::<Shared>(NAP)) } else { until };
        // What it returns proves nothing: the caller looks at all slots again. (The count is right.)
        let _ = Shared::wait_any(&words[..count], until);
    }

    /// Enters as a writer.
    pub(super) fn write(&'static self, timeout: Timeout) -> Result<Writing, Refusal> {
        let LockTaken { me, .. } = self.writers.lock::<ByExchange>(timeout)?;
        self.become_writer(me, timeout)
    }

    /// Enters, with the writers' lock, which is given back if that fails.
    fn become_writer(&'static self, me: Current, timeout: Timeout) -> Result<Writing, Refusal> {
        let is_inconsistent = self.is_inconsistent();
        if let Err(refusal) = self.drain(me, timeout) {
            let left = if is_inconsistent { Left::ToTheNext } else { Left::Whole };
            // SAFETY: the caller has the writers' lock.
            unsafe { self.end_writing(me, left) };
            return Err(refusal);
        }
        if !mutated!(robust_writing) {
            // Relaxed: read by the next holder of the writers' lock, whose release and acquire, or
            // the kernel's, come between.
            self.writing.store(WRITING, Ordering::Relaxed);
        }
        // SeqCst (compiler): the data is written after this, as a death between the two sees it.
        compiler_fence(Ordering::SeqCst);
        Ok(Writing { me, is_inconsistent })
    }

    /// Waits until each reader that was inside is outside.
    fn drain(&'static self, me: Current, timeout: Timeout) -> Result<(), Refusal> {
        if mutated!(robust_write_drains) {
            return Ok(());
        }
        // SeqCst: the writers' lock was taken before this, and the slots are looked at after it.
        // Partner: `take_if_free` and `is_open`, in a reader's `is_inside`.
        // - If our fence comes first, the reader finds the writers' lock held, and gives way.
        // - If the reader's taking comes first, we find its slot held.
        fence(Ordering::SeqCst);
        for slot in &self.slots {
            if slot.0.is_held() {
                slot.0.lock::<ByExchange>(timeout)?;
                // SAFETY: taken just now.
                unsafe { slot.0.unlock::<ByExchange>(me, false) };
            }
        }
        Ok(())
    }

    /// Makes the writer a reader: takes a slot, says that the data is whole, and gives the writers'
    /// lock up, in this order. Waits until one is free if all are taken: by readers that find the
    /// writers' lock held, and give way.
    ///
    /// The writer that dies is a writer until it has said that the data is whole, and from then on a
    /// reader, whose slot and whose writers' lock, still marked, are no news. The release of the
    /// writers' lock orders the slot's taking before the next writer's look at it.
    ///
    /// # Errors
    /// No slot is to be had: the caller is the writer still.
    ///
    /// # Safety
    /// `me` is the calling thread, and has the writers' lock; if a slot was taken, it has only that.
    #[cold]
    pub(super) unsafe fn downgrade(&'static self, me: Current) -> Result<Reading, Refusal> {
        if mutated!(robust_downgrade_early) {
            // SAFETY: the caller's promise.
            unsafe { self.end_writing(me, Left::Whole) };
            return self.take_slot(me, Timeout::Never);
        }
        let reading = self.take_slot(me, Timeout::Never)?;
        // SAFETY: the caller's promise.
        unsafe { self.end_writing(me, Left::Whole) };
        Ok(reading)
    }

    fn is_inconsistent(&self) -> bool {
        // Relaxed: the caller has acquired the writers' lock, before whose release it was written.
        self.writing.load(Ordering::Relaxed) != WHOLE
    }

    /// Gives the writers' lock up. Does nothing in the child of a fork.
    ///
    /// # Safety
    /// `me`, if it is the calling thread, has the writers' lock.
    pub(super) unsafe fn end_writing(&'static self, me: Current, left: Left) {
        if !me.is_here() {
            return;
        }
        if left == Left::ToTheNext && !mutated!(robust_left_to_the_next) {
            // SAFETY: the caller's promise.
            return unsafe { self.writers.unlock_as_dead(me) };
        }
        if left == Left::Whole {
            // SeqCst (compiler): the data was written before this, as a death between the two sees
            // it.
            compiler_fence(Ordering::SeqCst);
            // Relaxed: the release below publishes it.
            self.writing.store(WHOLE, Ordering::Relaxed);
        }
        // SAFETY: the caller's promise.
        unsafe { self.writers.unlock::<ByExchange>(me, left == Left::Unusable) };
    }

    /// Reports the death of `owner`, which the kernel did not, to the writers' lock and each slot.
    /// Returns false if `owner` holds none of them.
    ///
    /// # Safety
    /// `owner` is dead: it holds none of them.
    pub(super) unsafe fn declare_dead(&'static self, owner: u32) -> Result<bool, ListError> {
        let mut was_owner = false;
        for lock in self.slots.iter().map(|slot| &slot.0).chain([&self.writers]) {
            if owner != 0 && lock.owner() == owner {
                // SAFETY: the caller's promise: the thread that the word names does not hold it.
                was_owner |= unsafe { lock.declare_dead(owner) }?;
            }
        }
        Ok(was_owner)
    }

    /// Returns true if it is unusable forever.
    pub(super) fn is_unrecoverable(&self) -> bool {
        self.writers.is_unrecoverable()
    }
}
