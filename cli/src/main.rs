//! `leeward`: what this machine gives to the library (`doctor`), and attempts to break it (`torture`). A file, or a folder, a verb.
//!
//! Exit codes: 0 all is well, 1 a violation was found, 2 the command or `LEEWARD_FENCE` is wrong.

mod args;
mod doctor;
mod sys;
mod torture;

use std::process::ExitCode;

use leeward::fence;

use args::{Command, Subject};

/// The command, or a variable that it obeys, is wrong.
const BAD_INPUT: u8 = 2;

fn main() -> ExitCode {
    let command = match args::parse() {
        Ok(command) => command,
        Err(code) => return ExitCode::from(code),
    };
    // Before anything else runs: registering with the kernel is instant while the process has one thread.
    let picked = fence::init();
    if picked == Err(fence::Error::UnknownName) {
        return refuse(&fence::Error::UnknownName);
    }
    match command {
        Command::Doctor(args) => doctor::run(&args, picked),
        Command::Torture { subject: Subject::Rcu(args) } => {
            torture::run(&args).unwrap_or_else(|sentence| refuse(&sentence))
        }
        Command::Torture { subject: Subject::Robust(args) } => {
            torture::robust::run(&args).unwrap_or_else(|sentence| refuse(&sentence))
        }
    }
}

/// Says in one sentence what is wrong.
fn refuse(sentence: &dyn std::fmt::Display) -> ExitCode {
    eprintln!("leeward: {sentence}");
    ExitCode::from(BAD_INPUT)
}
