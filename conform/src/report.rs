//! What became of scenarios, written as a table with a paragraph for each that did not pass, as lines of
//! JSON, or as TAP (the Test Anything Protocol, version 13).

use core::fmt::{self, Write};

use crate::scenario::Scenario;
use crate::verdict::Verdict;

/// A scenario, and what became of it.
pub type Result<'a> = (&'a Scenario, &'a Verdict);

/// Writes the table: for each operation, how many scenarios passed, were wrong, absent and unfit. Then a
/// paragraph for each that was wrong or unfit.
///
/// # Errors
/// Those of the writer.
pub fn table<'a>(to: &mut dyn Write, results: impl Iterator<Item = Result<'a>> + Clone) -> fmt::Result {
    writeln!(to, "{:<20} {:>6} {:>6} {:>6} {:>6}", "operation", "pass", "wrong", "absent", "unfit")?;
    let mut operation = "";
    for (scenario, _) in results.clone() {
        if scenario.operation() != operation {
            operation = scenario.operation();
            let of_it = results.clone().filter(|(scenario, _)| scenario.operation() == operation);
            row(to, operation, of_it)?;
        }
    }
    row(to, "all", results.clone())?;
    for (scenario, verdict) in results.clone() {
        match verdict {
            Verdict::Pass | Verdict::Absent(_) => {}
            Verdict::Wrong(text) => writeln!(to, "\n{}: wrong. {text}.\n  {}", scenario.name, scenario.harm)?,
            Verdict::Unfit(text) => writeln!(to, "\n{}: not asked. {text}.", scenario.name)?,
        }
    }
    if results.filter_map(|(_, verdict)| verdict.text()).any(answers_eperm) {
        to.write_str("\nEPERM may be the answer of a filter of system calls (seccomp) and not of the kernel.\n")?;
    }
    Ok(())
}

/// Returns true if a report says that the kernel answered `EPERM`, and not that Linux does.
fn answers_eperm(text: &str) -> bool {
    text.contains("answered EPERM") || text.ends_with(": EPERM")
}

fn row<'a>(to: &mut dyn Write, name: &str, results: impl Iterator<Item = Result<'a>> + Clone) -> fmt::Result {
    write!(to, "{name:<20}")?;
    for word in ["pass", "wrong", "absent", "unfit"] {
        write!(to, " {:>6}", results.clone().filter(|(_, verdict)| verdict.word() == word).count())?;
    }
    writeln!(to)
}

/// Writes one line: a JSON object with `name`, `verdict`, `since`, and, where it did not pass, `text` and
/// `harm`.
///
/// # Errors
/// Those of the writer.
pub fn json(to: &mut dyn Write, (scenario, verdict): Result<'_>) -> fmt::Result {
    write!(to, "{{\"name\":\"{}\",\"verdict\":\"{}\",\"since\":\"{}\"", scenario.name, verdict.word(), scenario.since)?;
    if let Some(text) = verdict.text() {
        to.write_str(",\"text\":")?;
        string(to, text)?;
        to.write_str(",\"harm\":")?;
        string(to, scenario.harm)?;
    }
    to.write_str("}\n")
}

/// Writes a string of JSON.
pub(crate) fn string(to: &mut dyn Write, text: &str) -> fmt::Result {
    to.write_char('"')?;
    letters(to, text)?;
    to.write_char('"')
}

/// Writes text as it stands within a string of JSON.
pub(crate) fn letters(to: &mut dyn Write, text: &str) -> fmt::Result {
    for letter in text.chars() {
        match letter {
            '"' | '\\' => write!(to, "\\{letter}")?,
            letter if letter < ' ' => write!(to, "\\u{:04x}", u32::from(letter))?,
            letter => to.write_char(letter)?,
        }
    }
    Ok(())
}

/// Writes one line of TAP, for the scenario with this number from 1, and why it did not pass.
///
/// # Errors
/// Those of the writer.
pub fn tap(to: &mut dyn Write, number: usize, (scenario, verdict): Result<'_>) -> fmt::Result {
    let name = scenario.name;
    match verdict {
        Verdict::Pass => writeln!(to, "ok {number} - {name}"),
        Verdict::Absent(text) => writeln!(to, "ok {number} - {name} # SKIP absent: {text}"),
        Verdict::Unfit(text) => writeln!(to, "ok {number} - {name} # SKIP not asked: {text}"),
        Verdict::Wrong(text) => writeln!(to, "not ok {number} - {name}\n# {text}\n# {}", scenario.harm),
    }
}

/// Writes a scenario's name, and what it needs of a kernel beside threads: `keys.some_name (faults, fork)`.
///
/// # Errors
/// Those of the writer.
pub fn list(to: &mut dyn Write, scenario: &Scenario) -> fmt::Result {
    to.write_str(scenario.name)?;
    for (at, need) in scenario.needs().iter().enumerate() {
        write!(to, "{}{}", if at == 0 { " (" } else { ", " }, need.word())?;
    }
    to.write_str(if scenario.needs().is_empty() { "\n" } else { ")\n" })
}

/// Writes all that is known of a scenario.
///
/// # Errors
/// Those of the writer.
pub fn explain(to: &mut dyn Write, scenario: &Scenario) -> fmt::Result {
    writeln!(to, "{} (Linux {})", scenario.name, scenario.since)?;
    for line in scenario.setup {
        writeln!(to, "  {}", line.trim_start())?;
    }
    writeln!(to, "Where the answer is another: {}", scenario.harm)?;
    scenario.seen.map_or(Ok(()), |seen| writeln!(to, "Seen in: {seen}"))
}
