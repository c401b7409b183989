//! Orders of events that are arranged by the same means: a thread is stepped, and another goes on.

use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use leeward::rcu::Domain;

use super::board::{self, Board, OVER};
use super::case::Beside;
use super::common::eventually;
use super::operations::Operation;
use super::{cases, step, walk};

pub const OPERATIONS: &[Operation] =
    &[Operation::new("arranged::worker", defer_and_wait).beside(reads_until_the_worker_ends)];

leeward::rcu_domain! { struct D; }

static PANICKED: AtomicBool = AtomicBool::new(false);
static RAN: AtomicU32 = AtomicU32::new(0);

/// Makes the worker's first grace period panic, in the handler of a stall, which ends the worker.
fn defer_and_wait() {
    let panic = |_: &_| {
        if !PANICKED.swap(true, Ordering::SeqCst) {
            panic!("the handler of a stall panics");
        }
    };
    D::set_stall_limit(Some(Duration::from_millis(1)), Some(panic));
    D::defer(|| {
        RAN.fetch_add(1, Ordering::SeqCst);
    });
    D::barrier();
    assert_eq!(RAN.load(Ordering::SeqCst), 1);
}

fn reads_until_the_worker_ends(beside: &Beside<'_>) {
    let guard = D::read();
    beside.is_ready();
    eventually("the worker ends", || PANICKED.load(Ordering::SeqCst));
    drop(guard);
}

/// The starter says that its worker runs only after the worker has ended already.
#[test]
fn a_worker_that_ends_before_its_starter_has_said_that_it_runs() {
    let mut command = cases::command("arranged::worker");
    let (boards, file) = board::boards(&mut command);
    let mut case = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(file);
    boards[1].traced.set(OVER);
    boards[1].asked.set(OVER);
    hold_up_the_starter(&mut case, &boards[0]);
    boards[0].asked.set(OVER);
    cases::passed("arranged::worker", case.wait_with_output().unwrap());
}

/// Holds the stepped thread, where it has started another one, until that one is gone.
fn hold_up_the_starter(case: &mut Child, board: &Board) {
    assert!(board.thread.wait(1, || !matches!(case.try_wait(), Ok(None))), "the case ended");
    let thread = board.thread.get() as i32;
    if let Err(error) = step::seize(thread) {
        println!("skipped: this process may not trace another ({error})");
        board.traced.set(OVER);
        return;
    }
    board.traced.set(1);
    assert_eq!(step::wait(thread).unwrap(), Some(libc::SIGSTOP));
    let started = loop {
        assert_eq!(step::to_the_next_call(thread).unwrap(), Some(libc::SIGTRAP));
        let registers = super::step::registers(thread).unwrap();
        let is_start = matches!(registers.orig_rax as i64, libc::SYS_clone | libc::SYS_clone3);
        // At the call's end, `rax` is the number of the thread that was started.
        if is_start && registers.rax as i64 > 0 {
            break registers.rax;
        }
    };
    let task = format!("/proc/{}/task/{started}", case.id());
    eventually("the worker is gone", || !Path::new(&task).exists());
    walk::to_its_end(thread, 0).unwrap();
}

/// Two threads come first to the registry of what children repair, and to each item of it.
#[test]
fn two_that_come_first() {
    for (operation, least) in [("rcu::read", 5), ("futexes::lot", 2)] {
        let places = walk::two_that_come_first(operation);
        println!("{operation}: {places} places");
        assert!(places == 0 || places >= least, "{operation}: {places} places");
    }
}
