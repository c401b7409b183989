//! `leeward doctor`: shows what this kernel and machine provide, what each part means, and what to
//! do about what is missing.
//!
//! Each kind of finding has a module, whose one function returns a list of findings. This file
//! collects and prints them.

mod advice;
mod cost;
mod finding;
mod futex;
mod machine;
mod membarrier;
mod sandbox;
mod text;
mod thread;

use std::io::{IsTerminal, Write};
use std::process::ExitCode;

use leeward::fence::{Error, Strategy};
use serde_json::{Map, Value, json};

use crate::args::Doctor;
use crate::sys;
use finding::Finding;
use text::Paper;

/// Examines the machine and prints the report. `picked` is the result of the library's
/// initialisation.
pub fn run(args: &Doctor, picked: Result<Strategy, Error>) -> ExitCode {
    let findings = examine(picked);
    let text = if args.json { as_json(&findings, picked) } else { text::report(&findings, &paper()) };
    // If standard output was closed, its reader has seen what it wanted.
    let _ = std::io::stdout().write_all(text.as_bytes());
    ExitCode::SUCCESS
}

/// Returns the width that `COLUMNS` says, else that of the terminal, and none where standard output is
/// no terminal: what reads it there, `grep` for instance, wants a finding in a line.
fn paper() -> Paper {
    let bold = std::io::stdout().is_terminal();
    let asked = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok()).filter(|&columns| columns > 0);
    // A terminal that does not know its width, as on a serial line, has that of the first ones.
    let columns = asked.or_else(|| bold.then(|| sys::terminal_columns().unwrap_or(80)));
    Paper { columns, bold }
}

fn examine(picked: Result<Strategy, Error>) -> Vec<Finding> {
    // A sandbox may kill for some questions. These are asked in children, so they come first, while
    // the process has one thread.
    let mut findings = machine::findings();
    findings.extend(membarrier::findings());
    findings.extend(futex::findings());
    findings.extend(thread::findings());
    findings.extend(cost::findings(picked));
    findings
}

fn as_json(findings: &[Finding], picked: Result<Strategy, Error>) -> String {
    let by_name: Map<String, Value> = findings.iter().map(|finding| (finding.id.clone(), finding.to_json())).collect();
    let advice: Vec<_> =
        advice_of(findings).map(|advice| json!({ "id": advice.id(), "text": advice.text() })).collect();
    let report = json!({
        "leeward": env!("CARGO_PKG_VERSION"),
        "kernel": machine::kernel(),
        "architecture": std::env::consts::ARCH,
        "cores": machine::cores(),
        "strategy": picked.ok().map(Strategy::name),
        "findings": by_name,
        "advice": advice,
    });
    format!("{report:#}\n")
}

/// Returns each advice once, in the order of the findings.
fn advice_of(findings: &[Finding]) -> impl Iterator<Item = advice::Advice> {
    let mut seen = Vec::new();
    findings.iter().filter_map(|finding| finding.advice).filter(move |advice| {
        let new = !seen.contains(advice);
        seen.push(*advice);
        new
    })
}
