//! The bounded queue that programs use: a [`Ring`], and how its calls wait.

use alloc::alloc::handle_alloc_error;
use core::alloc::Layout;
use core::fmt;
use core::time::Duration;

use super::error::PushError;
use super::iter::IntoIter;
use super::position::CLOSED;
use super::ring::{NoRoom, NoValue, Ring};
use super::slot::Slots;
use super::waiting::{End, Waiting};
use crate::collect::error::TryReserveError;
use crate::collect::try_pop::TryPop;
use crate::futex::{Deadline, Futex, Private, Timeout};
use crate::raw::spin_budget::SpinBudget;

/// A queue of values with a capacity: any thread pushes, and waits while the queue is full; any thread pops,
/// and waits while it is empty.
///
/// Values come out in the order in which they went in. All memory is allocated when the queue is made, so a
/// push neither allocates nor fails for want of memory, and producers that are faster than their consumers
/// wait for them. The capacity is any number from 1 on. `F` says where threads sleep.
///
/// ```
/// use leeward::collect::Bounded;
///
/// let jobs = Bounded::with_capacity(2);
/// std::thread::scope(|scope| {
///     scope.spawn(|| {
///         for job in 1..=10 {
///             jobs.push(job).unwrap();                // waits while there are two
///         }
///         jobs.close();
///     });
///     let mut sum = 0;
///     while let Some(job) = jobs.pop() {
///         sum += job;
///     }
///     assert_eq!(sum, 55);
/// });
/// ```
///
/// # Order
/// The queue is linearizable: each push and pop takes effect at one moment between its call and its return.
/// (Two exceptions: [`force_push`](Self::force_push) is a pop and a push, each at a moment of its own; and
/// see *Fork*.) What a thread did before it pushed a value happens before the return of the pop that takes it,
/// and what a thread did before it popped a value happens before the return of the push that has its room.
///
/// # Closing
/// Neither producers nor consumers have handles, so the queue cannot know that they are gone.
/// [`close`](Self::close) says so: from then on every push returns its value, those that wait for room included,
/// and a pop returns `None` once what was pushed before is popped.
///
/// # Differences from crossbeam's `ArrayQueue`
/// - `push` and `pop` wait, and have forms with a time limit; [`try_push`](Self::try_push) and
///   [`try_pop`](Self::try_pop) do not wait, and say `Busy` where `ArrayQueue` spins.
/// - The queue can be closed.
///
/// # Cost
/// - A push or a pop is a compare-exchange of a word that all producers, or all consumers, share, and a store in
///   the slot. It makes no system call, but to wake one that sleeps for its value or for its room.
/// - One that waits spins for some microseconds, and sleeps by one compare-exchange and one system call.
/// - A queue has 512 bytes, and 8 beside each value of its capacity (or as many as the value's alignment asks).
///
/// # A thread that is preempted
/// A producer that stops between its compare-exchange and its store holds up the pops from its value on, and,
/// a lap later, the pushes; so does a consumer, the other way round. So the queue is not lock-free. Those held
/// up recheck for some microseconds, execute a [heavy fence](crate::fence::heavy), and sleep until that thread
/// wakes them; `try_push` and `try_pop` say `Busy`.
///
/// # Panics
/// Nothing here panics but the making of a queue. No user code runs in a call but the wakers of tasks. If a
/// destructor panics while the queue is dropped, the other values are dropped still.
///
/// # Fork
/// The child has a copy of all values, and may use the queue, whatever the parent's other threads were doing.
/// Values that were between two threads (claimed and not filled, or taken and not returned) are not there. The
/// first call of the child finds such slots and settles them, in a time that the capacity decides;
/// [`len`](Self::len) counts a value that was lost between others until a pop has gone past it.
///
/// # Signals
/// Nothing here is async-signal-safe: a handler may have interrupted a call that has claimed the slot which it
/// would wait for.
pub struct Bounded<T, F: Futex = Private> {
    ring: Ring<T, F>,
}

impl<T> Bounded<T> {
    /// Returns an empty queue for `capacity` values.
    ///
    /// # Panics
    /// If the capacity is 0; and as [`handle_alloc_error`](std::alloc::handle_alloc_error), if there is no memory.
    #[track_caller]
    pub fn with_capacity(capacity: usize) -> Self {
        Self::with_capacity_in(capacity)
    }

