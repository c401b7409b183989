//! The three instructions on one linear memory. The runtime's generated code calls them, or its
//! interpreter; they call the engine.

use leeward_engine::{Clock, Deadline, Errno, Size, Stats, Wait, WaitAny, WaitEntry, Word};

use crate::guest::{Guest, interrupt_word};
use crate::{Interrupt, LinearMemory, Outcome, Parker, Trap};

/// The bitset of all waits and notifies: any notify may choose any waiter.
const ANY: u32 = u32::MAX;

/// A handle on a linear memory and its wait lists. Clones are handles on the same: each instance
/// that imports the memory has one.
///
/// An instruction's effective address is the sum of `base`, which is the operand on the stack, and
/// `offset`, which is in the instruction: of 32 bits both or, in a 64-bit memory, of 64. A sum that
/// has no 64 bits is out of bounds. The address is checked in this order: alignment, bounds,
/// sharing; each instruction checks it against the length that the memory has when it begins.
///
/// Waiters are known by their offset in the memory. So growth disturbs no waiter, and the waiters of
/// `wait32` and `wait64` at one address are in one list. They are woken in the order in which they
/// came. A wait that has begun to sleep ends by a notify that counts it, by its time, or by an
/// interrupt, and not for any other reason.
///
/// A handle keeps the memory alive: `M` is dropped with the last handle, so not while a thread
/// waits.
pub struct GuestMemory<M: LinearMemory, P: Parker>(Guest<M, P>);

impl<M: LinearMemory, P: Parker> GuestMemory<M, P> {
    pub(crate) fn new(guest: Guest<M, P>) -> Self {
        GuestMemory(guest)
    }

    /// Returns a handle on the same memory for a guest thread, or for an instance, whose waits
    /// `interrupt` ends.
    ///
    /// # Cost
    /// A wait by such a handle queues two waiters, one of them in the runtime's table, which takes
    /// two locks more. Where the word or the interrupt changes as it begins, the word is compared a
    /// second time. Notifies cost the same. Futures are not affected: they are dropped.
    pub fn interruptible(&self, interrupt: &Interrupt<M, P>) -> Self {
        GuestMemory(Guest { interrupt: Some(interrupt.raised().clone()), ..self.0.clone() })
    }

    /// Returns the runtime's memory.
    pub fn linear(&self) -> &M {
        &self.0.linear.as_ref().expect("made with a memory").memory
    }

    /// Serves `memory.atomic.wait32`: sleeps while the word holds `expected`, until a notify chooses
    /// this waiter. `timeout` is in nanoseconds; a negative one never ends the wait.
    ///
    /// Memory ordering: what happens before a notify happens before the return of the waits that it
    /// wakes.
    ///
    /// # Errors
    /// [`Trap::Unaligned`], [`Trap::OutOfBounds`], [`Trap::Unshared`], in this order;
    /// [`Trap::Interrupted`] if the runtime ended the wait.
    pub fn wait32(&self, base: u64, offset: u64, expected: u32, timeout: i64) -> Result<Outcome, Trap> {
        self.wait(base, offset, Size::U32, expected.into(), timeout)
    }

    /// Serves `memory.atomic.wait64`: as [`wait32`](Self::wait32), for a word of 64 bits.
    ///
    /// # Errors
    /// Those of [`wait32`](Self::wait32).
    pub fn wait64(&self, base: u64, offset: u64, expected: u64, timeout: i64) -> Result<Outcome, Trap> {
        self.wait(base, offset, Size::U64, expected, timeout)
    }

    /// Serves `memory.atomic.notify`: wakes up to `count` waiters at the address, those that have
    /// waited longest first, and returns how many it woke. The word has 32 bits, whatever the
    /// waiters wait for. In a memory that is not shared it wakes none.
    ///
    /// # Cost
    /// A fence and a load where no thread waits.
    ///
    /// # Errors
    /// [`Trap::Unaligned`] and [`Trap::OutOfBounds`], also where `count` is 0.
    pub fn notify(&self, base: u64, offset: u64, count: u32) -> Result<u32, Trap> {
        let word = self.word(base, offset, Size::U32)?;
        if !self.linear().is_shared() {
            return Ok(0);
        }
        self.0.runtime.engine.wake(&self.0, word, count, ANY).map_err(trap)
    }

    /// Waits like [`wait32`](Self::wait32), as a future without a time-out: for guest threads that
    /// are tasks of an executor, and for `Atomics.waitAsync`. It compares the word when it is first
    /// polled, and from then on is in the same list as threads that sleep.
    ///
    /// It is dropped when its time is up or the guest is to end. If a notify had chosen it and it
    /// had not returned that, its drop passes the notify on to another waiter of the word.
    ///
    /// ```
    /// use leeward_engine::Config;
    /// use leeward_wasm::{Outcome, Runtime, Threads};
    /// use std::pin::pin;
    /// use std::sync::{Arc, atomic::AtomicU64};
    /// use std::task::{Context, Poll, Waker};
    ///
    /// let runtime = Runtime::new(Config::small(7), Threads::default()).unwrap();
    /// let memory = runtime.memory(Arc::<[AtomicU64; 1]>::default());
    /// let mut context = Context::from_waker(Waker::noop());
    /// let mut wait = pin!(memory.wait32_async(0, 0, 0));
    /// assert_eq!(wait.as_mut().poll(&mut context), Poll::Pending);
    /// assert_eq!(memory.notify(0, 0, 1), Ok(1));
    /// assert_eq!(wait.poll(&mut context), Poll::Ready(Ok(Outcome::Woken)));
    /// # use std::future::Future;
    /// ```
    ///
    /// # Errors
    /// Those of [`wait32`](Self::wait32) but `Interrupted`, returned by the first poll.
    pub async fn wait32_async(&self, base: u64, offset: u64, expected: u32) -> Result<Outcome, Trap> {
        self.wait_async(base, offset, Size::U32, expected.into()).await
    }

