//! fork beside every public operation: at its first use in the process, in its middle, while others
//! wait. Each child then uses everything once, under a time limit. And every public operation in
//! other places (`places.rs`).
//!
//! Arranged, not left to luck: the thread that is forked beside is single-stepped by ptrace
//! (`walk.rs`), and forks come where memory changes that a child gets a copy of.

#![cfg(all(target_os = "linux", target_env = "gnu", target_arch = "x86_64", not(leeward_symmetric)))]
#![allow(missing_docs)]

#[path = "../common/bare.rs"]
mod bare;
#[path = "../common/cases.rs"]
mod cases;
#[path = "../common/mod.rs"]
mod common;
#[path = "../common/seccomp.rs"]
mod seccomp;
#[macro_use]
#[path = "../common/small_locks.rs"]
mod small_locks;
#[path = "../common/step.rs"]
mod step;

#[path = "fork_everywhere/arranged.rs"]
mod arranged;
#[path = "fork_everywhere/board.rs"]
mod board;
#[path = "fork_everywhere/case.rs"]
mod case;
#[path = "fork_everywhere/everything.rs"]
mod everything;
#[path = "fork_everywhere/operations.rs"]
mod operations;
#[path = "fork_everywhere/places.rs"]
mod places;
#[path = "fork_everywhere/waiting.rs"]
mod waiting;
#[path = "fork_everywhere/walk.rs"]
mod walk;

/// Forks beside the operation of this name, in a process of its own; `fence` names the strategy of
/// its fences.
#[track_caller]
fn beside(operation: &str, fence: Option<&str>) {
    let mut command = cases::command(operation);
    command.envs(fence.map(|fence| ("LEEWARD_FENCE", fence)));
    walk::walk(operation, command);
}

/// Forks beside some operations of a group, with heavy fences that are made of signals.
#[track_caller]
fn with_signals(group: &str, operations: &[&str]) {
    operations.iter().for_each(|operation| beside(&format!("{group}::{operation}"), Some("signal")));
}

#[test]
#[ignore = "a process of its own: started by the other tests"]
fn case() {
    match cases::current().as_str() {
        "waiting" => waiting::case(),
        at_a_place if places::run(at_a_place) => {}
        operation => case::run(operations::find(operation)),
    }
}
