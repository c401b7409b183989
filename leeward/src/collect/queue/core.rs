//! A queue of blocks without a lock: its words, and what any thread may do: push, and close.
//!
//! A producer claims a slot by adding to the tail, which names the last block and how many of its
//! slots are claimed, in one word; then it fills the slot. A producer that finds the block full
//! appends a block. A block names the one before it, and is published together with that name, so a
//! producer that stops between two steps keeps one slot unfilled, and never a block out of reach.
//! The consumer turns the names around once for each block.
//!
//! After the arrays of Adam Morrison and Yehuda Afek ("Fast concurrent queues for x86 processors",
//! 2013), in which producers claim slots by an addition. The page "queues" of the book says why it
//! is right.

use core::marker::PhantomData;

use super::block::{ABANDONED, Block, FILLED, QueueSlot};
use super::gap;
use super::position::{ONE, Position, SLEEPS};
use super::takers::Takers;
use crate::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering, const_fn};
use crate::futex::Futex;
use crate::mutant::{check, mutated, order};
use crate::process::fork_mark;

/// A word, or words, with a pair of cache lines to themselves.
#[repr(align(128))]
pub(in crate::collect) struct Lines<T>(pub(in crate::collect) T);

/// The words of the consumer's side.
pub(super) struct Front<T> {
    /// The [`Position`] of the slot that is popped next.
    position: AtomicU64,
    /// 1: the consumer sleeps, or is about to; it sleeps on this word.
    pub(super) asleep: AtomicU32,
    /// 1: the queue is closed.
    closed: AtomicU32,
    /// A block that the consumer has emptied, for the next producer that needs one; or null.
    spare: AtomicPtr<Block<T>>,
    /// How often the front has left a block: a [`Position`] with the address of a block that comes
    /// again is another one.
    left: AtomicU64,
    takers: Takers,
}

/// A queue of blocks.
pub(super) struct Core<T, F: Futex> {
    /// The [`Position`] of the slot that is claimed next.
    pub(super) tail: Lines<AtomicU64>,
    pub(super) front: Lines<Front<T>>,
    owns: PhantomData<(T, fn() -> F)>,
}

impl<T, F: Futex> Core<T, F> {
    pub(super) const CAPACITY: usize = Block::<T>::CAPACITY;

    const_fn! {
        /// Returns an empty queue, without a block.
        pub(super) fn new() -> Self {
            let nowhere = Position::nowhere(Block::<T>::CAPACITY).word();
            let front = Front {
                position: AtomicU64::new(nowhere),
                asleep: AtomicU32::new(0),
                closed: AtomicU32::new(0),
                spare: AtomicPtr::new(core::ptr::null_mut()),
                left: AtomicU64::new(0),
                takers: Takers::new(),
            };
            Core { tail: Lines(AtomicU64::new(nowhere)), front: Lines(front), owns: PhantomData }
        }
    }

    /// Pushes a value; gives it back if there is no memory for a block.
    #[inline]
    pub(super) fn push(&self, value: T) -> Result<(), T> {
        let mut value = value;
        loop {
            // Acquire: partner of the release in `append`: the block's states are written.
            let claimed = self.tail.0.fetch_add(ONE, order!(Acquire, queue_claim_acquire));
            let claimed = Position::of_word(claimed);
            let refused = if claimed.index() < Self::CAPACITY {
                // SAFETY: this call has claimed the slot, and it keeps the block.
                unsafe { self.fill(claimed, value) }
            } else {
                self.append(value).inspect_err(|_| self.take_back(claimed))?
            };
            match refused {
                None => return Ok(()),
                Some(back) => value = back,
            }
        }
    }

