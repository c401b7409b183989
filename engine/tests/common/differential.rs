//! What the tests beside the kernel have in common: choices from a seed, the number of scripts,
//! shortening and printing a script that does not agree, and threads that are known to sleep.
//!
//! The generator of choices and the shortening are those of `leeward-conform`'s random sequences.

// Each test program uses its part.
#![allow(dead_code, unused_imports)]

#[path = "../../../conform/src/sequences/random.rs"]
mod random;
#[path = "../../../conform/src/sequences/shorten.rs"]
mod shorten;

use std::fmt::Debug;
use std::io::Write;
use std::ops::Range;
use std::sync::atomic::{AtomicI32, AtomicI64, Ordering};
use std::time::{Duration, Instant};

pub use random::Random;
pub use shorten::Steps;
use shorten::shortened;

fn setting(name: &str, usual: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

/// Returns the scripts' seeds: `LEEWARD_SEQUENCES` of them (`usual` without), from `LEEWARD_SEED`
/// (1) on.
pub fn seeds(usual: u64) -> Range<u64> {
    let first = setting("LEEWARD_SEED", 1);
    first..first + setting("LEEWARD_SEQUENCES", usual)
}

/// Prints what agreed, also where the tests' output is kept back.
pub fn summary(line: &str) {
    _ = writeln!(std::io::stderr(), "  beside the kernel: {line}");
}

/// A list is a script whose parts are its elements.
impl<T: Clone> Steps for Vec<T> {
    fn count(&self) -> usize {
        self.len()
    }

    fn without(&self, places: Range<usize>) -> Vec<T> {
        without(self, 0, &places)
    }
}

/// Returns a script's list without its elements at these places of the script, in which the list
/// begins at `first`.
pub fn without<T: Clone>(list: &[T], first: usize, places: &Range<usize>) -> Vec<T> {
    let there = list.iter().enumerate().filter(|(at, _)| !places.contains(&(first + at)));
    there.map(|(_, element)| element.clone()).collect()
}

/// Fails if `differs` says how the kernel and the engine differ, with a script that is as short as
/// it gets.
///
/// What a busy machine did is not the engine's: a difference must show three times.
pub fn agree<S: Steps + Clone + Debug>(seed: u64, script: &S, differs: impl Fn(&S) -> Option<String>) {
    agree_always(seed, script, |script| {
        let last = differs(script)?;
        differs(script)?;
        differs(script).map(|_| last)
    });
}

/// Fails as [`agree`] does, where a difference shows once: each step has settled before the next.
pub fn agree_always<S: Steps + Clone + Debug>(seed: u64, script: &S, differs: impl Fn(&S) -> Option<String>) {
    let Some(mut why) = differs(script) else { return };
    let script = shortened(script.clone(), &mut |fewer: &S| {
        let shows = differs(fewer);
        let is_shown = shows.is_some();
        why = shows.unwrap_or_else(|| std::mem::take(&mut why));
        is_shown
    });
    panic!("seed {seed}: {why}\nby this script:\n{script:x?}");
}

/// Returns the first difference of two runs, line by line.
pub fn difference(theirs: &[String], ours: &[String]) -> Option<String> {
    let lines = || {
        theirs.iter().zip(ours).map(|(theirs, ours)| {
            if theirs == ours { format!("  {theirs}") } else { format!("  kernel: {theirs}\n  engine: {ours}") }
        })
    };
    (theirs != ours).then(|| format!("the answers differ\n{}", lines().collect::<Vec<_>>().join("\n")))
}

/// One sleep of a thread, identified by how often the thread had gone to sleep: if two checks find
/// the same number, it has not run between them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sleep(u64);

/// Returns the thread's sleep, if it sleeps in a wait of a test's, or in a host's park. `None` if
/// it sleeps in the kernel on the way there (for its memory map: that sleep is not interruptible),
/// or in a lock of the allocator or of std (a futex that holds 2).
pub fn sleep_in_a_wait(thread: i32) -> Option<Sleep> {
    let look = |file| std::fs::read_to_string(format!("/proc/self/task/{thread}/{file}")).unwrap_or_default();
    let sleeps = || {
        let status = look("status");
        status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:")?.trim().parse().ok())
    };
    let before = sleeps();
    let interruptible = || look("stat").rsplit(')').next().is_some_and(|rest| rest.starts_with(" S"));
    // The call's number, and its arguments.
    let call = look("syscall");
    let mut parts = call.split(' ');
    let number = parts.next().and_then(|number| number.parse().ok());
    let is_one = number.is_some_and(|number| SLEEPS.contains(&number))
        && (number != Some(libc::SYS_futex) || parts.nth(2).is_some_and(|value| value != "0x2"))
        && interruptible()
        && call == look("syscall")
        && before == sleeps();
    before.filter(|_| is_one).map(Sleep)
}

/// Returns true if a thread of this process sleeps in a futex call without a time after which it
/// would soon check again.
pub fn sleeps_for_good(thread: i32) -> bool {
    // The call's argument leads to the time only as long as it is the same sleep.
    let before = sleep_in_a_wait(thread);
    before.is_some() && has_no_time(thread) && sleep_in_a_wait(thread) == before
}

fn has_no_time(thread: i32) -> bool {
    let call = std::fs::read_to_string(format!("/proc/self/task/{thread}/syscall")).unwrap_or_default();
    let time = call.split(' ').nth(4).and_then(|time| usize::from_str_radix(time.strip_prefix("0x")?, 16).ok());
    let seconds = time.map(|time| match time {
        0 => i64::MAX,
        // SAFETY: what a thread sleeps with lies on its stack, of which nothing is unmapped before
        // the thread is joined.
        time => unsafe { std::ptr::with_exposed_provenance::<i64>(time).read_volatile() },
    });
    seconds.is_some_and(|seconds| seconds > 1 << 32)
}

const NONE: i64 = i64::MIN;
/// The calls in which a thread sleeps: futex, and futex2's waits.
const SLEEPS: [i64; 3] = [libc::SYS_futex, 449, 455];

/// A thread that waits, and its answer.
pub struct Waiter {
    thread: AtomicI32,
    answer: AtomicI64,
}

impl Default for Waiter {
    fn default() -> Waiter {
        Waiter { thread: AtomicI32::new(0), answer: AtomicI64::new(NONE) }
    }
}

impl Waiter {
    /// Makes the wait on this thread.
    pub fn run(&self, wait: impl FnOnce() -> i64) {
        // SAFETY: no arguments.
        self.thread.store(unsafe { libc::gettid() }, Ordering::SeqCst);
        self.answer.store(wait(), Ordering::SeqCst);
    }

    /// Returns the id of the waiter's thread, once it runs.
    pub fn thread(&self) -> i32 {
        self.thread.load(Ordering::SeqCst)
    }

    /// Returns the answer, if there is one.
    pub fn answer(&self) -> Option<i64> {
        Some(self.answer.load(Ordering::SeqCst)).filter(|answer| *answer != NONE)
    }

    /// Waits until there is an answer or the thread sleeps; returns the answer, or `None`.
    #[track_caller]
    pub fn settled(&self) -> Option<i64> {
        let start = Instant::now();
        loop {
            if let Some(answer) = self.answer() {
                return Some(answer);
            }
            let sleep = sleep_in_a_wait(self.thread());
            // Between the two checks it may have got its answer, and sleep at its end.
            if sleep.is_some() && self.answer().is_none() {
                return None;
            }
            assert!(start.elapsed() < Duration::from_secs(20), "a thread does not settle");
            std::thread::yield_now();
        }
    }
}
