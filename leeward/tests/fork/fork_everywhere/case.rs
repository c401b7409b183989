//! The case's side: one thread walks through an operation, stopped at each step by the tracer, and
//! another forks when it is asked to. Each child uses everything once, under a time limit.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::thread;

use super::board::{self, Board, OVER};
use super::common::{is_asleep, patience};
use super::operations::Operation;
use super::{everything, step};

/// The exit code of a child that found nothing wrong.
const FINE: i32 = 0;
/// The exit code of a child that found something wrong.
const WRONG: i32 = 1;
/// The exit code of a child that panicked.
const PANICKED: i32 = 2;

/// Walks through the operation once for each board: at the first use of everything, and when
/// everything was used.
pub fn run(operation: &Operation) {
    // SAFETY: ends a case that hangs.
    unsafe { libc::alarm(time_limit()) };
    for (at, board) in board::inherited().iter().enumerate() {
        if at != 0 {
            assert!(everything::use_it(&board.part), "in the case itself: {}", part(board));
        }
        thread::scope(|scope| {
            scope.spawn(|| beside(operation, board));
            scope.spawn(|| stepped(operation, board));
            fork_when_asked(operation, board);
        });
    }
}

fn time_limit() -> u32 {
    let long = std::env::var("LEEWARD_LONG").is_ok_and(|long| long == "1");
    patience().as_secs() as u32 * if long { 200 } else { 16 }
}

fn part(board: &Board) -> &'static str {
    everything::name(board.part.load(Ordering::SeqCst))
}

/// Runs the thread that is stepped. It stops itself before and after the operation.
fn stepped(operation: &Operation, board: &Board) {
    let _over = Over(board);
    board.ready.wait(1, || false);
    board.object.iter().zip((operation.object)()).for_each(|(word, value)| word.store(value, Ordering::SeqCst));
    // SAFETY: has no precondition.
    board.thread.set(unsafe { libc::gettid() } as u32);
    board.traced.wait(1, || false);
    if board.traced.get() == OVER {
        return;
    }
    step::stop();
    (operation.run)();
    if !operation.ends {
        step::stop();
    }
}

/// Ends the thread beside the stepped one, whatever becomes of the latter.
pub struct Over<'a>(pub &'a Board);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.walked.set(1);
    }
}

/// Runs a thread freely, which holds what the operation waits for until the operation sleeps.
pub fn beside(operation: &Operation, board: &Board) {
    (operation.beside)(&Beside(board));
    board.ready.set(1);
}

/// What such a thread may ask.
pub struct Beside<'a>(&'a Board);

impl Beside<'_> {
    /// Lets the stepped thread begin.
    pub fn is_ready(&self) {
        self.0.ready.set(1);
    }

    /// Returns when the stepped thread sleeps in the kernel, or is through.
    pub fn until_it_sleeps(&self) {
        self.is_ready();
        self.0.thread.wait(1, || false);
        let thread = self.0.thread.get() as libc::pid_t;
        self.0.traced.wait(1, || false);
        while self.0.walked.get() == 0 && !is_asleep(thread) {
            // SAFETY: has no precondition.
            unsafe { libc::usleep(20) };
        }
    }
}

fn fork_when_asked(operation: &Operation, board: &Board) {
    // SAFETY: has no precondition.
    board.forking.store(unsafe { libc::gettid() }, Ordering::SeqCst);
    for number in 1.. {
        board.asked.wait(number, || false);
        if board.asked.get() == OVER {
            return;
        }
        board.begun.set(number);
        if board.before.get() != 0 {
            everything::begin_to_use_it();
        }
        // SAFETY: the child uses this library, atomics, and what the C library repairs in children.
        let child = match unsafe { libc::fork() } {
            0 => in_child(operation, board),
            child => child,
        };
        board.forked.set(number);
        assert_ne!(child, -1, "fork failed");
        let mut status = 0;
        // SAFETY: `status` is ours to write.
        while unsafe { libc::waitpid(child, &mut status, 0) } != child {}
        board.status.store(status, Ordering::SeqCst);
        board.ended.set(number);
    }
}

fn in_child(operation: &Operation, board: &Board) -> ! {
    // SAFETY: ends a child that hangs. Everything takes a while where the kernel's own grace periods
    // do, which it waits for when a process registers for fences that reach others.
    unsafe { libc::alarm(4 * patience().as_secs() as u32) };
    let code = match catch_unwind(AssertUnwindSafe(|| everything::use_it_in_child(&board.part, operation.left))) {
        Ok(true) => FINE,
        Ok(false) => WRONG,
        Err(_) => PANICKED,
    };
    // SAFETY: ends the child without running what belongs to the parent.
    unsafe { libc::_exit(code) }
}