    /// Returns an empty queue for `capacity` values.
    ///
    /// # Errors
    /// [`TryReserveError`], if there is no memory.
    ///
    /// # Panics
    /// If the capacity is 0.
    ///
    /// ```
    /// use leeward::collect::Bounded;
    /// assert!(Bounded::<u64>::try_with_capacity(10).is_ok());
    /// assert!(Bounded::<u64>::try_with_capacity(usize::MAX).is_err());
    /// ```
    #[track_caller]
    pub fn try_with_capacity(capacity: usize) -> Result<Self, TryReserveError> {
        Self::try_with_capacity_in(capacity)
    }
}

impl<T, F: Futex> Bounded<T, F> {
    /// Returns an empty queue for `capacity` values.
    ///
    /// It is on the futexes that its type names; [`with_capacity`](Bounded::with_capacity) returns one for a single
    /// process.
    ///
    /// # Panics
    /// As `with_capacity` does.
    #[track_caller]
    pub fn with_capacity_in(capacity: usize) -> Self {
        Self::try_with_capacity_in(capacity).unwrap_or_else(|_| no_memory::<T>(capacity))
    }

    /// Returns an empty queue for `capacity` values, on the futexes that its type names.
    ///
    /// # Errors
    /// [`TryReserveError`], if there is no memory.
    ///
    /// # Panics
    /// If the capacity is 0.
    #[track_caller]
    pub fn try_with_capacity_in(capacity: usize) -> Result<Self, TryReserveError> {
        assert!(capacity != 0, "leeward: a Bounded has a capacity of 1 at least");
        let ring = Ring::new(capacity).ok_or(TryReserveError(()))?;
        Ok(Bounded { ring })
    }

    /// Returns the ring.
    pub(super) fn ring(&self) -> &Ring<T, F> {
        &self.ring
    }

    /// Pushes a value to the end, waiting while the queue is full, and wakes one that waits for a value.
    ///
    /// # Errors
    /// The value, if the queue is [closed](Self::close).
    #[inline]
    pub fn push(&self, value: T) -> Result<(), T> {
        self.push_timeout(value, Timeout::Never).map_err(PushError::into_inner)
    }

    /// Pushes a value as [`push`](Self::push) does, waiting until `deadline` at most.
    ///
    /// # Errors
    /// The value, in [`Full`](PushError::Full) if the time is up, and in [`Closed`](PushError::Closed) if the
    /// queue is closed.
    pub fn push_until(&self, value: T, deadline: Deadline) -> Result<(), PushError<T>> {
        self.push_timeout(value, Timeout::At(deadline))
    }

    /// Pushes a value as [`push`](Self::push) does, waiting for `limit` at most.
    ///
    /// # Errors
    /// As [`push_until`](Self::push_until).
    ///
    /// ```
    /// use leeward::collect::{Bounded, bounded::PushError};
    /// use std::time::Duration;
    /// let queue = Bounded::with_capacity(1);
    /// assert_eq!(queue.push_for(1, Duration::from_millis(1)), Ok(()));
    /// assert_eq!(queue.push_for(2, Duration::from_millis(1)), Err(PushError::Full(2)));
    /// ```
    pub fn push_for(&self, value: T, limit: Duration) -> Result<(), PushError<T>> {
        self.push_timeout(value, Timeout::after::<F>(limit))
    }

    #[inline]
    fn push_timeout(&self, value: T, timeout: Timeout) -> Result<(), PushError<T>> {
        self.ring.enter();
        match self.ring.put(value, false) {
            Ok(()) => Ok(()),
            Err((value, _)) => self.push_slow(value, timeout),
        }
    }

    #[cold]
    #[inline(never)]
    fn push_slow(&self, mut value: T, timeout: Timeout) -> Result<(), PushError<T>> {
        let mut budget = SpinBudget::for_event(timeout);
        let mut waiting = Waiting::new(&self.ring, End::Push);
        let mut is_late = false;
        loop {
            waiting.begin_turn();
            let (back, why) = match self.ring.put(value, false) {
                Ok(()) => return Ok(()),
                Err(refused) => refused,
            };
            value = back;
            match why {
                NoRoom::Closed => return Err(PushError::Closed(value)),
                _ if is_late => return Err(PushError::Full(value)),
                _ if budget.pause::<F>() => {}
                NoRoom::Full(head) => is_late = waiting.sleep(head, timeout),
                NoRoom::Held(held) => is_late = held.wait::<F>(timeout),
            }
        }
    }

