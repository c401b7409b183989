//! Runs a function one instruction after the other, by the processor's trap flag, and at one of the
//! instructions something else, as a signal handler would. The handler is the process's: one test of
//! a program steps at a time.

#![allow(dead_code, missing_docs)]

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// How many instructions have run.
pub static STEPS: AtomicU64 = AtomicU64::new(0);
/// The instruction before which to act.
pub static AT: AtomicU64 = AtomicU64::new(0);
/// Stands for all instructions.
const EACH: u64 = 0;
/// The function to run there.
pub static ACT: AtomicUsize = AtomicUsize::new(0);

extern "C" fn trapped(_: c_int, _: *mut libc::siginfo_t, context: *mut c_void) {
    // The kernel took the trap flag away for as long as this runs.
    let step = STEPS.fetch_add(1, Ordering::Relaxed) + 1;
    let at = AT.load(Ordering::Relaxed);
    if step == at || at == EACH {
        let act = ACT.load(Ordering::Relaxed);
        // SAFETY: `stepped` stored a `fn()`.
        let act = unsafe { std::mem::transmute::<usize, fn()>(act) };
        act();
    }
    if step == at {
        // The rest runs at its own speed.
        // SAFETY: installed with SA_SIGINFO, so the kernel passes a valid context.
        let context = unsafe { &mut *context.cast::<libc::ucontext_t>() };
        context.uc_mcontext.gregs[libc::REG_EFL as usize] &= !0x100;
    }
}

pub fn install() {
    // SAFETY: zeroed is a valid sigaction.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    let handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) = trapped;
    action.sa_sigaction = handler as usize;
    action.sa_flags = libc::SA_SIGINFO;
    // SAFETY: the handler calls what `act` is, which is async-signal-safe, or else waits with
    // atomics.
    let outcome = unsafe { libc::sigaction(libc::SIGTRAP, &action, std::ptr::null_mut()) };
    assert_eq!(outcome, 0);
}

/// Runs `body` instruction by instruction up to the one before which `act` runs. Returns how many
/// there were.
pub fn stepped(at: u64, act: fn(), body: impl FnOnce()) -> u64 {
    STEPS.store(0, Ordering::Relaxed);
    AT.store(at, Ordering::Relaxed);
    ACT.store(act as usize, Ordering::Relaxed);
    // SAFETY: sets the trap flag, for which there is a handler; memory and stack are left as they
    // were.
    unsafe { std::arch::asm!("pushfq", "or qword ptr [rsp], 0x100", "popfq") };
    body();
    // SAFETY: takes the flag away again.
    unsafe { std::arch::asm!("pushfq", "and qword ptr [rsp], -0x101", "popfq") };
    STEPS.load(Ordering::Relaxed)
}

/// Runs `body` once for each of its instructions, with `act` before that instruction.
pub fn at_every_instruction(act: fn(), mut body: impl FnMut(), mut afterwards: impl FnMut(u64)) -> u64 {
    install();
    let mut at = 1;
    loop {
        let steps = stepped(at, act, &mut body);
        afterwards(at);
        if at > steps {
            assert!(steps > 5, "nothing was stepped");
            return steps;
        }
        at += 1;
    }
}

/// Runs `body` once, with `act` before each instruction, for an `act` that changes nothing of what
/// `body` does. Returns how many instructions there were.
pub fn before_each_instruction(act: fn(), body: impl FnOnce()) -> u64 {
    install();
    let steps = stepped(EACH, act, body);
    assert!(steps > 5, "nothing was stepped");
    steps
}
