//! What the engine asks of the system that it is built into.
//!
//! A value of a [`Host`] stands for the calling thread: every operation takes one. In a kernel it
//! is a type without fields that asks for the current thread, in a sandbox the thread and its
//! process, in a runtime the instance. So the engine needs no thread-local storage, and one engine
//! serves any number of address spaces.

pub(crate) mod flag;
pub(crate) mod host_vec;
pub(crate) mod huge;
pub(crate) mod inheritance;
pub(crate) mod memory;
pub(crate) mod nodes;
pub(crate) mod processors;
pub(crate) mod robust;
mod values;

pub use values::{Access, Arithmetic, Clock, Deadline, Fault, ParkEnd, Part, Priority};

use crate::{Address, Engine, Errno, Flag, Inheritance, Memory, Nodes, Processors, SharedKey, Size, Space, Word};

/// How often the default [`Host::fetch_op`] tries, under the locks of two buckets, before it gives
/// up.
const TRIES: u32 = 64;

/// The calling thread, and the system around it.
///
/// A host decides what memory an address is, how a thread sleeps, and what the time is; the engine
/// decides which thread sleeps and which is woken. `examples/kernel_host.rs` is a kernel's host;
/// the one below is the smallest that works: threads of the standard library, private words, no
/// deadlines.
///
/// ```
/// use leeward_engine::{
///     Access, Address, Clock, Config, Deadline, Engine, Errno, Fault, Flag, Heap, Host, ParkEnd,
///     SharedKey, Space, Word,
/// };
/// use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
/// use std::thread::{self, Thread};
///
/// /// A process whose user memory is two words, at the addresses 0 and 4.
/// struct Program {
///     space: Space<Program>,
///     words: [AtomicU32; 2],
/// }
///
/// impl Program {
///     fn word(&self, address: Address) -> Result<&AtomicU32, Fault> {
///         self.words.get(address as usize / 4).ok_or(Fault)
///     }
/// }
///
/// impl Host for Program {
///     type Task = Thread;
///     type Memory = Heap;
///     type Preemption<'a> = ();
///
///     fn space(&self) -> &Space<Program> {
///         &self.space
///     }
///     fn threads(&self) -> u32 {
///         2
///     }
///     fn in_range(&self, address: Address) -> bool {
///         address < 8
///     }
///     fn load(&self, address: Address) -> Result<u32, Fault> {
///         Ok(self.word(address)?.load(SeqCst))
///     }
///     fn compare_exchange(&self, address: Address, old: u32, new: u32) -> Result<u32, Fault> {
///         let word = self.word(address)?;
///         let (Ok(was) | Err(was)) = word.compare_exchange(old, new, SeqCst, SeqCst);
///         Ok(was)
///     }
///     fn read(&self, _: Address, _: &mut [u8]) -> Result<(), Fault> {
///         Err(Fault)
///     }
///     fn fault_in(&self, _: Address, _: Access) -> Result<(), Errno> {
///         Err(Errno::EFAULT)
///     }
///     fn resolve_shared(&self, _: Address, _: Access) -> Result<SharedKey, Errno> {
///         Err(Errno::EFAULT)
///     }
///     fn task(&self, _: &Flag) -> Thread {
///         thread::current()
///     }
///     fn park(&self, flag: &Flag, _: Option<Deadline>) -> ParkEnd {
///         // An unpark that comes before the park ends it.
///         while flag.is_waiting() {
///             thread::park();
///         }
///         ParkEnd::Unparked
///     }
///     fn unpark(&self, task: Thread) {
///         task.unpark();
///     }
///     fn now(&self, _: Clock) -> u64 {
///         0
///     }
///     fn preempt_off(&self) {}
///     fn spin(&self, _: u32) {
///         thread::yield_now();
///     }
/// }
///
/// let engine = Engine::new(Config::small(7), Heap).unwrap();
/// let program = Program { space: Space::new(1, 7, Heap), words: Default::default() };
/// thread::scope(|threads| {
///     threads.spawn(|| {
///         program.words[1].store(1, SeqCst);
///         engine.wake(&program, Word::private(4), 1, u32::MAX).unwrap();
///     });
///     while program.words[1].load(SeqCst) == 0 {
///         engine.wait(&program, Word::private(4), 0, u32::MAX, None).unwrap();
///     }
/// });
/// ```
///
/// # Locks
/// No lock is held when the engine calls [`fault_in`](Self::fault_in), [`read`](Self::read),
/// [`resolve_shared`](Self::resolve_shared), [`task`](Self::task), [`park`](Self::park),
/// [`unpark`](Self::unpark), [`unpark_all`](Self::unpark_all) or a [`Memory`]: these may sleep.
///
/// The lock of one bucket, or of two, may be held when it calls [`load`](Self::load),
/// [`load_sized`](Self::load_sized), [`compare_exchange`](Self::compare_exchange) or
/// [`fetch_op`](Self::fetch_op), as long as what [`preempt_off`](Self::preempt_off) returned is
/// there. These methods must not sleep and must not call the engine; nor must `find`, `priority`
/// and `lend` of [`Inheritance`].
///
/// A host that breaks a rule breaks its own waits. It cannot make the engine touch memory that the
/// engine must not touch.
///
/// # Panics
/// A callback's panic passes through the call that made it. On its way the engine gives its locks
/// up, turns preemption on again, takes the call's waiters out of their lists, unparks the threads
/// that the call itself chose, and finishes the bucket whose waiters are migrating to a larger
/// table. If a wake had chosen a waiter of the call by then, that wake is used up. What the call
/// did to other threads stays done.
///
/// A callback that panics once more meanwhile aborts the process: a waiter that stayed in a list
/// would be found there by other threads when its memory is gone. A
/// [`preempt_off`](Self::preempt_off) that panics counts as not done, the drop of its guard as
/// done.
///
/// An executor's waker that panics is treated alike, and so is a callback that panics while a
/// waiting future is dropped.
pub trait Host: Sized {
    /// A handle by which a parked thread is unparked: an address, a number or a counted reference.
    /// It may be used after that thread's wait has returned, and after the thread has exited: then
    /// unparking it does nothing, or ends some other park early.
    type Task: Send + 'static;

