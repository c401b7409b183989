//! The handlers of `SIGSEGV` and `SIGBUS`: what is a fault of a user access, and what becomes of
//! every other signal. Programs call `install` and `recover`; it calls `accesses`.

use core::ffi::{c_int, c_void};
use core::mem::MaybeUninit;
use core::ptr::{null, null_mut};
use core::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use std::boxed::Box;

use super::accesses;
use crate::Errno;
use crate::mutant::{check, mutated, step};

/// A handler that is installed with `SA_SIGINFO`.
type Handler = unsafe extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void);
/// A handler that is installed without it.
type PlainHandler = unsafe extern "C" fn(c_int);

/// The handler that [`install`] puts in place.
pub(super) const OURS: Handler = on_fault;

/// The code of a memory tag's fault that is reported some time after the access.
const SEGV_MTEAERR: c_int = 8;
/// The code of broken memory that no access has met yet.
const BUS_MCEERR_AO: c_int = 5;

/// What handled each of the signals before [`install`]; null for the system's default.
static PREVIOUS: [AtomicPtr<libc::sigaction>; 2] = [const { AtomicPtr::new(null_mut()) }; 2];

/// Returns where the previous action of a signal is kept.
pub(super) fn previous(signal: c_int) -> &'static AtomicPtr<libc::sigaction> {
    &PREVIOUS[usize::from(signal == libc::SIGBUS)]
}

/// Returns true if a signal says that the instruction at which it interrupted the thread faulted,
/// as it does again if the thread goes on there. A signal that a program sent says nothing of the
/// kind, nor does the report of an earlier access.
fn is_fault(info: &libc::siginfo_t) -> bool {
    let late = match info.si_signo {
        libc::SIGSEGV => SEGV_MTEAERR,
        libc::SIGBUS => BUS_MCEERR_AO,
        _ => return false,
    };
    (info.si_code > 0 || mutated!(recover_sent)) && info.si_code != late
}

/// Ends an access to user memory that faulted: if a handler of `SIGSEGV` or `SIGBUS` was called for
/// one, the access answers [`Fault`](crate::Fault) when the handler has returned, and this returns
/// true. Else it does nothing and returns false. For programs that have handlers of their own; such
/// a handler calls it first, with what it was called with. [`install`] is not needed then.
///
/// The handler is installed with `SA_SIGINFO`, and with `SA_ONSTACK` if guests run on small stacks
/// of their own. If it (or a function that it calls when this has returned false) makes such
/// accesses itself, `SA_NODEFER` is needed, too, since a fault whose signal is blocked ends the
/// process. It blocks the other signals (`sa_mask`): one that nests puts a second frame on the
/// alternative stack, and the one that the standard library gives a thread may have no room for it.
///
/// ```
/// use leeward_engine::{Fault, parking::user_memory};
/// use std::ffi::{c_int, c_void};
///
/// extern "C" fn handler(_: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
///     // SAFETY: what the system called the handler with.
///     if !unsafe { user_memory::recover(info, context) } {
///         // What the program does about other faults.
///         std::process::abort();
///     }
/// }
///
/// // SAFETY: all zeroes is an action.
/// let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
/// action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
/// action.sa_sigaction = handler as *const () as usize;
/// // SAFETY: changes a variable of this frame.
/// unsafe { libc::sigfillset(&mut action.sa_mask) };
/// for signal in [libc::SIGSEGV, libc::SIGBUS] {
///     // SAFETY: the handler calls what a handler may call.
///     unsafe { libc::sigaction(signal, &action, std::ptr::null_mut()) };
/// }
/// assert_eq!(user_memory::load_u32(8), Err(Fault));
/// ```
///
/// It is async-signal-safe: it reads a table and writes one register of the context.
///
/// # Safety
/// `info` and `context` are those that the kernel called a handler with, in that call.
pub unsafe fn recover(info: *const libc::siginfo_t, context: *mut c_void) -> bool {
    // SAFETY: the caller's promise.
    let info = unsafe { &*info };
    if !is_fault(info) {
        return false;
    }
    // SAFETY: the caller's promise.
    unsafe { accesses::leave(context) }
}

