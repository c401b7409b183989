//! A signal at every instruction, one after the other: the reader is single-stepped by the processor's trap flag, and the handler of the trap does at
//! one of the instructions what a program's signal handler may do. Nothing here is luck.

#![cfg(all(target_os = "linux", target_arch = "x86_64", feature = "std", not(loom)))]
#![allow(missing_docs)]

mod common;

use common::*;

use std::ffi::{c_int, c_void};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use leeward::rcu::{Domain, Reader, Stall, qsbr};

/// One stepped program at a time: the handler is the process's.
static ALONE: Mutex<()> = Mutex::new(());

/// Instructions so far, and the one before which to act.
static STEPS: AtomicU64 = AtomicU64::new(0);
static AT: AtomicU64 = AtomicU64::new(0);
/// What to do there.
static ACT: AtomicUsize = AtomicUsize::new(0);

extern "C" fn trapped(_: c_int, _: *mut libc::siginfo_t, context: *mut c_void) {
    // The kernel took the trap flag away for as long as this runs.
    let step = STEPS.fetch_add(1, Ordering::Relaxed) + 1;
    if step == AT.load(Ordering::Relaxed) {
        let act = ACT.load(Ordering::Relaxed);
        // SAFETY: `stepped` stored a `fn()`.
        let act = unsafe { std::mem::transmute::<usize, fn()>(act) };
        act();
        // The rest runs at its own speed.
        // SAFETY: installed with SA_SIGINFO, so the kernel passes a valid context.
        let context = unsafe { &mut *context.cast::<libc::ucontext_t>() };
        context.uc_mcontext.gregs[libc::REG_EFL as usize] &= !0x100;
    }
}

fn install() {
    // SAFETY: zeroed is a valid sigaction.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    let handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) = trapped;
    action.sa_sigaction = handler as usize;
    action.sa_flags = libc::SA_SIGINFO;
    // SAFETY: the handler calls what `act` is, which is async-signal-safe, or else waits with atomics.
    let outcome = unsafe { libc::sigaction(libc::SIGTRAP, &action, std::ptr::null_mut()) };
    assert_eq!(outcome, 0);
}

/// Runs `body` instruction by instruction up to the one before which `act` is to come. Returns how many there were.
fn stepped(at: u64, act: fn(), body: impl FnOnce()) -> u64 {
    STEPS.store(0, Ordering::Relaxed);
    AT.store(at, Ordering::Relaxed);
    ACT.store(act as usize, Ordering::Relaxed);
    // SAFETY: sets the trap flag, for which there is a handler; memory and stack are left as they were.
    unsafe { std::arch::asm!("pushfq", "or qword ptr [rsp], 0x100", "popfq") };
    body();
    // SAFETY: takes the flag away again.
    unsafe { std::arch::asm!("pushfq", "and qword ptr [rsp], -0x101", "popfq") };
    STEPS.load(Ordering::Relaxed)
}

