//! How a model under loom is explored, and how it fails.
//!
//! `leeward` and `leeward-engine` share this file (the engine's is a symbolic link).

use std::boxed::Box;
use std::panic::PanicHookInfo;
use std::string::String;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Instant;
use std::{panic, println};

/// Tries every schedule of `model` with at most `preemptions` preemptions, or
/// `LOOM_MAX_PREEMPTIONS`.
///
/// `set_up` runs first in each schedule, so that loom's statics are made before there is a second
/// thread: else a thread that comes second to a static would synchronize with the one that made it.
pub(crate) fn explore(preemptions: usize, set_up: fn(), model: impl Fn() + Send + Sync + 'static) {
    panic::set_hook(Box::new(report));
    let begun = Instant::now();
    let executions = Arc::new(AtomicUsize::new(0));
    let counted = executions.clone();
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = builder.preemption_bound.or(Some(preemptions));
    builder.max_branches = 5_000;
    builder.check(move || {
        // Relaxed: a count.
        counted.fetch_add(1, Relaxed);
        set_up();
        model();
    });
    let thread = std::thread::current();
    let name = thread.name().unwrap_or_default();
    let name = name.rsplit_once("loom_tests::").map_or(name, |(_, name)| name);
    let bound = builder.preemption_bound.unwrap_or_default();
    println!("{name}: {} executions, at most {bound} preemptions, {:.1?}", executions.load(Relaxed), begun.elapsed());
}

/// Prints a panic of a model, or of loom, in a line that begins with `the model fails: `. `ci/model`
/// looks for this line, whatever the panic says. (A panic that the model catches is printed, too.)
fn report(panic: &PanicHookInfo<'_>) {
    let message = panic.payload();
    let message = message.downcast_ref::<&str>().copied().or(message.downcast_ref().map(String::as_str));
    println!("the model fails: {}", message.unwrap_or("a panic without a message"));
    if let Some(place) = panic.location() {
        println!("    at {place}");
    }
}
