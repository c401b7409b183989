//! The asymmetric locks: pairs G, H, I and J, with a heavy fence that is one.
//!
//! A lock is *biased*: towards readers (`asym::RwLock`) or towards one owner (`asym::Mutex`). While
//! it is, a favoured thread locks it by a store into a slot of its own. Every other thread takes
//! the ordinary lock underneath, takes the bias away and waits for the slots.
//!
//! `setup` says who runs what, `programs` writes the algorithm down; the tests are here.

mod programs;
mod setup;

use super::explore::Verdict::{self, Stuck, Violated};
use super::explore::explore;
use super::memory::Model;
use super::print;
use super::verdicts::{ALL, FROM_PSO, FROM_TSO, NONE, ONLY_WEAK};
use programs::TORN;
use setup::{Cut, Role, Setup, setup};

/// Asserts the verdict of a setup under a model; another verdict prints its schedule.
fn judge(setup: &Setup, model: Model, expected: Verdict) {
    let title = setup.cuts.iter().fold(format!("asym: {}", setup.name), |title, cut| format!("{title} {cut:?}"));
    let machine = setup.machine(model);
    let report = explore(&machine, 60_000_000);
    print::line(&title, model, &report);
    let schedule = || print::schedule(&machine, &report.schedule);
    assert_eq!(report.verdict, expected, "{title} under {model:?}\n{}", schedule());
    if expected != Verdict::Holds && std::env::var_os("LEEWARD_MODEL_SCHEDULES").is_some() {
        println!("{title} under {model:?}\n{}", schedule());
    }
}

/// Asserts that the whole setup holds everywhere, and breaks without each of these under exactly
/// these models.
fn needs(setup: &Setup, cuts: &[(Cut, &[Model], Verdict)]) {
    ALL.iter().for_each(|&model| judge(setup, model, Verdict::Holds));
    for &(cut, models, how) in cuts {
        let mut without = setup.clone();
        without.cuts.push(cut);
        for &model in ALL {
            judge(&without, model, if models.contains(&model) { how } else { Verdict::Holds });
        }
    }
}

const BOTH: Verdict = Violated(TORN);

/// Pair G, with what its acquires and releases are for.
#[test]
fn readers_and_a_writer() {
    needs(
        &setup("2 reads, 2 writes", &[Role::Reader { reads: 2, opens: true }, Role::Writer { lock: 0, writes: 2 }]),
        &[
            (Cut::NoHeavy, FROM_TSO, BOTH),
            (Cut::NoLightOnEnter, ALL, BOTH),
            (Cut::NoWait, ALL, BOTH),
            (Cut::LeaveRelaxed, ONLY_WEAK, BOTH),
            (Cut::ScanRelaxed, NONE, BOTH),
            // The thread takes another lock at the same slot.
            (Cut::AnnounceRelaxed, NONE, BOTH),
            (Cut::FullLight, NONE, BOTH),
        ],
    );
}

/// Pair G, where a writer meets another one that is closing the lock: the other's fence, of which
/// it knows nothing, does not do.
#[test]
fn two_writers_that_meet() {
    let roles = [
        Role::Reader { reads: 1, opens: true },
        Role::Writer { lock: 0, writes: 1 },
        Role::Writer { lock: 0, writes: 1 },
    ];
    needs(
        &setup("a reader, two writers", &roles),
        &[(Cut::NoHeavy, FROM_TSO, BOTH), (Cut::NoHeavyForAnother, FROM_TSO, BOTH), (Cut::NoWait, ALL, BOTH)],
    );
}

/// A reader opens the lock for another one: its release and the other's acquire carry what the
/// writer wrote.
#[test]
fn opened_for_another_reader() {
    let roles = [
        Role::Reader { reads: 1, opens: true },
        Role::Reader { reads: 1, opens: false },
        Role::Writer { lock: 0, writes: 1 },
    ];
    needs(
        &setup("a reader opens it for another", &roles),
        &[
            (Cut::NoHeavy, FROM_TSO, BOTH),
            // In these models the writer's stores are visible to all threads when they are to one.
            // The language promises that with the release only, as POWER does; ThreadSanitizer
            // shows it.
            (Cut::OpenRelaxed, NONE, BOTH),
            (Cut::LookRelaxed, ONLY_WEAK, BOTH),
        ],
    );
}

