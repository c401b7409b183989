//! The engine's own code under loom: waits, wakes, requeues, leaving, futures, and a table that grows meanwhile. A lost
//! wake-up is a deadlock, which loom reports; a waiter touched when it may be gone, or a list without its lock, a race.

#[path = "pi_loom_tests.rs"]
mod inheriting;

use core::pin::pin;
use core::task::{Context, Waker};
use std::boxed::Box;
use std::future::Future;
use std::rc::Rc;
use std::sync::Arc;
use std::vec::Vec;

use loom::thread;

use crate::atomic::{AtomicU32, Ordering, Tracked};
use crate::{
    Access, Address, Clock, Config, Deadline, Engine, Errno, Fault, Flag, Heap, Host, ParkEnd, Place, Requeue,
    SharedKey, Space, Wait, WaitAny, Word,
};

const ANY: u32 = u32::MAX;

/// Words that threads of a model share; a wait with a deadline times out as soon as it would sleep.
struct Model {
    space: Space<Model>,
    words: Vec<AtomicU32>,
}

impl Host for Model {
    type Task = thread::Thread;
    type Memory = Heap;

    fn space(&self) -> &Space<Model> {
        &self.space
    }
    fn threads(&self) -> u32 {
        // Tables are made by the models themselves.
        1
    }
    fn in_range(&self, _: Address) -> bool {
        true
    }
    fn load(&self, address: Address) -> Result<u32, Fault> {
        // Relaxed: the engine promises no more.
        Ok(self.words[address as usize / 4].load(Ordering::Relaxed))
    }
    fn compare_exchange(&self, address: Address, old: u32, new: u32) -> Result<u32, Fault> {
        // AcqRel: as near as loom comes to full ordering.
        let word = &self.words[address as usize / 4];
        let (Ok(was) | Err(was)) = word.compare_exchange(old, new, Ordering::AcqRel, Ordering::Acquire);
        Ok(was)
    }
    fn read(&self, _: Address, _: &mut [u8]) -> Result<(), Fault> {
        Err(Fault)
    }
    fn fault_in(&self, _: Address, _: Access) -> Result<(), Errno> {
        Err(Errno::EFAULT)
    }
    fn resolve_shared(&self, address: Address, _: Access) -> Result<SharedKey, Errno> {
        Ok(SharedKey::Object { object: 1, offset: address })
    }
    fn task(&self, _: &Flag) -> thread::Thread {
        thread::current()
    }
    fn park(&self, flag: &Flag, until: Option<Deadline>) -> ParkEnd {
        if until.is_some() {
            return ParkEnd::TimedOut;
        }
        while flag.is_waiting() {
            thread::park();
        }
        ParkEnd::Unparked
    }
    fn unpark(&self, task: thread::Thread) {
        task.unpark();
    }
    fn now(&self, _: Clock) -> u64 {
        0
    }
    fn spin(&self, _: u32) {}
}

#[derive(Clone)]
struct Case {
    engine: Arc<Engine<Model>>,
    host: Arc<Model>,
}

/// Two words whose buckets are not the same.
const FROM: Word = Word::shared(0);
const TO: Word = Word::shared(4);
const SOON: Option<Deadline> = Some(Deadline { clock: Clock::Monotonic, at: 1 });

impl Case {
    fn new(buckets: usize) -> Case {
        // A seed with which the two words are apart.
        let config = Config { nodes: 1, buckets, private_tables: true, seed: 2 };
        let words = (0..4).map(|_| AtomicU32::new(0)).collect();
        let host = Model { space: Space::new(1, 2, Heap), words };
        Case { engine: Arc::new(Engine::new(config, Heap).unwrap()), host: Arc::new(host) }
    }

    fn wait(&self, word: Word, until: Option<Deadline>) -> Wait {
        self.engine.wait(&self.host, word, 0, ANY, until).unwrap()
    }

    fn wake(&self, word: Word, count: u32) -> u32 {
        self.engine.wake(&self.host, word, count, ANY).unwrap()
    }

    fn store(&self, word: Word) {
        // Relaxed: the wake's fence is what orders it.
        self.host.words[word.address as usize / 4].store(1, Ordering::Relaxed);
    }

    fn spawn<T: 'static>(&self, what: impl FnOnce(&Case) -> T + 'static) -> thread::JoinHandle<T> {
        let case = self.clone();
        thread::spawn(move || what(&case))
    }

    /// Nobody is left in any list.
    fn is_empty(&self) -> bool {
        self.engine.stats(&self.host).waiters == 0 && self.host.space().stats(&self.host).waiters == 0
    }
}

fn explore(preemptions: usize, model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = builder.preemption_bound.or(Some(preemptions));
    builder.check(model);
}

#[test]
fn the_two_words_have_two_buckets() {
    explore(0, || {
        let case = Case::new(2);
        let bucket = |word| {
            let call = crate::engine::Call::new(&*case.engine, &*case.host);
            let key = call.key(word, Access::Read).unwrap();
            core::ptr::from_ref(call.bucket(&key))
        };
        assert_ne!(bucket(FROM), bucket(TO));
    });
}

