//! Random sequences of futex calls: the engine says what Linux answers, and the kernel is asked.
//!
//! A **seed** makes a **script** (`generate`): up to 24 steps, each a store, a call of the futex family, or the end of
//! a thread with a robust list, on few words of private and of shared memory. Odd seeds have each argument that a
//! program gets wrong; even ones have none, so that a kernel with many errors of that kind is asked how its waits and
//! wakes meet. The **model** (`model`, `host`, `arena`) is `leeward-engine` in the same process, on one thread: it
//! plays the script first, on memory of its own, and writes down for each step what Linux answers, which calls sleep,
//! which of them end, and what the words hold. Then the kernel is asked the same (`ground`, `drive`): each wait on a
//! thread of its own, the other calls on one thread. After each step the driver waits for the ends that the model
//! names, and compares.
//!
//! **Time.** A call that sleeps on Linux has a while to go to sleep, and one that does not may end late. So a kernel
//! that seems wrong is asked again with longer and longer whiles ([`RESTS`]), and must be wrong each
//! time; one right answer is enough. This holds for each script that is tried while a disagreement is shrunk
//! (`shrink`), too. Times of calls are past, a moment, or never.
//!
//! **What Linux leaves open** is not asked, and the model says so, because a script that is being shrunk may come to
//! it: a requeue to a word on which others wait already (their order depends on whether both words share a
//! bucket of the kernel's); and the death of a thread that wakes two words of one call. When one call wakes two words
//! of a `futex_waitv`, either index is right. The two words of a `futex_requeue` have the same flags: Linux's versions
//! differ there. Locks with priority inheritance are those of one thread, which never waits for one: the model has no
//! threads. Which other thread has a number that was stored in such a lock's word, it does not know.
//!
//! **Absent.** An operation that answers `ENOSYS` to a call that is right is left out ([`Operations`]).
//!
//! Nothing here allocates: a script, the model's tables and its sleeping futures lie in the frame of
//! [`ask`]. The report ([`Report`]) has the script and a program in C, written by `program`.

mod arena;
mod drive;
mod generate;
mod ground;
mod host;
mod model;
mod operations;
mod program;
mod progress;
mod random;
mod report;
mod script;
mod shorten;
mod shrink;
#[cfg(test)]
mod tests;

use core::sync::atomic::Ordering;

use arena::Arena;
use drive::{drive, is_wrong};
use ground::Ground;
use model::foresee;
pub use operations::Operations;
#[cfg(feature = "linux")]
pub(crate) use operations::STORED;
pub(crate) use progress::Progress;
pub use report::{Found, Report};
use script::Script;

use crate::futex::Time;
use crate::numbers;
use crate::run::RESTS;
use crate::syscalls::{Syscalls, ask as call};
use crate::verdict::Verdict;
use crate::world;

/// The while of the first asking, in microseconds.
const FIRST_REST: u64 = 300;
/// How many sequences stand for a second where there is no clock.
const A_SECOND: u64 = 100;

/// Asks the kernel the sequences from a seed on, for some seconds, in this process; ends at the first
/// disagreement, which it shrinks.
///
/// The sequences of odd seeds name words of which nothing is mapped: a kernel that reads its callers' memory without
/// a check dies of them. A kernel that hangs in a call that is no wait keeps this process:
/// [`linux::sequences_apart`](crate::linux::sequences_apart) asks in child processes. Stacks of the threads
/// stay mapped, as for [`ask`](crate::ask).
///
/// ```
/// use leeward_conform::linux::Linux;
/// use leeward_conform::{Verdict, sequences};
///
/// let report = sequences::ask(&Linux, 1, 1);
/// assert!(matches!(report.verdict, Verdict::Pass), "{:?}", report.verdict);
/// assert!(report.sequences > 0);
/// ```
pub fn ask(kernel: &'static dyn Syscalls, seed: u64, seconds: u32) -> Report {
    ask_naming(kernel, seed, seconds, Operations::default(), &|_| {})
}

/// As [`ask`], without some operations, and calls `name` with the seed of each sequence before it is asked: where a
/// kernel stops, the last one says at which sequence. What a kernel is known to do otherwise than Linux is left out so,
/// and the sequences go on.
pub fn ask_naming(
    kernel: &'static dyn Syscalls,
    seed: u64,
    seconds: u32,
    without: Operations,
    name: &dyn Fn(u64),
) -> Report {
    let step = match world::Step::mapped(kernel) {
        Ok(step) => step,
        Err(trouble) => return Report::of(seed, &Progress::default(), Err(trouble).into(), None),
    };
    let progress = Progress::default();
    progress.seed.store(seed, Ordering::SeqCst);
    progress.without.store(without.bits(), Ordering::SeqCst);
    progress.find_absent(kernel);
    let end = End::after(kernel, seconds, &progress);
    let verdict = batch(kernel, &progress, step, |progress| {
        let is_over = end.is_come(kernel, progress);
        if !is_over {
            name(progress.seed.load(Ordering::SeqCst));
        }
        is_over
    });
    let asks = |script: &Script, rests: &[u64]| confirm(kernel, script, rests, step);
    finish(seed, &progress, verdict, &asks)
}

