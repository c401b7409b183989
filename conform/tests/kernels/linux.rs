//! Linux, which this runs on, gives the answers that the scenarios call Linux's.

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};

use leeward_conform::linux::{self, Linux};
use leeward_conform::{Errno, RESTS, Scenario, Syscalls, Verdict, ask, numbers, scenarios};

/// Returns the version in the form in which it is compared: `6.3` becomes (6, 3).
fn version(text: &str) -> (u32, u32) {
    let mut parts = text.split(|letter: char| !letter.is_ascii_digit()).map(|part| part.parse().unwrap_or(0));
    (parts.next().unwrap_or(0), parts.next().unwrap_or(0))
}

#[test]
fn this_linux_passes_every_scenario_that_it_is_new_enough_for() {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    crate::support::each_scenario(|scenario| match linux::apart(scenario, 60) {
        Verdict::Pass => Ok(()),
        verdict if version(&release) < version(scenario.since) => {
            println!("{}: not asked of Linux {release}: {verdict:?}", scenario.name);
            Ok(())
        }
        Verdict::Unfit(why) => {
            println!("{}: not asked: {why}", scenario.name);
            Ok(())
        }
        verdict => Err(format!("{verdict:?}")),
    });
}

/// The last rests are a slow kernel's: no time of a scenario may be up by then. The first are too
/// short for threads to fall asleep on a machine that does other things, which proves nothing.
#[test]
fn this_linux_passes_every_scenario_with_long_rests_alone() {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    crate::support::each_scenario(|scenario| {
        RESTS[RESTS.len() - 2..].iter().try_for_each(|&rest| match linux::apart_with(scenario, &Linux, 120, &[rest]) {
            Verdict::Wrong(why) if version(&release) >= version(scenario.since) => {
                Err(format!("after rests of {rest} us: {}", why.as_str()))
            }
            _ => Ok(()),
        })
    });
}

#[test]
fn a_child_is_killed_at_every_instruction() {
    static STEPPED: AtomicUsize = AtomicUsize::new(0);
    struct Counts;
    impl Syscalls for Counts {
        unsafe fn call(&self, number: usize, arguments: [usize; 6]) -> isize {
            // SAFETY: the caller's promise.
            let answered = unsafe { Linux.call(number, arguments) };
            if number == numbers::PTRACE && answered == 0 {
                STEPPED.fetch_add(1, Ordering::Relaxed);
            }
            answered
        }

        unsafe fn spawn(&self, body: extern "C" fn(usize), argument: usize) -> Result<(), Errno> {
            // SAFETY: the caller's promise.
            unsafe { Linux.spawn(body, argument) }
        }
    }
    let named = |scenario: &&Scenario| scenario.name == "robust.is_killed_at_each_instruction";
    let scenario = scenarios().find(named).unwrap();
    // On a busy machine the scenario ends after its four seconds, early on its way.
    for _ in 0..20 {
        STEPPED.store(0, Ordering::Relaxed);
        match ask(scenario, &Counts) {
            Verdict::Pass => {}
            Verdict::Unfit(why) => return println!("not asked: {why}"),
            verdict => panic!("{verdict:?}"),
        }
        let stepped = STEPPED.load(Ordering::Relaxed);
        println!("{stepped} instructions");
        // The scenario ends at 50,000: then the lock had not been freed.
        assert!(stepped < 50_000, "{stepped} instructions");
        if stepped >= 100 {
            return;
        }
    }
    panic!("the child was never stepped as far as to its lock");
}

#[test]
fn each_scenario_says_what_it_asks() {
    let mut names = HashSet::new();
    for scenario in scenarios() {
        let name = scenario.name;
        assert!(names.insert(name), "two scenarios are called {name}");
        assert!(
            name.split_once('.').is_some_and(|(operation, asked)| !operation.is_empty() && !asked.is_empty()),
            "{name}"
        );
        assert!(name.bytes().all(|letter| matches!(letter, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'.')), "{name}");
        assert!(version(scenario.since) >= (2, 5), "{name}: since {}", scenario.since);
        assert!(!scenario.setup.is_empty() && scenario.setup.iter().all(|line| !line.trim().is_empty()), "{name}");
        assert!(scenario.setup.concat().ends_with('.') && scenario.harm.ends_with('.'), "{name}");
        assert!(scenario.setup.concat().contains("Linux"), "{name}: what does Linux answer?");
    }
}

#[test]
fn scenarios_of_one_operation_stand_together() {
    let mut operations: Vec<_> = scenarios().map(leeward_conform::Scenario::operation).collect();
    operations.dedup();
    let distinct: HashSet<_> = operations.iter().collect();
    assert_eq!(distinct.len(), operations.len(), "{operations:?}");
}
