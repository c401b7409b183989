//! A thread that executes another program while heavy fences signal it: a signal that is queued to
//! it stays pending in that program, where it must do no harm.

#![cfg(all(target_os = "linux", not(leeward_symmetric)))]
#![allow(missing_docs)]

#[path = "../common/cases.rs"]
mod cases;
#[path = "../common/mod.rs"]
mod common;
#[path = "../common/processes.rs"]
mod processes;
#[path = "../common/signals.rs"]
mod signals;

use common::*;
use processes::{child, status_of};

use std::ffi::{CStr, CString, c_char};
use std::sync::mpsc::channel;
use std::thread;

use leeward::fence::{self, Strategy};

/// Replaces this program by another one.
fn execute(program: &CStr, arguments: &[&CStr]) -> bool {
    let mut list: Vec<*const c_char> = [program].iter().chain(arguments).map(|argument| argument.as_ptr()).collect();
    list.push(std::ptr::null());
    // SAFETY: strings that end with 0, in a list that ends with null.
    unsafe { libc::execv(program.as_ptr(), list.as_ptr()) };
    false
}

/// With real-time signals, one that a fence of the program before it had queued ended about every
/// third program.
#[test]
fn beside_heavy_fences() {
    let _dog = Watchdog::new("beside_heavy_fences");
    for _ in 0..40 {
        let executed = child(|| {
            fence::force(Strategy::Signal).unwrap();
            let (fenced, has_fenced) = channel();
            thread::spawn(move || {
                loop {
                    fence::heavy();
                    let _ = fenced.send(());
                }
            });
            has_fenced.recv().unwrap();
            execute(c"/bin/true", &[])
        });
        assert_eq!(status_of(executed), 0, "the program was ended by what the fence had queued");
    }
}

/// A thread that blocks every signal, as those of many servers do, and then executes another
/// program: the test reads what is pending there.
#[test]
fn with_a_fences_signal_pending() {
    let output = cases::command("pending").output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let pending = said.lines().find_map(|line| line.strip_prefix("SigPnd:")).expect("the program shows its own status");
    let pending = u64::from_str_radix(pending.trim(), 16).unwrap();
    let harmless = [libc::SIGURG, libc::SIGCHLD, libc::SIGCONT, libc::SIGWINCH].map(|signal| 1 << (signal - 1));
    let harmful = harmless.iter().fold(pending, |pending, signal: &u64| pending & !signal);
    assert_eq!(harmful, 0, "pending: {pending:x}: it ends the program as soon as that unblocks it");
    assert_ne!(pending, 0, "no signal was sent: {said}");
}

/// Another handler would run on the same alternate stack, which may have room for one only.
#[test]
fn the_fences_handler_is_not_interrupted() {
    let asked = child(|| {
        fence::force(Strategy::Signal).unwrap();
        fence::heavy();
        // SAFETY: zeroed is a valid sigaction: integers and an optional function.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        // SAFETY: a local variable.
        let result = unsafe { libc::sigaction(libc::SIGURG, std::ptr::null(), &mut action) };
        assert!(result == 0 && action.sa_flags & libc::SA_ONSTACK != 0);
        // SAFETY: the set that was read above.
        let is_blocked = |signal| unsafe { libc::sigismember(&action.sa_mask, signal) } == 1;
        [libc::SIGUSR1, libc::SIGALRM, libc::SIGPROF, libc::SIGRTMAX()].into_iter().all(is_blocked)
    });
    assert_eq!(status_of(asked), 0);
}

fn pending() {
    signals::block_signals(libc::SIG_BLOCK);
    thread::spawn(|| {
        fence::force(Strategy::Signal).unwrap();
        assert_ne!(fence::counters().visits, 0, "the thread that blocks the signal has answered it");
    })
    .join()
    .unwrap();
    // The mask and what is pending are the thread's own, and stay with it.
    let status = CString::new("/proc/thread-self/status").unwrap();
    execute(c"/bin/cat", &[&status]);
}

/// Runs, in a process that was started for a case, that case.
#[test]
#[ignore = "started by the other tests"]
fn case() {
    let _dog = Watchdog::new("case");
    match cases::current().as_str() {
        "pending" => pending(),
        other => println!("no such case: `{other}`"),
    }
}
