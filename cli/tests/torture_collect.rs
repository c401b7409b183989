//! Tests of `leeward torture collect`.

use std::process::{Command, Output};

fn torture(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_leeward"))
        .args(["torture", "collect"])
        .args(args)
        .env_remove("LEEWARD_FENCE")
        .output()
        .expect("it runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn everything_passes() {
    let output = torture(&["--seconds", "2", "--seed", "0x1234abcd"]);
    let said = text(&output.stdout);
    assert!(output.status.success(), "{said}{}", text(&output.stderr));
    assert!(said.lines().next().is_some_and(|line| line.contains("seed 0x000000001234abcd")), "{said}");
    assert!(said.lines().last().is_some_and(|line| line.starts_with("passed: ")), "{said}");
    assert_eq!(text(&output.stderr), "", "no progress where there is no terminal");
}

#[test]
fn one_reader_and_one_writer_are_enough() {
    let output = torture(&["--seconds", "1", "--readers", "1", "--writers", "1"]);
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
}