/// Every instruction of `body` in turn.
fn at_every_instruction(act: fn(), mut body: impl FnMut(), mut afterwards: impl FnMut(u64)) -> u64 {
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

/// A handler that enters and leaves, at any instruction of a section's beginning, middle and end: both words are left as they were found, and both sections
/// protect.
#[test]
fn a_handler_may_read_anywhere() {
    leeward::rcu_domain! { struct D; }
    static HANDLED: AtomicU64 = AtomicU64::new(0);
    fn handler() {
        let outer = D::read();
        let inner = D::read();
        drop(outer);
        drop(inner);
        drop(D::read());
        HANDLED.fetch_add(1, Ordering::Relaxed);
    }
    let _alone = alone(&ALONE);
    let _dog = Watchdog::new("a_handler_may_read_anywhere");
    D::register().unwrap();
    let steps = at_every_instruction(
        handler,
        || {
            let outer = D::read();
            let inner = D::read();
            drop(outer);
            drop(inner);
        },
        // Panics if the thread still passes for being inside; hangs if a slot does.
        |_| D::synchronize(),
    );
    println!("{steps} instructions");
    assert!(HANDLED.load(Ordering::Relaxed) >= steps);
    assert_eq!(D::stats().sleeps, 0);
}

/// The same on handles, whose slot the handler cannot reach: it has its own.
#[test]
fn a_handler_may_read_beside_handles() {
    leeward::rcu_domain! { struct D; }
    fn handler() {
        drop(D::read());
    }
    let _alone = alone(&ALONE);
    let _dog = Watchdog::new("a_handler_may_read_beside_handles");
    D::register().unwrap();
    let reader = Reader::<D>::register();
    at_every_instruction(handler, || drop(reader.read()), |_| D::synchronize());
    let mut online = qsbr::Reader::<D>::online();
    at_every_instruction(handler, || online.quiescent(), |_| ());
    drop(online);
    D::synchronize();
}

/// The interrupted section protects from the moment that its guard is there, whatever the handler did before.
#[test]
fn the_interrupted_section_protects() {
    leeward::rcu_domain! { struct D; }
    fn handler() {
        drop(D::read());
    }
    let _alone = alone(&ALONE);
    let _dog = Watchdog::new("the_interrupted_section_protects");
    D::register().unwrap();
    let mut guards = Vec::with_capacity(1);
    let guards_cell = std::cell::RefCell::new(&mut guards);
    at_every_instruction(
        handler,
        || guards_cell.borrow_mut().push(D::read()),
        |_| {
            let cookie = D::start_poll();
            let start = Instant::now();
            while start.elapsed() < Duration::from_micros(300) {
                assert!(!D::poll(&cookie), "a grace period ended under a guard whose making was interrupted");
            }
            guards_cell.borrow_mut().clear();
            D::synchronize();
        },
    );
}

/// A writer goes to sleep upon a section of the handler's; the handler leaves, and the section that it interrupted announces the epoch that it had loaded
/// before. The writer is woken and has to go to sleep again, this time upon the interrupted section.
mod asleep_upon_a_handler {
    use super::*;

    leeward::rcu_domain! { struct D; }

    static GO: AtomicU64 = AtomicU64::new(0);
    static DONE: AtomicU64 = AtomicU64::new(0);
    /// How long a grace period sleeps before it looks by itself.
    const STALL: Duration = Duration::from_millis(1_000);

    fn stalled(stall: &Stall) {
        eprintln!("{stall}");
    }

    /// Stays inside until a writer that comes now is asleep.
    fn handler() {
        let guard = D::read();
        let sleeps = D::stats().sleeps;
        GO.fetch_add(1, Ordering::Release);
        while D::stats().sleeps == sleeps {
            thread::yield_now();
        }
        // Counted just before it sleeps.
        compute(2_000);
        drop(guard);
    }

    fn writer(stop: &AtomicBool) {
        let mut served = 0;
        while !stop.load(Ordering::Relaxed) {
            if GO.load(Ordering::Acquire) > served {
                D::synchronize();
                served += 1;
                DONE.store(served, Ordering::Release);
            }
            std::hint::spin_loop();
        }
    }

    /// One section, interrupted before instruction `at` of its entry, of so many turns; how many instructions there were before it, how often
    /// the writer slept, and its heavy fences. None if it slept on when the section was over.
    fn section(at: u64, turns: u64) -> Option<(u64, u64, u64)> {
        let before = D::stats();
        let mut guard = None;
        let slot = &mut guard;
        let steps = stepped(at, handler, move || *slot = Some(D::read()));
        compute(turns);
        drop(guard);
        let left = Instant::now();
        while DONE.load(Ordering::Acquire) < GO.load(Ordering::Relaxed) {
            thread::yield_now();
        }
        let after = D::stats();
        let woken = left.elapsed() < STALL * 9 / 10;
        woken.then_some((steps, after.sleeps - before.sleeps, after.heavy_fences - before.heavy_fences))
    }

    #[test]
    fn it_sleeps_again_and_is_woken_again() {
        let _alone = alone(&ALONE);
        let _dog = Watchdog::new("it_sleeps_again_and_is_woken_again");
        install();
        D::set_stall_limit(Some(STALL), Some(stalled));
        D::register().unwrap();
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            let _stop = Raise(&stop);
            scope.spawn(|| writer(&stop));
            // The instructions after which the writer had to sleep twice.
            let mut twice = Vec::new();
            let mut failure = None;
            for (at, _) in (1..).flat_map(|at| (0..4).map(move |again| (at, again))) {
                // Long enough to sleep again.
                let Some((steps, sleeps, fences)) = section(at, 200_000) else {
                    failure = Some(format!("interrupted before instruction {at}: the writer slept on"));
                    break;
                };
                if at > steps {
                    break;
                }
                if sleeps > 3 || fences > 3 {
                    failure = Some(format!(
                        "interrupted before instruction {at} of {steps}: {sleeps} sleeps, {fences} heavy fences"
                    ));
                    break;
                }
                if sleeps == 2 {
                    twice.push(at);
                }
            }
            if failure.is_none() && twice.is_empty() {
                // Other work on the processors decides whether the writer is asleep at the right instant.
                println!("skipped: no instruction made the writer sleep twice this time");
            }
            // The same, leaving at the moment when the writer is about to sleep again.
            let mut rng = Rng::new(1);
            let (start, mut tries, mut again) = (Instant::now(), 0, 0);
            while failure.is_none() && !twice.is_empty() && start.elapsed() < duration(2.0) {
                let at = twice[rng.below(twice.len() as u64) as usize];
                let outcome = section(at, rng.below(40_000));
                tries += 1;
                match outcome {
                    Some((_, sleeps, _)) => again += u64::from(sleeps > 1),
                    None => {
                        failure = Some(format!("a writer slept on although its reader had left, after {tries} tries"))
                    }
                }
            }
            stop.store(true, Ordering::Relaxed);
            println!("{twice:?}: {tries} tries, {again} slept twice");
            assert_eq!(failure, None);
        });
    }
}