    /// Pushes a value to the end, if that is possible without waiting.
    ///
    /// ```
    /// use leeward::collect::{Bounded, bounded::PushError};
    /// let queue = Bounded::with_capacity(1);
    /// assert_eq!((queue.try_push(1), queue.try_push(2)), (Ok(()), Err(PushError::Full(2))));
    /// ```
    ///
    /// # Errors
    /// The value, in [`Full`](PushError::Full) if there is no room, in [`Busy`](PushError::Busy) if a pop is under
    /// way in the slot, and in [`Closed`](PushError::Closed) if the queue is closed.
    #[inline]
    pub fn try_push(&self, value: T) -> Result<(), PushError<T>> {
        self.ring.enter();
        self.ring.put(value, false).map_err(|(value, why)| match why {
            NoRoom::Closed => PushError::Closed(value),
            NoRoom::Full(_) => PushError::Full(value),
            NoRoom::Held(_) => PushError::Busy(value),
        })
    }

    /// Pushes a value to the end, and takes the first value out for it if the queue is full: a ring buffer of
    /// the latest values. It never waits for room; but, as `push` does, for a thread in the midst of its call.
    /// Closing does not matter to it.
    ///
    /// Beside it, other threads may find the queue without the first value before the new one is there.
    ///
    /// ```
    /// use leeward::collect::Bounded;
    /// let latest = Bounded::with_capacity(2);
    /// assert_eq!([1, 2, 3].map(|value| latest.force_push(value)), [None, None, Some(1)]);
    /// assert_eq!(latest.into_iter().collect::<Vec<_>>(), [2, 3]);
    /// ```
    #[inline]
    pub fn force_push(&self, value: T) -> Option<T> {
        self.ring.enter();
        match self.ring.put(value, true) {
            Ok(()) => None,
            Err((value, _)) => self.force_push_slow(value),
        }
    }

    #[cold]
    #[inline(never)]
    fn force_push_slow(&self, mut value: T) -> Option<T> {
        let mut budget = SpinBudget::for_event(Timeout::Never);
        loop {
            let (back, why) = match self.ring.put(value, true) {
                Ok(()) => return None,
                Err(refused) => refused,
            };
            value = back;
            let held = match why {
                NoRoom::Full(head) => match self.ring.displace(head, value) {
                    Ok(old) => return Some(old),
                    Err((back, held)) => {
                        value = back;
                        held
                    }
                },
                NoRoom::Held(held) => Some(held),
                NoRoom::Closed => None,
            };
            match held {
                Some(held) if !budget.pause::<F>() => _ = held.wait::<F>(Timeout::Never),
                _ => {}
            }
        }
    }

    /// Takes the first value, waiting until there is one, and wakes one that waits for room; `None`: the queue is
    /// [closed](Self::close) and empty.
    #[inline]
    pub fn pop(&self) -> Option<T> {
        self.pop_timeout(Timeout::Never)
    }

    /// Takes the first value, waiting until `deadline` at most; `None`: the time is up, or the queue is closed and
    /// empty.
    pub fn pop_until(&self, deadline: Deadline) -> Option<T> {
        self.pop_timeout(Timeout::At(deadline))
    }

    /// Takes the first value, waiting for `limit` at most; `None`: the time is up, or the queue is closed and empty.
    ///
    /// ```
    /// use leeward::collect::Bounded;
    /// use std::time::Duration;
    /// let queue = Bounded::<u32>::with_capacity(1);
    /// assert_eq!(queue.pop_for(Duration::from_millis(1)), None);
    /// ```
    pub fn pop_for(&self, limit: Duration) -> Option<T> {
        self.pop_timeout(Timeout::after::<F>(limit))
    }

