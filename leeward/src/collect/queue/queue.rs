//! The queue that programs use: a [`Core`] and the consumers' lock.

use alloc::alloc::handle_alloc_error;
use core::alloc::Layout;
use core::time::Duration;

use super::consumer::Consumer;
use super::core::Core;
use super::iter::IntoIter;
use crate::atomic::const_fn;
use crate::collect::fork_lock::ForkLock;
use crate::collect::try_pop::TryPop;
use crate::futex::{Deadline, Futex, Private, Timeout};
use crate::mutant::step;

/// A queue of values without a capacity: any thread pushes and never waits, any thread pops, and a
/// thread that pops may sleep until there is a value.
///
/// Values come out in the order in which they went in. The queue grows as long as there is memory;
/// [`try_push`](Self::try_push) gives the value back when there is none. `F` says where threads
/// sleep.
///
/// ```
/// use leeward::collect::Queue;
///
/// static JOBS: Queue<u32> = Queue::new();
///
/// std::thread::scope(|scope| {
///     scope.spawn(|| {
///         (1..=3).for_each(|job| JOBS.push(job));
///         JOBS.close();
///     });
///     let mut sum = 0;
///     while let Some(job) = JOBS.pop() {
///         sum += job;
///     }
///     assert_eq!(sum, 6);
/// });
/// ```
///
/// # Order
/// The queue is linearizable: each push and pop takes effect at one moment between its call and its
/// return. (One exception: see *Fork*.) What a thread did before it pushed a value happens before
/// the return of the pop that takes it.
///
/// # Closing
/// Producers have no handles, so the queue cannot know that they are gone. [`close`](Self::close)
/// says so: from then on a pop waits for no value, and returns `None` when the queue is empty. Pushing
/// stays possible, since refusing it would cost each push a look and a way to fail; the values are
/// there for later pops, or are dropped with the queue.
///
/// # Differences from crossbeam's `SegQueue`
/// - `pop` waits; [`try_pop`](Self::try_pop) does not, and says `Busy` where `SegQueue` spins.
/// - A push claims its slot by an addition, which cannot fail, and never waits for another producer:
///   `SegQueue`'s waits for the one that installs a block.
/// - Consumers take turns by a lock word; one alone ([`consumer`](Self::consumer)) takes it once.
/// - A queue's values move to another's end at once ([`splice`](Self::splice)).
///
/// # Cost
/// - A push: an addition to the tail, and a store in the value's own slot. No system call, but to
///   wake a consumer that sleeps. One push in 55 (of values of 8 bytes; in 4 of large ones) appends a
///   block of a kilobyte, and may compete for that with other producers: the push is then lock-free,
///   and takes memory if no emptied block is spare.
/// - A pop: a compare-exchange and an exchange for the lock; a load and a store for the value. By a
///   [`Consumer`], the latter two only.
/// - A new queue has no memory besides its 384 bytes. The pop that goes on to the next block keeps
///   the old one as a spare, or frees it.
///
/// # A producer that is preempted
/// A producer that stops between its addition and its store holds up the pops behind its value, and
/// no push. A pop rechecks for some microseconds, executes a [heavy fence](crate::fence::heavy), and
/// sleeps until that producer wakes it; `try_pop` says [`Busy`](TryPop::Busy).
///
/// # Panics
/// Nothing here panics, but `push` where there is no memory
/// ([`handle_alloc_error`](std::alloc::handle_alloc_error)). No user code runs under the lock: a
/// destructor may use the queue. If a destructor panics while the queue is dropped, the other values
/// are dropped still.
///
/// # Fork
/// The child has a copy of all values, and may use the queue, whatever the parent's other threads
/// were doing. Values that were between two threads (claimed and not filled, or taken and not
/// returned) are not there. A pop that meets a claimed slot that was not filled before the fork
/// waits for a millisecond and passes it; if the producer was the child's own after all, its value
/// goes to the end. A block of a kilobyte is then never freed.
///
/// # Signals
/// Nothing here is async-signal-safe: a push may allocate, and a handler may have interrupted the
/// lock's holder. [`raw::Queue`](crate::collect::raw::Queue) may be pushed to by a handler.
pub struct Queue<T, F: Futex = Private> {
    core: Core<T, F>,
    lock: ForkLock<F>,
}

