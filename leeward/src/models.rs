//! The common part of the models under loom: how schedules are tried, and how a model's threads
//! run.

use std::println;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Instant;
use std::vec::Vec;

use loom::thread;

/// Tries every schedule of `model` with at most `preemptions` preemptions, or
/// `LOOM_MAX_PREEMPTIONS`.
///
/// `set_up` runs first in each schedule, so that loom's statics are made before there is a second
/// thread: else a thread that comes second to a static would synchronize with the one that made it.
pub(crate) fn explore(preemptions: usize, set_up: fn(), model: impl Fn() + Send + Sync + 'static) {
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

/// Runs all of `works` at the same time, the last on the calling thread, and waits for their end.
pub(crate) fn together<const N: usize>(works: [fn(); N]) {
    let mut works: Vec<_> = works.into_iter().collect();
    let last = works.pop().unwrap();
    let others: Vec<_> = works.into_iter().map(thread::spawn).collect();
    last();
    others.into_iter().for_each(|other| other.join().unwrap());
}
