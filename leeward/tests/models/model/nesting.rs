//! Nested sections, and signal handlers that read, at every micro-step of what they interrupt.

use super::explore::Verdict::{self, Violated};
use super::reader::DEAD;
use super::setup::Cut::{EpochBeforeExtra, NestBeforeEpoch};
use super::setup::{Role, Setup};
use super::verdicts::{ALL, NONE, needs, updater};

const UAF: Verdict = Violated(DEAD);

fn reader(sections: u8, nest: u8, signals: u8) -> Role {
    Role::Reader { sections, nest, pointer: 0, signals, handlers: signals }
}

#[test]
fn nested() {
    let cuts = [(EpochBeforeExtra, ALL, UAF), (NestBeforeEpoch, NONE, UAF)];
    needs(&Setup::new(&[reader(2, 2, 0), updater(2)]).named("2 sections, 2 deep, 2 updates"), &cuts);
    let mut setup = Setup::new(&[reader(1, 3, 0), updater(1)]).named("sleep, 3 deep");
    setup.sleep = true;
    needs(&setup, &cuts);
}

const CUTS: [(super::setup::Cut, &[super::memory::Model], Verdict); 2] =
    [(EpochBeforeExtra, ALL, UAF), (NestBeforeEpoch, ALL, UAF)];

#[test]
fn one_signal() {
    needs(&Setup::new(&[reader(2, 1, 1), updater(2)]).named("a signal, 2 sections, 2 updates"), &CUTS);
    needs(&Setup::new(&[reader(1, 2, 1), updater(2)]).named("a signal, 2 deep, 2 updates"), &CUTS);
    let mut setup = Setup::new(&[reader(1, 1, 1), updater(1)]).named("a signal, sleep");
    setup.sleep = true;
    needs(&setup, &CUTS);
}

/// The second handler may interrupt the first.
#[test]
fn two_signals() {
    needs(&Setup::new(&[reader(1, 1, 2), updater(1)]).named("2 signals"), &CUTS);
}