/// Installs handlers of `SIGSEGV` and `SIGBUS` by which accesses of this module answer
/// [`Fault`](crate::Fault). Every other signal goes to the handlers that were there before.
///
/// It is called once, before guests run; after a call that succeeded, further ones do nothing. If
/// other handlers are installed later, it is for them to call what they replaced, or [`recover`].
/// An example is at the [module](super).
///
/// # What other handlers see
/// - A handler that was there before is called as the kernel would: with the information or
///   without, with the mask that it was installed with, and once if it was installed with
///   `SA_RESETHAND`. It runs on the thread's alternative stack, if there is one, whether it asked
///   for that or not.
/// - Where the system's default was in place, the process ends by the same signal, at the same
///   instruction, as without these handlers (the default is put in place for that, so what it
///   leaves in a core file is the fault). Where the signal was ignored, one that was sent still is.
/// - The handlers of Rust's standard library, which report a stack's overflow, go on doing so.
///
/// The handlers run on alternative stacks (`SA_ONSTACK`). While one looks whose fault it is, all
/// signals but `SIGSEGV`, `SIGBUS` and `SIGSYS` wait: a second frame may not fit on the stack that
/// the standard library gives a thread. A handler that was there before is called with the mask of
/// the interrupted thread and its own, so one with `SA_NODEFER` may make accesses, too.
///
/// # Errors
/// What the system answers if it refuses to install a handler (a sandbox may). Where no assembly is
/// used ([module](super), "Other architectures"), nothing is installed.
///
/// # Signals, threads, forks
/// Not for signal handlers. Two threads may call it at a time, and the child of a fork that came in
/// the middle of a call may call it again. A thread that installs a handler for one of the signals
/// by another way meanwhile may find its handler skipped.
pub fn install() -> Result<(), Errno> {
    // Not a lock: the child of a fork in the middle of the first call would wait for a thread that
    // is not there.
    static IS_DONE: AtomicBool = AtomicBool::new(false);
    // Relaxed, here and below: a flag, and no more. A handler finds what it needs by itself.
    if !accesses::ARE_SIGNALS || IS_DONE.load(Ordering::Relaxed) {
        return Ok(());
    }
    install_for(libc::SIGSEGV)?;
    install_for(libc::SIGBUS)?;
    IS_DONE.store(true, Ordering::Relaxed);
    Ok(())
}

/// Installs the handler of one signal. Several threads may do so at a time.
pub(super) fn install_for(signal: c_int) -> Result<(), Errno> {
    // The handler may be called as soon as it is there, and finds then what was before.
    publish(signal, &exchange(signal, None)?);
    let mut ours = default_action();
    ours.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER;
    ours.sa_sigaction = OURS as usize;
    step!(fault_mask, ours.sa_mask = what_may_wait());
    let before = exchange(signal, Some(&ours))?;
    // Another thread may have installed a handler in between.
    publish(signal, &before);
    Ok(())
}

/// Notes what handled a signal before, unless that is the handler of this module already: it must
/// not hand a signal on to itself.
fn publish(signal: c_int, action: &libc::sigaction) {
    if action.sa_sigaction == OURS as usize {
        return;
    }
    let kept = if action.sa_sigaction == libc::SIG_DFL { null_mut() } else { Box::into_raw(Box::new(*action)) };
    // Release: the action is written before; partner: the load in `chain`. What is replaced may be
    // in use by a handler, and stays.
    previous(signal).store(kept, Ordering::Release);
}

/// Returns the system's default action.
fn default_action() -> libc::sigaction {
    // SAFETY: all zeroes is an action: the default, no flags, an empty mask.
    unsafe { MaybeUninit::zeroed().assume_init() }
}

