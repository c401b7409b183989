//! Tests of `leeward torture robust`.

#![cfg(all(target_env = "gnu", target_pointer_width = "64"))]

use std::process::{Command, Output};

fn torture(args: &[&str], mutant: Option<&str>) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_leeward"));
    command.args(["torture", "robust"]).args(args).env_remove("LEEWARD_FENCE").env_remove("LEEWARD_MUTANT");
    if let Some(mutant) = mutant {
        command.env("LEEWARD_MUTANT", mutant);
    }
    command.output().expect("it runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn everything_passes() {
    let output = torture(&["--seconds", "2", "--seed", "0x1234abcd"], None);
    let said = text(&output.stdout);
    assert!(output.status.success(), "{said}{}", text(&output.stderr));
    let (first, last) = (said.lines().next().unwrap_or_default(), said.lines().last().unwrap_or_default());
    assert!(first.contains("seed 0x000000001234abcd"), "{said}");
    let kills = last.strip_prefix("passed: ").and_then(|rest| rest.split(' ').next()).map(str::parse::<u64>);
    assert!(matches!(kills, Some(Ok(1..))), "{said}");
    assert_eq!(text(&output.stderr), "", "no progress where there is no terminal");
}

#[test]
fn bad_input() {
    let output = torture(&["--processes", "1"], None);
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
                let output = torture(&["--seconds", "600"], Some(mutant));
                let said = text(&output.stdout);
                assert_eq!(output.status.code(), Some(1), "{mutant}: {said}{}", text(&output.stderr));
                assert!(said.contains("VIOLATION: ") && said.contains("again with --seed "), "{mutant}: {said}");
            });
        }
    });
}
