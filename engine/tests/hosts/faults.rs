//! Words that fault: whatever a page does, no lock is held when the host is asked for it, the
//! operation goes on from what it finds then, and the host may call the engine meanwhile.

#![allow(missing_docs)]

#[path = "../common/paged.rs"]
mod paged;

use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use leeward_engine::abi::{FUTEX_OWNER_DIED as DIED, FUTEX_WAITERS as WAITERS};
use leeward_engine::{
    Arithmetic, Comparison, Config, Engine, Errno, Heap, Host, Requeue, RobustExit, Wait, WaitAny, WaitAsync,
    WaitEntry, WakeOp, WalkEnd, Word,
};
use paged::{ME, PAGE, Page, Paged};

const ANY: u32 = u32::MAX;
/// A word of page 0, which is there; the page that faults is 1.
const HERE: Word = Word::private(64);
const LATE: Word = Word::private(PAGE + 64);
const ALSO: Word = Word::private(PAGE + 68);
/// Adds 1; wakes the second word's waiters if it was 0.
const ADD: WakeOp =
    WakeOp { arithmetic: Arithmetic::Add, argument: 1, comparison: Some(Comparison::Equal), against: 0 };

struct Case {
    host: Paged,
    engine: Rc<Engine<Paged>>,
}

type Waiting<'a> = Pin<Box<WaitAsync<'a, Paged>>>;

impl Case {
    fn new(late: Page) -> Case {
        let config = Config::small(1).with_private_tables();
        Case { host: Paged::new(&[Page::There, late]), engine: Rc::new(Engine::new(config, Heap).unwrap()) }
    }

    fn wait(&self, word: Word) -> Result<Wait, Errno> {
        self.engine.wait(&self.host, word, 0, ANY, None)
    }

    fn waitv(&self, words: &[Word]) -> Result<WaitAny, Errno> {
        let mut entries: Vec<_> = words.iter().map(|word| WaitEntry::new(*word, 0)).collect();
        self.engine.waitv(&self.host, &mut entries, None)
    }

    fn requeue(&self, from: Word, to: Word) -> Result<Requeue, Errno> {
        self.engine.requeue(&self.host, from, to, 0, 9, Some(0))
    }

    fn wake_op(&self, word: Word, on: Word) -> Result<u32, Errno> {
        self.engine.wake_op(&self.host, word, 9, on, ADD, 9)
    }

    fn wake(&self, word: Word) -> u32 {
        self.engine.wake(&self.host, word, 9, ANY).unwrap()
    }

    /// Returns a future that waits, on a word whose page is there.
    fn waiter(&self, word: Word) -> Waiting<'_> {
        let mut waiter =
            Box::pin(self.engine.wait_async(&self.host, word, self.host.word(word.address).get().into(), ANY));
        assert!(poll(&mut waiter).is_pending());
        waiter
    }

    /// Writes a list of three locks that are held and waited for; the second lock's word, and its
    /// entry, are in the page that faults.
    fn list(&self) {
        const HEAD: u64 = 512;
        let entries = [128, PAGE + 128, 256];
        for (i, entry) in entries.into_iter().enumerate() {
            self.host.put(entry, entries.get(i + 1).copied().unwrap_or(HEAD));
            self.host.word(entry + 8).set(ME | WAITERS);
        }
        self.host.put(HEAD, entries[0]);
        self.host.put(HEAD + 8, 8);
        self.host.head.set(HEAD);
    }

    fn exit(&self) -> RobustExit {
        self.engine.exit_robust(&self.host, 100)
    }

    fn waiting(&self) -> u64 {
        self.engine.stats(&self.host).waiters + self.host.space().stats(&self.host).waiters
    }
}

fn poll(waiter: &mut Waiting<'_>) -> Poll<Result<Wait, Errno>> {
    waiter.as_mut().poll(&mut Context::from_waker(Waker::noop()))
}

const WOKEN: Poll<Result<Wait, Errno>> = Poll::Ready(Ok(Wait::Woken));
const LOCKS: [u64; 3] = [136, PAGE + 136, 264];

