//! Makes a script from a seed: mostly calls that do something, on few words, so that they meet; and, from an odd
//! seed, now and then each argument that a program gets wrong.

use super::arena::Arena;
use super::model::{foresee, wake_of_the_first};
use super::operations::Operations;
use super::random::Random;
use super::script::{
    Argument, Asked, Death, ENTRIES, Entry, Family, HELD, OWNER_DIED, PRIVATE, Page, Script, Step, TIMES, WAITERS,
};
use crate::pages::KERNEL;

/// How many times end a wait at once, and how many are valid.
const SHORT: u64 = 3;
const NEVER: usize = 3;
/// The most steps before the wakes at the end.
const MOST: u64 = 14;
const COUNTS: [u64; 8] = [0, 1, 1, 1, 2, 3, 0x7fff_ffff, 5];
const ODD_COUNTS: [u64; 5] = [0x8000_0000, 0xffff_ffff, u64::MAX, 1 << 32, u64::MAX - 1];
const BITS: [u64; 7] = [1, 2, 3, 4, 0x8000_0000, 0xffff_ffff, 6];

/// Where most calls of one script are: their page, and whether they are private.
#[derive(Clone, Copy)]
struct Habit {
    page: Page,
    is_private: bool,
    /// In this many of 100 cases a call is elsewhere.
    strays: u64,
}

struct Maker<'a> {
    random: Random,
    habit: Habit,
    /// The script has no argument that is wrong.
    is_sound: bool,
    lacks: &'a Operations,
}

/// Returns the script of a seed, without the operations that the kernel lacks or that are not to be asked. At its end
/// all that still sleep are woken.
pub(super) fn script(seed: u64, lacks: &Operations, arena: &mut Arena) -> Script {
    let mut random = Random(seed);
    let (page, is_private) = random.pick(&[
        (Page::Own, true),
        (Page::Own, true),
        (Page::Own, false),
        (Page::Shared, false),
        (Page::Shared, false),
        (Page::Alias, true),
    ]);
    let page = if page == Page::Alias && lacks.has_alias() { Page::Shared } else { page };
    let is_sound = seed % 2 == 0 || lacks.has_errors();
    let strays = if is_sound { 0 } else { random.pick(&[0, 5, 40]) };
    let mut maker = Maker { random, habit: Habit { page, is_private, strays }, is_sound, lacks };
    let mut script = Script::EMPTY;
    let count = 4 + maker.random.below(MOST - 3);
    while (script.steps().len() as u64) < count {
        if let Some(step) = maker.step() {
            script.push(step);
        }
    }
    let foreseen = foresee(&script, arena);
    let mut script = script.filtered(|at| !foreseen.steps[at].is_left_out);
    let mut queues = foreseen.waited_on;
    while queues != 0 {
        let (wake, others) = wake_of_the_first(queues);
        script.push(wake);
        queues = others;
    }
    script
}

