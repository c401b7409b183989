//! Readers that come and go during grace periods: slots pushed to the list and taken over.

use super::explore::Verdict::{self, Violated};
use super::reader::{DEAD, TWICE};
use super::setup::Cut::{
    ClaimRelaxed, HeadBeforeHeavy, HeadRelaxed, NoHeavy, NoQuietFence, NoRegisterFence, PushRelaxed, SectionsRelaxed,
    SectionsReleaseRelaxed, UnregisterRelaxed,
};
use super::setup::{Role, Setup};
use super::verdicts::{ALL, FROM_PSO, FROM_TSO, NONE, ONLY_WEAK, holds, needs, updater};

const UAF: Verdict = Violated(DEAD);

fn listed(roles: &[Role], name: &str) -> Setup {
    let mut setup = Setup::new(roles).named(name);
    setup.list = true;
    setup.window = 4;
    setup
}

#[test]
fn a_new_slot() {
    let setup = listed(&[Role::Leaver, Role::Comer { claims: false }, updater(1)], "a new slot");
    needs(
        &setup,
        &[
            (NoHeavy, FROM_TSO, UAF),
            (HeadBeforeHeavy, FROM_TSO, UAF),
            // The link is read as it was before the push: the slots after it are not seen.
            (PushRelaxed, ONLY_WEAK, UAF),
            // An address dependency on every machine; the language wants the acquire.
            (HeadRelaxed, NONE, UAF),
        ],
    );
}

#[test]
fn a_slot_taken_over() {
    let setup = listed(&[Role::Leaver, Role::Comer { claims: true }, updater(1)], "a slot taken over");
    needs(
        &setup,
        &[
            (HeadBeforeHeavy, FROM_TSO, UAF),
            // The former owner's last store lands on the new owner's first.
            (UnregisterRelaxed, FROM_PSO, UAF),
            (ClaimRelaxed, ONLY_WEAK, UAF),
        ],
    );
}

#[test]
fn two_new_slots() {
    let comer = Role::Comer { claims: false };
    holds(&listed(&[Role::Leaver, comer, comer, updater(1)], "2 new slots"), &ALL[..2]);
}

/// Pair M: the leader omits the heavy fence, or the writer the whole grace period, where no reader
/// needs it, beside one that registers.
#[test]
fn the_first_reader() {
    for returns_early in [false, true] {
        let mut setup = listed(&[Role::Comer { claims: false }, updater(1)], "the first reader");
        setup.counted = true;
        setup.returns_early = returns_early;
        // From counting itself to the load of the pointer.
        setup.window = 6;
        needs(&setup, &[(NoQuietFence, FROM_TSO, UAF), (NoRegisterFence, ONLY_WEAK, UAF)]);
    }
}

/// Pair M, beside a reader that unregisters: what it did in its section is over, for a writer that
/// does not count it.
#[test]
fn the_last_reader() {
    for returns_early in [false, true] {
        let mut setup = listed(&[Role::Leaver, updater(1)], "the last reader");
        setup.counted = true;
        setup.returns_early = returns_early;
        setup.payload = true;
        // A leader also looks at the slot, with acquire; a writer that returns early looks at the
        // count alone.
        let without_release = if returns_early { ONLY_WEAK } else { NONE };
        let relaxed = (SectionsRelaxed, ONLY_WEAK, Violated(TWICE));
        needs(&setup, &[relaxed, (SectionsReleaseRelaxed, without_release, UAF)]);
    }
}

#[test]
fn one_goes_and_one_comes() {
    for returns_early in [false, true] {
        let mut setup = listed(&[Role::Leaver, Role::Comer { claims: true }, updater(1)], "one goes and one comes");
        setup.counted = true;
        setup.returns_early = returns_early;
        holds(&setup, ALL);
    }
}
