//! fork: the child has one thread. The others' sections are not there, their grace periods and callbacks are the
//! parent's.
//!
//! A handler (`pthread_atfork`), installed when a domain is first used, mends each domain in the child: slots of
//! other threads are given back, a grace period that another thread was running is forgotten, queued callbacks are
//! forgotten (they run in the parent), and the worker is started again when it is needed. Children of `vfork`,
//! `_Fork` and the raw `clone` call run no handler: they may read, on the thread that made them, and nothing else.
//!
//! References that the forking thread got from *another* thread's guard are not protected in the child: that guard is
//! not there. (Calling fork is `unsafe` in Rust, and this is one of the things to see to.)

use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

use super::domain::State;
use crate::mutant::mutated;

/// The domains that were used, newest first.
static DOMAINS: AtomicPtr<State> = AtomicPtr::new(core::ptr::null_mut());
/// Forks that this process and its ancestors went through.
static GENERATION: AtomicU64 = AtomicU64::new(0);
/// 1: the handler is installed, or being so.
static INSTALLED: AtomicU32 = AtomicU32::new(0);

/// How many forks lie between the first process and this one.
pub(super) fn generation() -> u64 {
    // Relaxed: changes only where there is one thread.
    GENERATION.load(Ordering::Relaxed)
}

/// Has the domain mended in children from now on.
#[inline]
pub(super) fn watch(state: &'static State) {
    // Acquire: not needed for the value, which is only compared with null; the list's links are read by the child
    // alone.
    if state.next.load(Ordering::Relaxed).is_null() {
        list(state);
    }
}

/// The end of the list: itself a domain-shaped mark, so that a listed domain's link is never null.
static END: State = State::new();

#[cold]
#[inline(never)]
fn list(state: &'static State) {
    let end = core::ptr::from_ref(&END).cast_mut();
    let busy = state.next.compare_exchange(core::ptr::null_mut(), end, Ordering::Relaxed, Ordering::Relaxed).is_err();
    if busy {
        return;
    }
    let me = core::ptr::from_ref(state).cast_mut();
    let mut head = DOMAINS.load(Ordering::Relaxed);
    loop {
        let next = if head.is_null() { end } else { head };
        // Relaxed: published by the exchange below.
        state.next.store(next, Ordering::Relaxed);
        // Release: a fork on another thread copies the list as that thread sees it.
        match DOMAINS.compare_exchange_weak(head, me, Ordering::Release, Ordering::Relaxed) {
            Ok(_) => break,
            Err(now) => head = now,
        }
    }
    // Relaxed: whoever comes second need not wait: a fork that comes before the handler is installed is this thread's
    // concern only.
    if INSTALLED.swap(1, Ordering::Relaxed) == 0 {
        install();
    }
}

#[cfg(unix)]
fn install() {
    // SAFETY: a handler without arguments that lives as long as the code does. It fails for lack of memory only; then
    // children are not mended, as after `vfork`.
    let _ = unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
}

#[cfg(not(unix))]
fn install() {
    let _ = in_child;
}

/// Runs in the child, on its only thread, before fork returns.
extern "C" fn in_child() {
    if mutated!(fork_hook) {
        return;
    }
    // Relaxed, all: one thread.
    GENERATION.fetch_add(1, Ordering::Relaxed);
    crate::fence::after_fork();
    let mut next = DOMAINS.load(Ordering::Relaxed);
    while !next.is_null() && !core::ptr::eq(next, &END) {
        // SAFETY: `list` stores only statics.
        let state = unsafe { &*next };
        state.grace.after_fork();
        state.queue.after_fork();
        next = state.next.load(Ordering::Relaxed);
    }
}