    /// The memory that tables are allocated from.
    type Memory: Memory;

    /// A time without preemption, from [`preempt_off`](Self::preempt_off) until this is dropped: a
    /// kernel's own guard, say one that counts, or one that keeps the state of interrupts and puts
    /// it back. `()` where nothing is turned off.
    ///
    /// It is dropped after the lock was given up for which it was made, also where a callback
    /// panics. An operation may hold two locks, and has a guard for each; the one that was made
    /// last is dropped first. With the last one no lock is held any more, and its drop makes the
    /// wakes that the host [deferred](Self::defer_wake). The drop must not sleep, nor call the
    /// engine but for those.
    ///
    /// ```
    /// use std::cell::Cell;
    ///
    /// /// Interrupts of this processor, which were on or off before.
    /// struct Interrupts<'a> {
    ///     on: &'a Cell<bool>,
    ///     before: bool,
    /// }
    ///
    /// impl<'a> Interrupts<'a> {
    ///     /// For `preempt_off`.
    ///     fn off(on: &'a Cell<bool>) -> Interrupts<'a> {
    ///         Interrupts { on, before: on.replace(false) }
    ///     }
    /// }
    ///
    /// impl Drop for Interrupts<'_> {
    ///     fn drop(&mut self) {
    ///         self.on.set(self.before);
    ///     }
    /// }
    ///
    /// let on = Cell::new(true);
    /// let (outer, inner) = (Interrupts::off(&on), Interrupts::off(&on));
    /// drop(inner);
    /// assert!(!on.get());
    /// drop(outer);
    /// assert!(on.get());
    /// ```
    type Preemption<'a>
    where
        Self: 'a;

    /// Returns the calling thread's address space, the same one during a call.
    fn space(&self) -> &Space<Self>;

    /// Returns how many threads the space has. Its table is sized by this; an estimate will do.
    fn threads(&self) -> u32;

    /// Returns true if user memory can be at `address`; false for the kernel's part. Nothing is
    /// looked up. The engine asks for the first byte of a word, which is aligned, and for the first
    /// and the last byte of what else it reads or writes: what lies between two addresses that can
    /// be user memory must be able to be user memory, too.
    fn in_range(&self, address: Address) -> bool;

    /// Reads a word of 32 bits, in one access. Must not sleep: a page that is not there is a
    /// [`Fault`]. Called with a bucket's lock held and without.
    ///
    /// # Errors
    /// [`Fault`].
    fn load(&self, address: Address) -> Result<u32, Fault>;

    /// Returns true if the host serves words of that size, always the same. It must serve
    /// [`Size::U32`], and by default serves nothing else, as Linux 6.18. A word of a size that is
    /// not served is `EINVAL`.
    ///
    /// A host that can read 64 bits in one access only on some machines answers by the machine.
    fn serves(&self, size: Size) -> bool {
        matches!(size, Size::U32)
    }

