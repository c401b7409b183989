//! Readers that come and go during grace periods: slots pushed to the list and taken over.

use super::explore::Verdict::{self, Violated};
use super::reader::DEAD;
use super::setup::Cut::{ClaimRelaxed, HeadBeforeHeavy, HeadRelaxed, NoHeavy, PushRelaxed, UnregisterRelaxed};
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
            // The link is read as it was before the push: the slots behind are not seen.
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
