//! Random sequences in child processes with a time limit.

use core::sync::atomic::Ordering;

use super::apart::{MAP_SHARED, asked_apart};
use super::{Linux, STACK, call, map};
use crate::numbers;
use crate::sequences::{End, Operations, Progress, Report, STORED, batch, confirm, finish};
use crate::syscalls::Syscalls;
use crate::text::Text;
use crate::verdict::Verdict;

/// How many sequences one child asks: the stacks of their threads are given back when it ends.
const BATCH: u64 = 64;

/// Asks the kernel below this process the sequences from a seed on, for some seconds; ends at the first
/// disagreement, which it shrinks. The sequences are asked in child processes, which have `limit` seconds for each
/// sequence: one that hangs, or kills its process, is a disagreement like any other.
///
/// Where the kernel has neither `fork` nor memory that processes share, the verdict is
/// [`Unfit`](Verdict::Unfit); [`sequences::ask`](crate::sequences::ask) does without.
///
/// ```
/// use leeward_conform::{Verdict, linux};
///
/// let report = linux::sequences_apart(1, 1, 10);
/// assert!(matches!(report.verdict, Verdict::Pass), "{:?}", report.verdict);
/// ```
pub fn sequences_apart(seed: u64, seconds: u32, limit: u32) -> Report {
    sequences_apart_with(&Linux, seed, seconds, limit, Operations::default())
}

/// As [`sequences_apart`], of calls that reach the kernel by way of `kernel`, and without some operations: what a
/// kernel is known to do otherwise than Linux is left out so, and the sequences go on.
pub fn sequences_apart_with(
    kernel: &'static dyn Syscalls,
    seed: u64,
    seconds: u32,
    limit: u32,
    without: Operations,
) -> Report {
    let memory = match map(STACK, MAP_SHARED) {
        Ok(memory) => memory.cast::<Progress>(),
        Err(errno) => {
            let text = Text::of(format_args!("mmap of shared anonymous memory: {errno}"));
            return finish(seed, &Progress::default(), Verdict::Unfit(text), &|_, _| Verdict::Pass);
        }
    };
    // SAFETY: mapped, zeroed, aligned to a page; unmapped below, when no reference is left.
    let progress = unsafe { memory.as_ref() };
    progress.seed.store(seed, Ordering::SeqCst);
    progress.without.store(without.bits(), Ordering::SeqCst);
    // Where processes are numbered from 1 on, the callers get numbers that no sequence stores.
    for _ in 0..STORED {
        asked_apart(&|_| Verdict::Pass, limit);
    }
    let finds_absent = |_| {
        progress.find_absent(kernel);
        Verdict::Pass
    };
    let mut verdict = asked_apart(&finds_absent, limit);
    if matches!(verdict, Verdict::Pass) {
        let end = End::after(&Linux, seconds, progress);
        verdict = batches(kernel, progress, end, limit);
    } else if let Verdict::Wrong(text) = verdict {
        // No sequence was asked: there is none to show.
        verdict = Verdict::Unfit(text);
    }
    let asks = |script: &_, rests: &[u64]| asked_apart(&|step| confirm(kernel, script, rests, step), limit);
    let report = finish(seed, progress, verdict, &asks);
    // SAFETY: the children have ended, and no reference is used any more.
    let _ = call(numbers::MUNMAP, [memory.addr().get(), STACK, 0, 0, 0, 0]);
    report
}

/// Asks sequences, each batch in a child of its own.
fn batches(kernel: &'static dyn Syscalls, progress: &Progress, end: End, limit: u32) -> Verdict {
    while !end.is_come(&Linux, progress) {
        let most = progress.sequences.load(Ordering::SeqCst) + BATCH;
        let is_over = |now: &Progress| end.is_come(&Linux, now) || now.sequences.load(Ordering::SeqCst) >= most;
        let verdict = asked_apart(&|step| batch(kernel, progress, step, is_over), limit);
        if !matches!(verdict, Verdict::Pass) {
            return verdict;
        }
    }
    Verdict::Pass
}
