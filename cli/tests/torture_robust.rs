//! Tests of `leeward torture robust`.

#![cfg(all(target_env = "gnu", target_pointer_width = "64"))]

mod common;

use common::{SEED, must_pass, text, torture};

#[test]
fn everything_passes() {
    let said = must_pass(&torture("robust", &[&["--seconds", "2"], &SEED.0[..]].concat()));
    let (first, last) = (said.lines().next().unwrap_or_default(), said.lines().last().unwrap_or_default());
    assert!(first.contains(SEED.1), "{said}");
    let kills = last.strip_prefix("passed: ").and_then(|rest| rest.split(' ').next()).map(str::parse::<u64>);
    assert!(matches!(kills, Some(Ok(1..))), "{said}");
}

#[test]
fn bad_input() {
    let output = torture("robust", &["--processes", "1"]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(text(&output.stderr).lines().count(), 1, "{}", text(&output.stderr));
}

/// Runs the torture on broken locks, which `ci/mutants` builds, beside one another: each must be found.
#[cfg(leeward_mutants)]
#[test]
fn broken_locks() {
    std::thread::scope(|scope| {
        for mutant in ["robust_pending_late", "robust_link_first", "robust_wake", "robust_read_looks", "robust_writing"]
        {
            scope.spawn(move || {
                // The torture ends with the first violation; how soon that comes depends on the machine.
                let mut command = common::command("robust", &["--seconds", "600"]);
                let output = command.env("LEEWARD_MUTANT", mutant).output().expect("it runs");
                let said = text(&output.stdout);
                assert_eq!(output.status.code(), Some(1), "{mutant}: {said}{}", text(&output.stderr));
                assert!(said.contains("VIOLATION: ") && said.contains("again with --seed "), "{mutant}: {said}");
            });
        }
    });
}
