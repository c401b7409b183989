//! Threads that report their exit and run on, and threads with a number of the test's choice.

// Each test program uses its part.
#![allow(dead_code)]

use std::sync::mpsc;
use std::thread::{Scope, ScopedJoinHandle};

use crate::realtime::me;

/// A thread that has done something and stays until the test lets it go.
pub struct Stayer<'scope> {
    pub number: u32,
    leave: mpsc::Sender<()>,
    thread: ScopedJoinHandle<'scope, ()>,
}

impl Stayer<'_> {
    /// Lets the thread end; it has ended when this returns, as far as the standard library knows.
    pub fn let_go(self) {
        drop(self.leave);
        self.thread.join().unwrap();
    }
}

/// Runs `first` on a new thread, which stays afterwards.
pub fn stayer<'scope>(threads: &'scope Scope<'scope, '_>, first: impl FnOnce() + Send + 'scope) -> Stayer<'scope> {
    let (ready, is_ready) = mpsc::channel();
    let (leave, left) = mpsc::channel();
    let thread = threads.spawn(move || {
        first();
        ready.send(me()).unwrap();
        // An error: it is let go.
        _ = left.recv();
    });
    Stayer { number: is_ready.recv().unwrap(), leave, thread }
}

const LAST_NUMBER: &str = "/proc/sys/kernel/ns_last_pid";

/// The system's thread numbers, rewound to begin after one, until this is dropped: for as short a
/// time as possible, since other programs get their numbers there too.
struct Rewound(String);

impl Rewound {
    fn before(number: u32) -> std::io::Result<Rewound> {
        let last = std::fs::read_to_string(LAST_NUMBER)?;
        std::fs::write(LAST_NUMBER, (number - 1).to_string())?;
        Ok(Rewound(last))
    }
}

impl Drop for Rewound {
    fn drop(&mut self) {
        _ = std::fs::write(LAST_NUMBER, &self.0);
    }
}

/// Runs `what` on a thread with that number, which no other thread has any more. `None`: this
/// process may not choose numbers, which is printed. No other test of the program should run beside
/// it, since numbers of threads that ended a moment ago may be given again.
pub fn with_number<T: Send>(number: u32, what: impl Fn() -> T + Sync) -> Option<T> {
    let start = std::time::Instant::now();
    while start.elapsed() < std::time::Duration::from_secs(10) {
        let Ok(rewound) = Rewound::before(number) else {
            println!("skipped: this process may not choose its threads' numbers");
            return None;
        };
        // Another process may have been faster.
        let work = || (me() == number).then(&what);
        let answer = std::thread::scope(|threads| {
            let thread = threads.spawn(work);
            drop(rewound);
            thread.join().unwrap()
        });
        if answer.is_some() {
            return answer;
        }
    }
    println!("skipped: number {number} is not to be had");
    None
}
