//! The table of containers: maps, ordered maps, lists, queues and stacks, ours and the peers'. Called by
//! `main`; calls a group each, and shows the outcome as the table of locks does.
//!
//! A container of ours is added by a module of its own in `peers` and a line in that folder's list.

mod bounded;
mod deliveries;
mod figures;
mod growing;
mod held;
pub mod keys;
mod list;
mod map;
mod maps;
pub mod memory;
mod ordered;
mod peers;
mod queues;
pub mod size;
mod stacks;

use crate::cli::Containers;
use crate::error::Error;
use crate::locks::contest::Outcome;
use crate::locks::present_outcome;
use crate::plan::Plan;
use crate::versions::{self, Versions};

/// The names that `--only` takes.
pub const GROUPS: [&str; 8] = ["maps", "growing", "memory", "ordered", "list", "queues", "bounded", "stacks"];

/// Measures and shows the table. Returns true if everything could be measured.
pub fn compare(options: &Containers) -> Result<bool, Error> {
    let plan = options.common.plan(1, 1);
    let mut outcome = Outcome::default();
    plan.expect(GROUPS.len());
    for group in GROUPS {
        if options.only.as_deref().is_none_or(|only| only == group) {
            outcome.append(measure(group, &plan, options));
        }
        plan.step();
    }
    outcome.figures.iter_mut().for_each(|figure| figure.id.insert_str(0, "collect."));
    let what = "containers, u64 -> u64, foldhash; threads and entries as each line says, and more threads than \
                processors measure the scheduler too";
    present_outcome(&plan, &options.common, options.markdown.as_deref(), what, outcome, &peers())
}

fn measure(group: &str, plan: &Plan, options: &Containers) -> Outcome {
    match group {
        "maps" => maps::outcome(plan, options),
        "growing" => growing::outcome(plan),
        "memory" => memory::outcome(plan, options.entries),
        "ordered" => ordered::outcome(plan, options),
        "list" => list::outcome(plan),
        "bounded" => bounded::outcome(plan),
        "stacks" => stacks::outcome(plan),
        _ => {
            let mut outcome = queues::outcome(plan);
            outcome.append(deliveries::outcome(plan));
            outcome
        }
    }
}

/// Returns every peer of this table with its version.
fn peers() -> Versions {
    let names = [
        "std",
        "papaya",
        "dashmap",
        "scc",
        "flurry",
        "rpds",
        "arc-swap",
        "evmap",
        "crossbeam-skiplist",
        "crossbeam-queue",
        "crossbeam-channel",
        "flume",
        "parking_lot",
    ];
    names.into_iter().map(|name| (name, versions::built(name).map(str::to_string))).collect()
}