/// Pair H: a writer that sleeps on a slot.
#[test]
fn a_writer_that_sleeps() {
    let mut setup = setup(
        "sleep, 2 reads, 2 writes",
        &[Role::Reader { reads: 2, opens: true }, Role::Writer { lock: 0, writes: 2 }],
    )
    .sleeping();
    needs(
        &setup,
        &[
            (Cut::NoHeavy, FROM_TSO, BOTH),
            (Cut::NoSleepHeavy, FROM_TSO, Stuck),
            (Cut::HeavyBeforeAsking, FROM_TSO, Stuck),
            (Cut::NoLightOnLeave, ALL, Stuck),
            (Cut::NoWake, ALL, Stuck),
            (Cut::NoRecheck, ALL, Stuck),
            (Cut::NoAskingAgain, NONE, Stuck),
        ],
    );
    setup.spurious = true;
    setup.name = "sleep, EINTR, 2 reads, 2 writes";
    needs(&setup, &[(Cut::NoSleepHeavy, NONE, Stuck)]);
}

/// Slots serve one lock after another: two writers of two locks may ask at one slot, each with a
/// token of its own.
#[test]
fn two_locks_at_one_slot() {
    let roles = [Role::ReaderOfBoth, Role::Writer { lock: 0, writes: 1 }, Role::Writer { lock: 1, writes: 1 }];
    needs(
        &setup("two locks, one slot", &roles).sleeping(),
        &[
            (Cut::NoSleepHeavy, FROM_TSO, Stuck),
            (Cut::NoWake, ALL, Stuck),
            (Cut::OneToken, ALL, Stuck),
            (Cut::NoAskingAgain, NONE, Stuck),
        ],
    );
}

/// A scan for one lock that reads the announcement of the next lock must see that the section
/// before it ended.
#[test]
fn another_lock_after_this_one() {
    let roles = [Role::ReaderOfBoth, Role::Writer { lock: 0, writes: 1 }];
    needs(
        &setup("two locks in turn", &roles),
        &[(Cut::AnnounceRelaxed, ONLY_WEAK, BOTH), (Cut::LeaveRelaxed, ONLY_WEAK, BOTH)],
    );
}

/// Pair I: the owner, which is the owner again after it has had the ordinary lock, and a revoker.
#[test]
fn an_owner_and_a_revoker() {
    needs(
        &setup("an owner, twice, and a revoker", &[Role::Owner { locks: 2 }, Role::Revoker]),
        &[
            (Cut::NoHeavy, FROM_TSO, BOTH),
            (Cut::NoLightOnEnter, ALL, BOTH),
            (Cut::NoWait, ALL, BOTH),
            (Cut::LeaveRelaxed, FROM_PSO, BOTH),
            (Cut::ScanRelaxed, ONLY_WEAK, BOTH),
            (Cut::FullLight, NONE, BOTH),
        ],
    );
}

/// Pair J: the owner, and a revoker that sleeps.
#[test]
fn a_revoker_that_sleeps() {
    needs(
        &setup("sleep, an owner, twice, and a revoker", &[Role::Owner { locks: 2 }, Role::Revoker]).sleeping(),
        &[
            (Cut::NoHeavy, FROM_TSO, BOTH),
            (Cut::NoSleepHeavy, FROM_TSO, Stuck),
            (Cut::HeavyBeforeAsking, FROM_TSO, Stuck),
            (Cut::NoLightOnLeave, ALL, Stuck),
            (Cut::NoWake, ALL, Stuck),
            (Cut::NoRecheck, ALL, Stuck),
        ],
    );
}

/// A thread that only tries, and gives the bias back where the owner is inside.
#[test]
fn an_owner_and_a_thread_that_gives_up() {
    needs(
        &setup("an owner, twice, and one that tries", &[Role::Owner { locks: 2 }, Role::Trier]),
        &[
            (Cut::NoHeavy, FROM_TSO, BOTH),
            // No thread is the owner then, and all take the ordinary lock: slower, and safe.
            (Cut::NotRestored, NONE, BOTH),
        ],
    );
    needs(
        &setup("an owner, one that tries, a revoker", &[Role::Owner { locks: 1 }, Role::Trier, Role::Revoker]),
        &[(Cut::NoHeavy, FROM_TSO, BOTH)],
    );
}
