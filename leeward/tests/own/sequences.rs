//! The random sequences of the other tests: how often each step is made, and what is shown of a
//! test that fails. Each check runs in a process of its own, so that the environment's settings are
//! those of the test.

#![cfg(target_os = "linux")]
#![allow(missing_docs)]

#[path = "../common/cases.rs"]
mod cases;
#[path = "../common/sequences.rs"]
mod sequences;

use std::cell::{Cell, RefCell};

use sequences::{Choices, check, check_headed, check_input};

#[derive(Clone, Copy, PartialEq, Debug)]
enum Step {
    Push(u32),
    Pop,
    Rest,
}

fn step(choices: &mut Choices) -> Step {
    choices.one_of(&[(5, &|choices| Step::Push(choices.below(50) as u32)), (2, &|_| Step::Pop), (1, &|_| Step::Rest)])
}

/// A stack with an error: it refuses to take a value out if the next one is equal.
fn play(steps: &[Step]) {
    let mut stack = Vec::new();
    for step in steps {
        match *step {
            Step::Push(value) => stack.push(value),
            Step::Pop => {
                let value = stack.pop();
                assert!(value.is_none() || value != stack.last().copied(), "twice the same");
            }
            Step::Rest => {}
        }
    }
}

#[test]
#[ignore = "started by the other tests"]
fn case() {
    match &*cases::current() {
        "planted" => check(100, 1..200, step, play),
        "once" => {
            let fails = Cell::new(true);
            check(100, 20..21, step, |_| assert!(!fails.take(), "once"));
        }
        "headed" => check_headed(
            100,
            1..200,
            |choices| choices.below(50),
            step,
            |head, steps| {
                assert!(*head == 50 || !steps.contains(&Step::Rest), "a rest");
            },
        ),
        "input" => {
            // Three pushes of each number, and a removal.
            let input: Vec<u8> = (0..50).flat_map(|number| [0, number, 1, number, 2, number, 5]).collect();
            check_input(&input, 1000, |_| (), step, |(), steps| play(steps));
        }
        "always" => check(100, 1..200, step, |steps| assert_eq!(steps.len(), 0)),
        "all" => {
            let runs = Cell::new([0; 6]);
            let (made, pushed) = (Cell::new([0; 3]), Cell::new([0; 50]));
            check(1000, 3..6, step, |steps| {
                add(&runs, steps.len());
                for step in steps {
                    match *step {
                        Step::Push(value) => {
                            add(&made, 0);
                            add(&pushed, value as usize);
                        }
                        Step::Pop => add(&made, 1),
                        Step::Rest => add(&made, 2),
                    }
                }
            });
            println!("lengths {:?}", runs.get());
            println!("steps {:?}", made.get());
            println!("pushed {:?}\n", pushed.get());
        }
        other => panic!("no such case: {other}"),
    }
}

/// Counts one more of this kind.
fn add<const N: usize>(counts: &Cell<[u32; N]>, at: usize) {
    let mut more = counts.get();
    more[at] += 1;
    counts.set(more);
}

/// Runs a case with these settings; returns true if it passed, and what it printed.
fn run(case: &str, settings: &[(&str, &str)]) -> (bool, String) {
    let mut command = cases::command(case);
    command.env_remove("LEEWARD_SEED").env_remove("LEEWARD_SEQUENCES").envs(settings.iter().copied());
    let output = command.output().unwrap();
    let said = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
    (output.status.success(), said)
}

/// Returns what is printed between the two texts.
#[track_caller]
fn between<'a>(said: &'a str, before: &str, after: &str) -> &'a str {
    let rest = said.split_once(before).unwrap_or_else(|| panic!("no {before:?} in {said}")).1;
    rest.split_once(after).unwrap_or_else(|| panic!("no {after:?} in {said}")).0
}

/// Returns what a failure shows: all from the panic's text on.
#[track_caller]
fn report(said: &str) -> &str {
    between(said, "\nseed ", " LEEWARD_SEQUENCES=1\n")
}

#[test]
fn a_planted_failure_is_shown_by_its_fewest_steps_and_least_numbers() {
    let (passed, said) = run("planted", &[]);
    assert!(!passed, "{said}");
    let report = report(&said);
    assert!(report.contains("by these 3 of ") && report.contains("tests/own/sequences.rs:"), "{said}");
    assert_eq!(between(report, "steps:\n", "again:"), "    Push(0)\n    Push(0)\n    Pop\n");
    assert_eq!(said.matches("twice the same").count(), 1, "attempts are not printed: {said}");
}

