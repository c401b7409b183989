//! Readers that say from time to time that they hold nothing, in slots like those of others.

use super::explore::Verdict::{self, Stuck, Violated};
use super::reader::DEAD;
use super::setup::Cut::{
    EnterRelaxed, GlobalBeforeHeavy, NoHeavy, NoQuiescentFence, NoQuietFence, NoSleepHeavy, OfflineRelaxed,
    QuiescentRelaxed, WaitForZero,
};
use super::setup::{Role, Setup};
use super::verdicts::{ALL, FROM_PSO, FROM_TSO, NONE, ONLY_WEAK, can_finish, holds, needs, reader, updater};

const UAF: Verdict = Violated(DEAD);

/// All readers are of this kind: the leader executes full fences, and none that reaches other
/// threads.
#[test]
fn quiescent_states() {
    let quiescent = Role::Quiescent { stretches: 2 };
    let mut setup = Setup::new(&[quiescent, updater(2)]).named("qsbr, 2 stretches, 2 updates");
    setup.counted = true;
    let cuts = [
        (NoHeavy, FROM_TSO, UAF),
        (NoQuietFence, FROM_TSO, UAF),
        (NoQuiescentFence, FROM_TSO, UAF),
        (GlobalBeforeHeavy, FROM_PSO, UAF),
        (QuiescentRelaxed, ONLY_WEAK, UAF),
        (OfflineRelaxed, ONLY_WEAK, UAF),
        // Coming online once follows no section.
        (EnterRelaxed, NONE, UAF),
    ];
    needs(&setup, &cuts);
    setup.sleep = true;
    setup = setup.named("qsbr, sleep, 2 stretches, 2 updates");
    needs(&setup, &cuts);
    needs(&setup, &[(NoSleepHeavy, FROM_TSO, Stuck)]);
}

#[test]
fn beside_sections() {
    let mut setup = Setup::new(&[Role::Quiescent { stretches: 2 }, reader(1), updater(1)]).named("qsbr and a reader");
    setup.counted = true;
    holds(&setup, ALL);
    setup.sleep = true;
    holds(&setup.named("qsbr and a reader, sleep"), &ALL[..3]);
}

/// A writer that accepts only 0 waits forever for a reader that never goes offline.
#[test]
fn quiescent_states_are_enough() {
    let mut setup = Setup::new(&[Role::QuiescentLoop, updater(1)]).named("qsbr until the updater is done");
    setup.counted = true;
    holds(&setup, ALL);
    can_finish(&setup, &ALL[..3], true);
    can_finish(&setup.without(&[WaitForZero]), &ALL[..3], false);
}
