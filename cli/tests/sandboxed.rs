//! `leeward doctor` in a sandbox: a filter of system calls that answers membarrier with an error
//! number, or kills its caller. The command says so and what it means, names the strategy that
//! serves, and exits with 0.

#![cfg(target_os = "linux")]

#[path = "../../leeward/tests/common/seccomp.rs"]
mod seccomp;

use seccomp::{Action, Rule, When, refuse};

use std::os::unix::process::CommandExt;
use std::process::{Command, Output};

/// Runs the doctor under a filter that answers membarrier by `action`.
fn doctor(action: Action, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_leeward"));
    command.arg("doctor").args(args).env_remove("LEEWARD_FENCE").env_remove("COLUMNS");
    // SAFETY: between fork and exec the closure makes two system calls and allocates, which the C
    // library allows in the child of a fork.
    unsafe {
        command.pre_exec(move || {
            refuse(&[Rule::new(libc::SYS_membarrier, When::Always, action)]);
            Ok(())
        })
    };
    let output = command.output().expect("it runs");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(output.stderr.is_empty(), "{output:?}");
    output
}

/// Checks that the report says `found` of membarrier, and that signals serve.
fn signals_serve(action: Action, found: &str) {
    let output = doctor(action, &[]);
    let text = String::from_utf8(output.stdout).expect("it is text");
    let line = |of: &str| text.lines().find(|line| line.contains(of)).unwrap_or_else(|| panic!("no `{of}` in\n{text}"));
    let called = line("membarrier may be called");
    assert!(called.contains(found) && called.contains("every thread instead"), "{called}");
    assert!(line("strategy in use").contains("signal"), "{text}");
    assert!(line("seccomp").contains("filter"), "{text}");
    let (_, advice) = text.split_once("what to do").expect("what to do");
    assert!(advice.contains("membarrier"), "{advice}");

    let report: serde_json::Value =
        serde_json::from_slice(&doctor(action, &["--json"]).stdout).expect("one JSON object and nothing else");
    assert_eq!(report["strategy"], "signal");
    let finding = &report["findings"]["membarrier.call"];
    assert_eq!((&finding["found"], &finding["value"]), (&found.into(), &false.into()), "{finding:#}");
    assert_eq!(finding["advice"], "allow-membarrier");
    // There is no finding about the commands of a call that cannot be made.
    assert!(report["findings"].get("membarrier.private_expedited").is_none(), "{report:#}");
}

#[test]
fn a_filter_that_answers_as_an_old_kernel_does() {
    signals_serve(Action::Errno(libc::ENOSYS), "no");
}

#[test]
fn a_filter_that_forbids() {
    signals_serve(Action::Errno(libc::EPERM), "no");
}

/// A child asks and is killed for it; the command goes on.
#[test]
fn a_filter_that_kills() {
    signals_serve(Action::Kill, "forbidden");
}
