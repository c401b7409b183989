//! A host that panics, in each callback and at each of its calls in turn: the panic passes through, and behind it nobody is in a list, no lock
//! is held, and preemption is as it was.

#![allow(missing_docs)]

use std::alloc::Layout;
use std::cell::{Cell, RefCell};
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU32, Ordering};
use std::task::{Context, Waker};

use leeward_engine::{
    Access, Address, Arithmetic, Clock, Comparison, Config, Deadline, Engine, Errno, Fault, Flag, Heap, Host, Memory,
    ParkEnd, Place, Priority, SharedKey, Space, WaitAsync, WakeOp, Word,
};

const ANY: u32 = u32::MAX;
/// Looks at a lock that is never given up.
const FOR_EVER: u32 = 1_000_000;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Callback {
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

const ALL: [Callback; 14] = [
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

/// Panics at the n-th call of one callback; disarmed by that.
#[derive(Clone, Default)]
struct Fuse(Arc<(AtomicU32, AtomicI64)>);

impl Fuse {
    fn light(&self, callback: Callback, calls: i64) {
        self.0.0.store(callback as u32, Ordering::Relaxed);
        self.0.1.store(calls, Ordering::Relaxed);
    }

    /// Whether it had not burnt down.
    fn put_out(&self) -> bool {
        self.0.1.swap(0, Ordering::Relaxed) > 0
    }

    fn pass(&self, callback: Callback) {
        if self.0.0.load(Ordering::Relaxed) == callback as u32 && self.0.1.load(Ordering::Relaxed) > 0 {
            let left = self.0.1.fetch_sub(1, Ordering::Relaxed) - 1;
            assert!(left != 0, "host: {callback:?}");
        }
    }
}

/// The heap.
#[derive(Clone)]
struct Blocks(Fuse);

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

struct Panicky {
    space: Space<Panicky>,
    fuse: Fuse,
    words: Vec<Cell<u32>>,
    missing: Cell<bool>,
    threads: Cell<u32>,
    priority: Cell<u32>,
    /// How far preemption is off.
    off: Cell<i32>,
    /// What happens while a thread sleeps.
    meanwhile: RefCell<Option<Box<dyn FnOnce()>>>,
}

impl Panicky {
    fn new(fuse: &Fuse) -> Panicky {
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

impl Host for Panicky {
    type Task = ();
    type Memory = Blocks;

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
    fn preempt_off(&self) {
        self.fuse.pass(Callback::Off);
        self.off.set(self.off.get() + 1);
    }
    fn preempt_on(&self) {
        self.off.set(self.off.get() - 1);
        self.fuse.pass(Callback::On);
    }
    fn spin(&self, tries: u32) {
        assert!(tries < FOR_EVER, "a lock was left held");
    }
}

/// Tells a future's executor, which may panic too.
struct Tell(Fuse);
impl std::task::Wake for Tell {
    fn wake(self: Arc<Self>) {
        self.0.pass(Callback::Wake);
    }
}

type Waiting<'a> = Pin<Box<WaitAsync<'a, Panicky>>>;

struct Case {
    engine: Engine<Panicky>,
    host: Panicky,
}

impl Case {
    fn new(private_tables: bool) -> Case {
        let fuse = Fuse::default();
        let config = Config { private_tables, ..Config::small(1) };
        Case { engine: Engine::new(config, Blocks(fuse.clone())).unwrap(), host: Panicky::new(&fuse) }
    }

    /// A future that waits.
    fn waiting(&self, word: Word) -> Waiting<'_> {
        let waker = Waker::from(Arc::new(Tell(self.host.fuse.clone())));
        let mut future = Box::pin(self.engine.wait_async(&self.host, word, 0, ANY));
        assert!(future.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        future
    }

    fn many(&self, word: Word, count: usize) -> Vec<Waiting<'_>> {
        (0..count).map(|_| self.waiting(word)).collect()
    }

    #[track_caller]
    fn nobody_is_left(&self, what: &str) {
        let (host, engine) = (&self.host, &self.engine);
        assert_eq!(host.off.get(), 0, "{what}: preemption");
        // Would say so if a lock were held.
        assert_eq!(engine.stats(host).waiters + host.space.stats(host).waiters, 0, "{what}: waiters");
        for word in (0..32).flat_map(|i| [Word::private(4 * i), Word::shared(4 * i)]) {
            assert_eq!(engine.wake(host, word, u32::MAX, ANY), Ok(0), "{what}: {word:?}");
        }
    }
}

/// Does `scenario` with a panic at each call of each callback; how often there was one.
fn at_each_call(private_tables: bool, name: &str, scenario: impl Fn(&Case)) -> u32 {
    let mut panics = 0;
    for callback in ALL {
        for call in 1.. {
            let case = Case::new(private_tables);
            case.host.fuse.light(callback, call);
            let end = catch_unwind(AssertUnwindSafe(|| scenario(&case)));
            let unburnt = case.host.fuse.put_out();
            case.nobody_is_left(&format!("{name}, {callback:?} {call}"));
            if unburnt {
                assert!(end.is_ok(), "{name}: {callback:?} {call}");
                break;
            }
            panics += u32::from(end.is_err());
        }
    }
    panics
}

/// Words of each kind: shared, private in the global table, private in the space's own.
fn each_kind(name: &str, least: u32, scenario: impl Fn(&Case, &dyn Fn(u64) -> Word)) {
    let panics = at_each_call(false, name, |case| scenario(case, &Word::shared))
        + at_each_call(false, name, |case| scenario(case, &Word::private))
        + at_each_call(true, name, |case| {
            case.host.threads.set(64);
            scenario(case, &Word::private);
        });
    assert!(panics >= least, "{name}: {panics}");
}

/// The panics that are meant are not printed.
fn quietly<R>(what: impl FnOnce() -> R) -> R {
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

#[test]
fn a_wait_that_times_out() {
    quietly(|| {
        each_kind("wait", 20, |case, word| {
            case.host.missing.set(true);
            _ = case.engine.wait(&case.host, word(8), 0, ANY, None);
            case.host.words[3].set(1);
            _ = case.engine.wait(&case.host, word(12), 0, ANY, None);
        });
    });
}

#[test]
fn a_wait_that_is_woken_or_moved() {
    quietly(|| {
        for moved in [false, true] {
            each_kind("wait and wake", 20, |case, word| {
                let (case_at, from, to) = (core::ptr::from_ref(case).addr(), word(8), word(12));
                *case.host.meanwhile.borrow_mut() = Some(Box::new(move || {
                    let case = core::ptr::with_exposed_provenance::<Case>(case_at);
                    // SAFETY: called in the wait below, which borrows it.
                    let case = unsafe { &*case };
                    if moved {
                        _ = case.engine.requeue(&case.host, from, to, 0, 1, None);
                    } else {
                        _ = case.engine.wake(&case.host, from, 1, ANY);
                    }
                }));
                _ = core::ptr::from_ref(case).expose_provenance();
                _ = case.engine.wait(&case.host, from, 0, ANY, None);
            });
        }
    });
}

#[test]
fn a_wait_on_several_words() {
    quietly(|| {
        each_kind("waitv", 40, |case, word| {
            let mut places = Box::new([8, 12, 16].map(|address| Place::new(word(address), 0)));
            case.host.missing.set(true);
            _ = case.engine.waitv(&case.host, &mut *places, None);
            // The second is not as expected: the first is taken out.
            case.host.words[3].set(1);
            _ = case.engine.waitv(&case.host, &mut *places, None);
        });
    });
}

#[test]
fn futures_that_are_dropped() {
    quietly(|| {
        each_kind("drop", 20, |case, word| {
            drop(case.many(word(8), 3));
            // The wake of one that is dropped goes to the next.
            let mut two = case.many(word(8), 2);
            _ = case.engine.wake(&case.host, word(8), 1, ANY);
            drop(two.swap_remove(0));
        });
    });
}

#[test]
fn a_future_that_is_polled_again() {
    quietly(|| {
        each_kind("poll", 10, |case, word| {
            let mut future = case.waiting(word(8));
            _ = future.as_mut().poll(&mut Context::from_waker(Waker::noop()));
            _ = case.engine.wake(&case.host, word(8), 1, ANY);
            _ = future.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        });
    });
}

#[test]
fn wakes_and_moves() {
    quietly(|| {
        each_kind("wake", 40, |case, word| {
            let waiting = case.many(word(8), 20);
            _ = case.engine.wake(&case.host, word(8), 18, ANY);
            drop(waiting);
            let waiting = case.many(word(8), 20);
            _ = case.engine.requeue(&case.host, word(8), word(12), 17, 9, Some(0));
            let op =
                WakeOp { arithmetic: Arithmetic::Add, argument: 1, comparison: Some(Comparison::Equal), against: 0 };
            _ = case.engine.wake_op(&case.host, word(8), 1, word(16), op, 1);
            drop(waiting);
        });
    });
}