impl Maker<'_> {
    /// Returns a step, or nothing if it is a call that the kernel lacks.
    fn step(&mut self) -> Option<Step> {
        let step = match self.random.below(100) {
            0..8 => {
                let page = if self.random.chance(80) { self.habit.page } else { Page::Own };
                Step::Store(page, self.random.below(3) as usize, self.random.below(4) as u32)
            }
            8..38 => Step::Call(self.wait()),
            38..56 => Step::Call(self.wake()),
            56..71 => Step::Call(self.requeue()),
            71..81 => Step::Call(self.wake_op()),
            81..87 => Step::Call(self.futex2()),
            87..92 => Step::Death(self.death()),
            92..96 => Step::Call(self.lock()),
            _ if self.is_sound => Step::Call(self.wait()),
            _ => Step::Call(self.unknown()),
        };
        let is_absent = match &step {
            Step::Call(asked) => self.lacks.has(asked),
            Step::Death(_) => self.lacks.has_robust_lists(),
            Step::Store(..) => false,
        };
        let mut alone = Script::EMPTY;
        alone.push(step);
        let names_alias = self.lacks.has_alias() && alone.names(Page::Alias);
        (!is_absent && !names_alias).then_some(step)
    }

    /// Returns true in this many of 100 cases, where arguments may be wrong.
    fn errs(&mut self, percent: u64) -> bool {
        self.random.chance(percent) && !self.is_sound
    }

    /// Returns a word: mostly one of three.
    fn place(&mut self) -> Argument {
        let word = 4 * self.random.pick(&[0, 0, 0, 1, 1, 2]);
        let page = if self.random.chance(self.habit.strays) { self.random.pick(&Page::ALL) } else { self.habit.page };
        if !self.errs(4) {
            Argument::Place(page, word)
        } else if self.random.chance(50) {
            Argument::Place(page, word + self.random.pick(&[1, 2, 3]))
        } else {
            Argument::Number(self.random.pick(&[0, 4, KERNEL[0] as u64, KERNEL[1] as u64]))
        }
    }

    /// Returns `futex`'s flags: mostly the habit's.
    fn flags(&mut self) -> u64 {
        let is_private = self.habit.is_private != self.random.chance(self.habit.strays / 2);
        let flags = if is_private { PRIVATE } else { 0 };
        if self.errs(3) { flags | self.random.pick(&[256, 256, 1 << 12, 1 << 31]) } else { flags }
    }

    /// Returns the value that a wait expects: mostly the one that untouched words hold.
    fn value(&mut self) -> u64 {
        match self.random.below(20) {
            0..15 => 0,
            15 => self.random.pick(&[OWNER_DIED, OWNER_DIED | WAITERS]).into(),
            16..18 => self.random.pick(&[1, 2, 3]),
            _ if self.is_sound => 1,
            _ => self.random.pick(&[1 << 32, u64::MAX]),
        }
    }

    fn count(&mut self) -> Argument {
        Argument::Number(if self.errs(6) { self.random.pick(&ODD_COUNTS) } else { self.random.pick(&COUNTS) })
    }

    fn bits(&mut self) -> u64 {
        if self.errs(4) { self.random.pick(&[0, 1 << 32, u64::MAX]) } else { self.random.pick(&BITS) }
    }

    fn time(&mut self) -> Argument {
        match self.random.below(100) {
            0..70 => Argument::Number(0),
            70..78 => Argument::Time(NEVER),
            78..90 => Argument::Time(self.random.below(SHORT) as usize),
            _ if self.is_sound => Argument::Number(0),
            90..97 => Argument::Time(self.random.below(TIMES as u64) as usize),
            _ => self.random.pick(&[Argument::Number(8), Argument::Place(Page::Missing, 0), kernel()]),
        }
    }

    fn wait(&mut self) -> Asked {
        let (place, flags, value) = (self.place(), self.flags(), Argument::Number(self.value()));
        let (time, zero) = (self.time(), Argument::Number(0));
        match self.random.below(10) {
            0..6 => Asked::futex(flags, [place, value, time, zero, zero]),
            _ => Asked::futex(9 | flags, [place, value, time, zero, Argument::Number(self.bits())]),
        }
    }

    fn wake(&mut self) -> Asked {
        let (place, flags, count) = (self.place(), self.flags(), self.count());
        let zero = Argument::Number(0);
        match self.random.below(10) {
            0..6 => Asked::futex(1 | flags, [place, count, zero, zero, zero]),
            _ => Asked::futex(10 | flags, [place, count, zero, zero, Argument::Number(self.bits())]),
        }
    }

    fn requeue(&mut self) -> Asked {
        let (from, to, flags) = (self.place(), self.place(), self.flags());
        let (woken, moved) = (self.count(), self.count());
        match self.random.below(2) {
            0 => Asked::futex(3 | flags, [from, woken, moved, to, Argument::Number(0)]),
            _ => Asked::futex(4 | flags, [from, woken, moved, to, Argument::Number(self.value())]),
        }
    }

    fn wake_op(&mut self) -> Asked {
        let (word, on, flags) = (self.place(), self.place(), self.flags());
        let (woken, others) = (self.count(), self.count());
        let (change, compare) = (self.random.below(5), self.random.below(6));
        // From 0x800 on an operand is negative.
        let operand = if self.errs(40) { self.random.pick(&[0xfff, 0x800]) } else { self.random.pick(&[0, 1, 2, 3]) };
        let with = if self.errs(30) { self.random.pick(&[0xfff, 0x800]) } else { self.random.pick(&[0, 0, 1, 2]) };
        let mut encoded = change << 28 | compare << 24 | operand << 12 | with;
        if self.random.chance(10) {
            // The operand is a bit's number, which must be one.
            encoded = encoded & !0xff_f000 | 1 << 31 | self.random.below(32) << 12;
        }
        if self.errs(5) {
            encoded |= self.random.pick(&[7 << 28, 15 << 24]);
            encoded &= 0x7fff_ffff;
        }
        Asked::futex(5 | flags, [word, woken, others, on, Argument::Number(encoded)])
    }

    /// Returns a call that takes or frees a lock, by the thread that makes the calls which do not sleep.
    fn lock(&mut self) -> Asked {
        let (place, flags, zero) = (self.place(), self.flags(), Argument::Number(0));
        let time = if self.errs(20) { self.time() } else { zero };
        match self.random.below(5) {
            0..2 => Asked::futex(6 | flags, [place, zero, time, zero, zero]),
            2 => Asked::futex(8 | flags, [place, zero, zero, zero, zero]),
            _ => Asked::futex(7 | flags, [place, zero, zero, zero, zero]),
        }
    }

    fn death(&mut self) -> Death {
        let page = match self.habit.page {
            page @ (Page::Own | Page::Shared | Page::Alias) => page,
            _ => Page::Own,
        };
        let mut held = [None; HELD];
        for word in &mut held {
            *word = self.random.pick(&[None, Some(false), Some(true), Some(true)]);
        }
        let is_torn = self.errs(20);
        if is_torn {
            // The kernel does not come to it.
            held[1] = None;
        }
        Death { page, held, is_torn }
    }

    fn unknown(&mut self) -> Asked {
        let command = self.random.pick(&[2, 99, 127]);
        let (place, flags) = (self.place(), self.flags());
        let arguments = [place, self.count(), self.count(), self.place(), self.count()];
        Asked::futex(command | flags, arguments)
    }

    /// Returns the flags of a word of futex2's.
    fn word_flags(&mut self) -> u32 {
        let is_private = self.habit.is_private != self.random.chance(self.habit.strays / 2);
        let flags = if is_private { 2 | 128 } else { 2 };
        // Sizes that Linux does not serve, and flags that it does not know.
        if self.errs(3) { self.random.pick(&[0, 1, 3, 2 | 16, 2 | 1 << 31]) } else { flags }
    }

    fn entry(&mut self, flags: u32) -> Entry {
        let reserved = u32::from(self.errs(2));
        Entry { value: self.value(), place: self.place(), flags, reserved }
    }

    fn futex2(&mut self) -> Asked {
        let mut entries = [Entry::NONE; ENTRIES];
        let zero = Argument::Number(0);
        let clock = Argument::Number(if self.errs(10) { 2 } else { self.random.below(2) });
        let bad = Argument::Number(u64::from(self.errs(3)));
        let (family, arguments) = match self.random.below(6) {
            0..2 => {
                for entry in &mut entries {
                    let flags = self.word_flags();
                    *entry = self.entry(flags);
                }
                let count = if self.errs(5) { 0 } else { 1 + self.random.below(3) };
                (Family::Waitv, [Argument::Array, Argument::Number(count), bad, self.time(), clock, zero])
            }
            2 => {
                let bits = Argument::Number(self.bits());
                let flags = Argument::Number(self.word_flags().into());
                (Family::Wake, [self.place(), bits, self.count(), flags, zero, zero])
            }
            3..5 => {
                let value = Argument::Number(self.value());
                let (bits, flags) = (self.bits(), self.word_flags());
                let (bits, flags) = (Argument::Number(bits), Argument::Number(flags.into()));
                (Family::Wait, [self.place(), value, bits, flags, self.time(), clock])
            }
            _ => {
                // Of words with different flags Linux says different things in different versions.
                let flags = self.word_flags();
                (entries[0], entries[1]) = (self.entry(flags), self.entry(flags));
                (Family::Requeue, [Argument::Array, bad, self.count(), self.count(), zero, zero])
            }
        };
        Asked { family, arguments, entries }
    }
}

fn kernel() -> Argument {
    Argument::Number(KERNEL[0] as u64)
}