/// Returns the signals that wait until the handler has returned: all that a program sends, and
/// those by which a C library reaches its threads (which `sigfillset` leaves out). Each frame takes
/// a few KiB, and the alternative stack that the standard library gives a thread has 8 beside the
/// largest: a second one on top would end the process. `SIGSEGV` and `SIGBUS` are not among them,
/// since a handler that is called by this one may make accesses; nor is `SIGSYS`, by which a
/// sandbox may answer the system calls of `chain`: blocked, it would end the process.
fn what_may_wait() -> libc::sigset_t {
    let mut mask = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: fills a variable of this frame.
    unsafe { mask.as_mut_ptr().write_bytes(0xff, 1) };
    // SAFETY: any bits are a mask.
    let mut mask = unsafe { mask.assume_init() };
    for signal in [libc::SIGSEGV, libc::SIGBUS, libc::SIGSYS] {
        // SAFETY: changes a variable of this frame.
        unsafe { libc::sigdelset(&mut mask, signal) };
    }
    mask
}

/// Sets the action of a signal, if there is one to set; returns the one that there was.
fn exchange(signal: c_int, action: Option<&libc::sigaction>) -> Result<libc::sigaction, Errno> {
    let mut before = default_action();
    let action = action.map_or(null(), core::ptr::from_ref);
    // SAFETY: reads an action, if it is not null, and fills a variable of this frame.
    if unsafe { libc::sigaction(signal, action, &mut before) } == 0 {
        return Ok(before);
    }
    let why = std::io::Error::last_os_error().raw_os_error();
    Err(why.map_or(Errno::EINVAL, |why| Errno::from_number(why as u16)))
}

/// The handler: ends an access, or hands the signal on.
unsafe extern "C" fn on_fault(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: what the kernel called it with.
    if !unsafe { recover(info, context) } {
        // SAFETY: as above.
        unsafe { chain(signal, info, context) };
    }
}

/// Does what was done about a signal before.
///
/// # Safety
/// The arguments are those of a handler.
#[cold]
unsafe fn chain(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // Acquire: what the action is; partner: the store in `publish`.
    let kept = previous(signal).load(Ordering::Acquire);
    // SAFETY: null, or an action that stays.
    let action = unsafe { kept.as_ref() };
    // SAFETY: the caller's promise.
    let is_fault = is_fault(unsafe { &*info });
    match action {
        Some(action) if action.sa_sigaction != libc::SIG_IGN => {
            if action.sa_flags & libc::SA_RESETHAND != 0 {
                // Relaxed: null leads to nothing.
                previous(signal).store(null_mut(), Ordering::Relaxed);
            }
            // SAFETY: the caller's promise, and a handler that was installed.
            unsafe { call(action, signal, info, context) };
        }
        Some(_) if !is_fault => {}
        _ => die(signal, is_fault),
    }
}

/// Calls a handler as the kernel would.
///
/// # Safety
/// `action` has a handler; the other arguments are those of a handler.
unsafe fn call(action: &libc::sigaction, signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    let mut mask = action.sa_mask;
    if action.sa_flags & libc::SA_NODEFER == 0 {
        // SAFETY: changes a variable of this frame.
        unsafe { libc::sigaddset(&mut mask, signal) };
    }
    // The kernel would have added the mask to the one that the thread was interrupted with, and puts
    // that back when the handler has returned.
    // SAFETY: the caller's promise.
    let interrupted = unsafe { accesses::interrupted_mask(context) };
    // SAFETY: reads a variable of this frame.
    step!(chain_unblock, unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &interrupted, null_mut()) });
    // SAFETY: as above.
    step!(chain_mask, unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &mask, null_mut()) });
    if action.sa_flags & libc::SA_SIGINFO != 0 {
        // SAFETY: it was installed as one of these.
        let handler = unsafe { core::mem::transmute::<usize, Handler>(action.sa_sigaction) };
        // SAFETY: the caller's promise.
        unsafe { handler(signal, info, context) };
    } else {
        // SAFETY: it was installed as one of these.
        let handler = unsafe { core::mem::transmute::<usize, PlainHandler>(action.sa_sigaction) };
        // SAFETY: the caller's promise.
        unsafe { handler(signal) };
    }
}

/// Has the signal end the process, by the system's default action.
fn die(signal: c_int, is_fault: bool) {
    let _ = exchange(signal, Some(&default_action()));
    // A fault comes again when the handler returns, at its instruction. What was sent does not.
    if check!(chain_sent, !is_fault) {
        // SAFETY: sends a signal to the calling thread.
        unsafe { libc::raise(signal) };
    }
}
