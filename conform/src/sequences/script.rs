//! A script: the steps of a sequence, with places in memory by name instead of addresses, so that the
//! model, the kernel and a program in C each have it at addresses of their own.

use core::fmt::{self, Write};

use crate::numbers;

/// The most steps of a script.
pub(super) const STEPS: usize = 24;
/// How many words of a page are used.
pub(super) const WORDS: usize = 8;
/// The most words that one call names in an array.
pub(super) const ENTRIES: usize = 3;
/// How many times there are for calls to point to.
pub(super) const TIMES: usize = 8;
/// Seconds and nanoseconds. The first three end a wait at once, both as a length and as a point in time;
/// the fourth never comes; the others are invalid.
pub(super) const TIME: [(i64, i64); TIMES] =
    [(0, 0), (0, 1), (0, 100_000), (1 << 40, 0), (-1, 0), (0, -1), (0, 1_000_000_000), (i64::MIN, 0)];
/// How many numbers of 64 bits the times and the arrays of all steps take.
pub(super) const DATA: usize = 2 * TIMES + 3 * ENTRIES * STEPS;

/// How many words of a page a thread may die holding.
pub(super) const HELD: usize = 3;
/// The bits of a lock's word: threads wait; its owner died.
pub(super) const WAITERS: u32 = 1 << 31;
pub(super) const OWNER_DIED: u32 = 1 << 30;
/// The owner's number in a lock's word.
pub(super) const OWNER: u32 = OWNER_DIED - 1;
/// The number that stands for the thread that makes the calls which do not sleep.
pub(super) const CALLER: u32 = 0x3ab_cdef;

/// The flag of a private word, in `futex`'s operation and in futex2's flags.
pub(super) const PRIVATE: u64 = 128;
const REALTIME: u64 = 256;

/// The pages that words are in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Page {
    /// Anonymous memory of the process.
    Own,
    /// Anonymous memory that may be shared with children.
    Shared,
    /// The shared memory, mapped a second time.
    Alias,
    /// Anonymous memory of the process that may only be read.
    ReadOnly,
    /// Memory that may not even be read.
    Missing,
}

impl Page {
    pub(super) const ALL: [Page; 5] = [Page::Own, Page::Shared, Page::Alias, Page::ReadOnly, Page::Missing];

    /// Returns the name that scripts and programs in C give it.
    pub(super) fn name(self) -> char {
        ['p', 's', 'q', 'r', 'm'][self as usize]
    }
}

/// An argument of a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Argument {
    Number(u64),
    /// An address, by its offset in bytes from the beginning of a page.
    Place(Page, u64),
    /// The address of one of the times.
    Time(usize),
    /// The address of the step's own array.
    Array,
}

/// One word in an array: `struct futex_waitv`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Entry {
    pub(super) value: u64,
    pub(super) place: Argument,
    pub(super) flags: u32,
    pub(super) reserved: u32,
}

impl Entry {
    pub(super) const NONE: Entry = Entry { value: 0, place: Argument::Number(0), flags: 0, reserved: 0 };
}

/// The system calls of the futex family.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Family {
    Futex,
    Waitv,
    Wake,
    Wait,
    Requeue,
}

impl Family {
    pub(super) fn number(self) -> usize {
        match self {
            Family::Futex => numbers::FUTEX,
            Family::Waitv => numbers::FUTEX_WAITV,
            Family::Wake => numbers::FUTEX_WAKE,
            Family::Wait => numbers::FUTEX_WAIT,
            Family::Requeue => numbers::FUTEX_REQUEUE,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Family::Futex => "futex",
            Family::Waitv => "futex_waitv",
            Family::Wake => "futex_wake",
            Family::Wait => "futex_wait",
            Family::Requeue => "futex_requeue",
        }
    }
}

/// A call that a step makes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Asked {
    pub(super) family: Family,
    pub(super) arguments: [Argument; 6],
    pub(super) entries: [Entry; ENTRIES],
}

impl Asked {
    /// Returns a call of `futex`.
    pub(super) fn futex(operation: u64, [word, value, fourth, second, third]: [Argument; 5]) -> Asked {
        let arguments = [word, Argument::Number(operation), value, fourth, second, third];
        Asked { family: Family::Futex, arguments, entries: [Entry::NONE; ENTRIES] }
    }

    /// Returns the operation of `futex` without its flags.
    pub(super) fn command(&self) -> Option<u64> {
        match (self.family, self.arguments[1]) {
            (Family::Futex, Argument::Number(operation)) => Some(operation & 0xffff_ffff & !(PRIVATE | REALTIME)),
            _ => None,
        }
    }

