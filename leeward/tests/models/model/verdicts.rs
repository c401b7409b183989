//! How a test says what it expects: a configuration holds under models and breaks under others.
//! Every run prints its line of the table; a verdict that was not expected prints the schedule.
//! With `LEEWARD_MODEL_SCHEDULES` set the expected violations' schedules are printed too.

use super::explore::{Report, Verdict, always_can_finish, explore};
use super::memory::Model::{self, Pso, Sc, Tso, Weak};
use super::print;
use super::setup::{Cut, Publish, Role, Setup};

/// All models, from the strongest on.
pub const ALL: &[Model] = &[Sc, Tso, Pso, Weak];
/// The models that are TSO or weaker.
pub const FROM_TSO: &[Model] = &[Tso, Pso, Weak];
/// The models that are PSO or weaker.
pub const FROM_PSO: &[Model] = &[Pso, Weak];
pub const ONLY_WEAK: &[Model] = &[Weak];
pub const NONE: &[Model] = &[];

/// More states than any configuration has: one that reaches it is larger than its author believed.
const LIMIT: usize = 60_000_000;

/// A reader of so many sections by the first pointer.
pub const fn reader(sections: u8) -> Role {
    Role::Reader { sections, nest: 1, pointer: 0, signals: 0, handlers: 0 }
}

/// An updater of the first pointer that publishes with a release store.
pub const fn updater(updates: u8) -> Role {
    Role::Updater { updates, publish: Publish::Store, pointer: 0 }
}

pub const fn caller(times: u8) -> Role {
    Role::Caller { times }
}

pub fn run(setup: &Setup, model: Model) -> Report {
    let report = explore(&setup.machine(model), LIMIT);
    print::line(&setup.title(), model, &report);
    report
}

/// Returns a verdict with its schedule.
pub fn story(setup: &Setup, model: Model, report: &Report) -> String {
    let schedule = print::schedule(&setup.machine(model), &report.schedule);
    format!("{} under {model:?}: {:?}\n{schedule}", setup.title(), report.verdict)
}

pub fn holds(setup: &Setup, models: &[Model]) {
    for &model in models {
        let report = run(setup, model);
        assert_eq!(report.verdict, Verdict::Holds, "{}", story(setup, model, &report));
    }
}

/// Asserts that the setup breaks under exactly these models, in this way, and holds under the
/// others.
pub fn breaks(setup: &Setup, models: &[Model], how: Verdict) {
    for &model in ALL {
        let report = run(setup, model);
        let expected = if models.contains(&model) { how } else { Verdict::Holds };
        assert_eq!(report.verdict, expected, "{}", story(setup, model, &report));
        if expected != Verdict::Holds && std::env::var_os("LEEWARD_MODEL_SCHEDULES").is_some() {
            println!("{}", story(setup, model, &report));
        }
    }
}

/// Asserts that the whole configuration holds everywhere, and that each of its barriers is needed:
/// without it, the configuration breaks under exactly the models that are listed.
pub fn needs(setup: &Setup, cuts: &[(Cut, &[Model], Verdict)]) {
    holds(setup, ALL);
    for &(cut, models, how) in cuts {
        breaks(&setup.clone().without(&[cut]), models, how);
    }
}

/// Asserts that from every reachable state all threads can still finish, or (`false`) cannot.
pub fn can_finish(setup: &Setup, models: &[Model], expected: bool) {
    for &model in models {
        let report = always_can_finish(&setup.machine(model), LIMIT);
        print::line(&format!("{} (can finish)", setup.title()), model, &report);
        assert_eq!(report.verdict == Verdict::Holds, expected, "{} under {model:?}", setup.title());
    }
}
