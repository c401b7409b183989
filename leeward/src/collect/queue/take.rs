//! The consumer's part of a queue of blocks: taking, going from block to block, waiting, and moving
//! all to another queue. One thread at a time does any of this, by the lock or by owning the queue.

use core::ptr;

use super::block::{ABANDONED, Block, FILLED, QueueSlot, UNFILLED};
use super::core::Core;
use super::gap::{Gap, Waited};
use super::position::{Position, SLEEPS};
use crate::atomic::{AtomicU32, Ordering};
use crate::futex::{Futex, Timeout};
use crate::mutant::{mutated, order};
use crate::raw::spin_budget::SpinBudget;

/// What the consumer found at the front.
pub(super) enum QueueFront<T> {
    /// The first value, which is the caller's now.
    Value(T),
    /// The queue was empty while the tail was this.
    Empty(Position),
    /// The producer of the next value has claimed its slot and not filled it.
    Gap(Gap<T>),
}

impl<T, F: Futex> Core<T, F> {
    /// Takes the first value.
    ///
    /// # Safety
    /// No other thread takes meanwhile.
    #[inline]
    pub(super) unsafe fn take(&self) -> QueueFront<T> {
        loop {
            let front = self.position();
            if front.index() < Self::CAPACITY {
                // SAFETY: the consumer is in the block.
                let slot = unsafe { Block::<T>::slot(front.block(), front.index()) };
                // SAFETY: as above.
                let state = unsafe { QueueSlot::state(slot) };
                // Acquire: partner of the release in `fill`.
                if state.load(order!(Acquire, queue_take_acquire)) == FILLED {
                    // SAFETY: its producer has filled it, and this is the only consumer.
                    let value = unsafe { QueueSlot::read(slot) };
                    self.set_position(front.next());
                    return QueueFront::Value(value);
                }
            }
            // SAFETY: the caller's promise.
            if let Some(found) = unsafe { self.reach(front) } {
                return found;
            }
        }
    }

    /// Returns why there is no value at the front; `None`: there may be one now.
    ///
    /// # Safety
    /// As [`take`](Self::take).
    #[cold]
    #[inline(never)]
    unsafe fn reach(&self, front: Position) -> Option<QueueFront<T>> {
        // Acquire: partner of the release in `link`: the blocks up to the tail are written.
        let tail = Position::of_word(self.tail.0.load(order!(Acquire, queue_reach_acquire)));
        if tail.is_at(front, Self::CAPACITY) {
            return Some(QueueFront::Empty(tail));
        }
        let block: *mut Block<T> = front.block();
        let mut length = Self::CAPACITY;
        let mut next = ptr::null_mut();
        if block != tail.block() {
            // SAFETY: the tail was loaded above, in another block.
            next = unsafe { Self::block_after(block, tail) };
            // SAFETY: the consumer has not passed the block.
            length = unsafe { &*next }.previous_length.get() as usize;
        }
        if front.index() >= length {
            // SAFETY: all values of the block were taken, and the one after it is there.
            unsafe { self.advance(block, next) };
            return None;
        }
        // SAFETY: an index in the block.
        let slot = unsafe { Block::<T>::slot(block, front.index()) };
        // SAFETY: as above; the consumer is in the block.
        let state = unsafe { QueueSlot::state(slot) };
        // Relaxed: the next attempt loads it again.
        let is_gap = state.load(Ordering::Relaxed) != FILLED;
        is_gap.then_some(QueueFront::Gap(Gap::new(slot, block)))
    }

    /// Returns the block after `block` (after nothing: the first); turns the names around on the
    /// way.
    ///
    /// # Safety
    /// The caller is the consumer, which is in `block`, and `tail` is in a later one.
    unsafe fn block_after(block: *mut Block<T>, tail: Position) -> *mut Block<T> {
        // SAFETY: the consumer is in it.
        let known = if block.is_null() { block } else { unsafe { &*block }.next.get() };
        if !known.is_null() {
            return known;
        }
        let mut later: *mut Block<T> = tail.block();
        loop {
            // SAFETY: the consumer has not passed it.
            let previous = unsafe { &*later }.previous.get();
            if previous == block {
                return later;
            }
            // SAFETY: the consumer has not passed it.
            unsafe { &*previous }.next.set(later);
            later = previous;
        }
    }

    /// Goes from `block`, whose values were all taken, to `next`, and frees it.
    ///
    /// # Safety
    /// The caller is the consumer.
    unsafe fn advance(&self, block: *mut Block<T>, next: *mut Block<T>) {
        // SAFETY: the consumer has not passed it.
        let head = unsafe { &*next };
        // In this order, so that the child of a fork finds a queue at each step: a block without one
        // before it is the first.
        head.previous.set(ptr::null_mut());
        self.leave_block(Position::new(next, head.first.get() as usize));
        // SAFETY: the block is the consumer's: its producers have filled their slots. A kept one may
        // have a producer still.
        if !block.is_null() && !unsafe { &*block }.is_kept.get() {
            self.put_by(block);
        }
    }

