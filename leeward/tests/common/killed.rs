//! Children that are killed at each of their system calls in turn, before it and after it.

#![allow(dead_code, missing_docs)]

use super::processes::child;
use super::step;

/// A bound on the system calls: more than any work here makes.
const MOST: usize = 500;

/// Runs `work` in children: the first is killed where its first system call begins, the next where
/// that call has ended, the next at the second call, and so on, until one child finishes. After
/// each, calls `look` with the number of the stop at which the child was killed, from 0. Returns
/// how many were killed; 0, with a printed reason, where processes may not be traced.
#[track_caller]
pub fn at_every_call(work: impl Fn() -> bool, mut look: impl FnMut(usize)) -> Option<usize> {
    for stop in 0..MOST {
        let traced = child(|| {
            if !step::let_the_parent_trace() {
                return false;
            }
            step::stop();
            work()
        });
        if step::wait(traced).unwrap() != Some(libc::SIGSTOP) {
            println!("skipped: this process may not trace another");
            return None;
        }
        let ended = (0..=stop).any(|_| step::to_the_next_call(traced).unwrap().is_none());
        if ended {
            return Some(stop);
        }
        // SAFETY: a child of ours that was not waited for.
        unsafe { libc::kill(traced, libc::SIGKILL) };
        while step::wait(traced).unwrap().is_some() {}
        look(stop);
    }
    panic!("it never ends");
}
