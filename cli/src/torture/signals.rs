//! Signals: a thread that sends them to readers at any instruction, and the handler, which enters a
//! section, reads and leaves.

use std::cell::Cell;
use std::sync::atomic::Ordering;
use std::time::Duration;

use leeward::rcu::Reader;

use super::crew;
use super::fixture::Flavour;
use super::random::Random;

thread_local! {
    /// The action of the handler on this thread; `HANDLE` is the handle that it reads with, if any.
    static ON_SIGNAL: Cell<Option<fn(*const ())>> = const { Cell::new(None) };
    static HANDLE: Cell<*const ()> = const { Cell::new(std::ptr::null()) };
}

/// Installs the handler.
pub fn install() {
    let handler: extern "C" fn(libc::c_int) = on_signal;
    // SAFETY: zeroed is a valid sigaction: integers and an optional function.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = handler as usize;
    action.sa_flags = libc::SA_RESTART;
    // SAFETY: the handler is async-signal-safe: it reads, and touches atomics and thread-local
    // words without destructors.
    unsafe { libc::sigaction(libc::SIGUSR1, &action, std::ptr::null_mut()) };
}

extern "C" fn on_signal(_: libc::c_int) {
    if let Some(act) = ON_SIGNAL.with(Cell::get) {
        act(HANDLE.with(Cell::get));
    }
}

/// Has the calling thread's handler read through the thread's own slot, while `work` runs.
pub fn through_thread<D: Flavour, R>(work: impl FnOnce() -> R) -> R {
    while_signalled(|_| handle_signal::<D>(D::read), std::ptr::null(), work)
}

/// Has the calling thread's handler read through a handle, which `work` must not move, while `work`
/// runs.
pub fn through_handle<D: Flavour, R>(handle: &Reader<D>, work: impl FnOnce() -> R) -> R {
    let act = |handle: *const ()| {
        // SAFETY: the pointer is set below from a reference that outlives `work`, and removed when
        // `work` has run.
        let handle = unsafe { &*handle.cast::<Reader<D>>() };
        handle_signal::<D>(|| handle.read());
    };
    while_signalled(act, std::ptr::from_ref(handle).cast(), work)
}

/// Has the calling thread's handler call `act` with `handle` while `work` runs.
pub fn while_signalled<R>(act: fn(*const ()), handle: *const (), work: impl FnOnce() -> R) -> R {
    HANDLE.with(|place| place.set(handle));
    ON_SIGNAL.with(|place| place.set(Some(act)));
    let want = |whether| crew::me().into_iter().for_each(|me| me.wants_signals(whether));
    want(true);
    let result = work();
    want(false);
    ON_SIGNAL.with(|place| place.set(None));
    HANDLE.with(|place| place.set(std::ptr::null()));
    result
}

/// Enters a section, and another one within it.
fn handle_signal<'a, D: Flavour>(enter: impl Fn() -> leeward::rcu::Guard<'a, D>) {
    counted(|count| {
        let fixture = D::fixture();
        let outer = enter();
        let first = fixture.look(count as usize);
        let inner = enter();
        let second = fixture.look(count as usize + 1);
        drop(outer);
        fixture.check(first);
        fixture.check(second);
        drop(inner);
    });
}

/// Runs a handler's sections, with their number, where the watchdog can see it.
pub fn counted(sections: impl FnOnce(u64)) {
    let Some(me) = crew::me() else { return };
    // Relaxed: the count is the thread's own.
    let count = me.handled.load(Ordering::Relaxed) + 1;
    me.handled.store(count, Ordering::Relaxed);
    sections(count);
    me.handled.store(count + 1, Ordering::Relaxed);
}

/// Sends signals until the phase is over.
pub fn send(mut random: Random) {
    let process = rustix::process::getpid().as_raw_nonzero().get();
    while !crew::is_over() {
        for member in crew::members().filter(|member| member.is_signalled()) {
            // SAFETY: the call takes numbers only. It is refused if the thread has exited; if its
            // number is another thread's of ours by now, the handler is installed for that one too.
            unsafe { libc::syscall(libc::SYS_tgkill, process, member.thread(), libc::SIGUSR1) };
        }
        crate::sys::sleep(Duration::from_micros(20 + random.below(300)));
    }
}
