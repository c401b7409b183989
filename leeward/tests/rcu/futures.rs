//! Grace periods as futures: ready after the sections that were open, woken once, on any executor;
//! dropped at any time, polled by several tasks in turn.

#![cfg(target_os = "linux")]
#![allow(missing_docs)]

#[path = "../common/mod.rs"]
mod common;

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

use common::*;
use leeward::rcu::{Domain, GracePeriod, RcuCell, Reader, Reclaimed};

/// Wakes a thread, and counts.
struct Unpark(Thread, AtomicUsize);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.1.fetch_add(1, Ordering::SeqCst);
        self.0.unpark();
    }
}

/// Runs a future on this thread. Returns its output, and how often it was woken.
fn block_on<F: Future>(future: F) -> (F::Output, usize) {
    let mut future = pin!(future);
    let unpark = Arc::new(Unpark(thread::current(), AtomicUsize::new(0)));
    let waker = Waker::from(Arc::clone(&unpark));
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return (output, unpark.1.load(Ordering::SeqCst));
        }
        thread::park();
    }
}

fn poll_once<F: Future + Unpin>(future: &mut F) -> Poll<F::Output> {
    Pin::new(future).poll(&mut Context::from_waker(Waker::noop()))
}

#[test]
fn it_is_ready_when_the_sections_have_ended() {
    leeward::rcu_domain! { struct D; }
    let _watch = Watchdog::new("a future and a section");
    let reader = Reader::<D>::register_in();
    let section = reader.read();
    // Only another thread may wait for this one's section.
    let (tell, told) = mpsc::channel();
    let waiter = thread::spawn(move || {
        let mut grace = D::synchronize_async();
        tell.send(poll_once(&mut grace)).unwrap();
        let ((), wakes) = block_on(grace);
        tell.send(Poll::Ready(())).unwrap();
        assert!(wakes <= 1, "{wakes} wakes");
    });
    assert_eq!(told.recv().unwrap(), Poll::Pending);
    never("the future is ready beside the section", || told.try_recv().is_ok());
    drop(section);
    assert_eq!(told.recv().unwrap(), Poll::Ready(()));
    waiter.join().unwrap();
}

#[test]
fn what_is_reclaimed_comes_back() {
    leeward::rcu_domain! { struct D; }
    let _watch = Watchdog::new("values that come back");
    let cell = RcuCell::<_, D>::new_in(String::from("0"));
    for turn in 1..100 {
        let (old, _) = block_on(cell.replace(turn.to_string()).reclaimed());
        assert_eq!(*old, (turn - 1).to_string());
    }
}

/// Of many that are dropped before they are polled, while they wait, and when they are ready, each value
/// is dropped once.
#[test]
fn dropped_futures_lose_nothing() {
    leeward::rcu_domain! { struct D; }
    static DROPS: AtomicUsize = AtomicUsize::new(0);
    struct Counted;
    impl Drop for Counted {
        fn drop(&mut self) {
            DROPS.fetch_add(1, Ordering::SeqCst);
        }
    }
    let _watch = Watchdog::new("futures that are dropped");
    let cell = RcuCell::<_, D>::new_in(Counted);
    let mut ready = 0;
    for turn in 0..300 {
        let mut future: Reclaimed<Counted, D> = cell.replace(Counted).reclaimed();
        if turn % 3 != 0 && poll_once(&mut future).is_ready() {
            ready += 1;
        } else if turn % 3 == 2 {
            D::barrier();
            let _ = poll_once(&mut future).map(drop);
        }
    }
    D::barrier();
    assert_eq!(DROPS.load(Ordering::SeqCst), 300, "{ready} were ready at once");
}

#[test]
fn the_last_poller_is_woken() {
    leeward::rcu_domain! { struct D; }
    let _watch = Watchdog::new("tasks that hand a future on");
    let reader = Reader::<D>::register_in();
    let section = reader.read();
    let (mut wakers, mut grace) = (Vec::new(), None::<GracePeriod<D>>);
    for _ in 0..3 {
        let unpark = Arc::new(Unpark(thread::current(), AtomicUsize::new(0)));
        let waker = Waker::from(Arc::clone(&unpark));
        wakers.push(unpark);
        grace = Some(
            thread::spawn(move || {
                let mut grace = grace.unwrap_or_else(D::synchronize_async);
                for _ in 0..2 {
                    assert!(Pin::new(&mut grace).poll(&mut Context::from_waker(&waker)).is_pending());
                }
                grace
            })
            .join()
            .unwrap(),
        );
    }
    drop(section);
    eventually("the last one is woken", || wakers[2].1.load(Ordering::SeqCst) == 1);
    assert_eq!([0, 1].map(|at: usize| wakers[at].1.load(Ordering::SeqCst)), [0, 0]);
    assert!(poll_once(&mut grace.unwrap()).is_ready());
    assert_eq!(Arc::strong_count(&wakers[0]), 1, "the waker was dropped");
}