/// Makes a report: where a sequence was wrong, with the script, shrunk as far as `asks` finds it wrong.
pub(crate) fn finish(
    first: u64,
    progress: &Progress,
    verdict: Verdict,
    asks: &dyn Fn(&Script, &[u64]) -> Verdict,
) -> Report {
    let Verdict::Wrong(text) = verdict else { return Report::of(first, progress, verdict, None) };
    let mut arena = Arena::new();
    let seed = progress.seed.load(Ordering::SeqCst);
    let script = generate::script(seed, &progress.operations(), &mut arena);
    let (script, text) = shrink::shrunk(&script, text, asks, &mut arena);
    Report::of(first, progress, Verdict::Wrong(text), Some(Found::new(seed, script)))
}

/// Asks sequences until `is_over`, or until one is wrong, whose seed the progress then says.
pub(crate) fn batch(
    kernel: &'static dyn Syscalls,
    progress: &Progress,
    step: &'static world::Step,
    is_over: impl Fn(&Progress) -> bool,
) -> Verdict {
    let mut arena = Arena::new();
    let lacks = progress.operations();
    let mut ground = match Ground::new(kernel) {
        Ok(ground) => ground,
        Err(trouble) => return Err(trouble).into(),
    };
    while !is_over(progress) {
        let seed = progress.seed.load(Ordering::SeqCst);
        let script = generate::script(seed, &lacks, &mut arena);
        let foreseen = foresee(&script, &mut arena);
        step.begin();
        let outcome = drive(&ground, &script, &foreseen, FIRST_REST, step);
        if !ground.clear() {
            ground = match Ground::new(kernel) {
                Ok(ground) => ground,
                Err(trouble) => return Err(trouble).into(),
            };
        }
        if is_wrong(&outcome) {
            let verdict = confirm(kernel, &script, RESTS, step);
            if !matches!(verdict, Verdict::Pass) {
                return verdict;
            }
        } else if outcome.is_err() {
            return outcome.into();
        }
        progress.calls.fetch_add(script.calls() as u64, Ordering::SeqCst);
        progress.sequences.fetch_add(1, Ordering::SeqCst);
        progress.seed.store(seed.wrapping_add(1), Ordering::SeqCst);
    }
    Verdict::Pass
}

/// Asks the kernel a script with each of these whiles. Wrong if it was wrong each time: then the last answer.
pub(crate) fn confirm(
    kernel: &'static dyn Syscalls,
    script: &Script,
    rests: &[u64],
    step: &'static world::Step,
) -> Verdict {
    let foreseen = foresee(script, &mut Arena::new());
    let mut verdict = Verdict::Pass;
    for &rest in rests {
        step.begin();
        let ground = match Ground::new(kernel) {
            Ok(ground) => ground,
            Err(trouble) => return Err(trouble).into(),
        };
        let outcome = drive(&ground, script, &foreseen, rest, step);
        ground.clear();
        let is_over = !is_wrong(&outcome);
        verdict = outcome.into();
        if is_over {
            break;
        }
    }
    verdict
}

/// When the sequences end.
#[derive(Clone, Copy)]
pub(crate) enum End {
    /// When the kernel's clock shows this number of milliseconds.
    At(u64),
    /// After this number of sequences: the kernel has no clock.
    Sequences(u64),
}

impl End {
    pub(crate) fn after(kernel: &dyn Syscalls, seconds: u32, progress: &Progress) -> End {
        let before = progress.sequences.load(Ordering::SeqCst);
        match now(kernel) {
            Some(now) => End::At(now + 1000 * u64::from(seconds)),
            None => End::Sequences(before + A_SECOND * u64::from(seconds)),
        }
    }

    pub(crate) fn is_come(self, kernel: &dyn Syscalls, progress: &Progress) -> bool {
        match self {
            End::At(end) => now(kernel).is_none_or(|now| now >= end),
            End::Sequences(count) => progress.sequences.load(Ordering::SeqCst) >= count,
        }
    }
}

/// Returns what the monotonic clock shows, in milliseconds.
fn now(kernel: &dyn Syscalls) -> Option<u64> {
    let mut now = Time::milliseconds(0);
    let arguments = [1, (&raw mut now).expose_provenance(), 0, 0, 0, 0];
    // SAFETY: the call writes the time.
    unsafe { call(kernel, numbers::CLOCK_GETTIME, arguments) }.ok()?;
    Some(now.seconds as u64 * 1000 + now.nanoseconds as u64 / 1_000_000)
}
