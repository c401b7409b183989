//! Each waiting call from where its domain calls the program: inside a callback of the domain, inside a
//! waker that such a callback calls, and in a destructor at the exit of a thread, which runs before or
//! after the library's own. Every call ends, as its documentation says.

#![cfg(target_os = "linux")]
#![allow(missing_docs)]

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/waiting.rs"]
mod waiting;

use common::*;
use waiting::{D, End, block_on, call, has_each, must_end};

use End::{Panics, Returns};

use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;

use leeward::rcu::{Domain, GracePeriod, Reader};

/// Held by each test: they share the calls' domain.
static ALONE: Mutex<()> = Mutex::new(());

const BARRIER: &str = "leeward: barrier() called inside a callback of the same domain";

/// How each call ends inside a callback and inside a waker, and at a thread's exit.
const ENDS: &[(&str, End, End)] = &[
    ("Domain::synchronize", Returns, Returns),
    ("Domain::barrier", Panics(BARRIER), Returns),
    ("Domain::poll_state", Returns, Returns),
    ("Domain::synchronize_async", Returns, Returns),
    ("Domain::defer, Wait", Returns, Returns),
    ("Domain::defer, WaitForever", Returns, Returns),
    ("Domain::defer, Expedite", Returns, Returns),
    ("Domain::try_defer", Returns, Returns),
    ("Retired::synchronize", Returns, Returns),
    ("Retired::try_into_box", Returns, Returns),
    ("Retired::reclaimed", Returns, Returns),
    ("Retired::drop", Returns, Returns),
    ("hazard::reclaim", Returns, Returns),
    ("Collector::synchronize", Returns, Returns),
    ("HashMap", Returns, Returns),
    ("Queue::pop", Returns, Returns),
    ("Bounded::pop", Returns, Returns),
];

type Ended = Result<(), String>;

#[test]
fn the_table_has_each_call() {
    has_each(ENDS.iter().map(|(name, ..)| *name));
}

#[test]
fn inside_a_callback() {
    let _alone = alone(&ALONE);
    let _reader = Reader::<D>::register_in();
    for &(name, end, _) in ENDS {
        let _dog = Watchdog::new(name);
        let (tell, told) = mpsc::channel();
        D::defer(move || tell.send(call(name)).unwrap());
        must_end(name, "in a callback", end, &told.recv().unwrap());
        D::barrier();
    }
}

/// A callback that runs on a thread which helps, not on the worker.
#[test]
fn inside_a_callback_on_a_caller() {
    let _alone = alone(&ALONE);
    leeward::rcu_domain! { struct Helped; }
    use leeward::rcu::{Limit, Policy};
    let _dog = Watchdog::new("a callback on a caller");
    let policy = Policy::Expedite(std::time::Duration::from_secs(3_600));
    Helped::set_limit(Limit { callbacks: 1, policy, ..Limit::default() });
    let (tell, told) = mpsc::channel();
    for _ in 0..3 {
        let tell = tell.clone();
        Helped::defer(move || {
            block_on(Helped::synchronize_async());
            tell.send(()).unwrap();
        });
    }
    Helped::barrier();
    (0..3).for_each(|_| told.recv().unwrap());
}

