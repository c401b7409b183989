//! Tests of `leeward torture c`, with the part in C and without.

mod common;

use common::{ONE_AND_ONE, SEED, must_pass, text, torture};

/// Returns what is said by a torture that passes. A command without its part in C must say how to
/// get it, and says nothing else.
#[track_caller]
fn said(args: &[&str]) -> Option<String> {
    let output = torture("c", args);
    if cfg!(feature = "c") {
        return Some(must_pass(&output));
    }
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(text(&output.stderr).contains("--features c"), "{output:?}");
    None
}

#[test]
fn every_domain_passes() {
    if let Some(said) = said(&[&["--seconds", "3"], &SEED.0[..]].concat()) {
        assert!(said.starts_with(&format!("torture c: {}", SEED.1)), "{said}");
        assert!(said.contains("domains memb bp mb qsbr"), "{said}");
    }
}

#[test]
fn one_reader_and_one_writer_are_enough() {
    for domain in ["memb", "bp", "mb", "qsbr"] {
        said(&[&ONE_AND_ONE[..], &["--domain", domain]].concat());
    }
}
