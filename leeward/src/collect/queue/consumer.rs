//! The consumer: the one thread that takes values, while it has the lock; and how it waits.

use core::time::Duration;

use super::core::Core;
use super::gap::{Gap, Waited};
use super::take::QueueFront;
use crate::collect::fork_lock::{ForkLock, HeldForkLock};
use crate::collect::try_pop::TryPop;
use crate::futex::{Deadline, Futex, Private, Timeout, Wait};
use crate::mutant::{check, mutated, step};
use crate::raw::spin_budget::SpinBudget;

/// The right to take values from a [`Queue`](super::Queue): while it lives, no other thread pops.
///
/// A consumer pops without an atomic operation that others see: one load and one store, where a
/// value is there. Other threads that pop or ask for a consumer wait until it is dropped; `try_pop`
/// says [`Busy`](TryPop::Busy). Those that take all values (`pop_all`, a splice from the queue) wait
/// until it is dropped or finds the queue empty, as do those that pop from a queue that is closed; what
/// is closed when it is empty holds them up no longer. Producers do not notice it.
///
/// ```
/// use leeward::collect::Queue;
/// let queue: Queue<u32> = (0..3).collect();
/// let mut consumer = queue.consumer();
/// assert_eq!((consumer.pop(), consumer.pop()), (Some(0), Some(1)));
/// ```
///
/// # A consumer that is forgotten
/// The right is given up by the destructor. If that does not run
/// ([`mem::forget`](std::mem::forget)), no thread pops any more: `consumer` waits for ever, and so does
/// `pop`, unless the queue is closed and empty; so do `pop_all` and a splice from the queue, and
/// `try_pop` says `Busy`, unless the queue is empty.
/// Pushes go on, and the queue may be dropped or turned into an iterator.
///
/// # Fork
/// In the child of a fork another thread may take the consumer's right over, since it cannot know
/// that this one lives. The consumer asks before each call, and waits for that thread if it has to.
pub struct Consumer<'a, T, F: Futex = Private> {
    core: &'a Core<T, F>,
    lock: &'a ForkLock<F>,
    held: HeldForkLock,
}

impl<'a, T, F: Futex> Consumer<'a, T, F> {
    /// Waits for the lock; `None`: the time is up.
    #[inline]
    pub(super) fn new(core: &'a Core<T, F>, lock: &'a ForkLock<F>, timeout: Timeout) -> Option<Self> {
        let held = lock.lock(timeout)?;
        Some(Consumer { core, lock, held })
    }

    /// Waits for the lock, for a thread that pops one value; `None`: the time is up, or the queue was closed
    /// and empty meanwhile.
    #[inline]
    pub(super) fn new_unless_over(core: &'a Core<T, F>, lock: &'a ForkLock<F>, timeout: Timeout) -> Option<Self> {
        let held = lock.lock_unless(timeout, || check!(queue_over, core.is_over()))?;
        Some(Consumer { core, lock, held })
    }

    /// Takes the lock, if no other thread has it.
    #[inline]
    pub(super) fn try_new(core: &'a Core<T, F>, lock: &'a ForkLock<F>) -> Option<Self> {
        let held = lock.try_lock()?;
        Some(Consumer { core, lock, held })
    }

    /// Waits for the lock, for a thread that takes all values; `None`: the queue was empty meanwhile.
    #[inline]
    pub(super) fn new_unless_empty(core: &'a Core<T, F>, lock: &'a ForkLock<F>) -> Option<Self> {
        Self::try_new(core, lock).or_else(|| Self::wait_unless_empty(core, lock))
    }

    #[cold]
    #[inline(never)]
    fn wait_unless_empty(core: &'a Core<T, F>, lock: &'a ForkLock<F>) -> Option<Self> {
        let mut budget = SpinBudget::for_lock(Timeout::Never);
        let mut is_empty = core.is_empty();
        while !is_empty || mutated!(queue_taker_look) {
            if let Some(consumer) = Self::try_new(core, lock) {
                return Some(consumer);
            }
            is_empty = if budget.pause::<F>() { core.is_empty() } else { Self::await_turn(core, lock) };
        }
        None
    }

    /// Sleeps until the lock may be free (`takers.rs`). Returns true if the queue was empty meanwhile, and
    /// false if it is time to try the lock again.
    fn await_turn(core: &Core<T, F>, lock: &ForkLock<F>) -> bool {
        let turn = core.takers().enter();
        if !(mutated!(queue_taker_mark) || lock.mark()) {
            return false;
        }
        if core.is_empty_for_taker() {
            return true;
        }
        core.takers().sleep::<F>(turn);
        false
    }

