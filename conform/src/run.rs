//! Asks a kernel a scenario.

use crate::scenario::Scenario;
use crate::syscalls::Syscalls;
use crate::text::Text;
use crate::verdict::{Trouble, Verdict};
use crate::world::{Step, World};

/// For how long a scenario lets threads go to sleep, in microseconds: at first, and each time again
/// when the kernel seems to be wrong.
pub const RESTS: &[u64] = &[1_000, 10_000, 100_000, 1_000_000];

/// Asks the kernel a scenario, in this process and on this thread.
///
/// A kernel that loses a wake makes the scenario hang, and this call with it:
/// [`linux::apart`](crate::linux::apart) asks in a child process with a time limit. Threads that a
/// wrong kernel does not wake stay, and so do their stacks and the memory that they use, for which each
/// call maps 128 KiB. Scenarios also replace what the process has one of: the calling thread's robust list,
/// the handler of `SIGUSR1`, what the process has registered for `membarrier`.
pub fn ask(scenario: &Scenario, kernel: &'static dyn Syscalls) -> Verdict {
    ask_resting(scenario, kernel, RESTS)
}

/// As [`ask`], with other [`RESTS`]: a kernel under a slow emulator may need more.
pub fn ask_resting(scenario: &Scenario, kernel: &'static dyn Syscalls, rests: &[u64]) -> Verdict {
    match Step::mapped(kernel) {
        Ok(step) => ask_stepping(scenario, kernel, rests, step),
        Err(trouble) => Err(trouble).into(),
    }
}

/// As [`ask_resting`], and says at each moment what the scenario is doing.
pub(crate) fn ask_stepping(
    scenario: &Scenario,
    kernel: &'static dyn Syscalls,
    rests: &[u64],
    step: &'static Step,
) -> Verdict {
    let mut verdict = Verdict::Pass;
    for &rest in rests {
        step.begin();
        let outcome = World::new(kernel, rest, step).and_then(scenario.ask);
        let is_in_doubt = matches!(outcome, Err(Trouble::Wrong(_) | Trouble::Late(_)));
        verdict = outcome.into();
        if matches!(verdict, Verdict::Wrong(_)) && step.lacks() {
            return absent();
        }
        if !is_in_doubt {
            break;
        }
    }
    verdict
}

/// The verdict where a thread or a child of the scenario ended because a call is absent.
pub(crate) fn absent() -> Verdict {
    Verdict::Absent(Text::of(format_args!("the call of a thread or a child of the scenario")))
}
