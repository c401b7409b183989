//! What the sequences found, as text, JSON and TAP.

use core::fmt::{self, Write};
use core::sync::atomic::Ordering;

use super::arena::Arena;
use super::model::{Foreseen, foresee};
use super::operations::Operations;
use super::program;
use super::progress::Progress;
use super::script::{Answered, Script, Step, line};
use crate::report::string;
use crate::verdict::Verdict;

/// What came of sequences.
pub struct Report {
    /// The seed of the first sequence.
    pub first: u64,
    /// How many sequences agreed.
    pub sequences: u64,
    /// How many calls they made.
    pub calls: u64,
    /// The operations that the kernel does not have, and that were not asked.
    pub absent: Operations,
    /// The operations that were not asked because the caller left them out.
    pub without: Operations,
    /// [`Pass`](Verdict::Pass): all agreed. [`Wrong`](Verdict::Wrong): one did not, which is in `found`.
    /// [`Unfit`](Verdict::Unfit): they could not be asked.
    pub verdict: Verdict,
    /// The sequence that did not agree.
    pub found: Option<Found>,
}

/// A sequence to which the kernel answers otherwise than Linux, as short as it gets.
pub struct Found {
    /// The seed of the sequence before it was shrunk.
    pub seed: u64,
    script: Script,
}

impl Report {
    pub(super) fn of(first: u64, progress: &Progress, verdict: Verdict, found: Option<Found>) -> Report {
        let sequences = progress.sequences.load(Ordering::SeqCst);
        let calls = progress.calls.load(Ordering::SeqCst);
        let without = Operations::of(progress.without.load(Ordering::SeqCst));
        let absent = progress.operations().but(without);
        Report { first, sequences, calls, absent, without, verdict, found }
    }

    /// Writes the report for a reader: how many agreed, what is absent, and where one did not agree the script
    /// and the program in C.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn text(&self, to: &mut dyn Write) -> fmt::Result {
        let Report { first, sequences, calls, .. } = self;
        writeln!(to, "random sequences from seed {first} on: {sequences} agree, of {calls} calls")?;
        self.absent.names().try_for_each(|name| writeln!(to, "absent: {name}"))?;
        self.without.names().try_for_each(|name| writeln!(to, "left out: {name}"))?;
        if let Verdict::Unfit(text) = &self.verdict {
            return writeln!(to, "not asked: {text}");
        }
        let (Some(text), Some(found)) = (self.verdict.text(), &self.found) else { return Ok(()) };
        writeln!(to, "\nseed {}: wrong. {text}\n", found.seed)?;
        found.script(to)?;
        to.write_str("\nThe same in C (cc -pthread):\n\n")?;
        found.program(to)
    }

    /// Writes one line: a JSON object with `name`, `verdict`, `first`, `sequences`, `calls`, `absent` and `without`,
    /// and where one did not agree `text`, `seed`, `script` and `program`.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn json(&self, to: &mut dyn Write) -> fmt::Result {
        let Report { first, sequences, calls, .. } = self;
        write!(to, "{{\"name\":\"sequences\",\"verdict\":\"{}\",\"first\":{first}", self.verdict.word())?;
        write!(to, ",\"sequences\":{sequences},\"calls\":{calls}")?;
        for (key, operations) in [("absent", self.absent), ("without", self.without)] {
            write!(to, ",\"{key}\":[")?;
            for (at, name) in operations.names().enumerate() {
                write!(to, "{}\"{name}\"", if at == 0 { "" } else { "," })?;
            }
            to.write_char(']')?;
        }
        if let Some(text) = self.verdict.text() {
            to.write_str(",\"text\":")?;
            string(to, text)?;
        }
        if let Some(found) = &self.found {
            write!(to, ",\"seed\":{},\"script\":\"", found.seed)?;
            found.script(&mut Quoted(to))?;
            to.write_str("\",\"program\":\"")?;
            found.program(&mut Quoted(to))?;
            to.write_char('"')?;
        }
        to.write_str("}\n")
    }

    /// Writes the report as the lines of one test in TAP, number 1; version and plan are the caller's to write first.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn tap(&self, to: &mut dyn Write) -> fmt::Result {
        let Report { first, sequences, calls, .. } = self;
        match (&self.verdict, &self.found) {
            (Verdict::Pass, _) => writeln!(to, "ok 1 - sequences from seed {first} on: {sequences}, of {calls} calls"),
            (Verdict::Absent(text) | Verdict::Unfit(text), _) => {
                writeln!(to, "ok 1 - sequences # SKIP not asked: {text}")
            }
            (Verdict::Wrong(text), found) => {
                writeln!(to, "not ok 1 - sequences from seed {first} on\n# {text}")?;
                let Some(found) = found else { return Ok(()) };
                writeln!(to, "# seed {}", found.seed)?;
                found.script(&mut Commented { to, begins: true })?;
                found.program(&mut Commented { to, begins: true })
            }
        }
    }
}

impl Found {
    pub(super) fn new(seed: u64, script: Script) -> Found {
        Found { seed, script }
    }

    /// Returns how many steps the script has.
    pub fn steps(&self) -> usize {
        self.script.steps().len()
    }

    /// Writes the script, a line for each step, with what Linux does.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn script(&self, to: &mut dyn Write) -> fmt::Result {
        let foreseen = foresee(&self.script, &mut Arena::new());
        for (at, step) in self.script.steps().iter().enumerate() {
            write!(to, "{:>3}  ", at + 1)?;
            line(to, step, at)?;
            outcome(to, step, &foreseen, at)?;
            to.write_char('\n')?;
        }
        Ok(())
    }

    /// Writes a program in C that makes the script's calls. It needs nothing of this crate, is compiled by
    /// `cc -pthread`, and ends with 0 where the kernel answers as Linux does, else with 1.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn program(&self, to: &mut dyn Write) -> fmt::Result {
        let foreseen = foresee(&self.script, &mut Arena::new());
        program::write(to, &self.script, &foreseen, self.seed)
    }
}

impl fmt::Debug for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.script(f)
    }
}

/// Writes what Linux does in a step.
fn outcome(to: &mut dyn Write, step: &Step, foreseen: &Foreseen, at: usize) -> fmt::Result {
    let expected = &foreseen.steps[at];
    match (step, expected.answer) {
        (Step::Store(..) | Step::Death(_), _) => {}
        (Step::Call(_), Some(answer)) => write!(to, " = {}", Answered(answer))?,
        (Step::Call(_), None) => to.write_str(", in a thread: sleeps")?,
    }
    for (sleeper, end) in expected.ends.iter().enumerate() {
        if let (Some((least, _)), Some(by)) = (end, foreseen.asleep_by[sleeper]) {
            write!(to, "; step {} ends with {least}", by + 1)?;
        }
    }
    Ok(())
}

/// Writes text within a string of JSON.
struct Quoted<'a>(&'a mut dyn Write);

impl Write for Quoted<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        crate::report::letters(self.0, text)
    }
}

/// Writes text as lines of TAP's comments.
struct Commented<'a> {
    to: &'a mut dyn Write,
    /// A line begins.
    begins: bool,
}

impl Write for Commented<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for line in text.split_inclusive('\n') {
            self.to.write_str(if self.begins { "# " } else { "" })?;
            self.to.write_str(line)?;
            self.begins = line.ends_with('\n');
        }
        Ok(())
    }
}
