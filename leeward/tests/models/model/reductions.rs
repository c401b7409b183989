//! The reduced machine against the plain one (see `machine`): the same verdict for the algorithm
//! and for its mutants, with fetching and the reaching of every thread as steps of their own.

use super::explore::explore;
use super::memory::Model;
use super::print;
use super::setup::Cut::{
    EnterRelaxed, GlobalBeforeHeavy, HeavyBeforeWaited, LeaveRelaxed, NoHeavy, NoSleepHeavy, NoTicketFence,
    QuiescentRelaxed, RearmWithoutHeavy, StartAfterAdvance, StartAfterHeavy,
};
use super::setup::{Cut, Role, Setup, Sharing};
use super::verdicts::{ALL, caller, reader, run, updater};

fn agree(setup: &Setup, cuts: &[Cut], models: &[Model]) {
    let mutants = cuts.iter().map(|&cut| setup.clone().without(&[cut]));
    for setup in std::iter::once(setup.clone()).chain(mutants) {
        for &model in models {
            let reduced = run(&setup, model);
            let mut plain = setup.clone();
            plain.plain = true;
            let report = explore(&plain.machine(model), 10_000_000);
            print::line(&format!("plain: {}", setup.title()), model, &report);
            assert_eq!(report.verdict, reduced.verdict, "{} under {model:?}", setup.title());
        }
    }
}

#[test]
fn pairing() {
    let setup = Setup::new(&[reader(2), updater(1)]).named("2 sections, 1 update");
    agree(&setup, &[NoHeavy, GlobalBeforeHeavy, EnterRelaxed, LeaveRelaxed], ALL);
    let setup = Setup::new(&[Role::Quiescent { stretches: 2 }, updater(1)]).named("qsbr, 2 stretches");
    agree(&setup, &[QuiescentRelaxed], ALL);
}

#[test]
fn sleeping() {
    let mut setup = Setup::new(&[reader(1), updater(1)]).named("sleep");
    setup.sleep = true;
    agree(&setup, &[NoSleepHeavy, HeavyBeforeWaited, RearmWithoutHeavy], ALL);
}

#[test]
fn tickets() {
    let mut setup = Setup::new(&[reader(1), updater(1), caller(1)]).named("tickets");
    setup.sharing = Sharing::Tickets;
    agree(&setup, &[NoTicketFence, StartAfterHeavy, StartAfterAdvance], &ALL[..2]);
}

#[test]
fn two_readers() {
    let setup = Setup::new(&[reader(1), reader(1), updater(1)]).named("2 readers");
    agree(&setup, &[NoHeavy, GlobalBeforeHeavy], &ALL[..1]);
    agree(&setup.without(&[NoHeavy]), &[], &ALL[1..]);
}
