//! What the tests share: a memory that grows, ways to sleep, and waiting for waiters.
#![allow(dead_code, reason = "each test program uses a part")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::thread;

use leeward_engine::{Config, Flag, ParkEnd};
use leeward_wasm::{GuestMemory, LinearMemory, Parker, Runtime, Threads};

pub const PAGE: u64 = 65536;
/// The most pages that a memory here may have.
const MOST: u64 = 4;

/// A memory with room for its maximum, shared or not.
pub struct Pages {
    words: Box<[AtomicU64]>,
    length: AtomicU64,
    shared: bool,
}

impl Pages {
    pub fn new(pages: u64, shared: bool) -> Arc<Pages> {
        let words = (0..MOST * PAGE / 8).map(|_| AtomicU64::new(0)).collect();
        Arc::new(Pages { words, length: AtomicU64::new(pages * PAGE), shared })
    }

    /// Adds a page, as memory.grow does.
    pub fn grow(&self) {
        assert!(self.length.fetch_add(PAGE, SeqCst) < MOST * PAGE);
    }

    pub fn store64(&self, offset: u64, value: u64) {
        self.words[offset as usize / 8].store(value, SeqCst);
    }
}

impl LinearMemory for Pages {
    fn length(&self) -> u64 {
        self.length.load(SeqCst)
    }

    fn is_shared(&self) -> bool {
        self.shared
    }

    fn load32(&self, offset: u64) -> Option<u32> {
        let word = self.load64(offset & !7)?;
        (offset % 4 == 0).then_some((word >> (8 * (offset & 4))) as u32)
    }

    fn load64(&self, offset: u64) -> Option<u64> {
        let within = offset % 8 == 0 && offset.checked_add(8)? <= self.length();
        within.then(|| self.words[offset as usize / 8].load(SeqCst))
    }
}

pub type Memory<P = Threads> = GuestMemory<Arc<Pages>, P>;

/// Makes a runtime whose threads sleep by `parker`.
pub fn runtime<P: Parker>(parker: P) -> Runtime<Arc<Pages>, P> {
    Runtime::new(Config::small(0x5eed), parker).unwrap()
}

/// Makes a shared memory of one page in a runtime of its own.
pub fn memory() -> Memory {
    runtime(Threads::default()).memory(Pages::new(1, true))
}

/// Returns when `count` threads and futures wait in a memory.
pub fn until_waiters<P: Parker>(memory: &Memory<P>, count: u64) {
    while memory.stats().waiters != count {
        thread::yield_now();
    }
}

/// Threads whose sleeps end all the time for no reason, and whose words seem to need comparing.
#[derive(Default)]
pub struct Restless(pub AtomicU64);

impl Parker for Restless {
    type Task = ();

    fn task(&self, _: &Flag) {}

    fn park(&self, _: &Flag, until: Option<u64>) -> ParkEnd {
        thread::yield_now();
        match self.0.fetch_add(1, SeqCst) % 2 {
            _ if until.is_some_and(|until| self.now() >= until) => ParkEnd::TimedOut,
            0 => ParkEnd::Unparked,
            _ => ParkEnd::Recheck,
        }
    }

    fn unpark(&self, (): ()) {}

    fn now(&self) -> u64 {
        self.0.load(SeqCst)
    }

    fn spin(&self, _: u32) {
        thread::yield_now();
    }
}

/// A clock that stands still, and threads that note until when they would sleep. Their sleep ends
/// as `end` says.
pub struct Noting {
    pub now: u64,
    pub end: ParkEnd,
    pub until: std::sync::Mutex<Vec<Option<u64>>>,
}

impl Parker for Noting {
    type Task = ();

    fn task(&self, _: &Flag) {}

    fn park(&self, _: &Flag, until: Option<u64>) -> ParkEnd {
        self.until.lock().unwrap().push(until);
        self.end
    }

    fn unpark(&self, (): ()) {}

    fn now(&self) -> u64 {
        self.now
    }
}
