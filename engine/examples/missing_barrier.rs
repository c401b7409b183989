//! Shows what goes wrong where membarrier, or the context switch, lacks a barrier. The engine's own
//! code runs on the simulated machine, under every schedule; the first schedule that ends badly is
//! printed step by step, with a column for each processor.
//!
//! `cargo run --release -p leeward-engine --example missing_barrier [CASE] [no-memory]`, where CASE
//! is one of `s1`, `s2` (the default), `s3`, `before`, `after`, `handler`, `lock`, `forget` and
//! `none`.

use leeward_engine::simulation::{Cut, missing_barrier};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let no_memory = arguments.iter().any(|argument| argument == "no-memory");
    let name = arguments.iter().find(|argument| *argument != "no-memory").map_or("s2", String::as_str);
    let (cut, what) = match name {
        "s1" => (Some(Cut::S1), "S1, between the outgoing thread's accesses and clearing the processor's bit"),
        "s2" => (Some(Cut::S2), "S2, between setting the processor's bit and the incoming thread's accesses"),
        "s3" => (Some(Cut::S3), "S3, where the processor leaves lazy-TLB mode"),
        "before" => (Some(Cut::Before), "(1), the caller's before the first interrupt"),
        "after" => (Some(Cut::After), "(6), the caller's after the last acknowledgment"),
        "handler" => (Some(Cut::Handler), "the interrupt handler's"),
        "lock" => (Some(Cut::Lock), "the run-queue lock around the look at what a processor runs"),
        "forget" => (Some(Cut::Forget(2)), "the interrupt of one of two processors"),
        "none" => (None, "nothing"),
        _ => {
            eprintln!("missing_barrier: {name}: one of s1 s2 s3 before after handler lock forget none, and no-memory");
            std::process::exit(2);
        }
    };
    println!("Left out: {what}.");
    let Some((case, report)) = missing_barrier(cut, no_memory) else {
        println!("No schedule ends badly, in any shape, situation or memory model.");
        std::process::exit(if cut.is_none() { 0 } else { 1 });
    };
    println!("The strongest memory model that shows it: {:?}.", case.model);
    println!("Shape: {}. Both sides are stale after {} states:\n", case.shape(), report.states);
    let schedule = report.found.map(|found| found.schedule).unwrap_or_default();
    println!("{}", case.machine().print(&schedule));
}
