//! Pair A, on which everything rests: readers that enter and leave, and a writer that publishes,
//! waits and frees. The writer spins, and is the only caller. The tests show what each ordering is
//! for, and the size and the model at which its absence shows.

use super::explore::Verdict::{self, Violated};
use super::reader::{DEAD, TWICE};
use super::setup::Cut::{
    DropSlotAtExit, EnterRelaxed, GlobalAcquire, GlobalBeforeHeavy, GlobalFence, GlobalRelease, LeaveRelaxed, NoHeavy,
    NoLightOnEnter, NoWait, Parity, PublishRelaxed, ScanRelaxed, SecondHeavy,
};
use super::setup::{Flavour, Role, Setup};
use super::verdicts::{ALL, FROM_PSO, FROM_TSO, NONE, ONLY_WEAK, breaks, can_finish, holds, needs, reader, updater};

const UAF: Verdict = Violated(DEAD);

#[test]
fn every_ordering_of_one_reader_is_needed() {
    let setup = Setup::new(&[reader(2), updater(2)]).named("2 sections, 2 updates");
    needs(
        &setup,
        &[
            (NoHeavy, FROM_TSO, UAF),
            (NoWait, ALL, UAF),
            (NoLightOnEnter, ALL, UAF),
            (PublishRelaxed, FROM_PSO, UAF),
            (GlobalBeforeHeavy, FROM_PSO, UAF),
            (EnterRelaxed, ONLY_WEAK, UAF),
            (LeaveRelaxed, ONLY_WEAK, UAF),
            // A store waits for the branch before it on every machine: freeing is not early.
            (ScanRelaxed, NONE, UAF),
            (Parity, ALL, UAF),
        ],
    );
    holds(&Setup::new(&[reader(3), updater(3)]).named("3 sections, 3 updates"), ALL);
}

/// What the reader wrote in its section, the writer must see when it drops the object: a load
/// may be performed ahead of the branch of a relaxed scan.
#[test]
fn dropping_sees_what_readers_wrote() {
    let mut setup = Setup::new(&[reader(2), updater(2)]).named("payload, 2 sections, 2 updates");
    setup.payload = true;
    needs(
        &setup,
        &[
            (NoHeavy, FROM_TSO, UAF),
            (EnterRelaxed, ONLY_WEAK, UAF),
            (LeaveRelaxed, ONLY_WEAK, UAF),
            (ScanRelaxed, ONLY_WEAK, Violated(TWICE)),
        ],
    );
}

#[test]
fn two_readers() {
    let setup = Setup::new(&[reader(1), reader(1), updater(1)]).named("2 readers, 1 section, 1 update");
    needs(
        &setup,
        &[
            (NoHeavy, FROM_TSO, UAF),
            (GlobalBeforeHeavy, FROM_PSO, UAF),
            (LeaveRelaxed, ONLY_WEAK, UAF),
            // One section is too little to see it: it takes a re-entry.
            (EnterRelaxed, NONE, UAF),
        ],
    );
    let setup = Setup::new(&[reader(2), reader(1), updater(2)]).named("2 readers, 2+1 sections, 2 updates");
    holds(&setup, ALL);
    breaks(&setup.without(&[EnterRelaxed]), ONLY_WEAK, UAF);
}

#[test]
fn smallest_sizes() {
    let small = |cut| Setup::new(&[reader(1), updater(1)]).named("1 section, 1 update").without(&[cut]);
    breaks(&small(GlobalBeforeHeavy), FROM_PSO, UAF);
    breaks(&small(LeaveRelaxed), ONLY_WEAK, UAF);
    breaks(&small(EnterRelaxed), NONE, UAF);
    breaks(&small(Parity), NONE, UAF);
    let updates = Setup::new(&[reader(1), updater(2)]).named("1 section, 2 updates");
    breaks(&updates.clone().without(&[EnterRelaxed]), NONE, UAF);
    breaks(&updates.without(&[Parity]), ALL, UAF);
    let sections = Setup::new(&[reader(2), updater(1)]).named("2 sections, 1 update");
    breaks(&sections.clone().without(&[EnterRelaxed]), ONLY_WEAK, UAF);
    breaks(&sections.without(&[Parity]), NONE, UAF);
}

/// An acquire load in the reader repairs advancing before the heavy fence, with a release store, or
/// a fence before a relaxed one, in the writer: both halves are needed.
#[test]
fn the_other_fix_of_an_early_advance() {
    let setup = Setup::new(&[reader(2), updater(2)]).named("advance first").without(&[GlobalBeforeHeavy]);
    breaks(&setup.clone().without(&[GlobalAcquire]), FROM_PSO, UAF);
    breaks(&setup.clone().without(&[GlobalRelease, GlobalFence]), ONLY_WEAK, UAF);
    holds(&setup.clone().without(&[GlobalAcquire, GlobalFence]), ALL);
    holds(&setup.clone().without(&[GlobalAcquire, GlobalRelease]), ALL);
    holds(&setup.without(&[GlobalAcquire, GlobalRelease, GlobalFence]), ALL);
}

/// A second heavy fence after the scan repairs relaxed slot stores (the older way).
#[test]
fn the_other_fix_of_relaxed_slots() {
    let mut setup = Setup::new(&[reader(2), updater(2)]).named("relaxed slots");
    breaks(&setup.clone().without(&[EnterRelaxed, LeaveRelaxed]), ONLY_WEAK, UAF);
    setup.payload = true;
    breaks(&setup.clone().without(&[EnterRelaxed, LeaveRelaxed]), ONLY_WEAK, UAF);
    holds(&setup.clone().without(&[EnterRelaxed, LeaveRelaxed, ScanRelaxed, SecondHeavy]), ALL);
    breaks(&setup.without(&[NoHeavy, SecondHeavy]), FROM_TSO, UAF);
}

/// The flavour without asymmetric fences has a full fence on either side.
#[test]
fn mb_flavour() {
    let mut setup = Setup::new(&[reader(2), updater(2)]).named("mb, 2 sections, 2 updates");
    setup.flavour = Flavour::Mb;
    needs(
        &setup,
        &[
            (NoHeavy, FROM_TSO, UAF),
            (NoLightOnEnter, FROM_TSO, UAF),
            (LeaveRelaxed, ONLY_WEAK, UAF),
            // The fence in the earlier leave stands between the sections.
            (EnterRelaxed, NONE, UAF),
        ],
    );
}

/// A guard that was leaked keeps the slot after its thread: nothing is ever freed.
#[test]
fn leaked_guard() {
    let setup = Setup::new(&[Role::Leaker, updater(1)]).named("leaked guard");
    needs(&setup, &[(DropSlotAtExit, ALL, UAF)]);
    can_finish(&setup, &ALL[..3], false);
}