#[test]
fn a_page_that_comes_and_goes_is_asked_for_until_it_stays() {
    for again in [0, 1, 5, 100] {
        let late = || {
            let case = Case::new(Page::Late(again));
            case.host.threads.set(1 + again);
            case
        };
        let asked = |case: &Case, times: u32| {
            assert_eq!((case.host.faults.get(), case.waiting()), (times * (again + 1), 0));
        };
        for word in [LATE, Word::shared(LATE.address)] {
            let case = late();
            assert_eq!(case.wait(word), Ok(Wait::TimedOut));
            asked(&case, 1);
            let case = late();
            assert_eq!(case.waitv(&[HERE, word, ALSO]), Ok(WaitAny::TimedOut));
            asked(&case, 1);
        }
        let case = late();
        let mut future = Box::pin(case.engine.wait_async(&case.host, LATE, 0, ANY));
        assert!(poll(&mut future).is_pending());
        assert_eq!(case.wake(LATE), 1);
        assert_eq!(poll(&mut future), WOKEN);
        asked(&case, 1);

        // Waiters come before the page goes.
        let case = Case::new(Page::There);
        let mut waiter = case.waiter(LATE);
        case.host.set_page(1, Page::Late(again));
        assert_eq!(case.requeue(LATE, HERE), Ok(Requeue::Done(1)));
        assert_eq!((case.wake(LATE), case.wake(HERE)), (0, 1));
        assert_eq!(poll(&mut waiter), WOKEN);
        asked(&case, 1);

        let case = Case::new(Page::There);
        let mut waiters = [HERE, LATE].map(|word| case.waiter(word));
        case.host.set_page(1, Page::Late(again));
        assert_eq!(case.wake_op(HERE, LATE), Ok(2));
        assert!(waiters.iter_mut().all(|waiter| poll(waiter) == WOKEN));
        assert_eq!(case.host.word(LATE.address).get(), 1);
        asked(&case, 1);

        let case = late();
        case.list();
        assert_eq!(case.exit(), RobustExit { entries: 3, marked: 3, woken: 0, end: WalkEnd::Whole });
        assert!(LOCKS.iter().all(|lock| case.host.word(*lock).get() == DIED | WAITERS));
        asked(&case, 1);
    }
}

#[test]
fn a_page_that_comes_to_be_read_only() {
    let case = Case::new(Page::LateReadOnly);
    assert_eq!(case.wait(LATE), Ok(Wait::TimedOut));
    assert_eq!(case.host.faults.get(), 1);
    case.host.set_page(1, Page::LateReadOnly);
    assert_eq!(case.waitv(&[HERE, LATE]), Ok(WaitAny::TimedOut));
    case.host.set_page(1, Page::LateReadOnly);
    assert_eq!(case.requeue(LATE, HERE), Ok(Requeue::Done(0)));
    // The word cannot be written: no waiter is woken, and none is touched.
    for page in [Page::LateReadOnly, Page::ReadOnly] {
        let case = Case::new(Page::There);
        let mut waiters = [HERE, LATE].map(|word| case.waiter(word));
        case.host.set_page(1, page);
        assert_eq!(case.wake_op(HERE, LATE), Err(Errno::EFAULT));
        assert!(waiters.iter_mut().all(|waiter| poll(waiter).is_pending()));
        assert_eq!(case.host.word(LATE.address).get(), 0);
        case.list();
        assert_eq!(case.exit(), RobustExit { entries: 2, marked: 1, woken: 0, end: WalkEnd::Fault });
        assert_eq!(LOCKS.map(|lock| case.host.word(lock).get()), [DIED | WAITERS, ME | WAITERS, ME | WAITERS]);
    }
}

#[test]
fn a_page_that_never_comes_is_an_errno_and_leaves_nobody_queued() {
    for late in [LATE, Word::shared(LATE.address)] {
        let case = Case::new(Page::Never);
        assert_eq!(case.wait(late), Err(Errno::EFAULT));
        assert_eq!(case.waitv(&[HERE, ALSO, late]), Err(Errno::EFAULT));
        assert_eq!(case.waiting(), 0);
        let here = Word { scope: late.scope, ..HERE };
        let mut waiter = case.waiter(here);
        assert_eq!(case.requeue(late, here), Err(Errno::EFAULT));
        assert_eq!(case.wake_op(here, late), Err(Errno::EFAULT));
        assert!(poll(&mut waiter).is_pending() && case.waiting() == 1);
    }
    let case = Case::new(Page::Never);
    case.list();
    assert_eq!(case.exit(), RobustExit { entries: 2, marked: 1, woken: 0, end: WalkEnd::Fault });
}