    /// Waits like [`wait64`](Self::wait64), as a future: see [`wait32_async`](Self::wait32_async).
    ///
    /// # Errors
    /// Those of [`wait32_async`](Self::wait32_async).
    pub async fn wait64_async(&self, base: u64, offset: u64, expected: u64) -> Result<Outcome, Trap> {
        self.wait_async(base, offset, Size::U64, expected).await
    }

    /// Returns what the memory's table did, and how many threads and futures wait in it now. Those
    /// that wait while there is no memory for a table of its own are not counted. Takes each
    /// bucket's lock in turn: for tests and operators.
    pub fn stats(&self) -> Stats {
        let linear = self.0.linear.as_ref().expect("made with a memory");
        linear.space.stats(&self.0)
    }

    /// Returns the word at the effective address, after the checks that every instruction makes.
    fn word(&self, base: u64, offset: u64, size: Size) -> Result<Word, Trap> {
        let address = base.checked_add(offset).ok_or(Trap::OutOfBounds)?;
        if address % size.bytes() != 0 {
            return Err(Trap::Unaligned);
        }
        if !self.0.is_within(address, size) {
            return Err(Trap::OutOfBounds);
        }
        Ok(Word::private(address).sized(size))
    }

    /// Returns the word of a wait, which only a shared memory has.
    fn word_to_wait(&self, base: u64, offset: u64, size: Size) -> Result<Word, Trap> {
        let word = self.word(base, offset, size)?;
        if self.linear().is_shared() { Ok(word) } else { Err(Trap::Unshared) }
    }

    fn wait(&self, base: u64, offset: u64, size: Size, expected: u64, timeout: i64) -> Result<Outcome, Trap> {
        let word = self.word_to_wait(base, offset, size)?;
        // A negative time has no unsigned number, and no end.
        let until = u64::try_from(timeout).ok().map(|timeout| {
            let at = self.0.runtime.parker.now().saturating_add(timeout);
            Deadline { clock: Clock::Monotonic, at }
        });
        if self.0.interrupt.is_some() {
            return self.wait_or_interrupt(word, expected, until);
        }
        outcome(self.0.runtime.engine.wait(&self.0, word, expected, ANY, until))
    }

    /// Waits for the word, and beside it for the interrupt.
    #[inline(never)]
    fn wait_or_interrupt(&self, word: Word, expected: u64, until: Option<Deadline>) -> Result<Outcome, Trap> {
        let interrupted = || self.0.interrupt.as_ref().is_some_and(|interrupt| interrupt.is_raised());
        loop {
            // The word is the last one: where both are woken, the answer is that of the last.
            let mut entries = [WaitEntry::new(interrupt_word(), 0), WaitEntry::new(word, expected)];
            match self.0.runtime.engine.waitv(&self.0, &mut entries, until).map_err(trap)? {
                WaitAny::Woken(1) => return Ok(Outcome::Woken),
                WaitAny::TimedOut => return Ok(Outcome::TimedOut),
                WaitAny::Changed if !interrupted() => {
                    if !self.holds(word, expected)? {
                        return Ok(Outcome::NotEqual);
                    }
                    // The interrupt's word had changed, and was lowered since; or the guest's had, and
                    // is equal again. The thread had not begun to sleep: it begins once more.
                }
                WaitAny::Woken(_) | WaitAny::Changed | WaitAny::Interrupted => return Err(Trap::Interrupted),
            }
        }
    }

    /// Returns true if a guest's word holds a value now.
    fn holds(&self, word: Word, expected: u64) -> Result<bool, Trap> {
        let memory = self.linear();
        let value = match word.size {
            Size::U64 => memory.load64(word.address),
            _ => memory.load32(word.address).map(u64::from),
        };
        value.map(|value| value == expected).ok_or(Trap::OutOfBounds)
    }

    async fn wait_async(&self, base: u64, offset: u64, size: Size, expected: u64) -> Result<Outcome, Trap> {
        let word = self.word_to_wait(base, offset, size)?;
        outcome(self.0.runtime.engine.wait_async(&self.0, word, expected, ANY).await)
    }
}

/// Translates how a wait of the engine ended.
fn outcome(end: Result<Wait, Errno>) -> Result<Outcome, Trap> {
    match end.map_err(trap)? {
        Wait::Woken => Ok(Outcome::Woken),
        Wait::Changed => Ok(Outcome::NotEqual),
        Wait::TimedOut => Ok(Outcome::TimedOut),
        Wait::Interrupted => Err(Trap::Interrupted),
    }
}

/// Translates an error of the engine. `word` has made the checks, so it is the `EFAULT` of a memory
/// whose load contradicts its length.
fn trap(_: Errno) -> Trap {
    Trap::OutOfBounds
}

impl<M: LinearMemory, P: Parker> Clone for GuestMemory<M, P> {
    fn clone(&self) -> Self {
        GuestMemory(self.0.clone())
    }
}

impl<M: LinearMemory, P: Parker> core::fmt::Debug for GuestMemory<M, P> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("GuestMemory").field("length", &self.linear().length()).finish_non_exhaustive()
    }
}
