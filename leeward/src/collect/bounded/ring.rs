//! The ring: its cursors, and what any thread may do without waiting. A thread claims a slot by moving a
//! cursor past it, then fills or empties it, and says so in the slot's state.
//!
//! ```text
//! push    slot of the tail is free for that position (Acquire): tail -> next (AcqRel); write the value;
//!         state = position | FILLED (Release);             if the tail was marked: wake one that pops
//! pop     slot of the head is filled at that position (Acquire): head -> next (AcqRel); read the value;
//!         state = position + a lap (Release);              if the head was marked: wake one that pushes
//! ```
//!
//! After the bounded queue of Dmitry Vyukov (2010), in which a word of each slot says which push or pop it
//! is ready for. A thread that stops between its two steps holds up those that come to its slot, a lap later
//! or at the other end; those before it go on.
//!
//! The head does not pass the tail, and the tail is a lap ahead at most. A thread that loads both has them in
//! an order in which this is so: a release of each cursor's exchange tells what its thread knew of the other.

use core::marker::PhantomData;

use super::position::{CLOSED, FILLED, Laps, PASSED, SLEEPS, place};
use super::slot::{RingSlot, Slots};
use super::waits::Waits;
use crate::atomic::{AtomicU32, AtomicU64, Ordering};
use crate::collect::queue::{Lines, gap};
use crate::futex::{Futex, Timeout};
use crate::mutant::{check, mutated, order, step};
use crate::process::fork_mark;

/// A ring of slots.
pub(super) struct Ring<T, F: Futex> {
    /// The position that is pushed to next; [`SLEEPS`]: some wait to pop; [`CLOSED`].
    pub(super) tail: Lines<AtomicU64>,
    /// The position that is popped next; [`SLEEPS`]: some wait to push.
    pub(super) head: Lines<AtomicU64>,
    /// Those that wait to pop, and those that wait to push.
    pub(super) pops: Waits,
    pub(super) pushes: Waits,
    fixed: Lines<Fixed<T>>,
    owns: PhantomData<(T, fn() -> F)>,
}

/// What each call reads, and none changes but in the child of a fork.
struct Fixed<T> {
    slots: Slots<T>,
    /// The fork number of the process that uses the ring (`adopt.rs`).
    process: AtomicU32,
}

/// A slot that the caller has claimed, and at which position.
struct Claimed<'a, T> {
    slot: &'a RingSlot<T>,
    position: u64,
    /// The cursor was marked, and the mark was taken away: the caller wakes one that waits.
    wakes: bool,
}

/// A slot that another thread has claimed, and is in the midst of filling or emptying.
pub(super) struct Held<'a, T> {
    slot: &'a RingSlot<T>,
    /// Its state until that thread is done.
    state: u64,
}

impl<T> Held<'_, T> {
    /// Sleeps until that thread is done, until `timeout` at most. Returns true if the time is up.
    pub(super) fn wait<F: Futex>(&self, timeout: Timeout) -> bool {
        // Relaxed: the next attempt loads it again.
        let is_done = || self.slot.state.load(Ordering::Relaxed) != self.state;
        // In the child of a fork such slots were settled.
        matches!(gap::wait::<F>(self.slot.address(), timeout, is_done, || false), gap::Waited::Late)
    }
}

/// Why a push did not find room.
pub(super) enum NoRoom<'a, T> {
    /// The queue is closed.
    Closed,
    /// The queue was full while the head was this.
    Full(u64),
    /// A pop has claimed the slot and not emptied it.
    Held(Held<'a, T>),
}

/// Why a pop did not find a value.
pub(super) enum NoValue<'a, T> {
    /// The queue was empty while the tail was this.
    Empty(u64),
    /// A push has claimed the slot and not filled it.
    Held(Held<'a, T>),
}

impl<T, F: Futex> Ring<T, F> {
    /// Returns an empty ring of `capacity` slots, of which there is one at least; `None` if there is no memory
    /// for it.
    pub(super) fn new(capacity: usize) -> Option<Self> {
        let fixed = Fixed { slots: Slots::new(capacity)?, process: AtomicU32::new(fork_mark::now()) };
        Some(Ring {
            tail: Lines(AtomicU64::new(0)),
            head: Lines(AtomicU64::new(0)),
            pops: Waits::new(),
            pushes: Waits::new(),
            fixed: Lines(fixed),
            owns: PhantomData,
        })
    }

    /// Returns how positions follow one another.
    #[inline]
    pub(super) fn laps(&self) -> Laps {
        self.fixed.0.slots.laps()
    }

