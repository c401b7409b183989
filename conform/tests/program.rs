//! The program: its options, exit codes, and odd surroundings.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::LazyLock;

use leeward_conform::scenarios;

/// The program, built in a workspace of its own. Nothing where its sources are not: in a packed crate.
static PROGRAM: LazyLock<Option<PathBuf>> = LazyLock::new(|| {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("program/Cargo.toml");
    if !manifest.exists() {
        return None;
    }
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("program");
    // Not by a macro: the test harness would keep it.
    let _ = writeln!(std::io::stderr(), "program: cargo builds leeward-conform in {}", target.display());
    let built = Command::new(env!("CARGO"))
        .args(["build", "--release", "--quiet", "--manifest-path"])
        .arg(manifest)
        .arg("--target-dir")
        .arg(&target)
        .env_remove("RUSTFLAGS")
        .env_remove("CARGO_BUILD_TARGET")
        .status()
        .unwrap();
    assert!(built.success());
    Some(target.join("release/leeward-conform"))
});

/// Runs the program, where there is one; returns its exit code and what it printed.
fn run(arguments: &[&str]) -> Option<(i32, String)> {
    let Output { status, stdout, stderr } = Command::new(PROGRAM.as_ref()?).args(arguments).output().unwrap();
    assert!(stderr.is_empty());
    Some((status.code().expect("it ends by itself"), String::from_utf8(stdout).unwrap()))
}

macro_rules! run {
    ($($argument:expr),*) => {
        match run(&[$($argument),*]) {
            Some(ran) => ran,
            None => return,
        }
    };
}

#[test]
fn one_scenario_passes_on_linux() {
    let (code, said) = run!("--only", "wait.value_differs");
    assert_eq!(code, 0, "{said}");
    assert_eq!(said.lines().count(), 3, "{said}");
    assert!(said.contains("wait                      1      0      0      0"), "{said}");
}

#[test]
fn the_list_is_the_librarys() {
    let (code, said) = run!("--list");
    assert_eq!(code, 0);
    let names = said.lines().map(|line| line.split(' ').next().unwrap());
    assert!(names.eq(scenarios().map(|scenario| scenario.name)), "{said}");
    assert!(said.contains("\nrobust.is_killed_at_each_instruction (fork, signals, ptrace)\n"), "{said}");
}

#[test]
fn globs_choose() {
    let named = |glob: &str| run(&["--list", "--only", glob]).map(|(_, said)| said);
    let Some(waits) = named("wait.*") else { return };
    assert!(waits.lines().eq(scenarios().map(|scenario| scenario.name).filter(|name| name.starts_with("wait."))));
    assert_eq!(named("*").unwrap(), named("**").unwrap());
    assert_eq!(named("*.value_dif*s").unwrap().lines().next(), Some("wait.value_differs"));
    assert_eq!(named("wait.counts").unwrap(), "wait.counts\n");
    let (code, both) = run!("--only", "wait.counts", "--list", "--only", "wait.value*");
    assert_eq!((code, both.as_str()), (0, "wait.value_differs\nwait.counts\n"));
}

#[test]
fn what_needs_something_is_left_out() {
    let (code, said) = run!("--list", "--without", "fork", "--without", "faults", "--without", "time");
    assert_eq!(code, 0, "{said}");
    let is_left = |scenario: &&leeward_conform::Scenario| {
        scenario.operation() != "time" && !scenario.needs().iter().any(|need| ["fork", "faults"].contains(&need.word()))
    };
    let names = said.lines().map(|line| line.split(' ').next().unwrap());
    assert!(names.eq(scenarios().filter(is_left).map(|scenario| scenario.name)), "{said}");
    let (code, said) = run!("--seed", "1", "--seconds", "1", "--without", "FUTEX_WAKE_OP", "--without", "errors");
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("\nleft out: FUTEX_WAKE_OP\nleft out: errors: arguments that are wrong\n"), "{said}");
}

#[test]
fn it_explains() {
    let (code, said) = run!("--explain", "--only", "wait.value_differs");
    assert_eq!(code, 0);
    assert!(said.starts_with("wait.value_differs (Linux 2.6.0)\n") && said.contains("EAGAIN"), "{said}");
}

#[test]
fn json_and_tap_have_a_line_for_each_scenario() {
    let count = scenarios().filter(|scenario| scenario.operation() == "wait").count();
    let (code, said) = run!("--json", "--only", "wait.*");
    assert_eq!(code, 0, "{said}");
    let read: Vec<serde_json::Value> = said.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(read.len(), count);
    assert!(read.iter().all(|line| line["verdict"] == "pass"), "{said}");
    let (code, said) = run!("--only", "wait.*", "--tap");
    assert_eq!(code, 0, "{said}");
    assert!(said.starts_with(&format!("TAP version 13\n1..{count}\nok 1 - wait.")), "{said}");
    assert_eq!(said.lines().count(), 2 + count);
}