/// One waits, one stores and wakes: it ends.
fn no_wake_is_lost(word: Word) {
    explore(3, move || {
        let case = Case::new(1);
        let waiter = case.spawn(move |case| case.wait(word, None));
        case.store(word);
        let woken = case.wake(word, 1);
        assert_eq!(waiter.join().unwrap(), if woken == 1 { Wait::Woken } else { Wait::Changed });
        assert!(case.is_empty());
    });
}

#[test]
fn a_wait_and_a_wake() {
    no_wake_is_lost(FROM);
}

#[test]
fn a_private_wait_and_a_wake_without_a_table() {
    no_wake_is_lost(Word::private(0));
}

#[test]
fn what_was_done_before_the_wake_is_seen_after_the_wait() {
    explore(3, || {
        let case = Case::new(1);
        let data = Rc::new(Tracked::new());
        let written = data.clone();
        let waker = case.spawn(move |case| {
            written.touch();
            case.store(FROM);
            case.wake(FROM, 1)
        });
        if case.wait(FROM, None) == Wait::Woken {
            data.touch();
        }
        waker.join().unwrap();
    });
}

#[test]
fn a_wait_that_times_out_eats_no_wake() {
    explore(2, || {
        let case = Case::new(1);
        let timed = case.spawn(|case| case.wait(FROM, SOON));
        let waiter = case.spawn(|case| case.wait(FROM, None));
        let one = case.wake(FROM, 1);
        case.store(FROM);
        let rest = case.wake(FROM, ANY);
        let ends = [timed.join().unwrap(), waiter.join().unwrap()];
        let woken = ends.iter().filter(|end| **end == Wait::Woken).count();
        assert_eq!(one + rest, woken as u32);
        assert!(case.is_empty());
    });
}

#[test]
fn leaving_while_being_requeued_and_woken() {
    explore(2, || {
        let case = Case::new(2);
        let timed = case.spawn(|case| case.wait(FROM, SOON));
        let waker = case.spawn(|case| case.wake(TO, 1));
        let moved = case.engine.requeue(&case.host, FROM, TO, 0, 1, Some(0)).unwrap();
        assert!(matches!(moved, Requeue::Done(0 | 1)));
        let woken = waker.join().unwrap() == 1;
        assert_eq!(timed.join().unwrap(), if woken { Wait::Woken } else { Wait::TimedOut });
        assert!(case.is_empty());
    });
}

#[test]
fn a_requeue_and_its_wake() {
    explore(2, || {
        let case = Case::new(2);
        let waiter = case.spawn(|case| case.wait(FROM, None));
        let back = case.spawn(|case| {
            // The other way round: two locks in two orders.
            case.engine.requeue(&case.host, TO, FROM, 0, 1, None).unwrap()
        });
        case.store(FROM);
        let moved = case.engine.requeue(&case.host, FROM, TO, 0, 1, Some(1)).unwrap();
        assert!(matches!(moved, Requeue::Done(0 | 1)));
        back.join().unwrap();
        let woken = case.wake(FROM, 1) + case.wake(TO, 1);
        assert_eq!(waiter.join().unwrap(), if woken == 1 { Wait::Woken } else { Wait::Changed });
        assert!(case.is_empty());
    });
}

#[test]
fn a_requeue_that_compares_leaves_no_waiter_of_the_old_value() {
    explore(2, || {
        let case = Case::new(2);
        let waiter = case.spawn(|case| case.wait(FROM, None));
        let changer = case.spawn(|case| case.store(FROM));
        // When the word has changed, whoever waits came before, and is moved.
        let moved = case.engine.requeue(&case.host, FROM, TO, 0, 1, Some(1)).unwrap();
        changer.join().unwrap();
        let left = case.wake(FROM, 1);
        assert!(left == 0 || moved == Requeue::Changed, "{left} was left behind by {moved:?}");
        let woken = left + case.wake(TO, 1);
        assert_eq!(waiter.join().unwrap(), if woken == 1 { Wait::Woken } else { Wait::Changed });
    });
}

#[test]
fn a_requeue_that_compares_moves_no_waiter_of_another_value() {
    explore(2, || {
        let case = Case::new(2);
        let waiter = case.spawn(|case| {
            case.store(FROM);
            case.engine.wait(&case.host, FROM, 1, ANY, None).unwrap()
        });
        let moved = case.engine.requeue(&case.host, FROM, TO, 0, 1, Some(0)).unwrap();
        assert!(matches!(moved, Requeue::Done(0) | Requeue::Changed), "{moved:?}");
        while case.wake(FROM, 1) == 0 {
            thread::yield_now();
        }
        assert_eq!(waiter.join().unwrap(), Wait::Woken);
    });
}