    /// Takes back what a push that there was no memory for has added to the tail. It has claimed no
    /// slot; but the index would grow with each refusal, until it reached the block's address.
    #[cold]
    #[inline(never)]
    fn take_back(&self, claimed: Position) {
        // Relaxed, both: an index beyond the capacity stays beyond it, or at it, and says that the block
        // is full; nothing is ordered by how far. Where another block is the tail by now, the claim went
        // with the old one. (One of the same address has claims of others beyond it, whose index is as
        // good.)
        let _ = self.tail.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |word| {
            let tail = Position::of_word(word);
            let is_there = tail.block::<()>() == claimed.block() && tail.index() > Self::CAPACITY;
            check!(queue_take_back, is_there).then(|| tail.previous().word())
        });
    }

    /// Fills a slot; gives the value back if the consumer has passed it.
    ///
    /// # Safety
    /// The caller has claimed the slot.
    #[inline]
    unsafe fn fill(&self, claimed: Position, value: T) -> Option<T> {
        let block: *mut Block<T> = claimed.block();
        // SAFETY: the block is there while the slot is claimed and not filled; the index was checked.
        let slot = unsafe { Block::<T>::slot(block, claimed.index()) };
        // SAFETY: the slot is the caller's until its state changes.
        unsafe { QueueSlot::write(slot, value) };
        // SAFETY: as above.
        let process = unsafe { (*block).process };
        // SAFETY: as above.
        let state = unsafe { QueueSlot::state(slot) };
        if fork_mark::is_still(process) {
            // Release: partner of the acquire in `take`: the consumer finds the value. From here on
            // the block may be gone.
            state.store(FILLED, order!(Release, queue_fill_release));
        } else if fill_inherited(state) == ABANDONED {
            // SAFETY: an abandoned slot is its producer's, which filled it, and its block is kept.
            return Some(unsafe { QueueSlot::read(slot) });
        }
        gap::filled::<F>(slot.addr() as u64);
        if claimed.sleeps() {
            self.wake();
        }
        None
    }

    /// Appends a block with the value; gives the value back if another thread was faster.
    ///
    /// # Errors
    /// There is no memory for a block.
    #[cold]
    #[inline(never)]
    fn append(&self, value: T) -> Result<Option<T>, T> {
        let block = self.new_block(fork_mark::now());
        if block.is_null() {
            return Err(value);
        }
        // SAFETY: the block is new, and has a slot.
        let slot = unsafe { Block::<T>::slot(block, 0) };
        // SAFETY: nobody else knows the block.
        unsafe { QueueSlot::write(slot, value) };
        // SAFETY: as above.
        let state = unsafe { QueueSlot::state(slot) };
        // Relaxed: the exchange below publishes the block.
        state.store(FILLED, Ordering::Relaxed);
        // SAFETY: nobody else knows the block, which has one slot filled.
        if unsafe { self.link(block, Position::new(block, 1), true) } {
            return Ok(None);
        }
        // SAFETY: written above.
        let value = unsafe { QueueSlot::read(slot) };
        self.put_by(block);
        Ok(Some(value))
    }

    /// Returns a block of unfilled slots: the spare one, or new memory; null: there is none.
    fn new_block(&self, process: u32) -> *mut Block<T> {
        // Acquire: partner of the release in `put_by`.
        let spare = self.front.0.spare.swap(core::ptr::null_mut(), order!(Acquire, queue_spare_acquire));
        if spare.is_null() {
            return Block::new(process);
        }
        // SAFETY: taken out above.
        unsafe { Block::renew(spare, process) };
        spare
    }

    /// Keeps a block that nobody else knows as the spare one, and frees the one that was.
    pub(super) fn put_by(&self, block: *mut Block<T>) {
        // AcqRel: release is the partner of the acquire in `new_block`, acquire of this release.
        let spare = self.front.0.spare.swap(block, order!(AcqRel, queue_spare_release => Acquire));
        if !spare.is_null() {
            // SAFETY: taken out above.
            unsafe { Block::free(spare) };
        }
    }

    /// Puts a chain of blocks at the end and makes `last` the tail. With `only_if_full` it returns
    /// false if the tail's block has slots again; else the slots that it has left stay unused.
    ///
    /// # Safety
    /// The chain from `first` to the block of `last` is the caller's.
    pub(super) unsafe fn link(&self, first: *mut Block<T>, last: Position, only_if_full: bool) -> bool {
        // SAFETY: the caller's promise. (The reference ends before the block is published.)
        let head = unsafe { &*first };
        // Relaxed: the exchange decides.
        let mut word = self.tail.0.load(Ordering::Relaxed);
        loop {
            let tail = Position::of_word(word);
            if only_if_full && tail.index() < Self::CAPACITY {
                return false;
            }
            head.previous.set(tail.block());
            head.previous_length.set(tail.index().min(Self::CAPACITY) as u32);
            // A sleeper's mark stays, so that later producers find it as well.
            let linked = last.word() | word & SLEEPS;
            // AcqRel: release is the partner of the acquires in `push` and `reach`: the block is
            // written. Acquire: partner of the same release of the block before, which happens
            // before what this one publishes.
            let order = order!(AcqRel, queue_link_release => Acquire);
            match self.tail.0.compare_exchange(word, linked, order, Ordering::Relaxed) {
                Ok(_) => break,
                Err(now) => word = now,
            }
        }
        if Position::of_word(word).sleeps() {
            self.wake();
        }
        true
    }

    /// Wakes the consumer if it sleeps for a value.
    #[cold]
    #[inline(never)]
    fn wake(&self) {
        let asleep = &self.front.0.asleep;
        // Relaxed, both: the value was published by its slot's state. The consumer set the word
        // before its mark, which the caller acquired.
        if asleep.load(Ordering::Relaxed) != 0 && check!(queue_wake, asleep.swap(0, Ordering::Relaxed) != 0) {
            F::wake(asleep, 1);
        }
    }

    pub(super) fn takers(&self) -> &Takers {
        &self.front.0.takers
    }

    pub(super) fn position(&self) -> Position {
        // Relaxed: the consumer's own; the lock orders consumers.
        Position::of_word(self.front.0.position.load(Ordering::Relaxed))
    }

    pub(super) fn set_position(&self, position: Position) {
        // Relaxed: the consumer's own. `is_empty` asks for no more than the place.
        self.front.0.position.store(position.word(), Ordering::Relaxed);
    }

    /// Moves the front out of its block, which the consumer gives away afterwards.
    pub(super) fn leave_block(&self, position: Position) {
        self.set_position(position);
        let left = &self.front.0.left;
        // Relaxed: the consumer's own.
        let count = left.load(Ordering::Relaxed);
        // Release: partner of the first acquire in `is_empty`: the front is out of the block. The
        // block is given away by a release, after this store.
        left.store(count + 1, Ordering::Release);
    }

    /// Returns true if the queue was empty at some moment of the call.
    ///
    /// The front is loaded first. It does not pass the tail, so if the tail is where the front was,
    /// and in the same block, there was nothing between the two when the tail was loaded. A block
    /// that the front has left may come again, at the same address, as the tail's; then the front
    /// was in it before, and the values behind it were not looked at.
    pub(super) fn is_empty(&self) -> bool {
        loop {
            // Acquire: partner of the release in `leave_block`.
            let left = self.front.0.left.load(Ordering::Acquire);
            // Acquire: the front is loaded before the tail.
            let front = self.front.0.position.load(Ordering::Acquire);
            // Acquire: partner of the release in `link`: if the block came again, its producer had it
            // after the front had left it, and the count below is seen to have changed.
            let tail = Position::of_word(self.tail.0.load(order!(Acquire, queue_empty_acquire)));
            if !tail.is_at(Position::of_word(front), Self::CAPACITY) {
                return false;
            }
            // Relaxed: ordered by the acquires above.
            if self.front.0.left.load(Ordering::Relaxed) == left || mutated!(queue_left_recheck) {
                return true;
            }
        }
    }

    /// Does what `is_empty` does, for a taker that has said that it waits.
    pub(super) fn is_empty_for_taker(&self) -> bool {
        // AcqRel: the two operations on the tail, this one and that of `await_value`, come one after the
        // other. If this one is first, the consumer finds the taker. If it is second, the queue is found
        // empty; or a producer has pushed and wakes the consumer, which comes to the tail or to the lock
        // again.
        self.tail.0.fetch_add(0, order!(AcqRel, queue_taker_order => Relaxed));
        self.is_empty()
    }

    /// Returns true if the queue is closed and empty, for a thread that has said that it waits for the lock
    /// to pop.
    pub(super) fn is_over(&self) -> bool {
        // AcqRel: the operations on the tail, this one and those of `close` and `shows_empty`, come one
        // after the other. If this one is first, the other thread finds the mark of the lock, and wakes. If
        // it is second, the queue is found closed, or empty.
        self.tail.0.fetch_add(0, order!(AcqRel, queue_over_order => Relaxed));
        // Closed first: what was pushed before is found.
        self.is_closed() && self.is_empty()
    }

    /// Publishes that the consumer has found the queue empty, to threads that have said that they wait.
    pub(super) fn shows_empty(&self) {
        // AcqRel: partner of `is_over` and `is_empty_for_taker`, as said there.
        self.tail.0.fetch_add(0, order!(AcqRel, queue_shows_order => Relaxed));
    }

    /// Closes the queue. The caller then wakes those that wait for the lock.
    pub(super) fn close(&self) {
        // Release: partner of the acquire in `is_closed`.
        self.front.0.closed.store(1, Ordering::Release);
        // AcqRel: the two operations on the tail, this one and that of `await_value`, come one after
        // the other. If this one is first, the consumer sees that the queue is closed. If it is
        // second, it finds the mark.
        let tail = self.tail.0.fetch_add(0, order!(AcqRel, queue_close_order => Relaxed));
        if check!(queue_close_wake, Position::of_word(tail).sleeps()) {
            self.wake();
        }
    }

    /// Returns true if the queue is closed.
    pub(super) fn is_closed(&self) -> bool {
        // Acquire: partner of the release in `close`: what was pushed before is found.
        self.front.0.closed.load(order!(Acquire, queue_closed_acquire)) != 0
    }
}

/// Says in the state of a slot that it is filled, in a block that was made before a fork: the
/// consumer may pass it meanwhile. Returns the state before.
#[cold]
#[inline(never)]
fn fill_inherited(state: &AtomicU32) -> u32 {
    // Release: as in `fill`.
    state.swap(FILLED, order!(Release, queue_fill_release))
}

// SAFETY: values are moved in and out, by one thread each; no reference to a value is given.
unsafe impl<T: Send, F: Futex> Send for Core<T, F> {}

// SAFETY: as above.
unsafe impl<T: Send, F: Futex> Sync for Core<T, F> {}