#[test]
fn a_value_that_changes_while_the_page_is_asked_for_is_the_one_that_counts() {
    let change = |case: &Case| case.host.while_serving(|host, address| host.word(address).set(7));
    for word in [LATE, Word::shared(LATE.address)] {
        let case = Case::new(Page::Late(0));
        change(&case);
        assert_eq!(case.wait(word), Ok(Wait::Changed));
        let case = Case::new(Page::Late(0));
        change(&case);
        assert_eq!(case.waitv(&[HERE, word]), Ok(WaitAny::Changed));
        assert_eq!(case.waiting(), 0);
    }
    let case = Case::new(Page::There);
    let mut waiters = [HERE, LATE].map(|word| case.waiter(word));
    case.host.set_page(1, Page::Late(0));
    change(&case);
    assert_eq!(case.requeue(LATE, HERE), Ok(Requeue::Changed));
    case.host.set_page(1, Page::Late(0));
    // It was 7: the sum is 8, and the second word's waiter sleeps on.
    assert_eq!(case.wake_op(HERE, LATE), Ok(1));
    assert_eq!(case.host.word(LATE.address).get(), 8);
    assert!(poll(&mut waiters[0]) == WOKEN && poll(&mut waiters[1]).is_pending());
    // A lock goes to another thread while the dying thread waits for its page.
    let case = Case::new(Page::Late(0));
    case.list();
    case.host.while_serving(|host, address| host.word(address).set(5 | WAITERS));
    assert_eq!(case.exit(), RobustExit { entries: 3, marked: 2, woken: 0, end: WalkEnd::Whole });
    assert_eq!(case.host.word(LOCKS[1]).get(), 5 | WAITERS);
}

#[test]
fn the_host_may_call_the_engine_while_it_serves_a_fault() {
    // A wake of the awaited word finds no waiter yet; and the wait sleeps, as the value is the
    // same.
    let case = Case::new(Page::Late(0));
    let engine = case.engine.clone();
    case.host.while_serving(move |host, _| {
        assert_eq!(engine.wake(host, LATE, 9, ANY), Ok(0));
        assert_eq!(engine.wait(host, HERE, 0, ANY, None), Ok(Wait::TimedOut));
        // The very word: another fault, which is served.
        assert_eq!(engine.wait(host, LATE, 0, ANY, None), Ok(Wait::TimedOut));
    });
    assert_eq!(case.wait(LATE), Ok(Wait::TimedOut));
    assert_eq!((case.host.faults.get(), case.waiting()), (2, 0));

    // None of a group is queued meanwhile.
    let case = Case::new(Page::Late(0));
    let engine = case.engine.clone();
    case.host.while_serving(move |host, _| {
        assert_eq!(engine.wake(host, HERE, 9, ANY), Ok(0));
        let mut entries = [HERE, LATE].map(|word| WaitEntry::new(word, 0));
        assert_eq!(engine.waitv(host, &mut entries, None), Ok(WaitAny::TimedOut));
    });
    assert_eq!(case.waitv(&[HERE, LATE]), Ok(WaitAny::TimedOut));
    assert_eq!(case.waiting(), 0);

    // A requeue, whose waiter is moved on meanwhile; a wake-op whose waiters are woken.
    let case = Case::new(Page::There);
    let mut waiters = [LATE, LATE, HERE].map(|word| case.waiter(word));
    case.host.set_page(1, Page::Late(0));
    let engine = case.engine.clone();
    case.host.while_serving(move |host, _| {
        assert_eq!(engine.requeue(host, LATE, ALSO, 0, 1, None), Ok(Requeue::Done(1)));
        assert_eq!(engine.requeue(host, LATE, HERE, 0, 9, Some(0)), Ok(Requeue::Done(1)));
    });
    assert_eq!(case.requeue(LATE, HERE), Ok(Requeue::Done(0)));
    case.host.set_page(1, Page::Late(0));
    let engine = case.engine.clone();
    case.host.while_serving(move |host, _| {
        assert_eq!(engine.wake_op(host, HERE, 1, ALSO, ADD, 0), Ok(1));
    });
    assert_eq!(case.wake_op(HERE, ALSO), Ok(1));
    assert_eq!(case.host.word(ALSO.address).get(), 2);
    let ends = waiters.each_mut().map(|waiter| poll(waiter) == WOKEN);
    // The waiter that was moved to the second word's queue waits on: its old value was 1.
    assert_eq!((ends, case.waiting()), ([false, true, true], 1));

    // A dying thread, whose list is forgotten already.
    let case = Case::new(Page::Late(0));
    case.list();
    let mut waiter = case.waiter(Word::shared(LOCKS[0]));
    let engine = case.engine.clone();
    case.host.while_serving(move |host, address| {
        assert_eq!(engine.exit_robust(host, 100), RobustExit::default());
        // No waiter of the page's word is left: those that waited for the lock before were woken.
        assert_eq!(engine.wake(host, Word::shared(LOCKS[0]), 9, ANY), Ok(0));
        assert_eq!(engine.wake(host, Word::shared(address), 1, ANY), Ok(0));
    });
    assert_eq!(case.exit().marked, 3);
    assert_eq!(poll(&mut waiter), Poll::Ready(Ok(Wait::Woken)));
}

