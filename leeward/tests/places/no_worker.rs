//! Each waiting call where a domain's worker cannot be had: in a process that can start no thread, and
//! in one whose heavy fences were refused later, so that each worker ends. Every call ends, as its
//! documentation says.

#![cfg(all(target_os = "linux", not(leeward_symmetric)))]
#![allow(missing_docs)]

#[path = "../common/cases.rs"]
mod cases;
#[path = "../common/mod.rs"]
mod common;
#[path = "../common/seccomp.rs"]
mod seccomp;
#[path = "../common/waiting.rs"]
mod waiting;

use common::*;
use seccomp::{Action, Rule, When, refuse};
use waiting::{CALLS, D, End, block_on, call, has_each, must_end};

use End::{Panics, Returns};

use std::future::Future;
use std::sync::{Arc, mpsc};
use std::task::{Context, Wake, Waker};
use std::thread;

use leeward::fence;
use leeward::rcu::{Domain, Reader};

/// The sentence of a heavy fence that is impossible.
const NO_FENCE: &str = "leeward: no heavy fence is possible";

/// How each call ends where no thread can be started, and where no heavy fence is possible any more.
/// (None: a part that has no worker says of itself what it does then; its own tests show that.)
const ENDS: &[(&str, End, Option<End>)] = &[
    ("Domain::synchronize", Returns, Some(Panics(NO_FENCE))),
    ("Domain::barrier", Returns, Some(Panics(NO_FENCE))),
    ("Domain::poll_state", Returns, Some(Panics(NO_FENCE))),
    ("Domain::synchronize_async", Returns, Some(Panics(NO_FENCE))),
    ("Domain::defer, Wait", Returns, Some(Panics(NO_FENCE))),
    ("Domain::defer, WaitForever", Returns, Some(Panics(NO_FENCE))),
    ("Domain::defer, Expedite", Returns, Some(Panics(NO_FENCE))),
    ("Domain::try_defer", Returns, Some(Returns)),
    ("Retired::synchronize", Returns, Some(Panics(NO_FENCE))),
    ("Retired::try_into_box", Returns, Some(Panics(NO_FENCE))),
    ("Retired::reclaimed", Returns, Some(Panics(NO_FENCE))),
    ("Retired::drop", Returns, Some(Panics(NO_FENCE))),
    ("hazard::reclaim", Returns, Some(Returns)),
    ("Collector::synchronize", Returns, None),
    ("HashMap", Returns, None),
    ("Queue::pop", Returns, Some(Returns)),
    ("Bounded::pop", Returns, Some(Returns)),
];

#[test]
fn the_table_has_each_call() {
    has_each(ENDS.iter().map(|(name, ..)| *name));
}

#[test]
fn each_call_ends_without_threads() {
    CALLS.iter().for_each(|(name, _)| cases::passes(&format!("threads: {name}")));
}

#[test]
fn each_call_ends_without_fences() {
    let calls = ENDS.iter().filter(|(.., end)| end.is_some());
    calls.for_each(|(name, ..)| cases::passes(&format!("fences: {name}")));
}

/// Tasks of a process without threads wait for a reader, and for each other's grace periods.
#[test]
fn tasks_wait_for_readers_without_threads() {
    cases::passes("readers");
}

/// A task relies on a worker that runs, and that ends before it comes to the task's callback.
#[test]
fn a_task_is_told_that_the_worker_ends() {
    cases::passes("told");
}

/// Runs, in a process that was started for a case, that case.
#[test]
#[ignore = "started by the other tests"]
fn case() {
    let _dog = Watchdog::new("case");
    let case = cases::current();
    // Without a reader no heavy fence is needed.
    let reader = Reader::<D>::register_in();
    match case.split_once(": ") {
        Some(("threads", name)) => {
            refuse_threads();
            let (_, end, _) = ends_of(name);
            must_end(name, "without threads", end, &call(name));
            must_end(name, "again", end, &call(name));
        }
        Some(("fences", name)) => {
            // The worker works, and sleeps.
            D::defer(|| {});
            D::barrier();
            refuse_fences();
            let (_, _, end) = ends_of(name);
            must_end(name, "without fences", end.unwrap(), &call(name));
            must_end(name, "again", end.unwrap(), &call(name));
        }
        _ if case == "readers" => wait_for_readers(reader),
        _ if case == "told" => wait_for_a_worker_that_ends(),
        _ => println!("no such case: `{case}`"),
    }
}

fn ends_of(name: &str) -> (&'static str, End, Option<End>) {
    *ENDS.iter().find(|(known, ..)| *known == name).unwrap()
}

fn refuse_threads() {
    let clone = [libc::SYS_clone, libc::SYS_clone3];
    refuse(&clone.map(|number| Rule::new(number, When::Always, Action::Errno(libc::EAGAIN))));
}

fn refuse_fences() {
    let fences = [libc::SYS_membarrier, libc::SYS_rt_tgsigqueueinfo, libc::SYS_sched_setaffinity];
    refuse(&fences.map(|number| Rule::new(number, When::Always, Action::Errno(libc::EPERM))));
    assert!(fence::try_heavy().is_err());
}

fn wait_for_a_worker_that_ends() {
    // The worker is held in a callback while the task goes to sleep, and begins no batch before fences
    // are refused.
    let (begin, begun) = mpsc::channel();
    let (end, told) = mpsc::channel::<()>();
    D::defer(move || {
        begin.send(()).unwrap();
        told.recv().unwrap();
    });
    begun.recv().unwrap();
    let mut grace = Box::pin(D::synchronize_async());
    let (woken, wakes) = mpsc::channel();
    let waker = Waker::from(Arc::new(Tells(woken)));
    assert!(grace.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    refuse_fences();
    end.send(()).unwrap();
    wakes.recv().unwrap();
    assert!(panic_of(|| block_on(grace)).contains(NO_FENCE));
}

/// A waker that tells a thread.
struct Tells(mpsc::Sender<()>);

impl Wake for Tells {
    fn wake(self: Arc<Self>) {
        self.0.send(()).unwrap();
    }
}

fn wait_for_readers(reader: Reader<D>) {
    // The threads are there before threads are refused, and the domain needs a worker only then.
    let (entered, inside) = mpsc::channel();
    let (leave, told) = mpsc::channel::<()>();
    let reads = thread::spawn(move || {
        let guard = D::read();
        entered.send(()).unwrap();
        told.recv().unwrap();
        drop(guard);
    });
    let (tell, ready) = mpsc::channel();
    let waits = [0, 1].map(|_| {
        let (tell, (begin, begun)) = (tell.clone(), mpsc::channel::<()>());
        let waits = thread::spawn(move || {
            begun.recv().unwrap();
            D::defer(|| {});
            block_on(D::synchronize_async());
            tell.send(()).unwrap();
        });
        (begin, waits)
    });
    inside.recv().unwrap();
    refuse_threads();
    waits.iter().for_each(|(begin, _)| begin.send(()).unwrap());
    never("a task was ready beside a section", || ready.try_recv().is_ok());
    // A busy task does not issue a fence at each poll.
    let fences = D::stats().heavy_fences;
    assert!(fences < 10, "{fences} heavy fences");
    drop(reader);
    leave.send(()).unwrap();
    (0..2).for_each(|_| ready.recv().unwrap());
    reads.join().unwrap();
    waits.into_iter().for_each(|(_, waits)| waits.join().unwrap());
    D::barrier();
    assert_eq!(D::stats().callbacks_queued, 0);
}
