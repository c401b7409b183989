//! Threads that run in real time, and threads that share one processor. Where the system refuses
//! the former, tests say that they skip.

// Each test program uses its part.
#![allow(dead_code)]

use std::time::{Duration, Instant};

/// Returns the calling thread's number.
pub fn me() -> u32 {
    // SAFETY: no arguments.
    unsafe { libc::gettid() as u32 }
}

/// Waits until `what` holds, asleep in between: a real-time thread that checks all the time lets no
/// other thread run.
#[track_caller]
pub fn until(what: impl Fn() -> bool) {
    let start = Instant::now();
    while !what() {
        assert!(start.elapsed() < Duration::from_secs(20), "it did not come about within 20 s");
        std::thread::sleep(Duration::from_micros(200));
    }
}

/// Returns a thread's real-time level, or 0.
pub fn level(thread: u32) -> i32 {
    let mut parameters = libc::sched_param { sched_priority: 0 };
    // SAFETY: fills ours.
    assert_eq!(unsafe { libc::sched_getparam(thread as i32, &mut parameters) }, 0);
    parameters.sched_priority
}

/// Makes the calling thread run in real time from now on, first in first out; at level 0, as
/// ordinary threads do. Returns false if it may not.
pub fn run_at(level: i32) -> bool {
    let parameters = libc::sched_param { sched_priority: level };
    let policy = if level == 0 { libc::SCHED_OTHER } else { libc::SCHED_FIFO };
    // SAFETY: parameters of ours.
    unsafe { libc::sched_setscheduler(0, policy, &parameters) == 0 }
}

/// Returns true if this process may have real-time threads; prints that it may not.
pub fn may_run_in_real_time() -> bool {
    let may = std::thread::spawn(|| run_at(1)).join().unwrap();
    if !may {
        println!("skipped: this process may not have real-time threads");
    }
    may
}

/// Makes the calling thread, and those that it starts from now on, run on one processor, the same
/// for all in this process.
pub fn share_a_processor() {
    // SAFETY: zeroes are an empty set.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    let process = std::process::id() as i32;
    // SAFETY: fills ours.
    assert_eq!(unsafe { libc::sched_getaffinity(process, size_of::<libc::cpu_set_t>(), &mut set) }, 0);
    // SAFETY: a number within the set.
    let first = (0..libc::CPU_SETSIZE as usize).find(|number| unsafe { libc::CPU_ISSET(*number, &set) }).unwrap();
    // SAFETY: as above.
    let mut one: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: as above.
    unsafe { libc::CPU_SET(first, &mut one) };
    // SAFETY: a set of ours.
    assert_eq!(unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &one) }, 0);
}
