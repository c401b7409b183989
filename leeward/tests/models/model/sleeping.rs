//! Pair C, a writer that sleeps on the reader that blocks it: no lost wake-up, in all models, with
//! waits that return for no reason too.

use super::explore::Verdict::{self, Stuck, Violated};
use super::reader::DEAD;
use super::setup::Cut::{
    ClearAfterUnlock, HeavyBeforeWaited, LookAfterWaited, LookBeforeWaited, NeverClear, NoLightOnLeave, NoRearm,
    NoRegisterFence, NoSleepHeavy, NoWake, RearmWithoutHeavy, TrustTheWake, WakeBeforeStore,
};
use super::setup::{Flavour, Role, Setup, Sharing};
use super::verdicts::{
    ALL, FROM_PSO, FROM_TSO, NONE, ONLY_WEAK, breaks, caller, can_finish, holds, needs, reader, updater,
};

const UAF: Verdict = Violated(DEAD);

fn sleeping(roles: &[Role], name: &str) -> Setup {
    let mut setup = Setup::new(roles).named(name);
    setup.sleep = true;
    setup
}

#[test]
fn one_reader() {
    let setup = sleeping(&[reader(2), updater(2)], "sleep, 2 sections, 2 updates");
    needs(
        &setup,
        &[
            (NoSleepHeavy, FROM_TSO, Stuck),
            (HeavyBeforeWaited, FROM_TSO, Stuck),
            (RearmWithoutHeavy, FROM_PSO, Stuck),
            (NoWake, ALL, Stuck),
            (NoLightOnLeave, ALL, Stuck),
            // `waited` may be seen cleared, and the wake sent, while the epoch's store is still on
            // its way: a return from the wait proves nothing.
            (TrustTheWake, ONLY_WEAK, UAF),
            // What the futex owes: its wake comes after the caller's earlier store to the word.
            (WakeBeforeStore, FROM_PSO, Stuck),
        ],
    );
}

#[test]
fn interrupted_waits() {
    let mut setup = sleeping(&[reader(2), updater(2)], "sleep, EINTR, 2 sections, 2 updates");
    setup.spurious = true;
    needs(&setup, &[(TrustTheWake, ALL, UAF), (NoSleepHeavy, NONE, Stuck)]);
}

#[test]
fn two_blocked_readers() {
    let setup = sleeping(&[reader(1), reader(1), updater(1)], "sleep, 2 readers");
    needs(&setup, &[(NoSleepHeavy, FROM_TSO, Stuck), (HeavyBeforeWaited, FROM_TSO, Stuck), (NoWake, ALL, Stuck)]);
    let mut setup = setup.named("sleep, EINTR, 2 readers");
    setup.spurious = true;
    holds(&setup, ALL);
}

#[test]
fn mb_flavour() {
    let mut setup = sleeping(&[reader(2), updater(2)], "mb, sleep, 2 sections, 2 updates");
    setup.flavour = Flavour::Mb;
    needs(&setup, &[(NoSleepHeavy, FROM_TSO, Stuck), (NoLightOnLeave, FROM_TSO, Stuck)]);
}

/// The writer goes to sleep on a reader with full fences, whose slot one without them takes over
/// meanwhile. Whether a full fence is enough is then for the count of those to say, which the writer
/// looks at after its full fence (pair M), and not for the slot.
#[test]
fn a_slot_that_changes_hands() {
    let mut setup = sleeping(&[Role::FencedLeaver, Role::Heir, updater(1)], "sleep, a slot changes hands");
    setup.counted = true;
    needs(
        &setup,
        &[
            (LookBeforeWaited, FROM_TSO, Stuck),
            (LookAfterWaited, FROM_TSO, Stuck),
            (NoRegisterFence, ONLY_WEAK, UAF),
            (NoSleepHeavy, FROM_TSO, Stuck),
            (NoWake, ALL, Stuck),
        ],
    );
}

/// `waited` belongs to the lock: if it is cleared after unlocking, the next leader's request is
/// cleared. Not clearing it at all is sound and costs a reader one needless wake.
#[test]
fn clearing_waited() {
    let mut setup = sleeping(&[reader(1), updater(1), caller(1)], "sleep, tickets");
    setup.sharing = Sharing::Tickets;
    needs(&setup, &[(ClearAfterUnlock, ALL, Stuck), (NoSleepHeavy, FROM_TSO, Stuck), (NeverClear, NONE, Stuck)]);
}

/// A handler leaves and wakes, and the section that it interrupted then announces an old epoch: the
/// writer is still blocked, and `waited` is clear. Without setting it again the writer sleeps no
/// more: it spins. A reader that runs only while the writer sleeps shows that.
#[test]
fn rearming() {
    let signalled = Role::Reader { sections: 1, nest: 1, pointer: 0, signals: 1, handlers: 1 };
    let setup = sleeping(&[signalled, updater(1)], "sleep, a signal");
    breaks(&setup.clone().without(&[RearmWithoutHeavy]), FROM_TSO, Stuck);
    breaks(&setup.clone().without(&[NoRearm]), NONE, Stuck);
    let mut setup = setup.named("sleep, a signal, leaves while the writer sleeps");
    setup.gate = Some(1);
    can_finish(&setup, &ALL[..3], true);
    can_finish(&setup.without(&[NoRearm]), &ALL[..3], false);
}