#[test]
fn the_settings_that_a_failure_prints_repeat_it() {
    let (_, first) = run("planted", &[]);
    let seed = between(&first, "LEEWARD_SEED=", " LEEWARD_SEQUENCES=1\n");
    let (passed, again) = run("planted", &[("LEEWARD_SEED", seed), ("LEEWARD_SEQUENCES", "1")]);
    assert!(!passed, "{again}");
    assert_eq!(report(&first), report(&again));
    // The sequences before it pass, and those after it are others.
    let seed: u64 = seed.parse().unwrap();
    let before = (seed - 1).to_string();
    assert!(before == "0" || run("planted", &[("LEEWARD_SEQUENCES", &before)]).0);
    let (_, other) = run("planted", &[("LEEWARD_SEED", &(seed + 1).to_string())]);
    assert_ne!(report(&first), report(&other));
}

#[test]
fn a_head_is_shown_with_its_least_numbers_and_never_left_out() {
    let (passed, said) = run("headed", &[]);
    assert!(!passed, "{said}");
    assert_eq!(between(report(&said), "steps:\n", "again:"), "    0\n    Rest\n");
}

/// Returns the head and the steps that an input makes, `most` at most.
fn made(input: &[u8], most: usize) -> (u64, Vec<Step>) {
    let made = RefCell::default();
    check_input(
        input,
        most,
        |choices| choices.below(1 << 16),
        step,
        |head, steps| {
            *made.borrow_mut() = (*head, steps.to_vec());
        },
    );
    made.into_inner()
}

#[test]
fn an_inputs_bytes_are_choices_and_zeroes_follow_them() {
    use Step::{Pop, Push, Rest};
    // The least significant byte of a number comes first.
    assert_eq!(made(&[1, 2, 0, 7, 5, 7, 4, 51], 9), (0x201, vec![Push(7), Pop, Rest, Push(1)]));
    assert_eq!(made(&[1, 0, 0], 9), (1, vec![Push(0)]));
    assert_eq!(made(&[1], 9), (1, vec![]));
    assert_eq!(made(&[], 9), (0, vec![]));
    assert_eq!(made(&[0, 0, 7, 7, 7], 2), (0, vec![Rest, Rest]));
}

#[test]
fn an_input_that_fails_is_shown_by_its_fewest_steps_and_least_numbers() {
    let (passed, said) = run("input", &[]);
    assert!(!passed && said.contains("\nthe input: ") && said.contains("by these 3 of 200 steps:\n"), "{said}");
    assert!(said.contains("steps:\n    Push(0)\n    Push(0)\n    Pop\n"), "{said}");
}

#[test]
fn one_step_is_left_where_any_step_fails() {
    let (passed, said) = run("always", &[]);
    assert!(!passed && report(&said).starts_with("1: ") && report(&said).contains("by these 1 of "), "{said}");
}

#[test]
fn a_failure_that_does_not_come_again_is_shown_with_the_whole_sequence() {
    let (passed, said) = run("once", &[]);
    assert!(!passed && report(&said).contains("by these 20 of 20 steps"), "{said}");
}

#[test]
fn steps_lengths_and_numbers_are_as_often_as_the_test_says() {
    let (passed, said) = run("all", &[]);
    assert!(passed, "{said}");
    let counts =
        |what| -> Vec<u32> { between(&said, what, "]").split(", ").map(|count| count.parse().unwrap()).collect() };
    let lengths = counts("lengths [");
    assert_eq!((lengths.iter().sum::<u32>(), &lengths[..3]), (1000, &[0, 0, 0][..]));
    assert!(lengths[3..].iter().all(|count| (280..390).contains(count)), "{lengths:?}");
    let made = counts("steps [");
    let all: u32 = made.iter().sum();
    for (count, weight) in made.iter().zip([5, 2, 1]) {
        let expected = all * weight / 8;
        assert!(count.abs_diff(expected) < expected / 10, "{made:?}");
    }
    assert!(counts("pushed [").iter().all(|count| (20..90).contains(count)), "{said}");
    // Nothing is left to chance.
    assert_eq!(between(&run("all", &[]).1, "lengths", "]\n\n"), between(&said, "lengths", "]\n\n"));
}
