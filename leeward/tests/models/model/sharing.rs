//! Pair B: callers that share grace periods by tickets, and pollers. The lock is a blocking one here;
//! `following` has the real one.

use super::explore::Verdict::{self, Stuck, Violated};
use super::reader::{DEAD, TWICE};
use super::setup::Cut::{
    CookieStarted, DoneLoadRelaxed, DoneStoreRelaxed, EnterRelaxed, GlobalBeforeHeavy, LeaveRelaxed, NoHeavy,
    NoPollFence, NoTicketFence, PollRelaxed, StartAfterAdvance, StartAfterHeavy, WantDonePlusOne, WantStarted,
};
use super::setup::{Publish, Role, Setup, Sharing};
use super::verdicts::{ALL, FROM_PSO, FROM_TSO, NONE, ONLY_WEAK, breaks, caller, holds, needs, reader, updater};

const UAF: Verdict = Violated(DEAD);

fn sharing(roles: &[Role], name: &str) -> Setup {
    let mut setup = Setup::new(roles).named(name);
    setup.sharing = Sharing::Tickets;
    setup
}

#[test]
fn tickets() {
    let setup = sharing(&[reader(2), updater(2), caller(1)], "tickets, 2 updates, a caller");
    needs(
        &setup,
        &[
            (NoHeavy, FROM_TSO, UAF),
            (GlobalBeforeHeavy, FROM_PSO, UAF),
            (EnterRelaxed, ONLY_WEAK, UAF),
            (LeaveRelaxed, ONLY_WEAK, UAF),
            (NoTicketFence, FROM_TSO, UAF),
            (WantStarted, ALL, UAF),
            (WantDonePlusOne, ALL, UAF),
            // Under SC the scan still comes after the count; between advance and scan it does not
            // help: late readers have announced the new epoch.
            (StartAfterHeavy, FROM_TSO, UAF),
            (StartAfterAdvance, ALL, UAF),
            // The lock orders: `done` is only read inside.
            (DoneLoadRelaxed, NONE, UAF),
        ],
    );
    holds(&sharing(&[reader(2), updater(1), caller(2)], "tickets, 1 update, 2 calls"), ALL);
}

/// Two updaters share one pointer.
#[test]
fn two_updaters() {
    let by = |publish| Role::Updater { updates: 1, publish, pointer: 0 };
    let swaps = sharing(&[reader(2), by(Publish::Swap), by(Publish::Swap)], "tickets, 2 updaters, swap");
    needs(
        &swaps,
        &[
            (WantStarted, ALL, UAF),
            (WantDonePlusOne, ALL, UAF),
            // An exchange drains the store buffer: x86 hides the missing fence.
            (NoTicketFence, ONLY_WEAK, UAF),
        ],
    );
    let stores = sharing(&[reader(2), by(Publish::Locked), by(Publish::Locked)], "tickets, 2 updaters, locked stores");
    needs(&stores, &[(NoTicketFence, FROM_TSO, UAF), (StartAfterHeavy, FROM_TSO, UAF)]);
}

/// Two updaters have a pointer each.
#[test]
fn two_pointers() {
    let other = Role::Reader { sections: 1, nest: 1, pointer: 1, signals: 0, handlers: 0 };
    let their = Role::Updater { updates: 1, publish: Publish::Store, pointer: 1 };
    let pointers = sharing(&[other, updater(1), their], "tickets, 2 updaters, 2 pointers");
    needs(&pointers, &[(NoTicketFence, FROM_TSO, UAF), (WantDonePlusOne, ALL, UAF)]);
}

#[test]
fn polling() {
    let mut setup = sharing(&[reader(2), Role::Poller, caller(1)], "poll");
    needs(&setup, &[(NoPollFence, FROM_TSO, UAF), (CookieStarted, ALL, UAF), (PollRelaxed, NONE, UAF)]);
    setup.payload = true;
    needs(&setup.named("poll, payload"), &[(PollRelaxed, ONLY_WEAK, Violated(TWICE))]);
    let setup = sharing(&[reader(1), Role::Poller, caller(2)], "poll, 2 calls");
    needs(&setup, &[(NoPollFence, FROM_TSO, UAF), (CookieStarted, ALL, UAF)]);
}

/// An ordering whose absence no model here can see, listed so that it is not believed tested.
#[test]
fn not_seen_here() {
    let mut setup = sharing(&[reader(2), updater(1), caller(1)], "tickets, payload");
    setup.payload = true;
    // The store waits for the scan's acquire loads and branches on every multi-copy atomic machine;
    // the language has no such rule.
    breaks(&setup.without(&[DoneStoreRelaxed]), NONE, Stuck);
}
