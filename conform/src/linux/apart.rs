//! A scenario in a child process with a time limit.

use core::mem::size_of;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicU32, Ordering};

use super::{Linux, STACK, call, exit, map};
use crate::errno::Errno;
use crate::numbers;
use crate::run::{RESTS, absent, ask_stepping};
use crate::scenario::Scenario;
use crate::syscalls::Syscalls;
use crate::text::Text;
use crate::verdict::Verdict;
use crate::world::Step;

pub(super) const MAP_SHARED: usize = 1;
const SIGKILL: usize = 9;
const SIGCHLD: usize = 17;
const WNOHANG: usize = 1;
const PR_SET_PDEATHSIG: usize = 1;

/// What a child process tells its parent.
#[repr(C)]
struct Board {
    step: Step,
    is_done: AtomicU32,
    verdict: core::cell::UnsafeCell<Verdict>,
}

/// Asks the kernel below this process a scenario, in a child process, which is ended when for `seconds` it has not
/// come further: a kernel that loses a wake is then found wrong, and does not keep this process. A slow kernel has
/// as many seconds for each step of the scenario. One that hangs is asked once more, in another child, and threads then
/// have the longest of [`RESTS`] to go to sleep: a signal that comes before the sleep does not end it.
///
/// Where the kernel has neither `fork` nor memory that processes share, the verdict is
/// [`Unfit`](Verdict::Unfit); [`ask`](crate::ask) does without.
pub fn apart(scenario: &Scenario, seconds: u32) -> Verdict {
    apart_with(scenario, &Linux, seconds, RESTS)
}

/// As [`apart`], of calls that reach the kernel by way of `kernel`, and with other [`RESTS`].
pub fn apart_with(scenario: &Scenario, kernel: &dyn Syscalls, seconds: u32, rests: &[u64]) -> Verdict {
    let asked = |rests| {
        let asks = |step| {
            // SAFETY: called in the child, which ends within this call: what it has a copy of is there until then.
            let kernel = unsafe { core::mem::transmute::<&dyn Syscalls, &'static dyn Syscalls>(kernel) };
            ask_stepping(scenario, kernel, rests, step)
        };
        asked_or_hung(&asks, seconds)
    };
    match (asked(rests), rests) {
        ((_, true), [_, .., _]) => asked(&rests[rests.len() - 1..]).0,
        ((verdict, _), _) => verdict,
    }
}

/// Calls `asks` in a child process with a time limit, and returns what it returned, or how the child ended.
pub(super) fn asked_apart(asks: &dyn Fn(&'static Step) -> Verdict, seconds: u32) -> Verdict {
    asked_or_hung(asks, seconds).0
}

/// Calls `asks` as [`asked_apart`] does, and returns also whether the child had to be ended.
fn asked_or_hung(asks: &dyn Fn(&'static Step) -> Verdict, seconds: u32) -> (Verdict, bool) {
    const { assert!(size_of::<Board>() <= STACK) };
    let board = match map(STACK, MAP_SHARED) {
        Ok(board) => board.cast::<Board>(),
        Err(errno) => {
            return (Verdict::Unfit(Text::of(format_args!("mmap of shared anonymous memory: {errno}"))), false);
        }
    };
    let verdict = in_child(asks, seconds, board);
    // SAFETY: no other process uses the mapping: the child has ended.
    let _ = call(numbers::MUNMAP, [board.addr().get(), STACK, 0, 0, 0, 0]);
    verdict
}

/// Calls `asks` in a child process, and returns what it returned, or how the child ended; true if it had to be ended.
fn in_child(asks: &dyn Fn(&'static Step) -> Verdict, seconds: u32, place: NonNull<Board>) -> (Verdict, bool) {
    // SAFETY: mapped, zeroed, aligned to a page. No one reads the verdict before it was written.
    let board = unsafe { place.as_ref() };
    let child = match call(numbers::CLONE, [SIGCHLD, 0, 0, 0, 0, 0]) {
        Ok(0) => {
            // A group of its own: what the scenario starts ends with it. It ends with its parent.
            let _ = call(numbers::SETPGID, [0; 6]);
            let _ = call(numbers::PRCTL, [PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0, 0]);
            // SAFETY: the child keeps the mapping to its end.
            let step: &'static Step = unsafe { NonNull::from(&board.step).as_ref() };
            let verdict = asks(step);
            // SAFETY: the parent reads it after the store below, or not at all.
            unsafe { board.verdict.get().write(verdict) };
            board.is_done.store(1, Ordering::SeqCst);
            exit(0)
        }
        Ok(child) => child,
        Err(errno) => return (Verdict::Unfit(Text::of(format_args!("no child process: {errno}"))), false),
    };
    let ended = wait(child, seconds, &board.step);
    // The child's children, of which some may sleep for ever. Without groups there is none of this number.
    let _ = call(numbers::KILL, [child.wrapping_neg(), SIGKILL, 0, 0, 0, 0]);
    let verdict = match ended {
        Ok(Some(_)) if board.is_done.load(Ordering::SeqCst) == 1 => {
            // SAFETY: the child wrote it before it said so.
            unsafe { board.verdict.get().read() }
        }
        Ok(Some(status)) => Verdict::Wrong(died(status, &board.step)),
        Ok(None) => {
            let _ = call(numbers::KILL, [child, SIGKILL, 0, 0, 0, 0]);
            let _ = call(numbers::WAIT4, [child, 0, 0, 0, 0, 0]);
            if board.step.lacks() {
                return (absent(), false);
            }
            let (step, seconds) = (doing(&board.step), seconds.saturating_mul(board.step.patience()));
            let text = Text::of(format_args!("it hangs; it was ended after {seconds} s. What it was doing: {step}"));
            return (Verdict::Wrong(text), true);
        }
        Err(errno) => Verdict::Unfit(Text::of(format_args!("wait4: {errno}"))),
    };
    (verdict, false)
}

/// Waits for the end of a child, `seconds` at most while it does not come further, or some times that long in a call
/// that waits for all processors; returns its status, if it ended.
fn wait(child: usize, seconds: u32, step: &Step) -> Result<Option<i32>, Errno> {
    let mut status = 0_i32;
    // In twelfths of a microsecond.
    let limit = u64::from(seconds) * 12_000_000;
    let (mut left, mut progress) = (limit, (0, 0));
    let mut pause = 200;
    loop {
        if progress != step.progress() {
            progress = step.progress();
            left = limit;
        }
        match call(numbers::WAIT4, [child, (&raw mut status).expose_provenance(), WNOHANG, 0, 0, 0]) {
            Ok(0) if left == 0 => return Ok(None),
            Ok(0) => {
                Linux.pause(pause);
                left = left.saturating_sub(pause * 12 / u64::from(step.patience()));
                pause = (2 * pause).min(10_000);
            }
            Ok(_) => return Ok(Some(status)),
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
    }
}

fn doing(step: &Step) -> &'static str {
    match step.get() {
        "" => "its first call",
        step => step,
    }
}

fn died(status: i32, step: &Step) -> Text<{ crate::TEXT }> {
    let (signal, code) = (status & 0x7f, status >> 8 & 0xff);
    let step = doing(step);
    if signal == 0 {
        Text::of(format_args!("its process ended with code {code}. What it was doing: {step}"))
    } else {
        Text::of(format_args!("its process was killed by signal {signal}. What it was doing: {step}"))
    }
}
