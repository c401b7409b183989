//! Asks the kernel a script, step by step, and compares with what the model foresaw.

use super::ground::Ground;
use super::model::{Foreseen, SLEEPERS};
use super::script::{Answered, Asked, CALLER, Death, OWNER, Page, STEPS, Script, Step, WORDS, address};
use crate::scenario::{Outcome, Trouble};
use crate::world::{self, wrong};

/// How long a thread that was woken may take to end its call, in microseconds, if a while is as long as this.
const fn limit(rest: u64) -> u64 {
    let longer = 10 * rest;
    if longer < 200_000 {
        200_000
    } else if longer > 5_000_000 {
        5_000_000
    } else {
        longer
    }
}

/// What the report on a script that hangs or kills its process says.
static AT: [&str; STEPS] = [
    "step 1", "step 2", "step 3", "step 4", "step 5", "step 6", "step 7", "step 8", "step 9", "step 10", "step 11",
    "step 12", "step 13", "step 14", "step 15", "step 16", "step 17", "step 18", "step 19", "step 20", "step 21",
    "step 22", "step 23", "step 24",
];

/// One asking of a script.
struct Drive<'a> {
    ground: &'a Ground,
    foreseen: &'a Foreseen,
    rest: u64,
    /// For each sleeper: its call has not ended.
    sleeps: [bool; SLEEPERS],
}

/// Asks the kernel a script. Wrong: it answers otherwise than the model; but a thread may not have had the
/// time to go to sleep, for which it has `rest` microseconds.
pub(super) fn drive(
    ground: &Ground,
    script: &Script,
    foreseen: &Foreseen,
    rest: u64,
    progress: &world::Step,
) -> Outcome {
    ground.begin(script.data(|page| ground.base(page), ground.data()));
    let mut drive = Drive { ground, foreseen, rest, sleeps: [false; SLEEPERS] };
    for (at, step) in script.steps().iter().enumerate().filter(|(at, _)| !foreseen.steps[*at].is_left_out) {
        progress.set(&AT[at]);
        match step {
            Step::Store(page @ (Page::Own | Page::Shared | Page::Alias), word, value) => {
                ground.set(*page, *word, *value);
            }
            Step::Store(..) => {}
            Step::Call(asked) => drive.call(asked, at)?,
            Step::Death(death) => drive.die(death, at)?,
        }
        drive.compare(at)?;
    }
    if drive.sleeps.contains(&true) {
        ground.rest(rest);
        drive.sleep_on(script.steps().len() - 1)?;
    }
    Ok(())
}

impl Drive<'_> {
    fn call(&mut self, asked: &Asked, at: usize) -> Outcome {
        let ground = self.ground;
        let value = |argument| address(argument, |page| ground.base(page), ground.data(), at) as usize;
        let (number, arguments) = (asked.family.number(), asked.arguments.map(value));
        let expected = &self.foreseen.steps[at];
        let answered = if asked.is_wait() {
            ground.start(at, number, arguments)?;
            if let Some(sleeper) = expected.becomes {
                self.sleeps[sleeper] = true;
                ground.rest(self.rest);
                return self.sleep_on(at);
            }
            ground.end_of(at, limit(self.rest))
        } else {
            Some(ground.ask(number, arguments))
        };
        match (answered, expected.answer) {
            (answered, linux) if answered == linux => Ok(()),
            (None, linux) => wrong(format_args!(
                "step {}: the call does not return; Linux answers {}",
                at + 1,
                Answered(linux.unwrap_or_default())
            )),
            (Some(answered), linux) => wrong(format_args!(
                "step {}: the call answers {}; Linux answers {}",
                at + 1,
                Answered(answered),
                Answered(linux.unwrap_or_default())
            )),
        }
    }

    /// Has a thread end that holds words, and waits until they are as on Linux, if they come to be.
    fn die(&self, death: &Death, at: usize) -> Outcome {
        self.ground.die(at, death)?;
        let mut left = limit(self.rest);
        while left != 0 && self.ground.contents() != self.words(at) {
            let pause = left.min(100);
            self.ground.rest(pause);
            left -= pause;
        }
        Ok(())
    }

    /// Returns what the words hold on Linux after a step.
    fn words(&self, at: usize) -> [[u32; WORDS]; 2] {
        let named = |word| if word & OWNER == CALLER { word & !OWNER | self.ground.caller() } else { word };
        self.foreseen.steps[at].words.map(|words| words.map(named))
    }

    /// Asserts that the calls which sleep on Linux have not ended.
    fn sleep_on(&self, at: usize) -> Outcome {
        for sleeper in (0..SLEEPERS).filter(|&sleeper| self.sleeps[sleeper]) {
            let by = self.foreseen.asleep_by[sleeper].unwrap_or_default();
            if let Some(answered) = self.ground.answer_of(by) {
                return wrong(format_args!(
                    "step {}: the call of step {} has ended with {}; on Linux it sleeps",
                    at + 1,
                    by + 1,
                    Answered(answered)
                ));
            }
        }
        Ok(())
    }

    /// Compares what a step did to threads that slept, and to the words.
    fn compare(&mut self, at: usize) -> Outcome {
        let expected = &self.foreseen.steps[at];
        for (sleeper, end) in expected.ends.iter().enumerate() {
            let Some((least, most)) = *end else { continue };
            let by = self.foreseen.asleep_by[sleeper].unwrap_or_default();
            self.sleeps[sleeper] = false;
            match self.ground.end_of(by, limit(self.rest)) {
                Some(answered) if (least..=most).contains(&answered) => {}
                Some(answered) => {
                    return wrong(format_args!(
                        "step {}: the call of step {} ends with {}; on Linux with {least}",
                        at + 1,
                        by + 1,
                        Answered(answered)
                    ));
                }
                None => {
                    return wrong(format_args!(
                        "step {}: the call of step {} sleeps on; Linux wakes it",
                        at + 1,
                        by + 1
                    ));
                }
            }
        }
        self.sleep_on(at)?;
        self.compare_words(at)
    }

    fn compare_words(&self, at: usize) -> Outcome {
        let (words, expected) = (self.ground.contents(), self.words(at));
        for (page, name) in [Page::Own, Page::Shared].into_iter().enumerate() {
            let Some(word) = (0..WORDS).find(|&word| words[page][word] != expected[page][word]) else { continue };
            let (held, linux) = (words[page][word], expected[page][word]);
            return wrong(format_args!(
                "step {}: the word {} + {} holds {held:#x}; on Linux {linux:#x}",
                at + 1,
                name.name(),
                4 * word
            ));
        }
        Ok(())
    }
}

/// Returns true if the kernel's answer was another one.
pub(super) fn is_wrong(outcome: &Outcome) -> bool {
    matches!(outcome, Err(Trouble::Wrong(_) | Trouble::Proven(_)))
}
