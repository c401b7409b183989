//! What the tests of `leeward torture` share: how it is run, and what it says when nothing is wrong.

// Each program takes what it needs.
#![allow(dead_code)]

use std::process::{Command, Output};

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Returns the command that tortures `what`, for which the environment asks nothing.
pub fn command(what: &str, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_leeward"));
    command.args(["torture", what]).args(args).env_remove("LEEWARD_FENCE").env_remove("LEEWARD_MUTANT");
    command
}

pub fn torture(what: &str, args: &[&str]) -> Output {
    command(what, args).output().expect("it runs")
}

/// Fails unless the torture found nothing and said so last. Returns what it said.
#[track_caller]
pub fn must_pass(output: &Output) -> String {
    let said = text(&output.stdout);
    assert!(output.status.success(), "{said}{}", text(&output.stderr));
    assert!(said.lines().last().is_some_and(|line| line.starts_with("passed: ")), "{said}");
    assert_eq!(text(&output.stderr), "", "no progress where there is no terminal");
    said
}

/// The smallest crew, for the shortest time.
pub const ONE_AND_ONE: [&str; 6] = ["--seconds", "1", "--readers", "1", "--writers", "1"];

/// What names a seed, and what is said of it then.
pub const SEED: ([&str; 2], &str) = (["--seed", "0x1234abcd"], "seed 0x000000001234abcd");
