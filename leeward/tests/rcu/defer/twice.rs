//! A head that is queued again while it is queued ends the process with a line, by whichever thread
//! finds it. Each case is a process of its own.

use super::*;

use std::ptr::NonNull;
use std::sync::mpsc::{self, Receiver, Sender};

use leeward::rcu::Head;

leeward::rcu_domain! { struct First; }
leeward::rcu_domain! { struct Other; }

const SENTENCE: &str = "leeward: defer_raw called again with the head 0x";

#[test]
fn a_head_that_was_queued_last() {
    let said = cases::aborts("queued_last", SENTENCE);
    // The call itself found it.
    let caller = said.lines().find_map(|line| line.strip_prefix("the caller is ")).expect("the case says so");
    assert!(said.contains(&format!("(thread {caller})\n")), "{said}");
}

#[test]
fn a_head_that_is_queued() {
    cases::aborts("queued", SENTENCE);
}

#[test]
fn a_head_that_is_in_a_batch() {
    cases::aborts("in_a_batch", SENTENCE);
}

#[test]
fn a_head_that_two_domains_queue() {
    cases::aborts("in_two_domains", SENTENCE);
}

/// Does what the case's name says, which ends this process.
pub fn case() {
    let _dog = Watchdog::new("case");
    match cases::current().as_str() {
        "queued_last" => queued_last(),
        "queued" => queued(),
        "in_a_batch" => in_a_batch(),
        "in_two_domains" => in_two_domains(),
        other => panic!("there is no case {other}"),
    }
}

fn head() -> NonNull<Head> {
    NonNull::from(Box::leak(Box::<Head>::default()))
}

/// Queues a head, whose function does nothing.
fn queue<D: Domain>(head: NonNull<Head>) {
    unsafe extern "C-unwind" fn nothing(_: NonNull<Head>) {}
    // SAFETY: not kept, which is what these tests are about; the head lives forever.
    unsafe { D::defer_raw(head, nothing) };
}

/// A callback that has its worker wait.
struct Held {
    begun: Receiver<()>,
    end: Sender<()>,
}

impl Held {
    /// Queues the callback.
    fn new() -> Held {
        let (begin, begun) = mpsc::channel();
        let (end, ended) = mpsc::channel();
        First::defer(move || {
            begin.send(()).unwrap();
            ended.recv().unwrap();
        });
        Held { begun, end }
    }

    /// Waits until the callback runs.
    fn wait(&self) {
        self.begun.recv().unwrap();
    }

    /// Has the callback return.
    fn end(self) {
        self.end.send(()).unwrap();
    }
}

fn queued_last() {
    let held = Held::new();
    held.wait();
    let head = head();
    queue::<First>(head);
    // SAFETY: has no precondition.
    eprintln!("the caller is {}", unsafe { libc::gettid() });
    queue::<First>(head);
    held.end();
}

fn queued() {
    let held = Held::new();
    held.wait();
    let twice = head();
    queue::<First>(twice);
    queue::<First>(head());
    queue::<First>(twice);
    held.end();
    First::barrier();
}

fn in_a_batch() {
    let before = Held::new();
    before.wait();
    // These two are one batch, which is taken when the callback before has returned.
    let first = Held::new();
    let twice = head();
    queue::<First>(twice);
    before.end();
    first.wait();
    queue::<First>(twice);
    first.end();
    First::barrier();
}

fn in_two_domains() {
    let held = Held::new();
    held.wait();
    let twice = head();
    queue::<First>(twice);
    queue::<First>(head());
    queue::<Other>(twice);
    Other::barrier();
    held.end();
    First::barrier();
}