#[test]
fn without_fork_it_names_each_scenario_before_it_is_asked() {
    let (code, said) = run!("--no-fork", "--only", "wait.counts", "--tap");
    assert_eq!((code, said.as_str()), (0, "TAP version 13\n1..1\n# wait.counts\nok 1 - wait.counts\n"));
}

#[test]
fn random_sequences_agree_on_linux_in_each_form() {
    let (code, said) = run!("--seed", "1", "--seconds", "1");
    assert_eq!(code, 0, "{said}");
    assert!(said.starts_with("random sequences from seed 1 on: "), "{said}");
    let (code, said) = run!("--json", "--seed", "18446744073709551615", "--seconds", "1");
    assert_eq!(code, 0, "{said}");
    let read: serde_json::Value = serde_json::from_str(&said).unwrap();
    assert_eq!((&read["verdict"], &read["first"]), (&"pass".into(), &u64::MAX.into()), "{said}");
    assert!(read["sequences"].as_u64().unwrap() > 1 && read["calls"].as_u64().unwrap() > 1, "{said}");
    let (code, said) = run!("--seed", "2", "--seconds", "1", "--tap", "--no-fork");
    assert_eq!(code, 0, "{said}");
    assert!(said.starts_with("TAP version 13\n1..1\n# seed 2\n# seed 3\n"), "{said}");
    assert!(said.lines().last().unwrap().starts_with("ok 1 - sequences from seed 2 on: "), "{said}");
}

#[test]
fn help_is_no_mistake() {
    for argument in ["--help", "-h"] {
        let (code, said) = run!(argument);
        assert_eq!(code, 0);
        assert!(said.contains("usage: leeward-conform"), "{said}");
    }
}

#[test]
fn mistakes_are_said() {
    let most: Vec<&str> = ["--only", "*"].repeat(17);
    for (arguments, problem) in [
        (&["--lists"][..], "does not know"),
        (&["wait.counts"], "does not know"),
        (&[""], "does not know"),
        (&["--list", "--only"], "--only wants a name"),
        (&["--seconds"], "--seconds wants a number"),
        (&["--seconds", "0"], "--seconds wants a number"),
        (&["--seconds", "-1"], "--seconds wants a number"),
        (&["--seconds", "4294967296"], "--seconds wants a number"),
        (&["--seed"], "--seed wants a number"),
        (&["--seed", "-1"], "--seed wants a number"),
        (&["--seed", "18446744073709551616"], "--seed wants a number"),
        (&["--without"], "--without wants a name"),
        (&["--without", "forks"], "names no need"),
        (&["--only", "wait.*", "--without", "wait"], "no scenario has such a name"),
        (&["--only", "no.such"], "no scenario has such a name"),
        (&["--only", ""], "no scenario has such a name"),
        (&most, "more than 16 times"),
        (&["x"; 300], "does not know"),
    ] {
        let Some((code, said)) = run(arguments) else { return };
        assert_eq!(code, 2, "{arguments:?}: {said}");
        assert!(said.contains(problem) && said.contains("usage: "), "{arguments:?}: {said}");
    }
}

#[test]
fn three_hundred_arguments_are_read() {
    let arguments = ["--json"; 298].into_iter().chain(["--only", "wait.counts"]).collect::<Vec<_>>();
    let Some((code, said)) = run(&arguments) else { return };
    assert_eq!((code, said.lines().count()), (0, 1), "{said}");
}

/// Has a shell start the program with its output redirected; returns the exit code.
fn redirected(to: &str) -> Option<i32> {
    let program = PROGRAM.as_ref()?;
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("exec \"$0\" --only wait.counts {to}")]).arg(program).stdout(Stdio::null());
    shell.status().unwrap().code()
}

#[test]
fn output_that_cannot_be_written_is_an_exit_code_of_its_own() {
    if PROGRAM.is_some() {
        assert_eq!(redirected(">&-"), Some(3), "a closed descriptor");
        assert_eq!(redirected(">/dev/full"), Some(3), "a full device");
        assert_eq!(redirected("</dev/null 2>&-"), Some(0), "neither input nor errors");
    }
}

/// The first process of a namespace is not the machine's: it ends with its exit code, and powers nothing off.
#[test]
fn the_first_process_of_a_namespace_ends_as_any_other() {
    let Some(program) = PROGRAM.as_ref() else { return };
    let mut command = Command::new("unshare");
    command.args(["--pid", "--fork"]).arg(program).args(["--tap", "--only", "wait.counts"]);
    match command.output() {
        Ok(Output { status, stdout, .. }) if status.code() == Some(0) => {
            assert_eq!(stdout, b"TAP version 13\n1..1\nok 1 - wait.counts\n");
        }
        // Who may not make namespaces is told so with code 1.
        Ok(Output { status, .. }) => assert_eq!(status.code(), Some(1), "{status:?}"),
        Err(_) => {}
    }
}

#[test]
fn it_runs_without_an_environment_and_with_little_memory() {
    let Some(program) = PROGRAM.as_ref() else { return };
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -v 65536 && exec env -i \"$0\" --only 'wait.*'"]).arg(program).stdout(Stdio::null());
    assert_eq!(command.status().unwrap().code(), Some(0));
}