#[test]
fn a_wait_and_a_wake_while_the_table_grows() {
    explore(2, || {
        let case = Case::new(1);
        case.host.space.fit(&*case.host, 1);
        let word = Word::private(0);
        let waiter = case.spawn(move |case| case.wait(word, None));
        let grower = case.spawn(|case| case.host.space.fit(&*case.host, 2));
        case.store(word);
        let woken = case.wake(word, 1);
        grower.join().unwrap();
        assert_eq!(waiter.join().unwrap(), if woken == 1 { Wait::Woken } else { Wait::Changed });
        assert!(case.is_empty());
    });
}

#[test]
fn leaving_while_the_table_grows() {
    explore(3, || {
        let case = Case::new(1);
        case.host.space.fit(&*case.host, 1);
        let word = Word::private(0);
        let waiter = case.spawn(move |case| case.wait(word, SOON));
        case.host.space.fit(&*case.host, 2);
        let woken = case.wake(word, 1);
        assert_eq!(waiter.join().unwrap(), if woken == 1 { Wait::Woken } else { Wait::TimedOut });
        assert!(case.is_empty());
    });
}

#[test]
fn a_wait_and_a_wake_while_the_space_gets_its_table() {
    explore(2, || {
        let case = Case::new(1);
        let word = Word::private(0);
        let waiter = case.spawn(move |case| case.wait(word, None));
        let grower = case.spawn(|case| case.host.space.fit(&*case.host, 1));
        case.store(word);
        let woken = case.wake(word, 1);
        grower.join().unwrap();
        assert_eq!(waiter.join().unwrap(), if woken == 1 { Wait::Woken } else { Wait::Changed });
        assert!(case.is_empty());
    });
}

#[test]
fn a_future_that_is_dropped_passes_its_wake_on() {
    explore(2, || {
        let case = Case::new(1);
        let waker = case.spawn(|case| {
            case.store(FROM);
            case.wake(FROM, 1)
        });
        let waiter = case.spawn(|case| case.wait(FROM, None));
        {
            let mut future = Box::pin(case.engine.wait_async(&*case.host, FROM, 0, ANY));
            _ = future.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        }
        waker.join().unwrap();
        // The one wake is for the thread, if it sleeps: the future is gone.
        waiter.join().unwrap();
        assert!(case.is_empty());
    });
}

/// A waker that ends a thread's park.
struct Unpark(thread::Thread);
impl std::task::Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

#[test]
fn a_future_polled_anew_tells_the_last_context() {
    explore(3, || {
        let case = Case::new(1);
        let waker = case.spawn(|case| {
            case.store(FROM);
            case.wake(FROM, 1)
        });
        let mut future = pin!(case.engine.wait_async(&*case.host, FROM, 0, ANY));
        if future.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending() {
            let tell = Waker::from(Arc::new(Unpark(thread::current())));
            while future.as_mut().poll(&mut Context::from_waker(&tell)).is_pending() {
                thread::park();
            }
        }
        waker.join().unwrap();
        assert!(case.is_empty());
    });
}

fn waitv(case: &Case, until: Option<Deadline>) -> WaitAny {
    let mut places = [Place::new(FROM, 0), Place::new(TO, 0)];
    case.engine.waitv(&case.host, &mut places, until).unwrap()
}

#[test]
fn a_wait_on_two_words_and_a_wake_of_one() {
    explore(3, || {
        let case = Case::new(2);
        let waiter = case.spawn(|case| waitv(case, None));
        case.store(TO);
        let woken = case.wake(TO, 1);
        assert_eq!(waiter.join().unwrap(), if woken == 1 { WaitAny::Woken(1) } else { WaitAny::Changed });
        assert!(case.is_empty());
    });
}

#[test]
fn a_wait_on_two_words_and_a_wake_of_each() {
    explore(2, || {
        let case = Case::new(2);
        let waiter = case.spawn(|case| waitv(case, None));
        let other = case.spawn(|case| {
            case.store(FROM);
            case.wake(FROM, 1)
        });
        case.store(TO);
        let woken = case.wake(TO, 1);
        let end = waiter.join().unwrap();
        match (other.join().unwrap(), woken) {
            (0, 0) => assert_eq!(end, WaitAny::Changed),
            (1, 0) => assert_eq!(end, WaitAny::Woken(0)),
            _ => assert_eq!(end, WaitAny::Woken(1)),
        }
        assert!(case.is_empty());
    });
}

#[test]
fn a_wait_on_two_words_that_times_out_eats_no_wake() {
    explore(2, || {
        let case = Case::new(2);
        let timed = case.spawn(|case| waitv(case, SOON));
        let waiter = case.spawn(|case| case.wait(TO, None));
        case.store(TO);
        let woken = case.wake(TO, 2);
        let by_group = timed.join().unwrap() == WaitAny::Woken(1);
        let by_waiter = waiter.join().unwrap() == Wait::Woken;
        assert_eq!(woken, u32::from(by_group) + u32::from(by_waiter));
        assert!(case.is_empty());
    });
}
