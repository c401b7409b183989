//! membarrier on the simulated machine: the engine's own code, every schedule, four memory models.
//! With all barriers no shape shows both sides stale; without any one of them some does, under the
//! models where that must show.

use leeward_engine::simulation::{Case, Cut, Model, Situation, cases, missing_barrier};

const ALL: [Model; 4] = [Model::Sc, Model::Tso, Model::Pso, Model::Weak];
const BUT_WEAK: &[Model] = &[Model::Sc, Model::Tso, Model::Pso];

/// No schedule of any of the cases ends badly.
fn hold(command: &str, no_memory: bool, models: &[Model], wanted: impl Fn(&Case) -> bool) {
    for &model in models {
        let begun = std::time::Instant::now();
        let (mut states, mut count) = (0, 0);
        for case in cases(command, model).into_iter().filter(&wanted) {
            let case = if no_memory { case.without_memory() } else { case };
            let report = case.explore();
            states += report.states;
            count += 1;
            if let Some(found) = report.found {
                panic!("{}: both sides are stale\n{}", case.title(), case.machine().print(&found.schedule));
            }
        }
        assert!(count >= 5, "too few cases: {count}");
        println!(
            "{command:<8} {model:?}: {count} cases, {states} states, {:.1} s: hold",
            begun.elapsed().as_secs_f64()
        );
    }
}

#[test]
fn private_with_all_barriers_holds() {
    hold("private", false, BUT_WEAK, |_| true);
}

#[test]
fn private_with_all_barriers_holds_where_there_is_no_memory_for_the_mask() {
    hold("private", true, &[Model::Tso, Model::Pso], |case| !case.situation().moves());
    hold("private", true, &[Model::Weak], |case| case.shape() == "store buffering" && !case.situation().moves());
}

#[test]
fn private_with_all_barriers_holds_in_the_weakest_model() {
    // Only the largest case in which no thread moves, in one shape only.
    let small = |case: &Case| case.situation() != Situation::Second || case.shape() == "store buffering";
    hold("private", false, &[Model::Weak], |case| small(case) && !case.situation().moves());
}

#[test]
fn global_with_all_barriers_holds() {
    hold("global", false, BUT_WEAK, |case| !case.situation().moves());
    hold("global", false, &[Model::Weak], |case| case.shape() == "store buffering" && !case.situation().moves());
}

#[test]
fn delayed_holds() {
    hold("delayed", false, &[Model::Sc, Model::Tso], |case| !case.situation().moves());
    hold("delayed", false, &[Model::Pso], |case| case.shape() == "store buffering" && !case.situation().moves());
}

/// Explores the cases that are too large for every day.
#[test]
#[ignore = "minutes"]
fn large() {
    for no_memory in [false, true] {
        hold("private", no_memory, &ALL, |_| true);
        hold("global", no_memory, &ALL, |case| !case.situation().moves());
    }
    hold("global", false, BUT_WEAK, |case| case.situation().moves());
    hold("delayed", false, &[Model::Pso], |case| !case.situation().moves());
    hold("delayed", false, &[Model::Weak], |case| case.shape() == "store buffering" && !case.situation().moves());
}

/// Each part, with the strongest model in which its absence shows.
const NEEDED: [(Cut, Model); 9] = [
    (Cut::S1, Model::Weak),
    (Cut::S2, Model::Tso),
    (Cut::S3, Model::Tso),
    (Cut::Before, Model::Tso),
    (Cut::After, Model::Weak),
    (Cut::Handler, Model::Pso),
    (Cut::Lock, Model::Weak),
    (Cut::Forget(1), Model::Tso),
    (Cut::Forget(2), Model::Tso),
];

fn each_is_needed(no_memory: bool) {
    for (cut, model) in NEEDED {
        let Some((case, report)) = missing_barrier(Some(cut), no_memory) else { panic!("{cut:?} is not missed") };
        let found = report.found.expect("what it answers was found");
        let told = case.machine().print(&found.schedule);
        println!("{}: {} states\n{told}", case.title(), report.states);
        assert_eq!(case.model, model, "{cut:?}");
        assert!(told.contains("cpu 0: runs rare (space 0)") && told.contains("cpu 1:"), "{told}");
        // The machine that has the part forgives it.
        let mut whole = case.clone();
        whole.cuts.clear();
        assert_eq!(whole.explore().found, None, "{}", whole.title());
    }
}

#[test]
fn each_barrier_is_needed() {
    each_is_needed(false);
}

#[test]
fn each_barrier_is_needed_where_there_is_no_memory_for_the_mask() {
    each_is_needed(true);
}

#[test]
fn a_counterexample_is_told_in_two_columns() {
    let (case, report) = missing_barrier(Some(Cut::S2), false).expect("S2 is needed");
    let told = case.machine().print(&report.found.expect("found").schedule);
    let column = |line: &str| line.len() - line.trim_start().len() > 40;
    let lines: Vec<&str> = told.lines().skip(1).collect();
    assert!(lines.iter().any(|line| column(line)) && lines.iter().any(|line| !column(line)), "{told}");
    for part in
        ["SWITCH to frequent (space 0)", "frequent: x -> 0", "rare: mask of space 0[cpu 1] -> 0", "rare: y -> 0"]
    {
        assert!(told.contains(part), "{part}\n{told}");
    }
}