impl<T> Queue<T> {
    const_fn! {
        /// Returns an empty queue. It allocates nothing.
        pub fn new() -> Self {
            Self::new_in()
        }
    }
}

impl<T, F: Futex> Queue<T, F> {
    const_fn! {
        /// Returns an empty queue. It allocates nothing.
        ///
        /// It is on the futexes that its type names; [`new`](Queue::new) returns one for a single process.
        pub fn new_in() -> Self {
            Queue { core: Core::new(), lock: ForkLock::new() }
        }
    }

    /// Pushes a value to the end, and wakes a consumer if one sleeps.
    ///
    /// # Panics
    /// As [`handle_alloc_error`](std::alloc::handle_alloc_error), if there is no memory.
    #[inline]
    pub fn push(&self, value: T) {
        if self.core.push(value).is_err() {
            no_memory();
        }
    }

    /// Pushes a value to the end.
    ///
    /// # Errors
    /// The value, if there is no memory for a block.
    ///
    /// ```
    /// let queue = <leeward::collect::Queue<u32>>::new();
    /// assert_eq!(queue.try_push(1), Ok(()));
    /// ```
    #[inline]
    pub fn try_push(&self, value: T) -> Result<(), T> {
        self.core.push(value)
    }

    /// Takes the first value, waiting until there is one; `None`: the queue is
    /// [closed](Self::close) and empty.
    ///
    /// While it waits it has the consumers' lock: other threads that pop wait behind it. A thread that
    /// waits behind another one, or behind a [`Consumer`], returns when the queue is closed and empty: at
    /// once, if it is empty when it is closed; else when the other thread finds it empty, or is done.
    #[inline]
    pub fn pop(&self) -> Option<T> {
        self.pop_timeout(Timeout::Never)
    }

    /// Takes the first value, waiting until `deadline` at most; `None`: the time is up, or the queue
    /// is closed and empty.
    pub fn pop_until(&self, deadline: Deadline) -> Option<T> {
        self.pop_timeout(Timeout::At(deadline))
    }

    /// Takes the first value, waiting for `limit` at most; `None`: the time is up, or the queue is
    /// closed and empty.
    ///
    /// ```
    /// use leeward::collect::Queue;
    /// use std::time::Duration;
    /// let queue = <Queue<u32>>::new();
    /// assert_eq!(queue.pop_for(Duration::from_millis(1)), None);
    /// ```
    pub fn pop_for(&self, limit: Duration) -> Option<T> {
        self.pop_timeout(Timeout::after::<F>(limit))
    }

    #[inline]
    fn pop_timeout(&self, timeout: Timeout) -> Option<T> {
        Consumer::new_unless_over(&self.core, &self.lock, timeout)?.pop_timeout(timeout)
    }

    /// Takes the first value, if that is possible without waiting: for a value, for a thread that
    /// pops, or for a producer in the midst of its push.
    #[inline]
    pub fn try_pop(&self) -> TryPop<T> {
        match Consumer::try_new(&self.core, &self.lock) {
            Some(mut consumer) => consumer.try_pop(),
            None if self.core.is_empty() => TryPop::Empty,
            None => TryPop::Busy,
        }
    }

