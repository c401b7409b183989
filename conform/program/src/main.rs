//! `leeward-conform`: asks the kernel that it runs on all scenarios, and prints what became of them.
//!
//! It has no C library and no allocator, and starts on a kernel that serves twenty calls.

#![no_std]
#![no_main]
// The functions below that copy memory are what the compiler makes of loops that copy memory.
#![no_builtins]

mod arguments;
mod memory;
mod start;

use core::cell::UnsafeCell;
use core::fmt::{self, Write};
use core::mem::MaybeUninit;

use arguments::{Arguments, Form};
use leeward_conform::linux::{self, Linux};
use leeward_conform::{Scenario, Verdict, ask, report, scenarios, sequences};

/// The most scenarios there are.
const MOST: usize = 1024;

/// The verdicts, in the order of the scenarios. Those that were not written take no bytes of the program's file.
static VERDICTS: Verdicts = Verdicts(UnsafeCell::new([const { MaybeUninit::uninit() }; MOST]));

struct Verdicts(UnsafeCell<[MaybeUninit<Verdict>; MOST]>);

// SAFETY: the first thread's alone.
unsafe impl Sync for Verdicts {}

/// The standard output.
struct Out;

impl Write for Out {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        linux::write(1, text.as_bytes()).map_err(|_| fmt::Error)
    }
}

/// Runs the program; returns its exit code.
fn main(arguments: &Arguments) -> i32 {
    let chosen = || scenarios().filter(|scenario| arguments.chooses(scenario));
    if let Some(problem) = arguments.problem {
        let _ = writeln!(Out, "leeward-conform: {problem}\n{}", arguments::USAGE);
        return 2;
    }
    let written = if arguments.helps {
        writeln!(Out, "{}", arguments::USAGE)
    } else if arguments.lists {
        chosen().try_for_each(|scenario| report::list(&mut Out, scenario))
    } else if arguments.explains {
        chosen().try_for_each(|scenario| report::explain(&mut Out, scenario))
    } else if let Some(seed) = arguments.seed {
        return run_sequences(arguments, seed);
    } else {
        return run(arguments, chosen());
    };
    if written.is_err() { 3 } else { 0 }
}

/// How many seconds one random sequence may take.
const LIMIT: u32 = 20;

/// Asks random sequences; returns the exit code.
fn run_sequences(arguments: &Arguments, seed: u64) -> i32 {
    let begun = match arguments.form {
        Form::Tap => writeln!(Out, "TAP version 13\n1..1"),
        Form::Table | Form::Json => Ok(()),
    };
    let report = if arguments.forks {
        linux::sequences_apart_with(&Linux, seed, arguments.seconds, LIMIT, arguments.operations_left_out())
    } else {
        // Where it stops, if the kernel stops it.
        sequences::ask_naming(&Linux, seed, arguments.seconds, arguments.operations_left_out(), &|seed| {
            let _ = writeln!(Out, "# seed {seed}");
        })
    };
    let written = match arguments.form {
        Form::Table => report.text(&mut Out),
        Form::Json => report.json(&mut Out),
        Form::Tap => report.tap(&mut Out),
    };
    match (begun.and(written), &report.verdict) {
        (Err(_), _) => 3,
        (_, Verdict::Wrong(_)) => 1,
        _ => 0,
    }
}

fn run(arguments: &Arguments, chosen: impl Iterator<Item = &'static Scenario> + Clone) -> i32 {
    // SAFETY: borrowed here alone, once.
    let verdicts = unsafe { &mut *VERDICTS.0.get() };
    let mut out = Out;
    let mut written = match arguments.form {
        Form::Tap => writeln!(out, "TAP version 13\n1..{}", chosen.clone().count()),
        Form::Table | Form::Json => Ok(()),
    };
    let (mut is_wrong, mut asked) = (false, 0);
    for (at, (scenario, place)) in chosen.clone().zip(verdicts.iter_mut()).enumerate() {
        if !arguments.forks {
            // Where it stops, if the kernel stops it.
            written = written.and(writeln!(out, "# {}", scenario.name));
        }
        let verdict = if arguments.forks { linux::apart(scenario, arguments.seconds) } else { ask(scenario, &Linux) };
        is_wrong |= matches!(verdict, Verdict::Wrong(_));
        written = written.and(match arguments.form {
            Form::Table => Ok(()),
            Form::Json => report::json(&mut out, (scenario, &verdict)),
            Form::Tap => report::tap(&mut out, at + 1, (scenario, &verdict)),
        });
        place.write(verdict);
        asked = at + 1;
    }
    if arguments.form == Form::Table {
        // SAFETY: the loop above wrote the first `asked` places.
        let given = verdicts[..asked].iter().map(|verdict| unsafe { verdict.assume_init_ref() });
        written = written.and(report::table(&mut out, chosen.zip(given)));
    }
    match (written, is_wrong) {
        (Err(_), _) => 3,
        (_, true) => 1,
        (_, false) => 0,
    }
}

/// Ends with an exit code. The first process of a machine powers it off after a report: that process's end is a panic
/// of the kernel, whose lines come between those of the report.
fn end(arguments: &Arguments, code: i32) -> ! {
    let asks = arguments.problem.is_none() && !(arguments.helps || arguments.lists || arguments.explains);
    // A list needs no call but `write` and `exit_group`.
    if asks && linux::is_init() {
        let _ = match arguments.form {
            Form::Table => writeln!(Out, "\nexit code {code}; the machine is powered off"),
            Form::Tap => writeln!(Out, "# exit code {code}; the machine is powered off"),
            Form::Json => Ok(()),
        };
        // It does not return, or the kernel cannot do it.
        linux::power_off();
    }
    linux::exit(code)
}

#[panic_handler]
fn panicked(info: &core::panic::PanicInfo<'_>) -> ! {
    let _ = writeln!(Out, "leeward-conform: {info}");
    linux::exit(101)
}
