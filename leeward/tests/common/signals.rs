//! The signal mask and the handlers of a program that uses the fence.

#![allow(dead_code, missing_docs)]

use std::sync::atomic::{AtomicU64, Ordering};

/// Changes the calling thread's mask by every signal, as `how` says.
pub fn block_signals(how: libc::c_int) {
    let mut all = std::mem::MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: initialises the set.
    unsafe { libc::sigfillset(all.as_mut_ptr()) };
    // SAFETY: a set of ours, initialised just now.
    let outcome = unsafe { libc::pthread_sigmask(how, all.as_ptr(), std::ptr::null_mut()) };
    assert_eq!(outcome, 0);
}

pub static STRAY: AtomicU64 = AtomicU64::new(0);

/// Installs the program's own handler on `SIGURG` and every real-time signal from `first` up.
pub fn install_everywhere_from(first: libc::c_int) {
    extern "C" fn stray(_: libc::c_int) {
        STRAY.fetch_add(1, Ordering::Relaxed);
    }
    for signal in [libc::SIGURG].into_iter().chain(first..=libc::SIGRTMAX()) {
        // SAFETY: zeroed is a valid sigaction.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        let handler: extern "C" fn(libc::c_int) = stray;
        action.sa_sigaction = handler as usize;
        // SAFETY: an async-signal-safe handler.
        let outcome = unsafe { libc::sigaction(signal, &action, std::ptr::null_mut()) };
        assert_eq!(outcome, 0);
    }
}
