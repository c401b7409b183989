//! Switch paths on the simulated machine: the example's, whose table is the page's, and paths of
//! other designs; every schedule, four memory models.

#![allow(missing_docs)]

#[allow(dead_code)]
#[path = "../../examples/kernel_membarrier.rs"]
mod example;

use std::sync::Arc;

use example::{Kernel, MODELS, try_each};
use leeward_engine::simulation::{
    Cpu, Linux2010, Machine, Model, Occupant, Setup, Situation, Spawn, Start, SwitchPath, Trial, try_path,
};

/// The page for the reader of the example's output.
const PAGE: &str = include_str!("../../docs/barriers-by-architecture.md");

fn path(path: impl SwitchPath + 'static) -> Arc<dyn SwitchPath> {
    Arc::new(path)
}

/// Returns a table of the page, which follows the line `head`: a barrier's name, and for each model
/// true if the page says that its absence shows.
fn table(head: &str) -> Vec<(&'static str, [bool; 4])> {
    let (_, rest) = PAGE.split_once(head).expect("the page has the table");
    let rows = rest.trim_start().lines().skip(1).take_while(|line| line.starts_with('|'));
    let row = |line: &'static str| {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        (cells[0], [1, 2, 3, 4].map(|i| cells[i] == "wrong"))
    };
    rows.map(row).collect()
}

/// Asserts that a path holds under each model, and that without each of its barriers it goes wrong
/// under the models that the table says.
fn agrees(path: &Arc<dyn SwitchPath>, table: &[(&'static str, [bool; 4])]) {
    let left_out: Vec<_> = [None].into_iter().chain(table.iter().map(|(name, _)| Some(*name))).collect();
    let mut trials = try_each(path, &left_out).into_iter();
    let mut names: Vec<_> = table.iter().map(|(name, _)| *name).collect();
    names.sort_unstable();
    for (model, trial) in MODELS.iter().zip(trials.next().expect("the whole path")) {
        let Trial { cases, states, schedules, barriers, found } = trial;
        println!("{model:?}: {cases} cases, {states} states, {schedules} schedules");
        assert_eq!(barriers, names, "the table has each barrier");
        assert!(found.is_none(), "{model:?}: {found:?}");
    }
    for ((name, wrong), trials) in table.iter().zip(trials) {
        assert_eq!(trials.map(|trial| trial.found.is_some()), *wrong, "without {name}, under {MODELS:?}");
    }
}

#[test]
fn the_examples_path_holds_and_each_barrier_is_missed_where_the_page_says() {
    let table = table("| barrier | Sc | Tso | Pso | Weak |");
    assert_eq!(table.len(), 6);
    agrees(&path(Kernel), &table);
}

/// Membarrier by what each processor runs: no masks, and no run-queue locks.
struct ByCurrent;

impl SwitchPath for ByCurrent {
    fn switch(&self, cpu: &Cpu<'_>, from: Option<Occupant>, to: Option<Occupant>) {
        if let Some(to) = to {
            cpu.restore(to.thread);
        }
        cpu.barrier("leave");
        cpu.set_current(to.map(|to| to.space));
        cpu.barrier("enter");
        if let Some(from) = from {
            cpu.save(from.thread);
        }
    }
    fn shootdown(&self, _: &Cpu<'_>, _: u8) {}
    fn membarrier(&self, cpu: &Cpu<'_>, space: u8) {
        cpu.barrier("first");
        for other in cpu.others() {
            if cpu.current(other) == Some(space) {
                cpu.interrupt(other);
                cpu.wait(other);
            }
        }
        cpu.barrier("last");
    }
}

#[test]
fn a_path_without_masks_and_locks_holds_and_needs_its_barriers_earlier() {
    let table = table("| barrier, no lock | Sc | Tso | Pso | Weak |");
    assert_eq!(table.len(), 5);
    agrees(&path(ByCurrent), &table);
}

/// The switch path of 2010, in which an interrupt is never acknowledged.
struct Silent;

impl SwitchPath for Silent {
    fn handler(&self, cpu: &Cpu<'_>) {
        cpu.barrier("handler");
    }
}

#[test]
fn a_handler_that_does_not_acknowledge_stands_still() {
    let (_, found) = try_path(&path(Silent), Model::Sc, None).found.expect("the caller waits forever");
    assert_eq!(found.results[0], None);
}

/// The switch path of 2010, in which the bit is set after the barrier.
struct Late;

impl SwitchPath for Late {
    fn leave_lazy(&self, cpu: &Cpu<'_>, space: u8) {
        cpu.barrier("S3");
        cpu.set_mask_bit(space);
    }
}

#[test]
fn a_barrier_in_the_wrong_place_is_found_though_none_is_left_out() {
    let path = path(Late);
    assert!(try_path(&path, Model::Sc, None).found.is_none());
    let (case, _) = try_path(&path, Model::Tso, None).found.expect("S3 comes too early");
    assert_eq!(case.situation(), Situation::Lazy);
}

#[test]
fn the_paths_own_defaults_take_the_same_steps_as_the_example() {
    for left_out in [None, Some("S3")] {
        assert_eq!(try_path(&path(Linux2010), Model::Tso, left_out), try_path(&path(Kernel), Model::Tso, left_out));
    }
}

#[test]
fn a_missing_barrier_is_shown_in_the_column_of_its_processor() {
    let path = path(Kernel);
    let (case, found) = try_path(&path, Model::Tso, Some("S2")).found.expect("S2 is needed");
    let told = case.machine_on(&path).print(&found.schedule);
    let line = told.lines().find(|line| line.contains("NO BARRIER S2 HERE")).expect("where it is missing");
    assert!(line.starts_with("                    "), "{told}");
    for part in ["rare: full barrier 1", "frequent: x -> 0", "rare: y -> 0"] {
        assert!(told.contains(part), "{part}\n{told}");
    }
    assert_eq!(case.forbidden(), "rare reads y = 0, frequent reads x = 0");
}

#[test]
fn schedules_are_counted() {
    // Two threads of n stores each, in any order: as many as there are ways to choose n of 2 n.
    for (stores, schedules) in [(1, 2), (2, 6), (5, 252)] {
        let mut setup = Setup::new(&[Start::Runs(0), Start::Runs(1)]);
        for thread in 0..2 {
            setup.threads.push(Spawn::new("writer", 0, move |host| {
                (0..stores).for_each(|i| host.set(4 * thread, i));
                0
            }));
        }
        let report = Machine::new(setup).explore(10_000, &|_, _| false);
        assert_eq!(report.schedules, schedules);
    }
}
