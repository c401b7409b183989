//! Bad input: one clear sentence on standard error, nothing on standard output, exit code 2.

use std::process::Command;

fn refused(args: &[&str], fence: Option<&str>) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_leeward"));
    command.args(args).env_remove("LEEWARD_FENCE");
    if let Some(name) = fence {
        command.env("LEEWARD_FENCE", name);
    }
    let output = command.output().expect("it runs");
    let said = String::from_utf8(output.stderr).expect("it is text");
    assert_eq!(output.status.code(), Some(2), "{args:?} said: {said}");
    assert!(output.stdout.is_empty(), "{args:?} printed something");
    assert_eq!(said.lines().count(), 1, "{args:?} said more than a sentence: {said}");
    said
}

#[test]
fn unknown_verbs_and_flags() {
    assert!(refused(&["dokter"], None).contains("dokter"));
    assert!(refused(&["torture", "lock"], None).contains("lock"));
    assert!(refused(&["doctor", "--yaml"], None).contains("--yaml"));
    assert!(refused(&["torture", "rcu", "--minutes", "3"], None).contains("--minutes"));
}

#[test]
fn a_verb_that_is_missing_is_one_of_those() {
    let said = refused(&[], None);
    assert!(["doctor", "torture", "completions", "man"].iter().all(|verb| said.contains(verb)), "{said}");
    let said = refused(&["torture"], None);
    assert!(["leeward torture", "rcu", "hazard", "robust"].iter().all(|word| said.contains(word)), "{said}");
}

#[test]
fn what_may_have_been_meant() {
    for (args, meant) in [
        (&["dokter"] as &[&str], "doctor"),
        (&["tortur"], "torture"),
        (&["torture", "robus"], "robust"),
        (&["doctor", "--jsn"], "--json"),
        (&["torture", "rcu", "--second", "3"], "--seconds"),
    ] {
        let said = refused(args, None);
        assert!(said.contains(&format!("did you mean `{meant}`?")), "{args:?}: {said}");
    }
    // Nothing is similar.
    assert!(refused(&["torture", "xyz"], None).contains("--help"));
    assert!(refused(&["doctor", "--xyz"], None).contains("--help"));
}

#[test]
fn a_missing_argument_is_named() {
    let said = refused(&["completions"], None);
    assert!(said.contains("SHELL") && said.contains("missing"), "{said}");
    let said = refused(&["man"], None);
    assert!(said.contains("DIRECTORY") && said.contains("missing"), "{said}");
}

#[test]
fn unknown_values() {
    let said = refused(&["torture", "rcu", "--strategy", "magic"], None);
    assert!(said.contains("magic") && said.contains("membarrier"), "{said}");
    let said = refused(&["torture", "rcu", "--flavour", "vanilla"], None);
    assert!(said.contains("vanilla") && said.contains("qsbr"), "{said}");
    assert!(refused(&["torture", "rcu", "--seed", "xyz"], None).contains("xyz"));
    refused(&["torture", "rcu", "--seconds", "0"], None);
    refused(&["torture", "rcu", "--seconds", "-1"], None);
    refused(&["torture", "rcu", "--readers", "many"], None);
    refused(&["torture", "rcu", "--writers"], None);
}

#[test]
fn unknown_fence_in_the_environment() {
    for args in [&["doctor"] as &[&str], &["doctor", "--json"], &["torture", "rcu", "--seconds", "1"]] {
        let said = refused(args, Some("magic"));
        assert!(said.contains("LEEWARD_FENCE") && said.contains("membarrier"), "{said}");
    }
}

#[test]
fn help_and_version_are_no_errors() {
    for args in [&["--help"] as &[&str], &["--version"], &["doctor", "--help"], &["torture", "rcu", "--help"]] {
        let output = Command::new(env!("CARGO_BIN_EXE_leeward")).args(args).output().expect("it runs");
        assert!(output.status.success() && !output.stdout.is_empty(), "{args:?}: {output:?}");
    }
}