    /// Returns the slot of a position.
    #[inline]
    pub(super) fn slot(&self, position: u64) -> &RingSlot<T> {
        self.fixed.0.slots.at(position)
    }

    /// Returns the fork number of the process that uses the ring.
    #[inline]
    pub(super) fn process(&self) -> &AtomicU32 {
        &self.fixed.0.process
    }

    /// Makes sure that the ring is this process's: called at the beginning of each call of the queue.
    #[inline]
    pub(super) fn enter(&self) {
        // Acquire: partner of the release in `adopt`: the ring is settled.
        if !fork_mark::is_still(self.process().load(Ordering::Acquire)) {
            self.adopt();
        }
    }

    /// Pushes a value if there is room, and wakes one that waits to pop; `is_forced`: also to a closed queue.
    #[inline]
    pub(super) fn put(&self, value: T, is_forced: bool) -> Result<(), (T, NoRoom<'_, T>)> {
        match self.claim_room(is_forced) {
            Ok(claimed) => {
                self.fill(&claimed, value);
                Ok(())
            }
            Err(why) => Err((value, why)),
        }
    }

    /// Pops the first value if there is one, and wakes one that waits to push.
    #[inline]
    pub(super) fn take(&self) -> Result<T, NoValue<'_, T>> {
        let claimed = self.claim_value()?;
        // SAFETY: the slot is claimed, and was filled.
        let value = unsafe { claimed.slot.read() };
        self.free(&claimed);
        Ok(value)
    }

    /// Puts a value in the place of the first one, which it returns, if the head of the full queue is `head`
    /// still. Else it gives the value back, with the slot of the first one if that is not filled yet.
    pub(super) fn displace(&self, head: u64, value: T) -> Result<T, (T, Option<Held<'_, T>>)> {
        let (laps, first) = (self.laps(), place(head));
        let slot = self.slot(first);
        // Acquire: partner of the release in `fill`.
        let state = slot.state.load(Ordering::Acquire);
        if state != first | FILLED {
            return Err((value, self.is_held(first, state).then_some(Held { slot, state })));
        }
        // This makes no room, so those that wait for room stay marked.
        let next = laps.next(first) | if mutated!(bounded_displace_mark) { 0 } else { head & SLEEPS };
        // AcqRel: as in `claim_value`. Relaxed: nothing was learnt.
        if self.head.0.compare_exchange(head, next, Ordering::AcqRel, Ordering::Relaxed).is_err() {
            return Err((value, None));
        }
        // The slot is this call's. The tail is at the same slot, since the queue was full, and stays there:
        // no push finds the slot free.
        let position = laps.lap_after(first);
        let after = |tail: u64| laps.next(position) | tail & CLOSED;
        // AcqRel: as in `claim_room`. Relaxed: the next attempt decides.
        let tail = self.tail.0.fetch_update(Ordering::AcqRel, Ordering::Relaxed, |tail| Some(after(tail)));
        let tail = tail.unwrap_or_else(|tail| tail);
        // SAFETY: the slot is claimed, and was filled.
        let old = unsafe { slot.read() };
        self.fill(&Claimed { slot, position, wakes: tail & SLEEPS != 0 }, value);
        Ok(old)
    }

    /// Claims the slot of the tail.
    #[inline]
    fn claim_room(&self, is_forced: bool) -> Result<Claimed<'_, T>, NoRoom<'_, T>> {
        // Acquire: the tail is loaded before the head.
        let mut tail = self.tail.0.load(Ordering::Acquire);
        loop {
            if tail & CLOSED != 0 && !is_forced {
                return Err(NoRoom::Closed);
            }
            let position = place(tail);
            let slot = self.slot(position);
            // Acquire: partner of the release in `free`: the value before was read.
            let state = slot.state.load(order!(Acquire, bounded_room_acquire));
            if state != position {
                match self.find_no_room(position, slot, state) {
                    Some(why) => return Err(why),
                    // Acquire: as above.
                    None => tail = self.tail.0.load(Ordering::Acquire),
                }
                continue;
            }
            let next = self.laps().next(position) | tail & CLOSED;
            // AcqRel: acquire is the partner of the release in `Waiting::mark`: the sleeper has loaded its turn.
            // Release: the partner of the loads of the tail that a load of the head follows: the head was as
            // far as this call knew. Acquire on failure: as above.
            match self.tail.0.compare_exchange_weak(tail, next, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return Ok(Claimed { slot, position, wakes: tail & SLEEPS != 0 }),
                Err(now) => tail = now,
            }
        }
    }

    /// Claims the slot of the head.
    #[inline]
    fn claim_value(&self) -> Result<Claimed<'_, T>, NoValue<'_, T>> {
        // Acquire: the head is loaded before the tail.
        let mut head = self.head.0.load(Ordering::Acquire);
        loop {
            let position = place(head);
            let slot = self.slot(position);
            // Acquire: partner of the release in `fill`: the value is there.
            let state = slot.state.load(order!(Acquire, bounded_take_acquire));
            if state != position | FILLED {
                match self.find_no_value(head, slot, state) {
                    Some(why) => return Err(why),
                    // Acquire: as above.
                    None => head = self.head.0.load(Ordering::Acquire),
                }
                continue;
            }
            match self.move_head(head) {
                Ok(wakes) => return Ok(Claimed { slot, position, wakes }),
                Err(now) => head = now,
            }
        }
    }

    /// Moves the head to the next slot. Returns true if it was marked, and where it is if it has moved.
    #[inline]
    fn move_head(&self, head: u64) -> Result<bool, u64> {
        // AcqRel: acquire is the partner of the release in `Waiting::mark`: the sleeper has loaded its turn.
        // Release: the partner of the loads of the head that a load of the tail follows: the tail was as far
        // as this call knew. Acquire on failure: as in `claim_value`.
        let next = self.laps().next(place(head));
        let moved = self.head.0.compare_exchange_weak(head, next, Ordering::AcqRel, Ordering::Acquire);
        moved.map(|head| head & SLEEPS != 0)
    }

    /// Says why the slot of the tail was not free; `None`: the tail has moved on, or the head has now.
    #[cold]
    #[inline(never)]
    fn find_no_room<'a>(&'a self, position: u64, slot: &'a RingSlot<T>, state: u64) -> Option<NoRoom<'a, T>> {
        let before = self.laps().lap_before(position);
        // Acquire: partner of the release in `move_head`, for the next look.
        let head = self.head.0.load(Ordering::Acquire);
        if place(head) == before {
            // The tail was a lap ahead, and is not more than that.
            let is_passed = state == before | PASSED;
            return if is_passed { self.pass(head, slot) } else { Some(NoRoom::Full(head)) };
        }
        (state == before | FILLED).then_some(NoRoom::Held(Held { slot, state }))
    }

    /// Says why the slot of the head was not filled; `None`: the head has moved on.
    #[cold]
    #[inline(never)]
    fn find_no_value<'a>(&'a self, head: u64, slot: &'a RingSlot<T>, state: u64) -> Option<NoValue<'a, T>> {
        let position = place(head);
        // Acquire: partner of the release in `claim_room`, for the next look.
        let tail = self.tail.0.load(Ordering::Acquire);
        if place(tail) == position {
            return Some(NoValue::Empty(tail));
        }
        if state == position | PASSED {
            return self.pass(head, slot);
        }
        self.is_held(position, state).then_some(NoValue::Held(Held { slot, state }))
    }

    /// Returns true if a slot of this state, whose position is before the tail, will be filled at it.
    fn is_held(&self, position: u64, state: u64) -> bool {
        // One that displaces a value claims the slot while that is in it.
        state == position || state == self.laps().lap_before(position) | FILLED
    }

    /// Goes past a slot that will have no value. Returns `None`.
    fn pass<N>(&self, head: u64, slot: &RingSlot<T>) -> Option<N> {
        if let Ok(wakes) = self.move_head(head) {
            self.free(&Claimed { slot, position: place(head), wakes });
        }
        None
    }

    /// Fills a slot, and wakes one that waits to pop.
    #[inline]
    fn fill(&self, claimed: &Claimed<'_, T>, value: T) {
        let slot = claimed.slot;
        // SAFETY: the slot is claimed, and its value was taken.
        unsafe { slot.write(value) };
        // Release: partner of the acquire in `claim_value`: the value is there.
        slot.state.store(claimed.position | FILLED, order!(Release, bounded_fill_release));
        step!(bounded_fill_gap, gap::filled::<F>(slot.address()));
        if check!(bounded_wake_pops, claimed.wakes) {
            self.pops.wake_one::<F>();
        }
    }

    /// Makes a slot free for the next lap, and wakes one that waits to push.
    #[inline]
    fn free(&self, claimed: &Claimed<'_, T>) {
        let slot = claimed.slot;
        // Release: partner of the acquire in `claim_room`: the value was read.
        let next = self.laps().lap_after(claimed.position);
        slot.state.store(next, order!(Release, bounded_free_release));
        step!(bounded_free_gap, gap::filled::<F>(slot.address()));
        if check!(bounded_wake_pushes, claimed.wakes) {
            self.pushes.wake_one::<F>();
        }
    }

    /// Closes the queue, and wakes all that wait.
    pub(super) fn close(&self) {
        // AcqRel: acquire is the partner of the release in `Waiting::mark`, as in `claim_room`; release, of the
        // loads that find the queue closed: what was pushed before is found.
        let tail = self.tail.0.fetch_or(CLOSED, Ordering::AcqRel);
        if check!(bounded_close_pops, tail & SLEEPS != 0) {
            self.pops.wake_all::<F>();
        }
        // AcqRel: the two operations on the head, this one and that of `Waiting::mark`, come one after the
        // other. If this one is first, the sleeper sees that the queue is closed. If it is second, it finds the
        // mark.
        let head = self.head.0.fetch_and(!SLEEPS, order!(AcqRel, bounded_close_order => Relaxed));
        if check!(bounded_close_pushes, head & SLEEPS != 0) {
            self.pushes.wake_all::<F>();
        }
    }

    /// Returns true if the queue is closed.
    #[inline]
    pub(super) fn is_closed(&self) -> bool {
        // Acquire: partner of the release in `close`.
        self.tail.0.load(Ordering::Acquire) & CLOSED != 0
    }

    /// Returns how many values there were at some moment of the call.
    pub(super) fn len(&self) -> usize {
        // Acquire, all: one is loaded after the other.
        let mut tail = place(self.tail.0.load(Ordering::Acquire));
        loop {
            let head = place(self.head.0.load(Ordering::Acquire));
            let now = place(self.tail.0.load(Ordering::Acquire));
            // A tail that is where it was has not moved: there are as many positions as bits.
            if now == tail || mutated!(bounded_len_recheck) {
                return self.laps().distance(head, tail);
            }
            tail = now;
        }
    }

    /// Returns true if there was no value at some moment of the call.
    pub(super) fn is_empty(&self) -> bool {
        // Acquire: the head is loaded first, and does not pass the tail: if that is where the head was, there
        // was nothing between the two when the tail was loaded.
        let head = self.head.0.load(order!(Acquire, bounded_empty_acquire));
        place(self.tail.0.load(Ordering::Acquire)) == place(head)
    }

    /// Returns true if there was no room at some moment of the call.
    pub(super) fn is_full(&self) -> bool {
        // Acquire: the tail is loaded first, and is a lap ahead of the head at most: if the head is a lap
        // behind where the tail was, there was no room when the head was loaded.
        let tail = self.tail.0.load(order!(Acquire, bounded_full_acquire));
        self.laps().lap_after(place(self.head.0.load(Ordering::Acquire))) == place(tail)
    }

    /// Takes the first value of a ring that the caller owns.
    pub(super) fn take_owned(&mut self) -> Option<T> {
        loop {
            // Relaxed, all: the caller owns the ring.
            let (head, tail) = (self.head.0.load(Ordering::Relaxed), self.tail.0.load(Ordering::Relaxed));
            let (head, tail) = (place(head), place(tail));
            if head == tail {
                return None;
            }
            let slot = self.slot(head);
            self.head.0.store(self.laps().next(head), Ordering::Relaxed);
            // In the child of a fork, slots that were claimed have no value.
            if slot.state.load(Ordering::Relaxed) == head | FILLED {
                // SAFETY: the caller owns the slot, which is filled.
                return Some(unsafe { slot.read() });
            }
        }
    }
}

impl<T, F: Futex> Drop for Ring<T, F> {
    /// Drops the values that are left, also those after a value whose destructor panics.
    fn drop(&mut self) {
        struct Rest<'a, T, F: Futex>(&'a mut Ring<T, F>);
        impl<T, F: Futex> Drop for Rest<'_, T, F> {
            fn drop(&mut self) {
                while self.0.take_owned().is_some() {}
            }
        }
        let rest = Rest(self);
        while let Some(value) = rest.0.take_owned() {
            drop(value);
        }
        // Its drop finds nothing.
    }
}

// SAFETY: values are moved in and out, by one thread each; no reference to a value is given.
unsafe impl<T: Send, F: Futex> Send for Ring<T, F> {}

// SAFETY: as above.
unsafe impl<T: Send, F: Futex> Sync for Ring<T, F> {}