    #[inline]
    fn pop_timeout(&self, timeout: Timeout) -> Option<T> {
        self.ring.enter();
        match self.ring.take() {
            Ok(value) => Some(value),
            Err(_) => self.pop_slow(timeout),
        }
    }

    #[cold]
    #[inline(never)]
    fn pop_slow(&self, timeout: Timeout) -> Option<T> {
        let mut budget = SpinBudget::for_event(timeout);
        let mut waiting = Waiting::new(&self.ring, End::Pop);
        let mut is_late = false;
        loop {
            waiting.begin_turn();
            match self.ring.take() {
                Ok(value) => return Some(value),
                Err(NoValue::Empty(tail)) if tail & CLOSED != 0 => return None,
                Err(_) if is_late => return None,
                Err(_) if budget.pause::<F>() => {}
                Err(NoValue::Empty(tail)) => is_late = waiting.sleep(tail, timeout),
                Err(NoValue::Held(held)) => is_late = held.wait::<F>(timeout),
            }
        }
    }

    /// Takes the first value, if that is possible without waiting: for a value, or for a producer in the midst
    /// of its push.
    ///
    /// ```
    /// use leeward::collect::{Bounded, TryPop};
    /// let queue = Bounded::with_capacity(1);
    /// assert_eq!(queue.try_pop(), TryPop::Empty);
    /// queue.push(1).unwrap();
    /// assert_eq!(queue.try_pop(), TryPop::Value(1));
    /// ```
    #[inline]
    pub fn try_pop(&self) -> TryPop<T> {
        self.ring.enter();
        match self.ring.take() {
            Ok(value) => TryPop::Value(value),
            Err(NoValue::Empty(_)) => TryPop::Empty,
            Err(NoValue::Held(_)) => TryPop::Busy,
        }
    }

    /// Returns how many values there were at some moment of the call. A push or a pop that has not returned may
    /// count or not.
    ///
    /// ```
    /// use leeward::collect::Bounded;
    /// let queue = Bounded::with_capacity(3);
    /// queue.push('a').unwrap();
    /// assert_eq!((queue.len(), queue.capacity()), (1, 3));
    /// ```
    #[inline]
    pub fn len(&self) -> usize {
        self.ring.enter();
        self.ring.len()
    }

    /// Returns true if the queue was empty at some moment of the call. A push that has not returned may count or
    /// not.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.ring.enter();
        self.ring.is_empty()
    }

    /// Returns true if the queue was full at some moment of the call. A pop that has not returned may count or not.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.ring.enter();
        self.ring.is_full()
    }

    /// Returns how many values the queue has room for.
    #[inline]
    pub fn capacity(&self) -> usize {
        self.ring.laps().capacity()
    }

    /// Closes the queue: every push returns its value from now on, and those that wait for room do so now. What
    /// was pushed before is popped before a pop returns `None`. Closing twice does nothing.
    ///
    /// ```
    /// use leeward::collect::Bounded;
    /// let queue = Bounded::with_capacity(2);
    /// queue.push(1).unwrap();
    /// queue.close();
    /// assert_eq!(queue.push(2), Err(2));
    /// assert_eq!((queue.pop(), queue.pop()), (Some(1), None));
    /// ```
    pub fn close(&self) {
        self.ring.enter();
        self.ring.close();
    }

    /// Returns true if the queue is closed.
    #[inline]
    pub fn is_closed(&self) -> bool {
        self.ring.is_closed()
    }
}

/// Ends a call that was refused memory.
#[cold]
#[inline(never)]
#[track_caller]
fn no_memory<T>(capacity: usize) -> ! {
    let most = || Layout::from_size_align(isize::MAX as usize, 1).ok();
    handle_alloc_error(Slots::<T>::layout(capacity).or_else(most).unwrap_or(Layout::new::<T>()))
}

impl<T, F: Futex> IntoIterator for Bounded<T, F> {
    type Item = T;
    type IntoIter = IntoIter<T, F>;

    fn into_iter(self) -> IntoIter<T, F> {
        IntoIter::new(self.ring)
    }
}

impl<T, F: Futex> fmt::Debug for Bounded<T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bounded")
            .field("len", &self.len())
            .field("capacity", &self.capacity())
            .field("is_closed", &self.is_closed())
            .finish()
    }
}
