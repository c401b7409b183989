//! fork: the child has one thread. The others' sections are not there, their grace periods and callbacks are the
//! parent's.
//!
//! A handler (`pthread_atfork`), installed when a domain is first used, mends each domain in the child: slots of
//! other threads are given back, a grace period that another thread was running is forgotten, queued callbacks are
//! forgotten (they run in the parent), and the worker is started again when it is needed (`start.rs`: by the C library). Children of `vfork`,
//! `_Fork` and the raw `clone` call run no handler: they may read, on the thread that made them, and nothing else.
//!
//! Two kinds of slots stay although their thread is not there: those of detached handles, and those that a leaked
//! guard keeps (for a moment also that of a thread which was exiting with a guard in a thread-local variable): what
//! they protect may be in use, so grace periods of the child wait for them.
//!
//! References that the forking thread got from *another* thread's guard are not protected in the child: that guard is
//! not there. (Calling fork is `unsafe` in Rust, and this is one of the things to see to.)

use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

use super::domain::State;
use crate::mutant::mutated;
use crate::raw::Mutex;

/// The domains that were used, newest first; `END` behind the last. Written under `LISTING`.
static DOMAINS: AtomicPtr<State> = AtomicPtr::new(core::ptr::null_mut());
static LISTING: Mutex = <Mutex>::new();
/// Forks that this process and its ancestors went through.
static GENERATION: AtomicU64 = AtomicU64::new(0);
/// The end of the list: a domain-shaped mark, so that a listed domain's link is never null.
static END: State = State::new();

/// How many forks lie between the first process and this one.
pub(super) fn generation() -> u64 {
    // Relaxed: changes only where there is one thread.
    GENERATION.load(Ordering::Relaxed)
}

/// Has the domain mended in children from now on.
#[inline]
pub(super) fn watch(state: &'static State) {
    // Acquire: partner of the release in `list`: the handler is installed.
    if state.next.load(Ordering::Acquire).is_null() {
        list(state);
    }
}

#[cold]
#[inline(never)]
fn list(state: &'static State) {
    LISTING.lock();
    // Relaxed, all but one: under the lock.
    let mut head = DOMAINS.load(Ordering::Relaxed);
    if head.is_null() {
        install();
        head = core::ptr::from_ref(&END).cast_mut();
    }
    if state.next.load(Ordering::Relaxed).is_null() {
        DOMAINS.store(core::ptr::from_ref(state).cast_mut(), Ordering::Relaxed);
        // Release: whoever sees the link may fork: the handler is installed and the list whole.
        state.next.store(head, Ordering::Release);
    }
    // SAFETY: locked above, or in `before`.
    unsafe { LISTING.unlock() };
}

#[cfg(target_os = "linux")]
fn install() {
    // SAFETY: handlers without arguments that live as long as the code does. It fails for lack of memory only; then
    // children are not mended, as after `vfork`.
    let _ = unsafe { libc::pthread_atfork(Some(before), Some(after), Some(in_child)) };
}

#[cfg(not(target_os = "linux"))]
fn install() {
    let _ = (before, after, in_child);
}

/// So that the child finds the list whole. Held for a few instructions at a time by others, and never by who forks.
extern "C" fn before() {
    LISTING.lock();
}

extern "C" fn after() {
    // SAFETY: locked above, or in `before`.
    unsafe { LISTING.unlock() };
}

/// Runs in the child, on its only thread, before fork returns.
extern "C" fn in_child() {
    LISTING.reset();
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