    /// Returns true if the call may sleep, be it by mistake.
    pub(super) fn is_wait(&self) -> bool {
        matches!(self.family, Family::Waitv | Family::Wait) || matches!(self.command(), Some(0 | 9))
    }
}

/// The end of a thread that holds words of a page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Death {
    pub(super) page: Page,
    /// For each of the first words nothing, or true if it says that threads wait. The second is pending; the
    /// others are in the list.
    pub(super) held: [Option<bool>; HELD],
    /// The list's last pointer leads to memory that may not be read.
    pub(super) is_torn: bool,
}

/// A pointer of a robust list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Link {
    /// The head, which is the first number of the step's array.
    Head,
    /// The entry of a word.
    Entry(usize),
    /// Memory that may not be read.
    Torn,
}

impl Death {
    /// Returns where the entry of a word is, by its distance from the head in bytes. Entries are as far from each
    /// other as their words; those of the list do not overlap.
    pub(super) fn entry(word: usize) -> u64 {
        24 + 4 * word as u64
    }

    /// Returns the first pointer of the list, and those of the entries of the first word and of the third.
    pub(super) fn links(&self) -> [Link; 3] {
        let end = if self.is_torn { Link::Torn } else { Link::Head };
        let third = self.held[2].map_or(end, |_| Link::Entry(2));
        [self.held[0].map_or(third, |_| Link::Entry(0)), third, end]
    }

    /// Returns the words that are held, and what each holds but the thread's number.
    pub(super) fn words(&self) -> impl Iterator<Item = (usize, u32)> + '_ {
        let held = self.held.iter().enumerate();
        held.filter_map(|(word, held)| Some((word, if (*held)? { WAITERS } else { 0 })))
    }

    /// Returns the numbers of the list's head and entries, which lie at `head`.
    fn numbers(&self, base: impl Fn(Page) -> u64, head: u64) -> [u64; 5] {
        let [first, second, last] = self.links().map(|link| match link {
            Link::Head => head,
            Link::Entry(word) => head + Death::entry(word),
            Link::Torn => base(Page::Missing),
        });
        let offset = base(self.page).wrapping_sub(head + Death::entry(0));
        let pending = self.held[1].map_or(0, |_| head + Death::entry(1));
        [first, offset, pending, second, last]
    }
}

/// A step of a script.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Step {
    Call(Asked),
    Death(Death),
    /// A store of a value in a word of the program's.
    Store(Page, usize, u32),
}

/// The steps of a sequence.
#[derive(Clone, Copy)]
pub(crate) struct Script {
    steps: [Step; STEPS],
    len: usize,
}

impl Script {
    pub(super) const EMPTY: Script = Script { steps: [Step::Store(Page::Own, 0, 0); STEPS], len: 0 };

    pub(super) fn steps(&self) -> &[Step] {
        &self.steps[..self.len]
    }

    /// Returns how many of the steps are calls.
    pub(super) fn calls(&self) -> usize {
        self.steps().iter().filter(|step| matches!(step, Step::Call(_))).count()
    }

    /// Adds a step, where there is room.
    pub(super) fn push(&mut self, step: Step) {
        if self.len < STEPS {
            self.steps[self.len] = step;
            self.len += 1;
        }
    }

    /// Returns the script with the steps alone for which `keeps` returns true.
    pub(super) fn filtered(&self, mut keeps: impl FnMut(usize) -> bool) -> Script {
        let mut script = Script::EMPTY;
        for (at, step) in self.steps().iter().enumerate() {
            if keeps(at) {
                script.push(*step);
            }
        }
        script
    }

    /// Returns true if an argument names this page.
    pub(super) fn names(&self, page: Page) -> bool {
        let is_it = |argument: &Argument| matches!(argument, Argument::Place(named, _) if *named == page);
        self.steps().iter().any(|step| match step {
            Step::Store(stored, ..) => *stored == page,
            Step::Death(death) => death.page == page || death.is_torn && page == Page::Missing,
            Step::Call(asked) => {
                asked.arguments.iter().any(is_it) || asked.entries.iter().any(|entry| is_it(&entry.place))
            }
        })
    }

