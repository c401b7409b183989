//! `leeward`: shows what this machine gives to the library (`doctor`), and tries to break the
//! library (`torture`). Each verb is a file or a folder.
//!
//! Exit codes: 0 if all is well, 1 if a violation was found, 2 if the command or `LEEWARD_FENCE` is
//! wrong.

mod args;
mod doctor;
mod generated;
mod manual;
mod sys;
mod torture;

use std::process::ExitCode;

use leeward::fence::{self, Strategy};

use args::{Command, Subject};

/// The exit code if the command, or a variable that it reads, is wrong.
const BAD_INPUT: u8 = 2;

fn main() -> ExitCode {
    let command = match args::parse() {
        Ok(command) => command,
        Err(code) => return ExitCode::from(code),
    };
    match command {
        Command::Completions { shell } => generated::completions(shell),
        Command::Man { directory } => generated::manual(&directory).unwrap_or_else(|sentence| refuse(&sentence)),
        Command::Doctor(args) => with_fences(|picked| doctor::run(&args, picked)),
        Command::Torture { subject: Subject::Rcu(args) } => {
            with_fences(|_| torture::run(&args).unwrap_or_else(|sentence| refuse(&sentence)))
        }
        Command::Torture { subject: Subject::C(args) } => {
            with_fences(|_| torture::c::run(&args).unwrap_or_else(|sentence| refuse(&sentence)))
        }
        Command::Torture { subject: Subject::Collect(args) } => {
            with_fences(|_| torture::collect::run(&args).unwrap_or_else(|sentence| refuse(&sentence)))
        }
        Command::Torture { subject: Subject::Hazard(args) } => {
            with_fences(|_| torture::hazard::run(&args).unwrap_or_else(|sentence| refuse(&sentence)))
        }
        Command::Torture { subject: Subject::Robust(args) } => {
            with_fences(|_| torture::robust::run(&args).unwrap_or_else(|sentence| refuse(&sentence)))
        }
    }
}

/// Chooses the strategy of heavy fences before anything else runs: registering with the kernel is
/// instant while the process has one thread.
fn with_fences(verb: impl FnOnce(Result<Strategy, fence::Error>) -> ExitCode) -> ExitCode {
    match fence::init() {
        Err(fence::Error::UnknownName) => refuse(&fence::Error::UnknownName),
        picked => verb(picked),
    }
}

/// Prints in one sentence what is wrong, and returns the exit code.
fn refuse(sentence: &dyn std::fmt::Display) -> ExitCode {
    eprintln!("leeward: {sentence}");
    ExitCode::from(BAD_INPUT)
}