    /// Reads a word of a size that the host [serves](Self::serves), in one access, as a number
    /// without a sign. Must not sleep, like [`load`](Self::load), which the engine calls instead
    /// for words of 32 bits. The address is a multiple of the size.
    ///
    /// ```
    /// use leeward_engine::{Address, Fault, Size};
    /// use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
    ///
    /// /// Reads part of a word of 32 bits, for a program whose numbers are little-endian.
    /// fn load_sized(words: &[AtomicU32], address: Address, size: Size) -> Result<u64, Fault> {
    ///     let word = words.get(address as usize / 4).ok_or(Fault)?.load(SeqCst);
    ///     let above = word >> (8 * (address % 4));
    ///     match size {
    ///         Size::U8 => Ok(u64::from(above as u8)),
    ///         Size::U16 => Ok(u64::from(above as u16)),
    ///         Size::U32 => Ok(u64::from(word)),
    ///         // Two words cannot be read in one access: `serves` refuses this size.
    ///         Size::U64 => Err(Fault),
    ///     }
    /// }
    /// let words = [AtomicU32::new(0x0403_0201)];
    /// assert_eq!(load_sized(&words, 3, Size::U8), Ok(4));
    /// assert_eq!(load_sized(&words, 2, Size::U16), Ok(0x0403));
    /// ```
    ///
    /// # Errors
    /// [`Fault`].
    fn load_sized(&self, address: Address, size: Size) -> Result<u64, Fault> {
        match size {
            Size::U32 => self.load(address).map(u64::from),
            // Not called: `serves` refuses the other sizes unless the host has written both.
            _ => Err(Fault),
        }
    }

    /// Stores `new` if the word is `old`, in one step with full ordering; returns what the word
    /// was. Must not sleep.
    ///
    /// # Errors
    /// [`Fault`], also where the page cannot be written.
    fn compare_exchange(&self, address: Address, old: u32, new: u32) -> Result<u32, Fault>;

    /// Does `op` to a word in one step with full ordering; returns what the word was, or `None`
    /// where other threads changed it too often meanwhile: then the engine gives up its locks and
    /// tries again, 10,000 times at most. Must not sleep.
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

    /// Reads user memory, whose first and last byte are [in range](Self::in_range). May sleep.
    ///
    /// # Errors
    /// [`Fault`] if any of it is not there.
    fn read(&self, address: Address, to: &mut [u8]) -> Result<(), Fault>;

    /// Makes the page of a word accessible. May sleep. After a success the engine tries its access
    /// again, however often that takes.
    ///
    /// # Errors
    /// `EFAULT` where the page cannot be accessed; any other number ends the operation, too.
    fn fault_in(&self, address: Address, access: Access) -> Result<(), Errno>;

    /// Looks up what is mapped at a shared word. May sleep.
    ///
    /// # Errors
    /// `EFAULT` where nothing is mapped, and for memory of this space alone that may only be read,
    /// as on Linux.
    fn resolve_shared(&self, address: Address, access: Access) -> Result<SharedKey, Errno>;

    /// Returns the calling thread's urgency: its place among the waiters of a word.
    fn priority(&self) -> Priority {
        Priority::NORMAL
    }

    /// Returns a handle of the calling thread, which is about to [`park`](Self::park) with `flag`.
    /// Called before the word is compared, and for several words before the first is.
    fn task(&self, flag: &Flag) -> Self::Task;

    /// Sleeps as long as [`Flag::is_waiting`] says that there is reason to wait, until the thread
    /// is unparked, or the deadline comes, or a signal.
    ///
    /// - An [`unpark`](Self::unpark) that comes before the sleep must end it; or the flag must be
    ///   looked at after the point from which an unpark would.
    /// - A deadline that has passed ends the sleep at once.
    /// - The sleep may end early: the engine looks at the flag and calls again.
    ///
    /// Where wakes come soon, a spin before the sleep spares both threads much: [`Flag::spin`].
    ///
    /// # Signals
    /// On Linux no handler of a signal comes between the comparison of a futex word and the sleep:
    /// a signal that arrives after the comparison ends the call, or makes the kernel begin it again
    /// with a new comparison. So a handler may change the word and wake no thread. `park` owes the
    /// same:
    ///
    /// - In a kernel, handlers run on the way back to the program only. A signal that is pending
    ///   when `park` is called, or arrives meanwhile, makes it answer [`ParkEnd::Interrupted`].
    ///   There is nothing else to do.
    /// - Where handlers run on the thread itself (a process, a library OS), one may run at any
    ///   instruction. If one may have run since [`task`](Self::task) was called, or since the last
    ///   `Recheck`, `park` answers [`ParkEnd::Recheck`] instead of going to sleep, and the engine
    ///   compares the word again. What a host cannot find out it cannot answer: such a handler then
    ///   has to wake, too. A sleep that the system begins anew by itself after a handler
    ///   (`SA_RESTART`) has to be ended all the same, because the system compares what the host
    ///   sleeps on and not the word.
    fn park(&self, flag: &Flag, until: Option<Deadline>) -> ParkEnd;

