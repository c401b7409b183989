//! fork beside every public operation: at its first use in the process, in its middle, while others
//! wait. Each child then uses everything once, under a time limit.
//!
//! Arranged, not left to luck: the thread that is forked beside is single-stepped by ptrace
//! (`walk.rs`), and forks come where memory changes that a child gets a copy of.

#![cfg(all(
    target_os = "linux",
    target_env = "gnu",
    target_arch = "x86_64",
    feature = "std",
    not(leeward_loom),
    not(leeward_symmetric)
))]
#![allow(missing_docs)]

#[path = "common/bare.rs"]
mod bare;
#[path = "common/cases.rs"]
mod cases;
mod common;
#[path = "common/step.rs"]
mod step;

#[path = "fork_everywhere/board.rs"]
mod board;
#[path = "fork_everywhere/case.rs"]
mod case;
#[path = "fork_everywhere/everything.rs"]
mod everything;
#[path = "fork_everywhere/operations.rs"]
mod operations;
#[path = "fork_everywhere/walk.rs"]
mod walk;

use operations::Operation;

/// Forks beside the operation of this name, in a process of its own; `fence`: by which fences.
#[track_caller]
fn beside(operation: &str, fence: Option<&str>) {
    let mut command = cases::command(operation);
    command.envs(fence.map(|fence| ("LEEWARD_FENCE", fence)));
    walk::walk(operation, command);
}

#[track_caller]
fn beside_each(operations: impl IntoIterator<Item = &'static Operation>, fence: &str) {
    operations.into_iter().for_each(|operation| beside(operation.name, Some(fence)));
}

#[test]
#[ignore = "a process of its own: started by the other tests"]
fn case() {
    case::run(operations::find(&cases::current()));
}
