//! A host that panics when the test says so: in one callback, at its n-th call.

use std::alloc::Layout;
use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::Pin;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU32, Ordering};
use std::task::{Context, Waker};

use leeward_engine::{
    Access, Address, Clock, Config, Deadline, Engine, Errno, Fault, Flag, Heap, Host, Memory, ParkEnd, Priority,
    SharedKey, Space, WaitAsync, Word,
};

pub const ANY: u32 = u32::MAX;
/// How many rechecks of a lock mean that it is never given up.
const FOR_EVER: u32 = 1_000_000;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Callback {
    Off,
    On,
    Load,
    Exchange,
    FaultIn,
    Resolve,
    InRange,
    Threads,
    Task,
    Priority,
    Park,
    Unpark,
    Allocate,
    Wake,
}

pub const ALL: [Callback; 14] = [
    Callback::Off,
    Callback::On,
    Callback::Load,
    Callback::Exchange,
    Callback::FaultIn,
    Callback::Resolve,
    Callback::InRange,
    Callback::Threads,
    Callback::Task,
    Callback::Priority,
    Callback::Park,
    Callback::Unpark,
    Callback::Allocate,
    Callback::Wake,
];

/// Panics at the n-th call of one callback, and is disarmed by that.
#[derive(Clone, Default)]
pub struct Fuse(Arc<(AtomicU32, AtomicI64)>);

impl Fuse {
    pub fn light(&self, callback: Callback, calls: i64) {
        self.0.0.store(callback as u32, Ordering::Relaxed);
        self.0.1.store(calls, Ordering::Relaxed);
    }

    /// Disarms the fuse; returns true if it had not panicked.
    pub fn put_out(&self) -> bool {
        self.0.1.swap(0, Ordering::Relaxed) > 0
    }

    fn pass(&self, callback: Callback) {
        if self.0.0.load(Ordering::Relaxed) == callback as u32 && self.0.1.load(Ordering::Relaxed) > 0 {
            let left = self.0.1.fetch_sub(1, Ordering::Relaxed) - 1;
            assert!(left != 0, "host: {callback:?}");
        }
    }
}

/// The heap as the engine's memory, with a fuse.
#[derive(Clone)]
pub struct Blocks(Fuse);

// SAFETY: the heap's.
unsafe impl Memory for Blocks {
    fn allocate(&self, layout: Layout, node: Option<u32>) -> Option<NonNull<u8>> {
        self.0.pass(Callback::Allocate);
        Heap.allocate(layout, node)
    }

    unsafe fn free(&self, block: NonNull<u8>, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { Heap.free(block, layout) };
    }
}

pub struct Panicky {
    pub space: Space<Panicky>,
    pub fuse: Fuse,
    pub words: Vec<Cell<u32>>,
    pub missing: Cell<bool>,
    pub threads: Cell<u32>,
    pub priority: Cell<u32>,
    /// How deep preemption is turned off.
    pub off: Cell<i32>,
    /// What happens while a thread sleeps.
    pub meanwhile: RefCell<Option<Box<dyn FnOnce()>>>,
}

impl Panicky {
    pub fn new(fuse: &Fuse) -> Panicky {
        Panicky {
            space: Space::new(1, 7, Blocks(fuse.clone())),
            fuse: fuse.clone(),
            words: (0..64).map(|_| Cell::new(0)).collect(),
            missing: Cell::new(false),
            threads: Cell::new(1),
            priority: Cell::new(0),
            off: Cell::new(0),
            meanwhile: RefCell::default(),
        }
    }

    fn word(&self, address: Address) -> Result<&Cell<u32>, Fault> {
        if self.missing.get() { Err(Fault) } else { self.words.get(address as usize / 4).ok_or(Fault) }
    }
}

/// A time without preemption, and how deep it was turned off before.
pub struct Off<'a>(&'a Panicky, i32);

impl Drop for Off<'_> {
    fn drop(&mut self) {
        let depth = self.0.off.get();
        self.0.off.set(depth - 1);
        // Also where a callback panicked: a second panic aborts.
        assert_eq!(depth, self.1 + 1, "what was made last is dropped first");
        self.0.fuse.pass(Callback::On);
    }
}

impl Host for Panicky {
    type Task = ();
    type Memory = Blocks;
    type Preemption<'a> = Off<'a>;