    /// Ends the [`park`](Self::park) of the thread with that handle. No lock is held.
    fn unpark(&self, task: Self::Task);

    /// Ends the [`park`](Self::park)s of several threads, which one call of the engine woke. If
    /// `part` is [`Part::Some`], the host may put the unparking off until the [`Part::Rest`], which
    /// always comes. Must take all that `tasks` yields: the iterator wakes the futures that are
    /// between the threads.
    fn unpark_all(&self, tasks: impl Iterator<Item = Self::Task>, _part: Part) {
        tasks.for_each(|task| self.unpark(task));
    }

    /// Returns the time in nanoseconds since the clock's beginning.
    fn now(&self, clock: Clock) -> u64;

    /// Turns preemption off, because a bucket's lock is about to be taken, until the guard is
    /// dropped. A kernel also turns interrupts off if their handlers wake. Calls nest, as an
    /// operation may hold two locks. Must not sleep, nor call the engine.
    ///
    /// A host made of threads has three choices. If it blocks signals here, handlers may wake, wait
    /// and requeue as they like, for two system calls a lock. If it notes here that the thread
    /// holds a lock, handlers may wake, by [`defer_wake`](Self::defer_wake). If it does neither, no
    /// handler may call the engine: such a call would wait for a lock that its own thread holds.
    fn preempt_off(&self) -> Self::Preemption<'_>;

    /// Lets some time pass, because a bucket's lock was found taken; `tries` says how often in a
    /// row. Preemption is off, and another lock may be held: a kernel does nothing but pause. Where
    /// [`preempt_off`](Self::preempt_off) turns nothing off, as for the threads of a process, the
    /// lock's holder may have lost its processor: give this thread's away after some tries. Must
    /// not call the engine. (Also called, with no lock held, where other threads keep changing a
    /// word.)
    ///
    /// # Real-time threads
    /// A yield is a trap where threads have priorities. The yield of a real-time thread lets no
    /// thread of a lower priority run. If that thread is the lock's holder, and was preempted on
    /// the same processor, the real-time thread spins until the system stops it (Linux: after 950
    /// ms of each second), or forever. Such a thread has to sleep after some tries: best until the
    /// holder, to which its priority is lent meanwhile, has given the lock up, else for a moment
    /// each time. `parking::spin` does both.
    ///
    /// # Signals
    /// Where a signal handler runs on the thread itself and calls the engine, the lock that it
    /// spins for may be its own thread's. It then spins forever, and nothing that is done here can
    /// end that. [`preempt_off`](Self::preempt_off) prevents it by blocking signals, or
    /// [`defer_wake`](Self::defer_wake) does for wakes. A host that does neither is not
    /// async-signal-safe, not even for wakes.
    fn spin(&self, _tries: u32) {
        core::hint::spin_loop();
    }

    /// Returns true if the host makes this wake itself later, by the same call, as soon as the
    /// calling thread has given up the lock that it holds ([`Preemption`](Self::Preemption)).
    /// Called before a wake takes a bucket's lock; a wake that is deferred answers 0.
    ///
    /// This is for hosts whose threads are interrupted by signal handlers that wake, and that
    /// do not block signals in [`preempt_off`](Self::preempt_off): a handler that interrupted the
    /// holder of a lock would wait for its own thread. If one engine serves the host, `engine` is
    /// borrowed by the call that was interrupted, until that call ends.
    fn defer_wake(&self, engine: &Engine<Self>, word: Word, count: u32, bitset: u32) -> bool {
        let _ = (engine, word, count, bitset);
        false
    }

    /// Returns the machine's nodes. Without them a space's table is wherever memory is, and words
    /// that name a node are `EINVAL`.
    fn nodes(&self) -> Option<&dyn Nodes> {
        None
    }

    /// Returns the machine's processors, for membarrier. Without them it is `ENOSYS`.
    fn processors(&self) -> Option<&dyn Processors<Self>> {
        None
    }

    /// Returns the threads and their priorities, for locks with priority inheritance. Without them
    /// such operations are `ENOSYS`, and the compiler leaves their code out.
    fn inheritance(&self) -> Option<&dyn Inheritance<Self>> {
        None
    }
}
