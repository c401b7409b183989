//! A thread that makes calls which may block, and that is observed at rest.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::mpsc::{Sender, channel};

use crate::calls::PRIVATE;
use crate::differential::{Sleep, sleep_in_a_wait};
use crate::guest::{Guest, gettid};

/// What stands in place of an answer while there is none.
pub const BUSY: i64 = i64::MIN;

/// A thread that makes calls when the test says so.
pub struct Worker {
    pub number: u32,
    calls: Option<Sender<[u64; 6]>>,
    pub state: Arc<State>,
    thread: Option<std::thread::JoinHandle<()>>,
}

pub struct State {
    /// True when it has taken its call, which may block.
    started: AtomicBool,
    pub answer: AtomicI64,
}

/// The ways in which a worker does not run.
#[derive(PartialEq)]
pub enum Rest {
    Idle,
    /// It sleeps in its call, or at its end with an answer that came meanwhile, which the next
    /// check shows.
    Asleep(Sleep),
}

pub type Asker = Arc<dyn Fn([u64; 6]) -> i64 + Send + Sync>;

impl Worker {
    pub fn new(guest: Arc<Guest>, ask: Asker, at_exit: Arc<dyn Fn() + Send + Sync>) -> Worker {
        let (calls, inbox) = channel::<[u64; 6]>();
        let (tell, number) = channel();
        let state = Arc::new(State { started: AtomicBool::new(false), answer: AtomicI64::new(0) });
        let there = state.clone();
        let thread = std::thread::spawn(move || {
            guest.begins();
            tell.send(gettid()).unwrap();
            for call in inbox {
                there.started.store(true, Ordering::SeqCst);
                let answer = ask(call);
                // The signal of `clean_up` interrupts no other calls.
                assert!(answer != -i64::from(libc::EINTR) || call[1] & !PRIVATE == 0, "{call:x?}");
                there.answer.store(answer, Ordering::SeqCst);
            }
            at_exit();
        });
        Worker { number: number.recv().unwrap(), calls: Some(calls), state, thread: Some(thread) }
    }

    pub fn is_idle(&self) -> bool {
        self.state.answer.load(Ordering::SeqCst) != BUSY
    }

    pub fn start(&self, call: [u64; 6]) {
        self.state.started.store(false, Ordering::SeqCst);
        self.state.answer.store(BUSY, Ordering::SeqCst);
        self.calls.as_ref().unwrap().send(call).unwrap();
    }

    /// Returns how the worker rests: it has its answer, or sleeps in its call; `None` if it runs.
    pub fn rest(&self) -> Option<Rest> {
        if self.is_idle() {
            return Some(Rest::Idle);
        }
        if !self.state.started.load(Ordering::SeqCst) {
            return None;
        }
        sleep_in_a_wait(self.number as i32).map(Rest::Asleep)
    }

    pub fn end(&mut self) {
        self.calls = None;
        self.thread.take().unwrap().join().unwrap();
        while std::fs::exists(format!("/proc/self/task/{}", self.number)).unwrap() {
            std::thread::yield_now();
        }
    }
}
