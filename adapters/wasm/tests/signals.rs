//! Signals of the host process: a handler that runs on a sleeping guest thread is none of the
//! guest's business.

mod common;

use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering::SeqCst};
use std::thread;

use common::{Pages, runtime, until_waiters};
use leeward_wasm::{Outcome, Threads};

/// How often the handler has run.
static HANDLED: AtomicU32 = AtomicU32::new(0);

extern "C" fn count(_: libc::c_int) {
    HANDLED.fetch_add(1, SeqCst);
}

/// Installs the handler, with those flags.
fn handle(flags: libc::c_int) {
    // SAFETY: a structure of numbers, for which 0 is valid.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = count as extern "C" fn(libc::c_int) as usize;
    action.sa_flags = flags;
    // SAFETY: the handler only counts.
    let installed = unsafe { libc::sigaction(libc::SIGUSR1, &action, std::ptr::null_mut()) };
    assert_eq!(installed, 0);
}

#[test]
fn a_handler_ends_no_wait() {
    let runtime = runtime(Threads::default());
    let plain = runtime.memory(Pages::new(1, true));
    let interruptible = plain.interruptible(&runtime.interrupt());
    for (flags, memory) in [0, libc::SA_RESTART].iter().flat_map(|flags| [(flags, &plain), (flags, &interruptible)]) {
        handle(*flags);
        for timeout in [-1, i64::MAX] {
            let waiter = AtomicUsize::new(0);
            thread::scope(|threads| {
                let wait = threads.spawn(|| {
                    // SAFETY: it only answers.
                    waiter.store(unsafe { libc::pthread_self() } as usize, SeqCst);
                    memory.wait32(0, 0, 0, timeout)
                });
                until_waiters(memory, 1);
                for _ in 0..20 {
                    let handled = HANDLED.load(SeqCst);
                    // SAFETY: the thread is not joined yet.
                    unsafe { libc::pthread_kill(waiter.load(SeqCst) as libc::pthread_t, libc::SIGUSR1) };
                    while HANDLED.load(SeqCst) == handled && memory.stats().waiters == 1 {
                        thread::yield_now();
                    }
                }
                assert_eq!(memory.notify(0, 0, 1), Ok(1));
                assert_eq!(wait.join().unwrap(), Ok(Outcome::Woken));
            });
        }
    }
}
