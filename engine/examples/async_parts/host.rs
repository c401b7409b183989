//! A host without threads: its waits are futures, and `park` is never reached.

#[macro_use]
#[path = "../common_parts/own_words.rs"]
mod own_words;

use std::sync::atomic::{AtomicU32, Ordering};

use leeward_engine::{
    Access, Address, Clock, Config, Deadline, Engine, Errno, Fault, Flag, Heap, Host, ParkEnd, SharedKey, Space, Wait,
};
use own_words::name;

/// The handle of a parked thread. There is none: futures are woken by their wakers, which the
/// engine keeps itself.
struct NoThread;

/// The host: words of this process that are borrowed while they are waited for.
struct Tasks {
    space: Space<Tasks>,
    /// How often the engine wanted to park a thread.
    parks: AtomicU32,
}

impl Host for Tasks {
    type Task = NoThread;
    type Memory = Heap;
    type Preemption<'a> = ();

    fn space(&self) -> &Space<Tasks> {
        &self.space
    }

    fn threads(&self) -> u32 {
        // Tasks that wait at once: tables grow with their waiters anyway.
        16
    }

    own_words! {}

    fn task(&self, _: &Flag) -> NoThread {
        NoThread
    }

    /// Refuses to sleep. Only a blocking wait comes here, and the thread that would sleep is the
    /// one that polls all tasks. `Interrupted` ends that wait with an answer. `Unparked` would have
    /// the engine call again without end, and a real sleep would stop the task that is to wake.
    fn park(&self, _: &Flag, _: Option<Deadline>) -> ParkEnd {
        // Relaxed: a count.
        self.parks.fetch_add(1, Ordering::Relaxed);
        ParkEnd::Interrupted
    }

    fn unpark(&self, NoThread: NoThread) {}

    fn now(&self, _: Clock) -> u64 {
        // Futures have no deadline: time-outs are the executor's.
        0
    }
    fn preempt_off(&self) {}
}

/// Futexes whose waits are futures.
pub struct Futexes {
    engine: Engine<Tasks>,
    host: Tasks,
}

impl Futexes {
    pub fn new() -> Futexes {
        let host = Tasks { space: Space::new(1, 0x5eed, Heap), parks: AtomicU32::new(0) };
        let config = Config::small(7).with_private_tables();
        Futexes { engine: Engine::new(config, Heap).expect("memory for a table"), host }
    }

    /// Waits until a wake of the word chooses this future, unless the word holds another value than
    /// `expected`. To give up, drop it: a wake that had chosen it goes to the next waiter.
    pub async fn wait(&self, word: &AtomicU32, expected: u32) -> Wait {
        let wait = self.engine.wait_async(&self.host, name(word), expected.into(), u32::MAX);
        wait.await.expect("a word of this process")
    }

    /// Wakes up to `count` futures; returns how many were woken.
    pub fn wake(&self, word: &AtomicU32, count: u32) -> u32 {
        self.engine.wake(&self.host, name(word), count, u32::MAX).expect("a word of this process")
    }

    /// Calls the wait that blocks, which such a host refuses.
    pub fn wait_blocking(&self, word: &AtomicU32, expected: u32) -> Wait {
        let end = self.engine.wait(&self.host, name(word), expected.into(), u32::MAX, None);
        end.expect("a word of this process")
    }

    /// Returns how many futures wait.
    pub fn waiting(&self) -> u64 {
        self.engine.stats(&self.host).waiters + self.host.space().stats(&self.host).waiters
    }

    /// Returns how often a thread would have been parked.
    pub fn parks(&self) -> u32 {
        // Relaxed: a count.
        self.host.parks.load(Ordering::Relaxed)
    }
}
