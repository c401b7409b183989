//! What the engine asks of the system that it is built into.
//!
//! A value of a [`Host`] stands for the calling thread: every operation takes one. A kernel makes
//! it of nothing (its `current`), a sandbox of its thread and its process, a runtime of its
//! instance. So the engine needs no thread-local storage, and one engine serves any number of
//! address spaces.

pub(crate) mod flag;
pub(crate) mod host_vec;
pub(crate) mod huge;
pub(crate) mod inheritance;
pub(crate) mod memory;
pub(crate) mod nodes;
pub(crate) mod preemption;
pub(crate) mod processors;
pub(crate) mod robust;

use crate::{Address, Engine, Errno, Flag, Inheritance, Memory, Nodes, Processors, SharedKey, Space, Word};

/// User memory is not there, or not so: the access would have to sleep, or cannot be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fault;

/// What is going to be done to a word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// Read, or looked up only.
    Read,
    /// Written.
    Write,
}

/// A clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Clock {
    /// One that only goes forward.
    Monotonic,
    /// The time of day, which may be set.
    Realtime,
}

/// A point in time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Deadline {
    /// On which clock.
    pub clock: Clock,
    /// Nanoseconds since the clock's beginning; `u64::MAX` never comes.
    pub at: u64,
}

/// Why [`Host::park`] returned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ParkEnd {
    /// Unparked; or for no reason. The engine looks at the flag.
    Unparked,
    /// The deadline has come.
    TimedOut,
    /// A signal is to be handled, or the thread is to die.
    Interrupted,
    /// Awake for no reason, and a handler of a signal may have run on this thread since
    /// [`Host::task`] was asked for it, or since the last such end: the engine compares the word
    /// again before it parks again (see [`Host::park`], "Signals").
    Recheck,
}

/// A waiting thread's place in the queue: lower numbers are woken first, equal ones in the order in
/// which they came.
///
/// Linux puts real-time threads before all others by their priority, and all others behind them as
/// equals.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Priority(pub u32);

impl Priority {
    /// A thread like most.
    pub const NORMAL: Priority = Priority(u32::MAX);
}

/// What is done to a word by WAKE_OP.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arithmetic {
    /// The argument is stored.
    Set,
    /// The argument is added; wraps around.
    Add,
    /// The argument's bits are set.
    Or,
    /// The argument's bits are cleared.
    AndNot,
    /// The argument's bits are turned over.
    Xor,
}

impl Arithmetic {
    /// What the word becomes.
    pub const fn apply(self, old: u32, argument: u32) -> u32 {
        match self {
            Arithmetic::Set => argument,
            Arithmetic::Add => old.wrapping_add(argument),
            Arithmetic::Or => old | argument,
            Arithmetic::AndNot => old & !argument,
            Arithmetic::Xor => old ^ argument,
        }
    }
}

/// What [`Host::unpark_all`] is given of what one call of the engine wakes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// All of it.
    All,
    /// Some: more will follow.
    Some,
    /// What was left, perhaps nobody.
    Rest,
}

/// How often [`Host::fetch_op`] tries, under the locks of two buckets, before it gives way.
const TRIES: u32 = 64;

/// The calling thread, and the system around it.
///
/// # No lock is held
/// when [`fault_in`](Self::fault_in), [`read`](Self::read),
/// [`resolve_shared`](Self::resolve_shared), [`park`](Self::park), [`unpark`](Self::unpark) or a
/// [`Memory`] is called: these may sleep. The lock of a bucket (or of two) may be held, between
/// [`preempt_off`](Self::preempt_off) and [`preempt_on`](Self::preempt_on), when
/// [`load`](Self::load), [`compare_exchange`](Self::compare_exchange) and
/// [`fetch_op`](Self::fetch_op) are called: these must not sleep, and must not call the engine. The
/// same goes for most of [`Inheritance`].
///
/// A host that breaks a rule breaks its own waits; it cannot make the engine touch memory that it
/// must not.
///
/// # Panics
/// A callback's panic passes through the call that it was made by. On its way the locks are given
/// up, preemption is turned on again, the call's waiters are taken out of their lists (if a wake
/// had chosen one by then, the wake is used up), those that it chose itself are unparked, and a
/// bucket whose waiters are moving to a larger table is moved whole. What the call did to others
/// stays done. Should a callback panic once more meanwhile, that is a panic within a panic, which
/// aborts: a waiter that stayed in a list would be found there by others when its memory is gone. A
/// [`preempt_off`](Self::preempt_off) that panics counts as not done, a
/// [`preempt_on`](Self::preempt_on) as done.
///
/// The same holds for an executor's waker, and where a future that waits is dropped.
pub trait Host: Sized {
    /// A handle by which a parked thread is woken. It may be used after that thread's wait has
    /// returned, or the thread has ended: then unparking it does nothing, or ends some other park
    /// early. An address, a number or a counted reference.
    type Task: Send + 'static;