    /// Returns the times and arrays that the calls point to, which lie at `data`; `base` says where a page
    /// is.
    pub(super) fn data(&self, base: impl Fn(Page) -> u64, data: u64) -> [u64; DATA] {
        let mut numbers = [0; DATA];
        for (at, (seconds, nanoseconds)) in TIME.into_iter().enumerate() {
            numbers[2 * at] = seconds as u64;
            numbers[2 * at + 1] = nanoseconds as u64;
        }
        for (step, made) in self.steps().iter().enumerate() {
            let place = 2 * TIMES + 3 * ENTRIES * step;
            let asked = match made {
                Step::Call(asked) => asked,
                Step::Death(death) => {
                    let list = death.numbers(&base, address(Argument::Array, &base, data, step));
                    numbers[place..place + list.len()].copy_from_slice(&list);
                    continue;
                }
                Step::Store(..) => continue,
            };
            for (at, entry) in asked.entries.iter().enumerate() {
                let place = place + 3 * at;
                numbers[place] = entry.value;
                numbers[place + 1] = address(entry.place, &base, data, step);
                numbers[place + 2] = u64::from(entry.flags) | u64::from(entry.reserved) << 32;
            }
        }
        numbers
    }
}

/// Returns the value of an argument of a step.
pub(super) fn address(argument: Argument, base: impl Fn(Page) -> u64, data: u64, step: usize) -> u64 {
    match argument {
        Argument::Number(number) => number,
        Argument::Place(page, at) => base(page) + at,
        Argument::Time(at) => data + 16 * at as u64,
        Argument::Array => data + 8 * (2 * TIMES + 3 * ENTRIES * step) as u64,
    }
}

/// Writes an argument as scripts and programs in C have it.
pub(super) fn argument(to: &mut dyn Write, argument: Argument, step: usize) -> fmt::Result {
    match argument {
        Argument::Number(number) if number < 1 << 16 => write!(to, "{number}"),
        Argument::Number(number) => write!(to, "{number:#x}"),
        Argument::Place(page, at) => write!(to, "{} + {at}", page.name()),
        Argument::Time(at) => write!(to, "times[{at}]"),
        Argument::Array => write!(to, "v{}", step + 1),
    }
}

/// Writes `futex`'s operation by its names.
fn operation(to: &mut dyn Write, operation: u64) -> fmt::Result {
    const NAMES: [&str; 11] = [
        "FUTEX_WAIT",
        "FUTEX_WAKE",
        "2",
        "FUTEX_REQUEUE",
        "FUTEX_CMP_REQUEUE",
        "FUTEX_WAKE_OP",
        "FUTEX_LOCK_PI",
        "FUTEX_UNLOCK_PI",
        "FUTEX_TRYLOCK_PI",
        "FUTEX_WAIT_BITSET",
        "FUTEX_WAKE_BITSET",
    ];
    let command = operation & 127;
    match NAMES.get(command as usize) {
        Some(name) => to.write_str(name)?,
        None => write!(to, "{command}")?,
    }
    if operation & PRIVATE != 0 {
        to.write_str(" | FUTEX_PRIVATE_FLAG")?;
    }
    if operation & REALTIME != 0 {
        to.write_str(" | FUTEX_CLOCK_REALTIME")?;
    }
    match operation & !(127 | PRIVATE | REALTIME) {
        0 => Ok(()),
        rest => write!(to, " | {rest:#x}"),
    }
}

/// Writes the arguments of a step's call, with commas between them.
pub(super) fn arguments(to: &mut dyn Write, asked: &Asked, step: usize) -> fmt::Result {
    for (at, &value) in asked.arguments.iter().enumerate() {
        to.write_str(if at == 0 { "" } else { ", " })?;
        match value {
            Argument::Number(number) if at == 1 && asked.family == Family::Futex => operation(to, number)?,
            _ => argument(to, value, step)?,
        }
    }
    Ok(())
}

/// Writes a step as one line of a script, without the answer.
pub(super) fn line(to: &mut dyn Write, step: &Step, at: usize) -> fmt::Result {
    match step {
        Step::Store(page, word, value) => write!(to, "*({} + {}) = {value}", page.name(), 4 * word),
        Step::Call(asked) => {
            write!(to, "{}(", asked.family.name())?;
            arguments(to, asked, at)?;
            to.write_char(')')
        }
        Step::Death(death) => {
            to.write_str("a thread dies that holds")?;
            let name = death.page.name();
            for (at, (word, bits)) in death.words().enumerate() {
                write!(to, "{} {name} + {}", if at == 0 { "" } else { "," }, 4 * word)?;
                to.write_str(if bits == 0 { "" } else { " (waiters)" })?;
                to.write_str(if word == 1 { " (pending)" } else { "" })?;
            }
            to.write_str(if death.is_torn { ", its list torn" } else { "" })
        }
    }
}

/// The errors that a script's calls answer, by their names, and other answers by their numbers.
pub(super) struct Answered(pub(super) i64);

impl fmt::Display for Answered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match crate::errno::answer(self.0 as isize) {
            Err(errno) if errno.name().is_some() => write!(f, "-{errno}"),
            _ => write!(f, "{}", self.0),
        }
    }
}