#[test]
fn a_table_that_comes_while_a_fault_is_served_is_the_one_where_the_waiter_is_found() {
    let case = Case::new(Page::Late(0));
    let engine = case.engine.clone();
    case.host.while_serving(move |host, _| engine.reserve(host, 40));
    let engine = case.engine.clone();
    *case.host.sleep.borrow_mut() = Some(Box::new(move |host, _| {
        assert_eq!(host.space().stats(host).waiters, 1);
        assert_eq!(engine.wake(host, LATE, 1, ANY), Ok(1));
    }));
    assert_eq!(case.wait(LATE), Ok(Wait::Woken));
    assert_eq!((case.waiting(), case.engine.stats(&case.host).queued), (0, 0));
}

/// An executor's waker that notices a lock which is held when it is woken, as one that calls the
/// engine would.
struct Careful {
    locks: Arc<AtomicI32>,
    wakes: AtomicU32,
}

impl Wake for Careful {
    fn wake(self: Arc<Self>) {
        assert_eq!(self.locks.load(Ordering::Relaxed), 0, "a lock is held where others are woken");
        self.wakes.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn no_lock_is_held_when_waiters_are_told() {
    let case = Case::new(Page::There);
    let careful = Arc::new(Careful { locks: case.host.locks.clone(), wakes: AtomicU32::new(0) });
    let waker = Waker::from(careful.clone());
    let told = |word: Word, wake: &dyn Fn() -> u32| {
        let mut waiters: Vec<Waiting<'_>> =
            (0..40).map(|_| Box::pin(case.engine.wait_async(&case.host, word, 0, ANY))).collect();
        for waiter in &mut waiters {
            assert!(waiter.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        }
        let before = careful.wakes.load(Ordering::Relaxed);
        let woken = wake();
        assert_eq!(careful.wakes.load(Ordering::Relaxed) - before, woken);
    };
    told(HERE, &|| case.engine.wake(&case.host, HERE, 33, ANY).unwrap());
    told(HERE, &|| match case.engine.requeue(&case.host, HERE, LATE, 17, 0, Some(0)).unwrap() {
        Requeue::Done(count) => count,
        Requeue::Changed => 0,
    });
    told(HERE, &|| case.engine.wake_op(&case.host, HERE, 20, ALSO, ADD, 0).unwrap());
    // A thread in its sleep.
    let engine = case.engine.clone();
    *case.host.sleep.borrow_mut() = Some(Box::new(move |host, _| assert_eq!(engine.wake(host, HERE, 1, ANY), Ok(1))));
    assert_eq!(case.wait(HERE), Ok(Wait::Woken));
}