    fn space(&self) -> &Space<Panicky> {
        &self.space
    }
    fn threads(&self) -> u32 {
        self.fuse.pass(Callback::Threads);
        self.threads.get()
    }
    fn in_range(&self, _: Address) -> bool {
        self.fuse.pass(Callback::InRange);
        true
    }
    fn load(&self, address: Address) -> Result<u32, Fault> {
        self.fuse.pass(Callback::Load);
        self.word(address).map(Cell::get)
    }
    fn compare_exchange(&self, address: Address, old: u32, new: u32) -> Result<u32, Fault> {
        self.fuse.pass(Callback::Exchange);
        let word = self.word(address)?;
        Ok(if word.get() == old { word.replace(new) } else { word.get() })
    }
    fn read(&self, _: Address, _: &mut [u8]) -> Result<(), Fault> {
        Err(Fault)
    }
    fn fault_in(&self, _: Address, _: Access) -> Result<(), Errno> {
        self.fuse.pass(Callback::FaultIn);
        self.missing.set(false);
        Ok(())
    }
    fn resolve_shared(&self, address: Address, _: Access) -> Result<SharedKey, Errno> {
        self.fuse.pass(Callback::Resolve);
        Ok(SharedKey::Object { object: 3, offset: address })
    }
    fn priority(&self) -> Priority {
        self.fuse.pass(Callback::Priority);
        self.priority.set(self.priority.get().wrapping_add(1));
        Priority(self.priority.get() % 3)
    }
    fn task(&self, _: &Flag) {
        self.fuse.pass(Callback::Task);
    }
    fn park(&self, _: &Flag, _: Option<Deadline>) -> ParkEnd {
        self.fuse.pass(Callback::Park);
        match self.meanwhile.take() {
            None => ParkEnd::TimedOut,
            Some(what) => {
                what();
                ParkEnd::Unparked
            }
        }
    }
    fn unpark(&self, (): ()) {
        self.fuse.pass(Callback::Unpark);
    }
    fn now(&self, _: Clock) -> u64 {
        0
    }
    fn preempt_off(&self) -> Off<'_> {
        self.fuse.pass(Callback::Off);
        Off(self, self.off.replace(self.off.get() + 1))
    }
    fn spin(&self, tries: u32) {
        assert!(tries < FOR_EVER, "a lock was left held");
    }
}

/// A waker that may panic too, as a future's executor.
struct Tell(Fuse);
impl std::task::Wake for Tell {
    fn wake(self: Arc<Self>) {
        self.0.pass(Callback::Wake);
    }
}

pub type Waiting<'a> = Pin<Box<WaitAsync<'a, Panicky>>>;

pub struct Case {
    pub engine: Engine<Panicky>,
    pub host: Panicky,
}

impl Case {
    pub fn new(private_tables: bool) -> Case {
        let fuse = Fuse::default();
        let config = Config { private_tables, ..Config::small(1) };
        Case { engine: Engine::new(config, Blocks(fuse.clone())).unwrap(), host: Panicky::new(&fuse) }
    }

    /// Makes a case whose global table has 4 buckets at first, and may grow.
    pub fn growing() -> Case {
        let fuse = Fuse::default();
        let config = Config { buckets: 4, most_buckets: 64, ..Config::small(1) };
        Case { engine: Engine::new(config, Blocks(fuse.clone())).unwrap(), host: Panicky::new(&fuse) }
    }

    /// Returns a future that waits.
    pub fn waiting(&self, word: Word) -> Waiting<'_> {
        let waker = Waker::from(Arc::new(Tell(self.host.fuse.clone())));
        let mut future = Box::pin(self.engine.wait_async(&self.host, word, 0, ANY));
        assert!(future.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        future
    }

    pub fn many(&self, word: Word, count: usize) -> Vec<Waiting<'_>> {
        (0..count).map(|_| self.waiting(word)).collect()
    }

    #[track_caller]
    pub fn nobody_is_left(&self, what: &str) {
        let (host, engine) = (&self.host, &self.engine);
        assert_eq!(host.off.get(), 0, "{what}: preemption");
        // This would panic if a lock were held.
        assert_eq!(engine.stats(host).waiters + host.space.stats(host).waiters, 0, "{what}: waiters");
        for word in (0..32).flat_map(|i| [Word::private(4 * i), Word::shared(4 * i)]) {
            assert_eq!(engine.wake(host, word, u32::MAX, ANY), Ok(0), "{what}: {word:?}");
        }
    }
}

/// Runs `what` without printing the panics that are meant.
pub fn quietly<R>(what: impl FnOnce() -> R) -> R {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let loudly = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !info.to_string().contains("host: ") {
                loudly(info);
            }
        }));
    });
    what()
}