    /// Where tables come from.
    type Memory: Memory;

    /// The calling thread's address space.
    fn space(&self) -> &Space<Self>;

    /// How many threads the space has; tables are sized by it. An estimate will do.
    fn threads(&self) -> u32;

    /// Whether user memory can be at `address`: false for the kernel's part. Nothing is looked up.
    /// Of what is read or written, the first and the last byte are asked for: what lies between two
    /// addresses that can be, can be too.
    fn in_range(&self, address: Address) -> bool;

    /// Reads a word, in one access. Must not sleep: a page that is not there is a [`Fault`].
    ///
    /// # Errors
    /// [`Fault`].
    fn load(&self, address: Address) -> Result<u32, Fault>;

    /// Stores `new` if the word is `old`, in one step with full ordering; what it was. Must not
    /// sleep.
    ///
    /// # Errors
    /// [`Fault`], also where the page cannot be written.
    fn compare_exchange(&self, address: Address, old: u32, new: u32) -> Result<u32, Fault>;

    /// Does `op` to a word in one step with full ordering; what it was, or `None` where others were
    /// too busy with it: the engine gives up its locks and tries again, 10,000 times at most. Must
    /// not sleep.
    ///
    /// # Errors
    /// [`Fault`], also where the page cannot be written.
    fn fetch_op(&self, address: Address, op: Arithmetic, argument: u32) -> Result<Option<u32>, Fault> {
        let mut old = self.load(address)?;
        for _ in 0..TRIES {
            let now = self.compare_exchange(address, old, op.apply(old, argument))?;
            if now == old {
                return Ok(Some(old));
            }
            old = now;
        }
        Ok(None)
    }

    /// Reads user memory, whose first and last byte are [in range](Self::in_range); may sleep.
    ///
    /// # Errors
    /// [`Fault`] if any of it is not there.
    fn read(&self, address: Address, to: &mut [u8]) -> Result<(), Fault>;

    /// Makes the page of a word accessible; may sleep. After a success the engine tries its access
    /// again, however often that takes.
    ///
    /// # Errors
    /// `EFAULT` where it cannot be; whatever else ends the operation.
    fn fault_in(&self, address: Address, access: Access) -> Result<(), Errno>;

    /// What is mapped at a shared word; may sleep.
    ///
    /// # Errors
    /// `EFAULT` where nothing is, and for memory of this space alone that may only be read, as on
    /// Linux.
    fn resolve_shared(&self, address: Address, access: Access) -> Result<SharedKey, Errno>;

    /// The calling thread's place in a queue.
    fn priority(&self) -> Priority {
        Priority::NORMAL
    }

    /// A handle of the calling thread, which is about to [`park`](Self::park) with this flag. Asked
    /// for before the word is compared, and of several words before the first is.
    fn task(&self, flag: &Flag) -> Self::Task;

    /// Sleeps until unparked, or until the deadline, or a signal: as long as `flag` says that there
    /// is reason to. An [`unpark`](Self::unpark) that comes before the sleep must end it, or the
    /// flag must be looked at after the point from which an unpark would. May end early. A deadline
    /// that has passed ends it at once. Where wakes come soon, a spin before the sleep spares both
    /// threads much: [`Flag::spin`].
    ///
    /// # Signals
    /// On Linux no handler of a signal comes between the comparison of a futex word and the sleep:
    /// a signal that arrives after the comparison ends the call, or has it made again with a new
    /// comparison. So a handler may change the word and wake no thread. `park` owes the same:
    ///
    /// - In a kernel, where handlers run on the way back to the program only, a signal that is
    ///   pending when `park` is called, or arrives meanwhile, makes it answer
    ///   [`ParkEnd::Interrupted`]. There is nothing else to do.
    /// - Where handlers run on the thread itself (a process, a library OS), one may run at any
    ///   instruction. If one may have run since [`task`](Self::task) was called, or since the last
    ///   `Recheck`, `park` answers [`ParkEnd::Recheck`] instead of going to sleep, and the engine
    ///   compares the word again. What a host cannot find out, it cannot answer: then such a
    ///   handler has to wake, too. And a sleep that the system begins anew by itself when a handler
    ///   has run (`SA_RESTART`) has to be ended all the same, since the system compares what the
    ///   host sleeps on and not the word.
    fn park(&self, flag: &Flag, until: Option<Deadline>) -> ParkEnd;

