//! Pair D, the real lock of `synchronize`: one leads, others sleep. Full fences (`Mb`) where only the
//! protocol is tried, since heavy fences would fence the followers too and hide bugs.

use super::explore::Verdict::{Stuck, Violated};
use super::grace::BACKWARDS;
use super::reader::{DEAD, TWICE};
use super::setup::Cut::{
    DoneLoadRelaxed, EarlyReturnWakesOne, LeaderBeforeDone, NextClassNotWoken, NoHeavy, NoLeaderFence, NoRecheck,
    NoSleepHeavy, NoSleeperFence, NoTicketFence, RecheckDoneOnly, SilentEarlyReturn, StartAfterAdvance, WakeAllOfNext,
};
use super::setup::{Flavour, Role, Setup, Sharing};
use super::verdicts::{ALL, FROM_TSO, NONE, ONLY_WEAK, breaks, caller, can_finish, holds, needs, reader, updater};

fn following(roles: &[Role], name: &str) -> Setup {
    let mut setup = Setup::new(roles).named(name);
    setup.sharing = Sharing::Followers;
    setup.flavour = Flavour::Mb;
    setup
}

#[test]
fn two_callers() {
    let setup = following(&[caller(1), caller(1)], "2 callers");
    needs(
        &setup,
        &[
            (NoSleeperFence, ONLY_WEAK, Stuck),
            (NoRecheck, ALL, Stuck),
            (RecheckDoneOnly, ALL, Stuck),
            (NoLeaderFence, FROM_TSO, Stuck),
            (NextClassNotWoken, ALL, Stuck),
            // It takes a third caller.
            (SilentEarlyReturn, NONE, Stuck),
        ],
    );
    let mut setup = following(&[caller(2), caller(2)], "2 callers, twice, EINTR");
    setup.spurious = true;
    holds(&setup, ALL);
    can_finish(&setup, &ALL[..1], true);
}

#[test]
fn three_callers() {
    let setup = following(&[caller(1), caller(1), caller(1)], "3 callers");
    needs(&setup, &[(SilentEarlyReturn, ALL, Stuck)]);
    can_finish(&setup, &ALL[..1], true);
    let brief = &ALL[..3];
    holds(&setup.clone().without(&[WakeAllOfNext]), brief);
    // A caller that waits for the grace period that is done is woken by that grace period's leader.
    holds(&setup.clone().without(&[EarlyReturnWakesOne]), brief);
    can_finish(&setup.clone().without(&[EarlyReturnWakesOne]), &ALL[..1], true);
    let mut setup = setup.named("3 callers, EINTR");
    setup.spurious = true;
    holds(&setup, brief);
}

/// Only the leader writes `done`: if the lead is given up before it is written, a slower leader
/// writes an older number over a newer one. No thread sleeps forever by that, but a poll that
/// answered yes answers no.
#[test]
fn done_never_goes_back() {
    let setup = following(&[caller(1), caller(1), Role::Watcher], "2 callers, a watcher");
    needs(&setup, &[(LeaderBeforeDone, ALL, Violated(BACKWARDS))]);
    breaks(&following(&[caller(1), caller(1)], "2 callers").without(&[LeaderBeforeDone]), NONE, Stuck);
}

/// With readers, asymmetric fences and writers that sleep: everything at once.
#[test]
fn with_readers() {
    let mut setup = following(&[reader(1), updater(1), caller(1)], "followers, sleep, a reader");
    setup.flavour = Flavour::Memb;
    setup.sleep = true;
    needs(
        &setup,
        &[
            (NoHeavy, FROM_TSO, Violated(DEAD)),
            (NoTicketFence, FROM_TSO, Violated(DEAD)),
            (NoSleepHeavy, FROM_TSO, Stuck),
        ],
    );
    let mut setup = following(&[reader(1), updater(1), caller(1)], "followers, payload, a reader");
    setup.flavour = Flavour::Memb;
    setup.payload = true;
    needs(&setup, &[(DoneLoadRelaxed, ONLY_WEAK, Violated(TWICE)), (StartAfterAdvance, ALL, Violated(DEAD))]);
}