/// A task is not kept alive, nor woken, by a future that it has dropped.
#[test]
fn a_dropped_future_lets_its_task_go() {
    leeward::rcu_domain! { struct D; }
    let _watch = Watchdog::new("a future that is dropped");
    let reader = Reader::<D>::register_in();
    let section = reader.read();
    let unpark = Arc::new(Unpark(thread::current(), AtomicUsize::new(0)));
    let waker = Waker::from(Arc::clone(&unpark));
    thread::spawn(move || {
        let mut grace = D::synchronize_async();
        assert!(Pin::new(&mut grace).poll(&mut Context::from_waker(&waker)).is_pending());
    })
    .join()
    .unwrap();
    assert_eq!(Arc::strong_count(&unpark), 1);
    drop(section);
    D::barrier();
    assert_eq!(unpark.1.load(Ordering::SeqCst), 0);
}

#[test]
fn an_own_section_is_refused_and_a_waker_that_panics_is_caught() {
    leeward::rcu_domain! { struct D; }
    struct Panics;
    impl Wake for Panics {
        fn wake(self: Arc<Self>) {
            panic!("expected");
        }
    }
    let _watch = Watchdog::new("panics about futures");
    let section = D::read();
    let refused = panic_of(|| assert!(poll_once(&mut D::synchronize_async()).is_pending()));
    assert!(refused.contains("inside a read section"), "{refused}");
    drop(section);
    let waker = Waker::from(Arc::new(Panics));
    let before = D::stats().callback_panics;
    let mut grace = D::synchronize_async();
    let is_ready = Pin::new(&mut grace).poll(&mut Context::from_waker(&waker)).is_ready();
    D::barrier();
    assert_eq!(D::stats().callback_panics - before, u64::from(!is_ready));
    assert!(poll_once(&mut grace).is_ready());
}

/// Tasks of several threads await, while readers come and go.
#[test]
fn many_tasks_at_once() {
    leeward::rcu_domain! { struct D; }
    let _watch = Watchdog::new("many tasks");
    let cell = RcuCell::<u64, D>::new_in(0);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for turn in 0..200 {
                    let old = block_on(cell.replace(turn).reclaimed()).0;
                    assert!(*old < 200);
                    assert!(*cell.load(&D::read()) < 200);
                }
            });
        }
    });
}

/// The worker's grace period ends in a panic of a stall's handler while a task waits: the task is
/// woken all the same, and no call but its own asks for that.
#[test]
fn a_task_waits_while_the_worker_fails() {
    leeward::rcu_domain! { struct D; }
    static PANICKED: AtomicUsize = AtomicUsize::new(0);
    let _watch = Watchdog::new("a worker that fails beside a task");
    let handler = |_: &_| {
        if PANICKED.fetch_add(1, Ordering::SeqCst) < 2 {
            panic!("the handler of a stall panics, which this test wants");
        }
    };
    D::set_stall_limit(Some(std::time::Duration::from_millis(1)), Some(handler));
    let reader = Reader::<D>::register_in();
    let section = reader.read();
    let cell = RcuCell::<_, D>::new_in(1);
    let old = cell.replace(2).reclaimed();
    let waits =
        [thread::spawn(|| block_on(D::synchronize_async()).0), thread::spawn(|| assert_eq!(*block_on(old).0, 1))];
    eventually("the handler has panicked", || PANICKED.load(Ordering::SeqCst) > 2);
    drop(section);
    waits.into_iter().for_each(|waits| waits.join().unwrap());
    D::barrier();
}

/// What is deferred runs although the worker failed meanwhile, and no later call asks for it.
#[test]
fn a_callback_runs_after_the_worker_has_failed() {
    leeward::rcu_domain! { struct D; }
    static PANICKED: AtomicUsize = AtomicUsize::new(0);
    let _watch = Watchdog::new("a worker that fails beside a callback");
    let handler = |_: &_| {
        if PANICKED.fetch_add(1, Ordering::SeqCst) < 2 {
            panic!("the handler of a stall panics, which this test wants");
        }
    };
    D::set_stall_limit(Some(std::time::Duration::from_millis(1)), Some(handler));
    let reader = Reader::<D>::register_in();
    let section = reader.read();
    let (tell, told) = mpsc::channel();
    D::defer(move || tell.send(()).unwrap());
    eventually("the handler has panicked", || PANICKED.load(Ordering::SeqCst) > 2);
    drop(section);
    told.recv().unwrap();
}

/// The panic of a first poll names the line that polls.
#[test]
fn a_refusal_names_its_caller() {
    leeward::rcu_domain! { struct D; }
    static LINE: AtomicUsize = AtomicUsize::new(0);
    let _watch = Watchdog::new("where a refusal comes from");
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        match info.location() {
            Some(place) if info.to_string().contains("awaited inside a read section") && place.file() == file!() => {
                LINE.store(place.line() as usize, Ordering::SeqCst);
            }
            _ => before(info),
        };
    }));
    let section = D::read();
    let mut grace = D::synchronize_async();
    let mut context = Context::from_waker(Waker::noop());
    panic_of(|| assert!(Pin::new(&mut grace).poll(&mut context).is_pending()));
    assert_eq!(LINE.load(Ordering::SeqCst), line!() as usize - 1);
    let mut value = RcuCell::<_, D>::new_in(1).replace(2).reclaimed();
    panic_of(|| drop(Pin::new(&mut value).poll(&mut context)));
    assert_eq!(LINE.load(Ordering::SeqCst), line!() as usize - 1);
    drop(section);
}