    /// Ends a thread's [`park`](Self::park).
    fn unpark(&self, task: Self::Task);

    /// Ends several threads' [`park`](Self::park)s, which one call of the engine woke. If they are
    /// but [`Part::Some`] of what that call wakes, the host may put it off until the
    /// [`Part::Rest`], which always comes. Must take all that `tasks` has: the iterator wakes
    /// futures that are between the threads.
    fn unpark_all(&self, tasks: impl Iterator<Item = Self::Task>, _part: Part) {
        tasks.for_each(|task| self.unpark(task));
    }

    /// Nanoseconds since the clock's beginning.
    fn now(&self, clock: Clock) -> u64;

    /// A bucket's lock is about to be taken: a kernel turns preemption off (and interrupts, if it
    /// wakes from handlers). Calls nest, as a call may hold two locks: preemption is on again with
    /// as many [`preempt_on`](Self::preempt_on). Must not sleep, nor call the engine.
    ///
    /// A host made of threads may block signals here, and so may have handlers that wake, wait and
    /// move as they like, for two system calls a lock; or it notes that the thread holds a lock,
    /// for [`defer_wake`](Self::defer_wake). One that does neither has no handlers that call the
    /// engine: such a call would wait for a lock that its own thread holds.
    fn preempt_off(&self) {}

    /// A bucket's lock was given up. Another may still be held, until the last of as many calls.
    /// When that is given up, the host makes the wakes that it [deferred](Self::defer_wake).
    fn preempt_on(&self) {}

    /// A bucket's lock was found taken so many times in a row: preemption is off, and another lock
    /// may be held; a kernel does nothing but pause. Where [`preempt_off`](Self::preempt_off) turns
    /// nothing off, as for the threads of a process, the lock's holder may have lost its processor:
    /// give the own one away after some tries. Must not call the engine. (Also called, with no lock
    /// held, where a word is fought for.)
    ///
    /// # Real-time threads
    /// Giving the processor away by a yield is a trap where threads have priorities: the yield of a
    /// real-time thread lets no thread of a lower one run, so if that is the lock's holder, which
    /// it preempted on the same processor, it spins until the system stops it (Linux: after 950 ms
    /// of each second), or for ever. After some tries such a thread has to sleep: best until the
    /// holder, which is lent its priority meanwhile, has given the lock up, else for a moment each
    /// time. `parking::spin` does both.
    ///
    /// # Signals
    /// Where a handler of a signal runs on the thread itself and calls the engine, the lock that it
    /// spins for may be its own thread's, and it spins for ever: nothing that is done here can end
    /// that. It is prevented in [`preempt_off`](Self::preempt_off), by blocking signals, or for
    /// wakes by [`defer_wake`](Self::defer_wake). A host that does neither is not
    /// async-signal-safe, not even for wakes.
    fn spin(&self, _tries: u32) {
        core::hint::spin_loop();
    }

    /// Asked before a wake takes a bucket's lock: true if the host makes the wake itself, by the
    /// same call, when the calling thread has given up the lock that it holds
    /// ([`preempt_on`](Self::preempt_on)). For hosts whose threads are interrupted by handlers of
    /// signals that wake, and that do not turn those off in [`preempt_off`](Self::preempt_off): a
    /// handler that interrupted the holder of a lock would wait for its own thread. The wake
    /// answers 0 then. `engine` is borrowed by the call that was interrupted, until that call ends,
    /// if one engine serves the host.
    fn defer_wake(&self, engine: &Engine<Self>, word: Word, count: u32, bitset: u32) -> bool {
        let _ = (engine, word, count, bitset);
        false
    }

    /// The machine's nodes. Without: a space's table is wherever memory is, and words that name a
    /// node are refused.
    fn nodes(&self) -> Option<&dyn Nodes> {
        None
    }

    /// The machine's processors, for membarrier. Without: `ENOSYS`.
    fn processors(&self) -> Option<&dyn Processors<Self>> {
        None
    }

    /// Threads and their priorities, for locks that inherit priorities. Without: `ENOSYS`, and the
    /// compiler leaves the rest out.
    fn inheritance(&self) -> Option<&dyn Inheritance<Self>> {
        None
    }
}
