//! The largest configurations, run by `ci/model`: `cargo test --release --test model -- --ignored
//! --test-threads=1`. The counts are of the largest search of each, the times of all of it, in
//! release mode on one core of a virtual machine.

use super::explore::Verdict::{Stuck, Violated};
use super::reader::DEAD;
use super::setup::Cut::{EnterRelaxed, NoSleepHeavy, NoTicketFence};
use super::setup::{Flavour, Publish, Role, Setup, Sharing};
use super::verdicts::{ALL, FROM_TSO, ONLY_WEAK, breaks, caller, can_finish, holds, reader, updater};

fn signalled(sections: u8, nest: u8, signals: u8) -> Role {
    Role::Reader { sections, nest, pointer: 0, signals, handlers: signals }
}

#[test]
#[ignore = "2.0 million states at most, 20 s"]
fn two_readers_two_sections_two_updates() {
    let setup = Setup::new(&[reader(2), reader(2), updater(2)]).named("2 readers, 2 sections, 2 updates");
    holds(&setup, ALL);
    breaks(&setup.clone().without(&[EnterRelaxed]), ONLY_WEAK, Violated(DEAD));
    let setup = Setup::new(&[reader(3), reader(2), updater(3)]).named("2 readers, 3+2 sections, 3 updates");
    holds(&setup, ALL);
}

#[test]
#[ignore = "1.7 million states at most, 15 s"]
fn two_readers_asleep_upon() {
    let mut setup = Setup::new(&[reader(2), reader(1), updater(2)]).named("sleep, 2 readers, 2+1 sections, 2 updates");
    setup.sleep = true;
    holds(&setup, ALL);
    breaks(&setup.without(&[NoSleepHeavy]), FROM_TSO, Stuck);
}

#[test]
#[ignore = "0.5 million states at most, 6 s"]
fn two_readers_two_updaters() {
    let by = |publish| Role::Updater { updates: 1, publish, pointer: 0 };
    let roles = [reader(1), reader(1), by(Publish::Locked), by(Publish::Locked)];
    let mut setup = Setup::new(&roles).named("tickets, 2 readers, 2 updaters");
    setup.sharing = Sharing::Tickets;
    holds(&setup, ALL);
    breaks(&setup.without(&[NoTicketFence]), FROM_TSO, Violated(DEAD));
}

#[test]
#[ignore = "2.0 million states at most, 20 s"]
fn signals() {
    holds(&Setup::new(&[signalled(2, 1, 2), updater(2)]).named("2 signals, 2 sections, 2 updates"), ALL);
    holds(&Setup::new(&[signalled(1, 2, 2), updater(1)]).named("2 signals, 2 deep"), ALL);
    let mut setup = Setup::new(&[signalled(1, 1, 2), updater(1)]).named("2 signals, sleep");
    setup.sleep = true;
    holds(&setup, ALL);
}

#[test]
#[ignore = "4.9 million states at most, 70 s"]
fn callers() {
    let following = |roles: &[Role], name| {
        let mut setup = Setup::new(roles).named(name);
        setup.sharing = Sharing::Followers;
        setup.flavour = Flavour::Mb;
        setup
    };
    let mut setup = following(&[caller(1), caller(1), caller(1)], "3 callers, EINTR");
    setup.spurious = true;
    holds(&setup, ALL);
    holds(&following(&[caller(2), caller(1), caller(1)], "3 callers, 2+1+1"), ALL);
    let setup = following(&[caller(1), caller(1), caller(1), caller(1)], "4 callers");
    holds(&setup, &ALL[..2]);
    can_finish(&setup, &ALL[..1], true);
    let mut setup = following(&[reader(1), updater(1), caller(1), caller(1)], "followers, sleep, 3 callers, a reader");
    setup.flavour = Flavour::Memb;
    setup.sleep = true;
    holds(&setup, &ALL[..3]);
}

#[test]
#[ignore = "4.5 million states at most, 25 s"]
fn registration() {
    let comer = Role::Comer { claims: false };
    let mut setup = Setup::new(&[Role::Leaver, comer, comer, updater(1)]).named("2 new slots");
    setup.list = true;
    setup.window = 3;
    holds(&setup, ALL);
    let roles = [Role::Leaver, Role::Comer { claims: true }, updater(2)];
    let mut setup = Setup::new(&roles).named("a slot taken over, 2 updates");
    setup.list = true;
    holds(&setup, ALL);
}
