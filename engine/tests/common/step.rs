//! A signal at every instruction, one after the other: a thread is single-stepped by the
//! processor's trap flag, and at one of the instructions the handler of the trap does what a
//! program's handler may do. Nothing here is left to luck.

// Each test program uses its part.
#![allow(dead_code)]

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};
use std::time::{Duration, Instant};

use crate::differential::{sleep_in_a_wait, sleeps_for_good};

/// Held by a test that steps: the handler and its counts are the process's, so one test steps at a
/// time.
static ALONE: Mutex<()> = Mutex::new(());

/// How many instructions have run.
static STEPS: AtomicU64 = AtomicU64::new(0);
/// The instruction before which to act.
static AT: AtomicU64 = AtomicU64::new(0);
static ACT: AtomicUsize = AtomicUsize::new(0);
static ACTED: AtomicBool = AtomicBool::new(false);

extern "C" fn trapped(_: c_int, _: *mut libc::siginfo_t, context: *mut c_void) {
    // The kernel took the trap flag away for as long as this runs.
    let step = STEPS.fetch_add(1, Ordering::SeqCst) + 1;
    if step != AT.load(Ordering::SeqCst) {
        return;
    }
    let act = ACT.load(Ordering::SeqCst);
    // SAFETY: `stepped` stored a `fn()`.
    let act = unsafe { std::mem::transmute::<usize, fn()>(act) };
    act();
    ACTED.store(true, Ordering::SeqCst);
    // The rest runs at its own speed.
    // SAFETY: installed with SA_SIGINFO, so the kernel passes a valid context.
    let context = unsafe { &mut *context.cast::<libc::ucontext_t>() };
    context.uc_mcontext.gregs[libc::REG_EFL as usize] &= !0x100;
}

fn install() {
    // SAFETY: zeroed is a valid sigaction.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    let handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) = trapped;
    action.sa_sigaction = handler as usize;
    action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
    // SAFETY: the handler calls what `act` is, which is async-signal-safe.
    assert_eq!(unsafe { libc::sigaction(libc::SIGTRAP, &action, std::ptr::null_mut()) }, 0);
}

/// Keeps other tests from stepping as long as the guard lives.
pub fn alone() -> MutexGuard<'static, ()> {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(install);
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs `body` on the calling thread, instruction by instruction up to the one before which `act`
/// runs; the caller holds [`alone`]. Returns whether that instruction came.
pub fn stepped<T>(at: u64, act: fn(), body: impl FnOnce() -> T) -> (bool, T) {
    ACTED.store(false, Ordering::SeqCst);
    STEPS.store(0, Ordering::SeqCst);
    ACT.store(act as usize, Ordering::SeqCst);
    AT.store(at, Ordering::SeqCst);
    // SAFETY: sets the trap flag, for which there is a handler; memory and stack are left as they
    // were.
    unsafe { std::arch::asm!("pushfq", "or qword ptr [rsp], 0x100", "popfq") };
    let answer = body();
    // SAFETY: takes the flag away again.
    unsafe { std::arch::asm!("pushfq", "and qword ptr [rsp], -0x101", "popfq") };
    (ACTED.load(Ordering::SeqCst), answer)
}

/// How a stepped call that may sleep ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ended {
    /// The call ended by itself.
    ByItself,
    /// The call slept though the handler had run.
    Overslept,
    /// The call slept before it came to that instruction.
    Unreached,
}

/// Does what [`stepped`] does, for a body that may sleep without a deadline, on a thread of its
/// own. Returns how it ended, and its answer. `rouse` ends its sleep.
pub fn stepped_or_asleep<T: Send>(at: u64, act: fn(), body: impl FnOnce() -> T + Send, rouse: impl Fn()) -> (Ended, T) {
    let (thread, ended) = (AtomicI32::new(0), AtomicBool::new(false));
    std::thread::scope(|threads| {
        let stepping = threads.spawn(|| {
            // SAFETY: no arguments.
            thread.store(unsafe { libc::gettid() }, Ordering::SeqCst);
            let answer = stepped(at, act, body);
            ended.store(true, Ordering::SeqCst);
            answer
        });
        let start = Instant::now();
        let end = loop {
            if ended.load(Ordering::SeqCst) {
                break Ended::ByItself;
            }
            let number = thread.load(Ordering::SeqCst);
            if number != 0 && sleep_in_a_wait(number).is_some() && !ended.load(Ordering::SeqCst) {
                // Loaded between two looks: if the handler had not run, it had not when the thread
                // slept; if it had, the thread sleeps for good after that.
                match ACTED.load(Ordering::SeqCst) {
                    true if sleeps_for_good(number) => break Ended::Overslept,
                    // It checks again soon.
                    true => {}
                    false => break Ended::Unreached,
                }
            }
            assert!(start.elapsed() < Duration::from_secs(20), "a stepped call neither ends nor sleeps");
            // To ask takes longer than many steps, which need the processor.
            std::thread::sleep(Duration::from_micros(50));
        };
        if end != Ended::ByItself {
            rouse();
        }
        (end, stepping.join().unwrap().1)
    })
}
