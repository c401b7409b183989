//! What a scenario has: words in memory, threads that make one call or a few, and calls of the kernel
//! whose answers it compares.
//!
//! How does a scenario know that a thread sleeps? It cannot ask every kernel. It lets a while pass
//! ([`World::rest`]), and [`run`](crate::run) asks again, with longer and longer whiles, before a kernel
//! is said to be wrong. Where the answer itself tells, it does not rely on time: it wakes until
//! a thread was woken.

use core::fmt;
use core::mem::{MaybeUninit, size_of};
use core::ptr::NonNull;
use core::sync::atomic::{AtomicIsize, AtomicU32, AtomicUsize, Ordering};

use crate::errno::{Answer, Errno, answer};
use crate::futex::{Call, Time};
use crate::numbers;
use crate::scenario::{Outcome, Trouble};
pub(crate) use crate::step::Step;
use crate::syscalls::{Syscalls, ask};
use crate::text::Text;

/// How many words a scenario has.
pub(crate) const WORDS: usize = 64;
/// How many threads a scenario may start.
const THREADS: usize = 128;

const PAGE: usize = 64 * 1024;
const PROT_READ_WRITE: usize = 3;
const MAP_PRIVATE_ANONYMOUS: usize = 0x22;

/// The state of a thread that a scenario started.
const IDLE: u32 = 0;
const STARTED: u32 = 1;
const ENDED: u32 = 2;

/// The memory of a scenario, in pages of its own, all zero at first.
#[repr(C)]
pub(crate) struct Memory {
    words: [AtomicU32; WORDS],
    threads: [Thread; THREADS],
    started: AtomicUsize,
    spins: AtomicUsize,
    /// The world itself. Threads that a kernel does not wake outlive the scenario, and may use it for
    /// ever.
    world: MaybeUninit<World<'static>>,
}

/// A thread that a scenario started.
#[repr(C)]
struct Thread {
    state: AtomicU32,
    /// The thread's number, as `gettid` says.
    number: AtomicU32,
    answer: AtomicIsize,
    /// The world that it belongs to.
    world: AtomicUsize,
    /// What it does: a `Body`.
    body: AtomicUsize,
}

/// What a thread does: a function without captures, which finds its words in the world.
pub(crate) type Body = fn(&World<'_>) -> Answer;

/// Where a scenario takes place. Nothing of it is ever given back.
pub struct World<'a> {
    kernel: &'a dyn Syscalls,
    memory: NonNull<Memory>,
    /// The microseconds of a `rest`.
    while_us: u64,
    /// What is being done, for the report on a scenario that hangs.
    pub(crate) step: &'a Step,
}

// SAFETY: what threads share is the memory and the step, which are of atomics, and the kernel.
unsafe impl Sync for World<'_> {}

/// A thread that a scenario started.
#[derive(Clone, Copy)]
pub(crate) struct Started(usize);

/// Maps private anonymous memory, which is all zero and stays mapped.
pub(crate) fn map<T>(kernel: &dyn Syscalls) -> Result<NonNull<T>, Trouble> {
    const { assert!(size_of::<T>() <= PAGE) };
    let arguments = [0, PAGE, PROT_READ_WRITE, MAP_PRIVATE_ANONYMOUS, usize::MAX, 0];
    // SAFETY: a new mapping.
    let memory = unsafe { ask(kernel, numbers::MMAP, arguments) };
    let memory = memory.map_err(|errno| unfit(format_args!("mmap of private anonymous memory: {errno}")))?;
    NonNull::new(core::ptr::with_exposed_provenance_mut(memory)).ok_or_else(|| unfit(format_args!("mmap answered 0")))
}

