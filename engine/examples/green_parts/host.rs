//! Futexes for green threads: `park` suspends the green thread, and its carrier goes on to another
//! one. `Runtime` is what green threads call; the engine calls `Local`; both call `scheduler`.

#[macro_use]
#[path = "../common_parts/own_words.rs"]
mod own_words;

use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use leeward_engine::{
    Access, Address, Clock, Config, Deadline, Engine, Errno, Fault, Flag, Heap, Host, ParkEnd, SharedKey, Space, Wait,
};
use own_words::name;

use super::scheduler::{Cancelled, Pause, Report, Shared, Stuck};

/// The host: words of this process that are borrowed while they are waited for.
struct Local {
    space: Space<Local>,
    scheduler: Shared,
}

impl Host for Local {
    /// A green thread's number, which is never another one's.
    type Task = usize;
    type Memory = Heap;
    type Preemption<'a> = ();

    fn space(&self) -> &Space<Local> {
        &self.space
    }

    fn threads(&self) -> u32 {
        self.scheduler.threads()
    }

    own_words! {}

    fn task(&self, _: &Flag) -> usize {
        self.scheduler.current()
    }

    /// Suspends the green thread. The waiter stays on its stack, which its carrier leaves.
    ///
    /// - If the wake comes before the carrier has noted that the thread is parked, `unpark` leaves
    ///   a token, and the carrier finds it: the thread is ready at once.
    /// - If it comes after, `unpark` finds a parked thread, and makes it ready.
    ///
    /// A thread that unwinds is not suspended.
    fn park(&self, _: &Flag, until: Option<Deadline>) -> ParkEnd {
        if thread::panicking() {
            return ParkEnd::Interrupted;
        }
        let until = until.map(|deadline| deadline.at).filter(|&at| at != u64::MAX);
        if until.is_some_and(|at| at <= self.scheduler.now()) {
            return ParkEnd::TimedOut;
        }
        if self.scheduler.suspend(Pause::Park(until)) {
            // The engine's guard takes the waiter out on the way.
            resume_unwind(Box::new(Cancelled));
        }
        ParkEnd::Unparked
    }

    fn unpark(&self, task: usize) {
        self.scheduler.unpark(task);
    }

    fn now(&self, _: Clock) -> u64 {
        self.scheduler.now()
    }

    fn preempt_off(&self) {}

    fn spin(&self, _: u32) {
        // A bucket's lock is held by another carrier, which may have lost its processor: carriers
        // are threads of the system. The green thread is not suspended, as a lock may be held here.
        thread::yield_now();
    }
}

/// What green threads call.
pub struct Runtime {
    engine: Engine<Local>,
    host: Local,
}

impl Runtime {
    /// Waits until a wake chooses this green thread, unless the word holds another value, or until
    /// the time `until`. Returns `Interrupted` in a destructor that runs because of a panic.
    ///
    /// # Panics
    /// Unwinds if the thread is cancelled. Panics outside of green threads.
    pub fn wait(&self, word: &AtomicU32, expected: u32, until: Option<u64>) -> Wait {
        let until = until.map(|at| Deadline { clock: Clock::Monotonic, at });
        self.engine.wait(&self.host, name(word), expected.into(), u32::MAX, until).expect("a word of this process")
    }

    /// Wakes up to `count` green threads; returns how many were woken.
    pub fn wake(&self, word: &AtomicU32, count: u32) -> u32 {
        self.engine.wake(&self.host, name(word), count, u32::MAX).expect("a word of this process")
    }

    /// Lets the other green threads that are ready run first.
    pub fn yield_now(&self) {
        self.host.scheduler.suspend(Pause::Yield);
    }

    pub fn now(&self) -> u64 {
        self.host.scheduler.now()
    }

    /// Has a green thread unwind at its current or next wait.
    pub fn cancel(&self, thread: usize) {
        self.host.scheduler.cancel(thread);
    }

    /// Returns how many green threads are in the engine's lists.
    pub fn waiting(&self) -> u64 {
        self.engine.stats(&self.host).waiters + self.host.space().stats(&self.host).waiters
    }
}

/// A scheduler with its green threads. Dropped, it unwinds those that are left.
pub struct Scheduler(Arc<Runtime>);

impl Scheduler {
    pub fn new() -> Scheduler {
        let host = Local { space: Space::new(1, 0x5eed, Heap), scheduler: Shared::default() };
        let config = Config::for_processors(2, 7);
        Scheduler(Arc::new(Runtime { engine: Engine::new(config, Heap).expect("memory for a table"), host }))
    }

    /// Returns what the green threads are passed.
    pub fn runtime(&self) -> &Arc<Runtime> {
        &self.0
    }

    /// Makes a green thread; returns its number.
    ///
    /// # Safety
    /// That of `Shared::spawn`: after each wait and yield the thread may go on with another carrier.
    pub unsafe fn spawn(&self, function: impl FnOnce(&Runtime) + Send + 'static) -> usize {
        let runtime = Arc::clone(&self.0);
        // SAFETY: the caller's promise.
        unsafe { self.0.host.scheduler.spawn(move || function(&runtime)) }
    }

    /// Runs the green threads on a number of threads of the system, until all have ended.
    ///
    /// # Errors
    /// [`Stuck`] if all that are left are parked without a deadline. They have been unwound, and
    /// the engine's lists are empty.
    pub fn run(&self, carriers: usize) -> Result<Report, Stuck> {
        let scheduler = &self.0.host.scheduler;
        thread::scope(|scope| {
            for carrier in 0..carriers {
                scope.spawn(move || scheduler.carry(carrier));
            }
        });
        let left = scheduler.unwind_all();
        if left == 0 { Ok(scheduler.report()) } else { Err(Stuck(left)) }
    }
}

impl Drop for Scheduler {
    fn drop(&mut self) {
        self.0.host.scheduler.unwind_all();
    }
}
