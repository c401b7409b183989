//! Orders of events that are arranged by the same means: a thread is stepped, and another goes on.

use std::path::Path;
use std::process::{Child, Stdio};

use leeward::rcu::{Domain, Reader};

use super::board::{self, Board, OVER};
use super::common::{eventually, panic_of};
use super::operations::Operation;
use super::seccomp::{Action, Rule, When, refuse};
use super::{cases, step, walk};

pub const OPERATIONS: &[Operation] = &[Operation::new("arranged::worker", defer_and_wait)];

leeward::rcu_domain! { struct D; }

/// Makes heavy fences impossible, so that the worker ends, and asks for what the worker should do. Ends
/// the process, in which little works now.
fn defer_and_wait() {
    // Without a reader no heavy fence is needed.
    let _reader = Reader::<D>::register_in();
    let fences = [libc::SYS_membarrier, libc::SYS_rt_tgsigqueueinfo, libc::SYS_sched_setaffinity];
    refuse(&fences.map(|number| Rule::new(number, When::Always, Action::Errno(libc::EPERM))));
    D::defer(|| {});
    assert!(panic_of(D::barrier).contains("no heavy fence is possible"));
    // SAFETY: ends the process without running what belongs to its other threads.
    unsafe { libc::_exit(0) };
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
    let output = case.wait_with_output().unwrap();
    assert!(output.status.success(), "{}: {}", output.status, String::from_utf8_lossy(&output.stderr));
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
    let _ = walk::to_its_end(thread, 0);
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