/// Makes a call when it wakes.
struct Calls(&'static str, Mutex<mpsc::Sender<Ended>>);

impl Wake for Calls {
    fn wake(self: Arc<Self>) {
        self.1.lock().unwrap().send(call(self.0)).unwrap();
    }
}

#[test]
fn inside_a_waker() {
    let _alone = alone(&ALONE);
    let reader = Reader::<D>::register_in();
    for &(name, end, _) in ENDS {
        let _dog = Watchdog::new(name);
        let (tell, told) = mpsc::channel();
        let waker = Waker::from(Arc::new(Calls(name, Mutex::new(tell))));
        let section = reader.read();
        // Polled on another thread: this one is in a section.
        let mut grace = D::synchronize_async();
        let grace = thread::spawn(move || {
            assert!(Pin::new(&mut grace).poll(&mut Context::from_waker(&waker)).is_pending());
            grace
        });
        let grace = grace.join().unwrap();
        drop(section);
        must_end(name, "in a waker", end, &told.recv().unwrap());
        drop(grace);
        D::barrier();
    }
}

/// Makes a call when it is dropped.
struct AtExit(Cell<Option<(&'static str, mpsc::Sender<Ended>)>>);

impl Drop for AtExit {
    fn drop(&mut self) {
        if let Some((name, tell)) = self.0.take() {
            tell.send(call(name)).unwrap();
        }
    }
}

thread_local! {
    static AT_EXIT: AtExit = const { AtExit(Cell::new(None)) };
}

#[test]
fn at_the_exit_of_a_thread() {
    let _alone = alone(&ALONE);
    let _reader = Reader::<D>::register_in();
    for &(name, _, end) in ENDS {
        let _dog = Watchdog::new(name);
        for is_first in [true, false] {
            let (tell, told) = mpsc::channel();
            let ends = thread::spawn(move || {
                // What is used first is destroyed last.
                let read = || drop(D::read());
                if !is_first {
                    read();
                }
                AT_EXIT.with(|at_exit| at_exit.0.set(Some((name, tell))));
                if is_first {
                    read();
                }
            });
            ends.join().unwrap();
            let place = if is_first { "after the library's destructor" } else { "before the library's destructor" };
            must_end(name, place, end, &told.recv().unwrap());
        }
        D::barrier();
    }
}

/// A future that was first polled outside, before the callback was queued, after it, and not at all.
#[test]
fn a_future_of_before_is_awaited_inside_a_callback() {
    let _alone = alone(&ALONE);
    let _dog = Watchdog::new("a future of before");
    let reader = Reader::<D>::register_in();
    for turn in 0..3 {
        let section = reader.read();
        let (tell, told) = mpsc::channel();
        let grace = Arc::new(Mutex::new(D::synchronize_async()));
        let poll = |grace: &Arc<Mutex<GracePeriod<D>>>| {
            let grace = Arc::clone(grace);
            // Another thread: this one is in a section.
            let polled = thread::spawn(move || poll_once(&mut grace.lock().unwrap()));
            assert!(polled.join().unwrap().is_pending());
        };
        if turn == 0 {
            poll(&grace);
        }
        let inside = Arc::clone(&grace);
        D::defer(move || {
            block_on(&mut *inside.lock().unwrap());
            tell.send(()).unwrap();
        });
        if turn == 1 {
            poll(&grace);
        }
        drop(section);
        told.recv().unwrap();
        D::barrier();
    }
}

fn poll_once(grace: &mut GracePeriod<D>) -> Poll<()> {
    Pin::new(grace).poll(&mut Context::from_waker(Waker::noop()))
}

/// A task that its waker polls in place, on the thread that wakes: the worker, inside a callback.
struct InPlace {
    /// The future, and how many grace periods are still to come.
    task: Mutex<Option<Pin<Box<dyn Future<Output = ()> + Send>>>>,
    /// True: it was woken, perhaps while it is polled.
    is_woken: std::sync::atomic::AtomicBool,
}

impl InPlace {
    fn run(self: &Arc<Self>) {
        use std::sync::atomic::Ordering::SeqCst;
        self.is_woken.store(true, SeqCst);
        // Who polls looks again after it.
        while let Some(mut task) = self.task.try_lock().ok().filter(|_| self.is_woken.swap(false, SeqCst)) {
            let waker = Waker::from(Arc::clone(self));
            let is_ready =
                task.as_mut().is_some_and(|task| task.as_mut().poll(&mut Context::from_waker(&waker)).is_ready());
            if is_ready {
                *task = None;
            }
        }
    }
}

impl Wake for InPlace {
    fn wake(self: Arc<Self>) {
        self.run();
    }
}

/// Such a task goes on from one grace period to the next, while readers come and go.
#[test]
fn a_task_that_its_waker_polls_in_place() {
    let _alone = alone(&ALONE);
    let _dog = Watchdog::new("a task that its waker polls");
    let (tell, told) = mpsc::channel();
    let task = async move {
        for turn in 0..50 {
            D::synchronize_async().await;
            tell.send(turn).unwrap();
        }
    };
    let is_woken = std::sync::atomic::AtomicBool::new(false);
    let task = Arc::new(InPlace { task: Mutex::new(Some(Box::pin(task))), is_woken });
    let reader = Reader::<D>::register_in();
    let section = reader.read();
    let runs = Arc::clone(&task);
    thread::spawn(move || runs.run()).join().unwrap();
    assert!(told.try_recv().is_err(), "the section is open");
    drop(section);
    for turn in 0..50 {
        drop(reader.read());
        assert_eq!(told.recv(), Ok(turn));
    }
    D::barrier();
    assert_eq!(D::stats().callback_panics, 0);
}
