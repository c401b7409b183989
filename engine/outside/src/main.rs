//! `leeward-outside`: runs programs natively and on the engine, and prints what became of them and
//! which calls were served how often. `ci/outside` calls it; it preloads the library that is built
//! beside it.

mod counts;
mod elf;
mod run;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::Ordering::Relaxed;

use crate::counts::{Counts, EVENTS, KINDS, NAMES};
use crate::run::{Limits, Outcome, Subject};

const USAGE: &str = "\
Usage: leeward-outside [--seconds N] [--work DIR] [--full] PROGRAM-OR-DIR...
Runs each program natively, and with its futex calls answered by leeward-engine.
  PROGRAM        a command line for sh
  DIR            a directory with a Makefile: it is copied and built, and its executables run
  --seconds N    the time that a run may take (300)
  --work DIR     where directories are copied to, and outputs are kept (target/outside)
  --full         also prints each operation's answers";

/// What the command line asks for.
struct Options {
    limits: Limits,
    is_full: bool,
    arguments: Vec<String>,
}

fn main() -> ExitCode {
    match options().and_then(|options| all(&options)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(why) => {
            eprintln!("leeward-outside: {why}");
            ExitCode::from(2)
        }
    }
}

/// Reads the command line.
fn options() -> Result<Options, String> {
    let mut limits = Limits { seconds: 300, work: PathBuf::from("target/outside") };
    let (mut is_full, mut arguments) = (false, Vec::new());
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or(format!("{word} takes a value\n{USAGE}"));
        match word.as_str() {
            "--seconds" => limits.seconds = value()?.parse().map_err(|_| USAGE)?,
            "--work" => limits.work = value()?.into(),
            "--full" => is_full = true,
            _ if word.starts_with("--") => return Err(USAGE.into()),
            _ => arguments.push(word),
        }
    }
    if arguments.is_empty() { Err(USAGE.into()) } else { Ok(Options { limits, is_full, arguments }) }
}

/// Runs all that the command line names; returns true if nothing ended otherwise than natively.
fn all(options: &Options) -> Result<bool, String> {
    let limits = options.limits.prepared()?;
    println!("| program | native | on the engine | served | passed on | most often served |");
    println!("|---|---|---|---|---|---|");
    let mut is_good = true;
    let total = Counts::default();
    for argument in &options.arguments {
        for subject in subjects(argument, &limits)? {
            if subject.is_static {
                println!("| {} | not run | it is static: nothing is preloaded | | | |", subject.name);
                continue;
            }
            let counts = Counts::default();
            let native = limits.run(&subject, None)?;
            let engine = limits.run(&subject, Some(&counts))?;
            is_good &= native.end == engine.end;
            print_row(&subject.name, &native, &engine, &counts);
            counts.add_to(&total);
        }
    }
    if options.is_full {
        print_full(&total);
    }
    Ok(is_good)
}

/// Returns what an argument names: the executables of a directory, or one program.
fn subjects(argument: &str, limits: &Limits) -> Result<Vec<Subject>, String> {
    let directory = Path::new(argument);
    if directory.is_dir() { limits.build(directory) } else { Ok(vec![Subject::program(argument)]) }
}

/// Prints a line of the table.
fn print_row(name: &str, native: &Outcome, engine: &Outcome, counts: &Counts) {
    let mut served: Vec<(u64, &str)> = NAMES.iter().enumerate().map(|(i, name)| (counts.served(i), *name)).collect();
    let passed: u64 = counts.calls.iter().map(|calls| calls[0].load(Relaxed)).sum();
    let sum: u64 = served.iter().map(|(count, _)| count).sum();
    served.sort_by_key(|(count, _)| core::cmp::Reverse(*count));
    let most = served.iter().filter(|(count, _)| *count != 0).take(4);
    let most = most.map(|(count, name)| format!("{name} {count}")).collect::<Vec<_>>().join(", ");
    let name = name.replace('|', "\\|");
    println!("| {name} | {native} | {engine} | {sum} | {passed} | {most} |");
}

/// Prints the answers of each operation.
fn print_full(total: &Counts) {
    println!("\n| operation | {} |\n|---|{}", KINDS.join(" | "), "---|".repeat(KINDS.len()));
    for (name, calls) in NAMES.iter().zip(&total.calls) {
        let calls: Vec<u64> = calls.iter().map(|count| count.load(Relaxed)).collect();
        if calls.iter().any(|count| *count != 0) {
            let calls = calls.iter().map(u64::to_string).collect::<Vec<_>>().join(" | ");
            println!("| {name} | {calls} |");
        }
    }
    println!();
    for (name, count) in EVENTS.iter().zip(&total.events) {
        println!("- {name}: {}", count.load(Relaxed));
    }
}

impl Counts {
    /// Returns how many calls of an operation the engine answered.
    fn served(&self, operation: usize) -> u64 {
        self.calls[operation][1..].iter().map(|count| count.load(Relaxed)).sum()
    }

    /// Returns all counters in the order in which they lie in a file.
    fn in_order(&self) -> impl Iterator<Item = &std::sync::atomic::AtomicU64> {
        self.calls.iter().flatten().chain(&self.events)
    }

    /// Adds these counts to others.
    fn add_to(&self, total: &Counts) {
        self.in_order().zip(total.in_order()).for_each(|(count, sum)| counts::add(sum, count.load(Relaxed)));
    }

    /// Adds the counts that a process left in a file.
    fn add_file(&self, bytes: &[u8]) {
        for (count, bytes) in self.in_order().zip(bytes.chunks_exact(8)) {
            counts::add(count, bytes.try_into().map_or(0, u64::from_ne_bytes));
        }
    }
}