    /// Takes the first value, waiting until there is one; `None`: the queue is closed and empty.
    ///
    /// [`Queue::pop`](super::Queue::pop) says how it waits.
    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        self.pop_timeout(Timeout::Never)
    }

    /// Takes the first value, waiting until `deadline` at most; `None`: the time is up, or the queue
    /// is closed and empty.
    #[inline]
    pub fn pop_until(&mut self, deadline: Deadline) -> Option<T> {
        self.pop_timeout(Timeout::At(deadline))
    }

    /// Takes the first value, waiting for `limit` at most; `None`: the time is up, or the queue is
    /// closed and empty.
    #[inline]
    pub fn pop_for(&mut self, limit: Duration) -> Option<T> {
        match self.take() {
            QueueFront::Value(value) => Some(value),
            _ => self.wait(Timeout::after::<F>(limit)),
        }
    }

    #[inline]
    pub(super) fn pop_timeout(&mut self, timeout: Timeout) -> Option<T> {
        match self.take() {
            QueueFront::Value(value) => Some(value),
            _ => self.wait(timeout),
        }
    }

    /// Takes the first value, if that is possible without waiting.
    #[inline]
    pub fn try_pop(&mut self) -> TryPop<T> {
        match self.take() {
            QueueFront::Value(value) => TryPop::Value(value),
            QueueFront::Empty(_) => {
                // A look without an order may miss a taker that comes now. The next one finds it.
                step!(queue_taker_try, self.core.takers().tell::<F>());
                if self.core.is_closed() {
                    self.is_over();
                }
                TryPop::Empty
            }
            QueueFront::Gap(gap) => self.try_pop_in_gap(gap),
        }
    }

    /// Takes the first value, if its producer fills its slot now or a fork has not copied it.
    #[cold]
    #[inline(never)]
    fn try_pop_in_gap(&mut self, gap: Gap<T>) -> TryPop<T> {
        let mut found = QueueFront::Gap(gap);
        loop {
            match found {
                QueueFront::Value(value) => return TryPop::Value(value),
                QueueFront::Empty(_) => return TryPop::Empty,
                QueueFront::Gap(gap) if !gap.is_inherited() => return TryPop::Busy,
                QueueFront::Gap(gap) => {
                    // A producer of the child's own has a chance to come first.
                    F::yield_now();
                    self.abandon(&gap);
                }
            }
            found = self.take();
        }
    }

    /// Moves all values to the end of `to`, in their order, in a time that does not depend on how
    /// many there are. [`Queue::splice`](super::Queue::splice) says more.
    pub(super) fn splice_to(&mut self, to: &Core<T, F>) {
        self.lock.keep(&mut self.held);
        // SAFETY: the caller has the lock.
        unsafe { to.splice(self.core) };
    }

    #[inline]
    fn take(&mut self) -> QueueFront<T> {
        self.lock.keep(&mut self.held);
        // SAFETY: the caller has the lock.
        unsafe { self.core.take() }
    }

    /// Passes over the slot of a producer that is not there.
    fn abandon(&mut self, gap: &Gap<T>) {
        self.lock.keep(&mut self.held);
        // SAFETY: the caller has the lock.
        unsafe { self.core.abandon(gap) };
    }

    /// Has threads that wait behind this one look again: the queue is closed, and was found empty.
    #[cold]
    fn is_over(&self) {
        self.core.shows_empty();
        step!(queue_over_takers, self.core.takers().tell::<F>());
        step!(queue_over_poppers, self.lock.wake_all());
    }

    /// Waits until there is a value, and takes it. `None`: the time is up, or the queue is closed
    /// and empty.
    #[cold]
    #[inline(never)]
    fn wait(&mut self, timeout: Timeout) -> Option<T> {
        let mut budget = SpinBudget::for_event(timeout);
        let (mut is_late, mut is_marked) = (false, false);
        let value = loop {
            // Before the attempt: what was pushed before the queue was closed is found.
            let is_closed = self.core.is_closed();
            match self.take() {
                QueueFront::Value(value) => break Some(value),
                QueueFront::Empty(_) if is_closed => {
                    self.is_over();
                    break None;
                }
                QueueFront::Empty(_) if is_late => break None,
                QueueFront::Empty(tail) => {
                    if budget.pause::<F>() {
                        continue;
                    }
                    let Some((word, asleep)) = self.core.await_value(tail) else { continue };
                    is_marked = true;
                    if check!(queue_closed_recheck, self.core.is_closed()) {
                        continue;
                    }
                    step!(queue_taker_sleep, self.core.takers().tell::<F>());
                    is_late = F::wait(word, asleep, timeout) == Wait::TimedOut;
                }
                QueueFront::Gap(_) if is_late => break None,
                QueueFront::Gap(gap) => {
                    if budget.pause::<F>() {
                        continue;
                    }
                    match gap.wait::<F>(timeout) {
                        Waited::Again => {}
                        Waited::Late => is_late = true,
                        Waited::InVain => self.abandon(&gap),
                    }
                }
            }
        };
        if is_marked {
            self.core.wakes();
        }
        value
    }
}

impl<T, F: Futex> Drop for Consumer<'_, T, F> {
    #[inline]
    fn drop(&mut self) {
        if self.lock.unlock(&self.held) {
            step!(queue_taker_unlock, self.core.takers().tell::<F>());
        }
    }
}

impl<T, F: Futex> core::fmt::Debug for Consumer<'_, T, F> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Consumer").field("is_empty", &self.core.is_empty()).finish_non_exhaustive()
    }
}
