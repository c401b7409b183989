//! Tests that need a process of their own, because what they do ends the process or cannot be
//! undone: this program is started again for one case. The program has an ignored test `case` that
//! does what [`current`] names.

#![allow(dead_code, missing_docs)]

use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Output};

const CASE: &str = "LEEWARD_TEST_CASE";

/// Returns the case for which this process was started; empty if it was started for none.
pub fn current() -> String {
    std::env::var(CASE).unwrap_or_default()
}

/// Returns the command that starts this program for one case.
pub fn command(case: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "case", "--ignored", "--nocapture", "--test-threads=1"])
        .env(CASE, case)
        .env("RUST_BACKTRACE", "0")
        .env_remove("LEEWARD_FENCE");
    command
}

/// Asserts that the case ends by SIGABRT and prints this sentence; returns what it printed.
#[track_caller]
pub fn aborts(case: &str, sentence: &str) -> String {
    let output = command(case).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.signal(), Some(libc::SIGABRT), "{case}: {}\n{said}", output.status);
    assert!(said.contains(sentence), "{case}: {said}");
    said
}

#[track_caller]
pub fn passes(case: &str) {
    passed(case, command(case).output().unwrap());
}

#[track_caller]
pub fn passed(case: &str, output: Output) {
    let (said, complained) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && said.contains("1 passed"), "{case}: {}\n{said}\n{complained}", output.status);
    said.lines().filter(|line| line.contains("skipped")).for_each(|line| println!("{case}: {line}"));
}