    /// Returns the right to take values, waiting while another thread has it.
    #[inline]
    pub fn consumer(&self) -> Consumer<'_, T, F> {
        loop {
            if let Some(consumer) = Consumer::new(&self.core, &self.lock, Timeout::Never) {
                return consumer;
            }
        }
    }

    /// Returns the right to take values, if no other thread has it.
    #[inline]
    pub fn try_consumer(&self) -> Option<Consumer<'_, T, F>> {
        Consumer::try_new(&self.core, &self.lock)
    }

    /// Takes all values out at once: one exchange, however many there are. It waits while another
    /// thread has the right to pop, until that thread gives it up or finds the queue empty: a thread
    /// that sleeps in [`pop`](Self::pop) does not hold it up. The iterator waits for producers that were in
    /// the midst of their pushes.
    ///
    /// ```
    /// let queue: leeward::collect::Queue<u32> = (0..3).collect();
    /// assert_eq!(queue.pop_all().collect::<Vec<_>>(), [0, 1, 2]);
    /// assert!(queue.is_empty());
    /// ```
    pub fn pop_all(&self) -> IntoIter<T, F> {
        let core = Core::new();
        self.take_to(&core);
        IntoIter::new(core)
    }

    /// Moves all values of `from` to the end of this queue, in their order, however many there are:
    /// an exchange there and a compare-exchange here. It waits while another thread has the right to
    /// pop from `from`, until that thread gives it up or finds `from` empty. A value that is pushed to
    /// `from` meanwhile is moved or stays.
    ///
    /// The slots that the last block of this queue has left stay unused, so to move one value by
    /// `splice` costs more memory than to pop and push it.
    ///
    /// ```
    /// use leeward::collect::Queue;
    /// let (queue, from): (Queue<u32>, Queue<u32>) = ((0..2).collect(), (2..4).collect());
    /// queue.splice(&from);
    /// assert!(from.is_empty());
    /// assert_eq!(queue.into_iter().collect::<Vec<_>>(), [0, 1, 2, 3]);
    /// ```
    pub fn splice(&self, from: &Queue<T, F>) {
        from.take_to(&self.core);
    }

    /// Moves all values to the end of `to`: none, if the queue was empty while another thread had the
    /// right to take them.
    #[inline]
    fn take_to(&self, to: &Core<T, F>) {
        if let Some(mut consumer) = Consumer::new_unless_empty(&self.core, &self.lock) {
            consumer.splice_to(to);
        }
    }

    /// Returns true if the queue was empty at some moment of the call. A push that has not returned
    /// may count or not.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.core.is_empty()
    }

    /// Closes the queue: threads that wait for a value return when it is empty, and no thread waits
    /// for a value from now on. What was pushed before is popped before a pop returns `None`.
    /// Closing twice does nothing.
    pub fn close(&self) {
        self.core.close();
        // Those that wait for the lock to pop wait no longer, if the queue is empty.
        step!(queue_close_poppers, self.lock.wake_all());
    }

    /// Returns true if the queue is closed.
    pub fn is_closed(&self) -> bool {
        self.core.is_closed()
    }
}

#[cold]
#[inline(never)]
fn no_memory() -> ! {
    // The size of a block depends on the values; the sentence that is printed names no type.
    handle_alloc_error(Layout::new::<[u64; 128]>())
}

impl<T, F: Futex> Default for Queue<T, F> {
    fn default() -> Self {
        Self::new_in()
    }
}

impl<T, F: Futex> Extend<T> for Queue<T, F> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, values: I) {
        values.into_iter().for_each(|value| self.push(value));
    }
}

/// Makes a queue on futexes of this process; one on others is made empty and extended.
impl<T> FromIterator<T> for Queue<T> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        let queue = Self::new();
        values.into_iter().for_each(|value| queue.push(value));
        queue
    }
}

impl<T, const N: usize> From<[T; N]> for Queue<T> {
    fn from(values: [T; N]) -> Self {
        values.into_iter().collect()
    }
}

impl<T, F: Futex> IntoIterator for Queue<T, F> {
    type Item = T;
    type IntoIter = IntoIter<T, F>;

    fn into_iter(self) -> IntoIter<T, F> {
        IntoIter::new(self.core)
    }
}

impl<T, F: Futex> core::fmt::Debug for Queue<T, F> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Queue")
            .field("is_empty", &self.is_empty())
            .field("is_closed", &self.is_closed())
            .finish_non_exhaustive()
    }
}
