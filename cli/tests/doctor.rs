//! Tests of `leeward doctor`.

use std::process::{Command, Output};

fn doctor(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_leeward"))
        .arg("doctor")
        .args(args)
        .env_remove("LEEWARD_FENCE")
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