impl World<'_> {
    /// Makes a world: with words that are 0, and no thread.
    pub(crate) fn new(
        kernel: &'static dyn Syscalls,
        while_us: u64,
        step: &'static Step,
    ) -> Result<&'static World<'static>, Trouble> {
        let memory = map::<Memory>(kernel)?;
        // SAFETY: within what was mapped; no reference is made.
        let place = unsafe { &raw mut (*memory.as_ptr()).world };
        // SAFETY: as above; no thread has it yet.
        unsafe { place.write(MaybeUninit::new(World { kernel, memory, while_us, step })) };
        // SAFETY: written by the line above, and never changed or unmapped.
        Ok(unsafe { &*place.cast::<World<'static>>() })
    }

    fn memory(&self) -> &Memory {
        // SAFETY: mapped by `new`, all zero, which is a value of it, and never unmapped: a thread that
        // the kernel does not wake may use it for ever.
        unsafe { self.memory.as_ref() }
    }

    /// Returns one of the scenario's words, all in one page.
    pub(crate) fn word(&self, at: usize) -> &AtomicU32 {
        &self.memory().words[at]
    }

    /// Stores a value in a word.
    pub(crate) fn set(&self, at: usize, value: u32) {
        self.word(at).store(value, Ordering::SeqCst);
    }

    /// Returns a word's value.
    pub(crate) fn get(&self, at: usize) -> u32 {
        self.word(at).load(Ordering::SeqCst)
    }

    /// Returns the address of one of the scenario's words.
    pub(crate) fn address(&self, at: usize) -> usize {
        (&raw const *self.word(at)).expose_provenance()
    }

    /// Says what comes next, for the report on a scenario that hangs.
    pub(crate) fn step(&self, what: &'static &'static str) {
        self.step.set(what);
    }

    /// Makes a system call.
    ///
    /// # Safety
    /// As for [`Syscalls::call`].
    pub(crate) unsafe fn call(&self, number: usize, arguments: [usize; 6]) -> Answer {
        // SAFETY: the caller's promise.
        unsafe { ask(self.kernel, number, arguments) }
    }

    /// Makes a call of the futex family. What it writes are words of the scenario's.
    pub(crate) fn futex(&self, call: Call) -> Answer {
        // SAFETY: words are atomics; what else a call reads outlives it.
        unsafe { self.call(call.number, call.arguments) }
    }

    /// Lets a while pass, in which threads that are about to sleep do so.
    pub(crate) fn rest(&self) {
        self.kernel.pause(self.while_us);
    }

    /// Returns a time that is not up while a scenario lets `rests` whiles pass: longer than they are by
    /// one more, and by 200 ms for what it does in between.
    pub(crate) fn time_beside(&self, rests: u64) -> Time {
        Time::milliseconds((200 + (rests + 1) * self.while_us.div_ceil(1000)) as i64)
    }

    /// Returns how often it was called before.
    pub(crate) fn spins(&self) -> usize {
        // Relaxed: a count alone.
        self.memory().spins.fetch_add(1, Ordering::Relaxed)
    }

    /// Starts a thread that calls `body`, and keeps what it answers.
    pub(crate) fn start(&self, body: Body) -> Result<Started, Trouble> {
        // SAFETY: `start_by` says with what it is called.
        let spawn = |begin, thread| unsafe { self.kernel.spawn(begin, thread) };
        self.start_by(body, spawn, format_args!("no thread")).map(|(started, ())| started)
    }

    /// As `start`, by `clone` with these flags; returns its number too, as `clone` answered. Flags may ask for the
    /// number in the first of two words, for the parent, and in the second, for the child.
    pub(crate) fn start_as(&self, flags: usize, words: [usize; 2], body: Body) -> Result<(Started, usize), Trouble> {
        let words = words.map(|at| self.address(at));
        // SAFETY: as above; the scenario's words are atomics.
        let spawn = |begin, thread| unsafe { self.kernel.spawn_as(flags, words, begin, thread) };
        self.start_by(body, spawn, format_args!("clone with flags {flags:#x}"))
    }

    /// Starts what calls `body`; `spawn` gets a function and an argument that it may be called with on any thread.
    fn start_by<T>(
        &self,
        body: Body,
        spawn: impl FnOnce(extern "C" fn(usize), usize) -> Result<T, Errno>,
        what: fmt::Arguments<'_>,
    ) -> Result<(Started, T), Trouble> {
        self.step.moved();
        let at = self.memory().started.fetch_add(1, Ordering::SeqCst);
        let thread = &self.memory().threads[at];
        thread.world.store((&raw const *self).expose_provenance(), Ordering::SeqCst);
        thread.body.store(body as usize, Ordering::SeqCst);
        // The world and the thread's words stay for ever.
        let spawned = spawn(begin, (&raw const *thread).expose_provenance());
        let spawned = spawned.map_err(|errno| unfit(format_args!("{what}: {errno}")))?;
        while thread.state.load(Ordering::SeqCst) == IDLE {
            self.kernel.pause(10);
        }
        Ok((Started(at), spawned))
    }

    /// Starts a thread, and lets it go to sleep in the call that it makes.
    pub(crate) fn start_asleep(&self, body: Body) -> Result<Started, Trouble> {
        let started = self.start(body)?;
        self.rest();
        Ok(started)
    }

    /// Returns a thread's number.
    pub(crate) fn number_of(&self, thread: Started) -> u32 {
        self.memory().threads[thread.0].number.load(Ordering::SeqCst)
    }

    /// Waits for the end of a thread; returns what its body answered.
    pub(crate) fn end_of(&self, thread: Started) -> Answer {
        let thread = &self.memory().threads[thread.0];
        while thread.state.load(Ordering::SeqCst) != ENDED {
            self.kernel.pause(100);
        }
        answer(thread.answer.load(Ordering::SeqCst))
    }

    /// Returns true if a thread's body has returned.
    pub(crate) fn has_ended(&self, thread: Started) -> bool {
        self.memory().threads[thread.0].state.load(Ordering::SeqCst) == ENDED
    }

    /// Asserts that a thread still sleeps, after a while.
    pub(crate) fn sleeps(&self, thread: Started, who: &str) -> Outcome {
        self.rest();
        if !self.has_ended(thread) {
            return Ok(());
        }
        wrong(format_args!(
            "{who} no longer sleeps: its call answered {}; on Linux it sleeps on",
            Shown(self.end_of(thread))
        ))
    }

    /// Asserts that a thread ends with this answer.
    pub(crate) fn ends(&self, thread: Started, who: &str, with: Answer) -> Outcome {
        let answered = self.end_of(thread);
        self.same(format_args!("the call of {who}"), answered, with)
    }

    /// Asserts what a call answered. `ENOSYS`, where Linux answers something else, is an absent
    /// operation.
    pub(crate) fn same(&self, what: impl fmt::Display, answered: Answer, linux: Answer) -> Outcome {
        if answered == linux {
            self.step.moved();
            Ok(())
        } else if answered == Err(Errno::NOSYS) {
            Err(Trouble::Absent(Text::of(format_args!("{what}"))))
        } else {
            wrong(format_args!("{what} answered {}; Linux answers {}", Shown(answered), Shown(linux)))
        }
    }

    /// Asserts the value of a word.
    pub(crate) fn holds(&self, at: usize, what: &str, linux: u32) -> Outcome {
        match self.get(at) {
            value if value == linux => Ok(()),
            value => wrong(format_args!("{what} holds {value:#x}; on Linux {linux:#x}")),
        }
    }

    /// Makes a call until it answers something else than 0, which is returned: a wake, until a thread
    /// sleeps. `ENOSYS` if a thread ended because its call is absent.
    pub(crate) fn until_not_zero(&self, mut call: impl FnMut() -> Answer) -> Answer {
        loop {
            match call() {
                Ok(0) if self.step.lacks() => return Err(Errno::NOSYS),
                Ok(0) => self.kernel.pause(100),
                answered => return answered,
            }
        }
    }
}

extern "C" fn begin(argument: usize) {
    // SAFETY: `start` passes one, which is never unmapped.
    let thread = unsafe { &*core::ptr::with_exposed_provenance::<Thread>(argument) };
    let world = core::ptr::with_exposed_provenance::<World<'_>>(thread.world.load(Ordering::SeqCst));
    // SAFETY: as `start` says.
    let world = unsafe { &*world };
    let body = core::ptr::with_exposed_provenance::<()>(thread.body.load(Ordering::SeqCst));
    // SAFETY: `start` stored a function of this type.
    let body = unsafe { core::mem::transmute::<*const (), Body>(body) };
    // SAFETY: takes no argument.
    let number = unsafe { world.call(numbers::GETTID, [0; 6]) };
    thread.number.store(number.unwrap_or_default() as u32, Ordering::SeqCst);
    thread.state.store(STARTED, Ordering::SeqCst);
    let answered = body(world);
    world.step.ended(answered);
    let answered = answered.map_or_else(|errno| -isize::from(errno.0 as i16), |answered| answered as isize);
    thread.answer.store(answered, Ordering::SeqCst);
    thread.state.store(ENDED, Ordering::SeqCst);
}

/// An answer as reports write it.
pub(crate) struct Shown(pub(crate) Answer);

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Ok(answered) => write!(f, "{answered}"),
            Err(errno) => write!(f, "{errno}"),
        }
    }
}

/// The scenario cannot be set up.
pub(crate) fn unfit(why: fmt::Arguments<'_>) -> Trouble {
    Trouble::Unfit(Text::of(why))
}

/// The kernel does something else than Linux.
pub(crate) fn wrong<T>(what: fmt::Arguments<'_>) -> Result<T, Trouble> {
    Err(Trouble::Wrong(Text::of(what)))
}

/// The time of a thread was up before the scenario had made its call.
pub(crate) fn late<T>(who: &str) -> Result<T, Trouble> {
    Err(Trouble::Late(Text::of(format_args!("the time of {who} was up before the call that is asked about"))))
}

/// The kernel does something else than Linux, which no lack of time explains: once is enough.
pub(crate) fn proven<T>(what: fmt::Arguments<'_>) -> Result<T, Trouble> {
    Err(Trouble::Proven(Text::of(what)))
}
