//! Calls in several holds of a lock, with waiters that wait again as soon as they are woken: such a
//! call ends with the waiters that were there when it began, also where the space gets its own
//! table meanwhile, whose sequence numbers begin anew.

#![allow(missing_docs)]

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Wake, Waker};

use leeward_engine::{
    Access, Address, Arithmetic, Clock, Comparison, Config, Deadline, Engine, Errno, Fault, Flag, Heap, Host, ParkEnd,
    Requeue, SharedKey, Space, WaitAsync, WakeOp, Word,
};

struct Simple {
    space: Space<Simple>,
    threads: Cell<u32>,
    /// How often a word was found too busy; `Some` makes each try fail.
    busy: Cell<Option<u32>>,
}

impl Host for Simple {
    type Task = ();
    type Memory = Heap;
    type Preemption<'a> = ();

    fn space(&self) -> &Space<Simple> {
        &self.space
    }
    fn threads(&self) -> u32 {
        self.threads.get()
    }
    fn in_range(&self, _: Address) -> bool {
        true
    }
    fn load(&self, _: Address) -> Result<u32, Fault> {
        Ok(0)
    }
    fn compare_exchange(&self, _: Address, _: u32, _: u32) -> Result<u32, Fault> {
        Ok(0)
    }
    fn fetch_op(&self, _: Address, _: Arithmetic, _: u32) -> Result<Option<u32>, Fault> {
        let busy = self.busy.get();
        self.busy.set(busy.map(|tries| tries + 1));
        Ok(busy.is_none().then_some(0))
    }
    fn read(&self, _: Address, _: &mut [u8]) -> Result<(), Fault> {
        Err(Fault)
    }
    fn fault_in(&self, _: Address, _: Access) -> Result<(), Errno> {
        Err(Errno::EFAULT)
    }
    fn resolve_shared(&self, _: Address, _: Access) -> Result<SharedKey, Errno> {
        Ok(SharedKey::Anonymous)
    }
    fn task(&self, _: &Flag) {}
    fn park(&self, _: &Flag, _: Option<Deadline>) -> ParkEnd {
        ParkEnd::TimedOut
    }
    fn unpark(&self, (): ()) {}
    fn now(&self, _: Clock) -> u64 {
        0
    }
    fn preempt_off(&self) {}
}

/// A bound on the calls: far more than the waiters when a call begins, and fewer than the sequence
/// numbers that were given before.
const MOST: usize = 1_000;

type Waiting = Pin<Box<WaitAsync<'static, Simple>>>;

#[derive(Clone, Copy)]
struct Case {
    engine: &'static Engine<Simple>,
    host: &'static Simple,
    word: Word,
}

thread_local! {
    static CASE: Cell<Option<Case>> = const { Cell::new(None) };
    static WAITING: RefCell<Vec<Waiting>> = const { RefCell::new(Vec::new()) };
}

/// A waker whose future waits again as soon as it is woken.
struct Again;
impl Wake for Again {
    fn wake(self: Arc<Self>) {
        let Some(case) = CASE.get() else { return };
        if WAITING.with_borrow(Vec::len) < MOST {
            wait(case);
        }
    }
}

fn wait(case: Case) {
    let mut future = Box::pin(case.engine.wait_async(case.host, case.word, 0, 1));
    let again = Waker::from(Arc::new(Again));
    assert!(future.as_mut().poll(&mut Context::from_waker(&again)).is_pending());
    WAITING.with_borrow_mut(|waiting| waiting.push(future));
}

/// Runs `call` while `count` futures wait for a word, each of which waits again when it is woken.
/// `threads` is the number of threads of the space before the call begins, and afterwards.
fn with(word: Word, count: usize, threads: [u32; 2], call: impl FnOnce(Case) -> u32) {
    let config = Config { buckets: 1, ..Config::small(1).with_private_tables() };
    let engine = Box::leak(Box::new(Engine::new(config, Heap).unwrap()));
    let host = Box::leak(Box::new(Simple {
        space: Space::new(1, 7, Heap),
        threads: Cell::new(threads[0]),
        busy: Cell::new(None),
    }));
    let case = Case { engine, host, word };
    // Sequence numbers are given out.
    for _ in 0..2 * MOST {
        _ = engine.wait(host, word, 0, 1, None);
    }
    (0..count).for_each(|_| wait(case));
    host.threads.set(threads[1]);
    CASE.set(Some(case));
    assert_eq!(call(case), count as u32);
    CASE.set(None);
    WAITING.take();
    assert_eq!(engine.stats(host).waiters + host.space.stats(host).waiters, 0);
}

fn with_each(count: usize, call: impl Fn(Case) -> u32) {
    with(Word::shared(8), count, [1, 1], &call);
    // The table stays; or the space gets its own, or a larger one.
    for threads in [[1, 1], [2, 2], [1, 2], [2, 100]] {
        with(Word::private(8), count, threads, &call);
    }
}

/// Numbers of waiters: as many as are woken under one hold, and more.
const COUNTS: [usize; 4] = [16, 17, 32, 50];

#[test]
fn a_wake_of_one_word() {
    for count in COUNTS {
        with_each(count, |case| case.engine.wake(case.host, case.word, u32::MAX, 1).unwrap());
    }
}

#[test]
fn a_requeue() {
    for count in COUNTS {
        with_each(count, |case| {
            let to = Word { address: 12, ..case.word };
            match case.engine.requeue(case.host, case.word, to, u32::MAX, 0, None).unwrap() {
                Requeue::Done(count) => count,
                Requeue::Changed => unreachable!("nothing was compared"),
            }
        });
    }
}

#[test]
fn a_wake_of_two_words() {
    let op = WakeOp { arithmetic: Arithmetic::Set, argument: 0, comparison: Some(Comparison::Equal), against: 0 };
    for count in COUNTS {
        with_each(count, |case| {
            let other = Word { address: 12, ..case.word };
            case.engine.wake_op(case.host, case.word, u32::MAX, other, op, u32::MAX).unwrap()
        });
        with_each(count, |case| {
            let other = Word { address: 12, ..case.word };
            case.engine.wake_op(case.host, other, u32::MAX, case.word, op, u32::MAX).unwrap()
        });
    }
}

#[test]
fn a_word_that_others_never_let_go() {
    let engine = Engine::new(Config::small(1), Heap).unwrap();
    let host = Simple { space: Space::new(1, 7, Heap), threads: Cell::new(1), busy: Cell::new(Some(0)) };
    let op = WakeOp { arithmetic: Arithmetic::Set, argument: 0, comparison: Some(Comparison::Equal), against: 0 };
    assert_eq!(engine.wake_op(&host, Word::shared(8), 1, Word::shared(12), op, 1), Err(Errno::EAGAIN));
    assert_eq!(host.busy.get(), Some(10_000));
}
