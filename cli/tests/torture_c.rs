//! Tests of `leeward torture c`, with the part in C and without.

use std::process::{Command, Output};

fn torture(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_leeward"))
        .args(["torture", "c"])
        .args(args)
        .env_remove("LEEWARD_FENCE")
        .output()
        .expect("it runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn every_domain_passes() {
    let output = torture(&["--seconds", "3", "--seed", "0x1234abcd"]);
    let said = text(&output.stdout);
    if !cfg!(feature = "c") {
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(text(&output.stderr).contains("--features c"), "{}", text(&output.stderr));
        return;
    }
    assert!(output.status.success(), "{said}{}", text(&output.stderr));
    assert!(
        said.starts_with("torture c: seed 0x000000001234abcd") && said.contains("domains memb bp mb qsbr"),
        "{said}"
    );
    assert!(said.lines().last().is_some_and(|line| line.starts_with("passed: ")), "{said}");
    assert_eq!(text(&output.stderr), "", "no progress where there is no terminal");
}

#[test]
fn one_reader_and_one_writer_are_enough() {
    for domain in ["memb", "bp", "mb", "qsbr"] {
        let output = torture(&["--seconds", "1", "--readers", "1", "--writers", "1", "--domain", domain]);
        let expected = if cfg!(feature = "c") { 0 } else { 2 };
        assert_eq!(output.status.code(), Some(expected), "{}{}", text(&output.stdout), text(&output.stderr));
    }
}
