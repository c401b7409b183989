//! Tests of `leeward doctor`.

use std::fs::File;
use std::io::Read;
use std::os::fd::{FromRawFd, OwnedFd};
use std::process::{Command, Output, Stdio};

fn doctor(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_leeward"))
        .arg("doctor")
        .args(args)
        .env_remove("LEEWARD_FENCE")
        .env_remove("COLUMNS")
        .output()
        .expect("it runs")
}

#[test]
fn says_what_is_found_and_what_it_means() {
    let output = doctor(&[]);
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).expect("it is text");
    for line in
        ["strategy in use", "futex_waitv", "restartable sequences", "robust list", "nohz_full", "seccomp", "what to do"]
    {
        assert!(text.contains(line), "no `{line}` in\n{text}");
    }
    assert!(!text.contains('\x1b'), "bold is for terminals");
}

#[test]
fn json_has_every_finding() {
    let output = doctor(&["--json"]);
    assert!(output.status.success(), "{output:?}");
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("one JSON object and nothing else");
    for key in ["leeward", "kernel", "architecture", "cores", "strategy", "findings", "advice"] {
        assert!(report.get(key).is_some(), "no `{key}` in {report:#}");
    }
    let findings = &report["findings"];
    for id in [
        "machine.cores",
        "machine.nohz_full",
        "machine.seccomp",
        "membarrier.call",
        "futex.waitv",
        "futex.futex2",
        "futex.private_hash",
        "futex.pi",
        "thread.rseq",
        "thread.robust_list",
        "fence.strategy",
        "fence.signal.0_running",
        "fence.signal.1_running",
    ] {
        for field in ["what", "found", "value", "means", "advice"] {
            assert!(findings[id].get(field).is_some(), "no `{field}` of `{id}` in {report:#}");
        }
    }
    // If membarrier is refused there is no such finding.
    if let Some(finding) = findings.get("membarrier.global_expedited") {
        assert!(finding["means"].to_string().contains("robust::LightMutex"), "who uses it is not told: {finding:#}");
    }
    let price = findings["fence.signal.1_running"]["value"].as_u64().expect("a price in nanoseconds");
    assert!(price > 0);
}

#[test]
fn a_forced_strategy_is_used_and_remarked_on() {
    let output =
        Command::new(env!("CARGO_BIN_EXE_leeward")).args(["doctor", "--json"]).env("LEEWARD_FENCE", "signal").output();
    let report: serde_json::Value = serde_json::from_slice(&output.expect("it runs").stdout).expect("JSON");
    assert_eq!(report["strategy"], "signal");
    assert_eq!(report["findings"]["fence.strategy"]["advice"], "forced-strategy");
}

/// Checks that no line has more columns, except for a single word that has.
#[track_caller]
fn must_fit(text: &str, columns: usize) {
    let text = text.replace("\x1b[1m", "").replace("\x1b[0m", "");
    assert!(text.split_whitespace().collect::<Vec<_>>().join(" ").contains(" what to do "), "{text}");
    for line in text.lines() {
        let is_word = line.trim_start_matches([' ', '-']).split(' ').count() == 1;
        assert!(line.chars().count() <= columns || is_word, "more than {columns} columns: `{line}`");
    }
}

#[test]
fn lines_are_as_wide_as_is_asked_for() {
    for columns in [1, 40, 80, 110] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_leeward"));
        command.arg("doctor").env_remove("LEEWARD_FENCE").env("COLUMNS", columns.to_string());
        let output = command.output().expect("it runs");
        must_fit(&String::from_utf8(output.stdout).expect("it is text"), columns);
    }
}

/// What is read by another program has a finding in a line; what `COLUMNS` says without sense counts
/// for nothing.
#[test]
fn a_finding_is_one_line_where_there_is_no_terminal() {
    for columns in ["0", "wide"] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_leeward"));
        command.arg("doctor").env_remove("LEEWARD_FENCE").env("COLUMNS", columns);
        let text = String::from_utf8(command.output().expect("it runs").stdout).expect("it is text");
        let line = text.lines().find(|line| line.contains("robust list")).expect("a robust list, or none");
        assert!(line.contains("robust::Mutex") || line.contains("cannot be told"), "{line}");
    }
}

#[test]
fn lines_are_as_wide_as_the_terminal() {
    // A terminal that does not tell has 80.
    for (told, columns) in [(64, 64), (0, 80)] {
        let size = libc::winsize { ws_row: 24, ws_col: told, ws_xpixel: 0, ws_ypixel: 0 };
        let (mut master, mut terminal) = (-1, -1);
        // SAFETY: the two numbers and the size are ours; the name and the attributes may be null.
        let outcome = unsafe {
            libc::openpty(&raw mut master, &raw mut terminal, std::ptr::null_mut(), std::ptr::null(), &raw const size)
        };
        if outcome != 0 {
            println!("skipped: there is no terminal: {}", std::io::Error::last_os_error());
            return;
        }
        // SAFETY: the call above opened it, and nothing else owns it.
        let mut master = unsafe { File::from_raw_fd(master) };
        // SAFETY: as above.
        let terminal = unsafe { OwnedFd::from_raw_fd(terminal) };
        let mut command = Command::new(env!("CARGO_BIN_EXE_leeward"));
        command.arg("doctor").env_remove("LEEWARD_FENCE").env_remove("COLUMNS").stdout(Stdio::from(terminal));
        let mut child = command.spawn().expect("it runs");
        // The terminal's last owner is the child.
        drop(command);
        let mut text = Vec::new();
        // Ends with an error when no process has the terminal any more.
        let _ = master.read_to_end(&mut text);
        assert!(child.wait().expect("it ends").success());
        let text = String::from_utf8(text).expect("it is text").replace('\r', "");
        assert!(text.contains("\x1b[1m"), "headings are bold: {text}");
        must_fit(&text, columns);
    }
}