    /// Passes over a slot that its producer has not filled; returns false if it has by now.
    ///
    /// # Safety
    /// The caller is the consumer, which found the gap at the front.
    pub(super) unsafe fn abandon(&self, gap: &Gap<T>) -> bool {
        let front = self.position();
        if front.block() != gap.block() || front.index() >= Self::CAPACITY {
            // The waiting thread forked, and another one passed the gap.
            return false;
        }
        // SAFETY: the consumer is in the block.
        let slot = unsafe { Block::<T>::slot(gap.block(), front.index()) };
        // SAFETY: as above.
        let state = unsafe { QueueSlot::state(slot) };
        // SAFETY: as above.
        let block = unsafe { &*gap.block() };
        // A producer that is there after all comes to this slot later.
        block.is_kept.set(true);
        // Relaxed, both: nothing is published, and nothing was read.
        let is_abandoned = state.compare_exchange(UNFILLED, ABANDONED, Ordering::Relaxed, Ordering::Relaxed).is_ok();
        if is_abandoned {
            self.set_position(front.next());
        }
        is_abandoned
    }

    /// Returns the word to sleep on until there is a value, and the value that it has until then;
    /// `None` if there is one.
    pub(super) fn await_value(&self, tail: Position) -> Option<(&AtomicU32, u32)> {
        let asleep = &self.front.0.asleep;
        // Relaxed: the exchange below publishes it. An exchange, so that it and those of producers
        // come one after the other.
        asleep.swap(1, Ordering::Relaxed);
        let (word, marked) = (tail.word(), tail.with_sleeper().word());
        // AcqRel: release is the partner of the acquire in `push`: a producer that finds the mark
        // finds the word above set. Acquire: partner of the release in `close`.
        let order = order!(AcqRel, queue_sleep_order => Relaxed);
        let is_marked = self.tail.0.compare_exchange(word, marked, order, Ordering::Relaxed).is_ok();
        (is_marked || mutated!(queue_sleep_recheck)).then_some((asleep, 1))
    }

    /// Takes the consumer's mark away: it does not sleep.
    pub(super) fn wakes(&self) {
        // Relaxed: the mark publishes nothing.
        self.tail.0.fetch_and(!SLEEPS, Ordering::Relaxed);
    }

    /// Moves all values of `from` to the end of this queue, in their order.
    ///
    /// # Safety
    /// The caller is the consumer of `from`.
    pub(super) unsafe fn splice(&self, from: &Self) {
        let nowhere = Position::nowhere(Self::CAPACITY);
        let front = from.position();
        // Acquire: as in `reach`.
        let tail = Position::of_word(from.tail.0.load(Ordering::Acquire));
        if tail.is_at(front, Self::CAPACITY) {
            return;
        }
        // First the front: where the consumer is nowhere, it finds the first block by itself.
        let first: *mut Block<T> = front.block();
        if !first.is_null() {
            // SAFETY: the consumer is in the block.
            unsafe { &*first }.first.set(front.index() as u32);
        }
        from.leave_block(nowhere);
        // AcqRel: acquire as in `reach`; release, so that a producer which finds the queue without a
        // block has nothing to do with the old one.
        let tail = Position::of_word(from.tail.0.swap(nowhere.word(), Ordering::AcqRel));
        // SAFETY: the tail was taken, in a later block than none.
        let first = if first.is_null() { unsafe { Self::block_after(first, tail) } } else { first };
        let length = tail.index().min(Self::CAPACITY);
        // SAFETY: the blocks are the caller's alone, but for producers that fill their slots.
        unsafe { self.link(first, Position::new::<Block<T>>(tail.block(), length), false) };
    }
}

impl<T, F: Futex> Drop for Core<T, F> {
    /// Drops the values that are left, also those after a value whose destructor panics.
    fn drop(&mut self) {
        struct Rest<'a, T, F: Futex>(&'a mut Core<T, F>);
        impl<T, F: Futex> Drop for Rest<'_, T, F> {
            fn drop(&mut self) {
                while self.0.take_owned().is_some() {}
            }
        }
        let rest = Rest(self);
        while let Some(value) = rest.0.take_owned() {
            drop(value);
        }
        core::mem::forget(rest);
        let block: *mut Block<T> = self.position().block();
        // SAFETY: the last block, whose values were taken.
        if !block.is_null() && !unsafe { &*block }.is_kept.get() {
            self.put_by(block);
        }
        self.put_by(ptr::null_mut());
    }
}

impl<T, F: Futex> Core<T, F> {
    /// Takes the first value of a queue that the caller owns, waiting for producers that have claimed
    /// a slot when the values were taken out of their queue.
    pub(super) fn take_owned(&mut self) -> Option<T> {
        let mut budget = SpinBudget::for_event(Timeout::Never);
        loop {
            // SAFETY: the caller owns the queue.
            match unsafe { self.take() } {
                QueueFront::Value(value) => return Some(value),
                QueueFront::Empty(_) => return None,
                QueueFront::Gap(_) if budget.pause::<F>() => {}
                QueueFront::Gap(gap) => {
                    if matches!(gap.wait::<F>(Timeout::Never), Waited::InVain) {
                        // SAFETY: the caller owns the queue, and found the gap.
                        unsafe { self.abandon(&gap) };
                    }
                }
            }
        }
    }
}
