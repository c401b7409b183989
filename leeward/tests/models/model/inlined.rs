//! Inlined readers, whose sections were compiled from liburcu's headers: pairs A and C with their words,
//! eras that begin anew, and pair S, by which a count goes. `rcu/section/inlined.rs` and `grace/inlined.rs`,
//! step by step. (What inlined code stores is a release, as every store of x86-64, on which alone such
//! programs are served. The model shows what the leader owes on weaker machines, too.)

use super::explore::{Verdict, explore};
use super::lang::{Acquire, Asm, Imm, Is, IsNot, Label, Op, Plus, Reg, Relaxed, Release, Src};
use super::layout::{By, FREED, Fixed, GLOBAL, LIVE, X, epoch, held, object, pointer};
use super::machine::Machine;
use super::memory::Model;
use super::verdicts::{ALL, FROM_PSO, FROM_TSO, NONE, ONLY_WEAK};

const UAF: Verdict = Verdict::Violated("a reader uses an object that was freed");
const GONE: Verdict = Verdict::Violated("a leader loads a count that is gone");

/// The word that readers copy: an era, from 1 on.
const COPIED: super::lang::At = GLOBAL;
/// The futex, and its value while the leader sleeps.
const FUTEX: super::lang::At = X;
const ASLEEP: u8 = 1;
/// The leader's registers.
const T: Reg = 0;
const ERA: Reg = 1;

/// What is taken out of the algorithm.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Cut {
    NoHeavy,
    PublishBeforeHeavy,
    /// The choice of an era that no reader shows.
    NoChoice,
    /// The choice stands before the heavy fence.
    ChoiceBeforeHeavy,
    NoSleepHeavy,
    /// The futex is raised once only.
    NoRearm,
    NoRecheck,
    /// The compiler's barrier of a reader that leaves, as its swap of the two accesses.
    NoLightOnLeave,
    NoLookFence,
    NoDetachFence,
    NoDetachWait,
    LookEndRelaxed,
}

/// Who runs what.
#[derive(Clone, Copy)]
struct Setup {
    readers: u8,
    sections: u8,
    updates: u8,
    /// How many eras there are: 2 to the power of 32 in life.
    eras: u8,
    /// True if the leader sleeps where it is blocked; else it spins.
    sleeps: bool,
}

/// Writes a reader: its sections, each of which loads and uses the published object.
fn reader(number: u8, setup: Setup, cuts: &[Cut]) -> Asm {
    let count = epoch(Fixed(number));
    let mut a = Asm::new("reader");
    for _ in 0..setup.sections {
        a.load(0, COPIED, Relaxed);
        a.store(count, Src::Reg(0), Release);
        a.op(Op::CompilerFence);
        a.load(1, pointer(0), Acquire);
        a.load(2, object(By(1)), Relaxed);
        a.check(2, Is, Imm(LIVE), "a reader uses an object that was freed");
        if !setup.sleeps {
            a.store(count, Imm(0), Release);
            continue;
        }
        let quiet = a.label();
        if cuts.contains(&Cut::NoLightOnLeave) {
            a.load(3, FUTEX, Relaxed);
        }
        a.store(count, Imm(0), Release);
        a.op(Op::CompilerFence);
        if !cuts.contains(&Cut::NoLightOnLeave) {
            a.load(3, FUTEX, Relaxed);
        }
        a.branch(3, IsNot, Imm(ASLEEP), quiet);
        a.store(FUTEX, Imm(0), Relaxed);
        a.op(Op::Wake { at: FUTEX, all: false });
        a.place(quiet);
    }
    a
}

/// Writes the next era into `ERA`.
fn next_era(a: &mut Asm, eras: u8) {
    let (first, done) = (a.label(), a.label());
    a.branch(ERA, Is, Imm(eras), first);
    a.set(ERA, Plus(ERA, 1));
    a.jump(done);
    a.place(first);
    a.set(ERA, Imm(1));
    a.place(done);
}

/// Writes the choice of an era (`Grace::unshown`).
fn choose(a: &mut Asm, setup: Setup, cuts: &[Cut]) {
    a.load(ERA, COPIED, Relaxed);
    next_era(a, setup.eras);
    if cuts.contains(&Cut::NoChoice) {
        return;
    }
    let again = a.mark();
    for number in 1..=setup.readers {
        let other = a.label();
        a.load(T, epoch(Fixed(number)), Acquire);
        a.branch(T, IsNot, Src::Reg(ERA), other);
        next_era(a, setup.eras);
        a.jump(again);
        a.place(other);
    }
}

/// Jumps to `blocked` if that reader is inside and shows another era.
fn branch_if_blocked(a: &mut Asm, number: u8, blocked: Label) {
    let free = a.label();
    a.load(T, epoch(Fixed(number)), Acquire);
    a.branch(T, Is, Imm(0), free);
    a.branch(T, IsNot, Src::Reg(ERA), blocked);
    a.place(free);
}

/// Writes the scan, where the leader spins.
fn spin(a: &mut Asm, setup: Setup) {
    let again = a.mark();
    for number in 1..=setup.readers {
        branch_if_blocked(a, number, again);
    }
}

/// Writes the scan, where the leader sleeps.
fn sleep(a: &mut Asm, setup: Setup, cuts: &[Cut]) {
    let (top, armed, blocks, asleep, done) = (a.label(), a.label(), a.label(), a.label(), a.label());
    let slept: Reg = 2;
    a.set(slept, Imm(0));
    a.place(top);
    for number in 1..=setup.readers {
        branch_if_blocked(a, number, blocks);
    }
    a.jump(done);
    a.place(blocks);
    if cuts.contains(&Cut::NoRearm) {
        a.branch(slept, Is, Imm(1), armed);
    }
    a.store(FUTEX, Imm(ASLEEP), Relaxed);
    a.place(armed);
    if !cuts.contains(&Cut::NoSleepHeavy) {
        a.op(Op::Heavy);
    }
    if !cuts.contains(&Cut::NoRecheck) {
        for number in 1..=setup.readers {
            branch_if_blocked(a, number, asleep);
        }
        a.jump(done);
    }
    a.place(asleep);
    // Where the futex is not raised any more, the wait would return at once, for ever: as good as stuck.
    a.op(Op::Wait { at: FUTEX, val: if cuts.contains(&Cut::NoRearm) { Imm(0) } else { Imm(ASLEEP) } });
    a.set(slept, Imm(1));
    a.jump(top);
    a.place(done);
    a.store(FUTEX, Imm(0), Relaxed);
}

/// Writes the updater, which leads its grace periods itself.
fn updater(setup: Setup, cuts: &[Cut]) -> Asm {
    let cut = |cut| cuts.contains(&cut);
    let mut a = Asm::new("updater");
    for update in 0..setup.updates {
        let (old, new) = (1 + update, 2 + update);
        a.store(object(Fixed(new)), Imm(LIVE), Relaxed);
        a.store(pointer(0), Imm(new), Release);
        if cut(Cut::ChoiceBeforeHeavy) || cut(Cut::PublishBeforeHeavy) {
            choose(&mut a, setup, cuts);
        }
        if cut(Cut::PublishBeforeHeavy) {
            a.store(COPIED, Src::Reg(ERA), Relaxed);
        }
        if !cut(Cut::NoHeavy) {
            a.op(Op::Heavy);
        }
        if !cut(Cut::ChoiceBeforeHeavy) && !cut(Cut::PublishBeforeHeavy) {
            choose(&mut a, setup, cuts);
        }
        if !cut(Cut::PublishBeforeHeavy) {
            a.store(COPIED, Src::Reg(ERA), Relaxed);
        }
        if setup.sleeps {
            sleep(&mut a, setup, cuts);
        } else {
            spin(&mut a, setup);
        }
        a.store(object(Fixed(old)), Imm(FREED), Relaxed);
    }
    a
}

/// Returns what the search finds of these programs.
fn verdict(programs: Vec<Asm>, memory: Vec<(u8, u8)>, model: Model) -> Verdict {
    let machine = Machine {
        model,
        programs: programs.into_iter().map(Asm::finish).collect(),
        memory,
        window: if model == Model::Sc { 1 } else { 5 },
        spurious: false,
        plain: false,
        loose_wake: false,
    };
    explore(&machine, 20_000_000).verdict
}

/// Asserts that it breaks so under exactly these models, and holds under the others.
fn breaks(setup: Setup, cuts: &[Cut], models: &[Model], how: Verdict) {
    for &model in ALL {
        let mut programs: Vec<_> = (1..=setup.readers).map(|number| reader(number, setup, cuts)).collect();
        programs.push(updater(setup, cuts));
        let memory = vec![(COPIED.base, 1), (pointer(0).base, 1), (object(Fixed(1)).base, LIVE)];
        let expected = if models.contains(&model) { how } else { Verdict::Holds };
        assert_eq!(verdict(programs, memory, model), expected, "without {cuts:?}, under {model:?}");
    }
}

const MANY_ERAS: Setup = Setup { readers: 1, sections: 2, updates: 2, eras: 4, sleeps: false };
/// Eras that begin anew with each second grace period.
const FEW_ERAS: Setup = Setup { readers: 1, sections: 1, updates: 2, eras: 2, sleeps: false };
const ASLEEP_BESIDE_TWO: Setup = Setup { readers: 2, sections: 1, updates: 1, eras: 4, sleeps: true };

#[test]
fn sections_of_one_reader() {
    breaks(MANY_ERAS, &[], NONE, UAF);
    breaks(MANY_ERAS, &[Cut::NoHeavy], FROM_TSO, UAF);
    breaks(MANY_ERAS, &[Cut::PublishBeforeHeavy], FROM_PSO, UAF);
    // No era is shown that was not published.
    breaks(MANY_ERAS, &[Cut::NoChoice], NONE, UAF);
}

/// A reader loads an era, and stores it when it has begun anew.
#[test]
fn eras_that_begin_anew() {
    breaks(FEW_ERAS, &[], NONE, UAF);
    breaks(Setup { sections: 2, ..FEW_ERAS }, &[], NONE, UAF);
    breaks(Setup { updates: 3, ..FEW_ERAS }, &[], NONE, UAF);
    breaks(Setup { readers: 2, updates: 3, eras: 3, ..FEW_ERAS }, &[], NONE, UAF);
    breaks(FEW_ERAS, &[Cut::NoHeavy], FROM_TSO, UAF);
    breaks(FEW_ERAS, &[Cut::NoChoice], ALL, UAF);
    // The reader has entered, and its store is still on its way when the leader chooses.
    breaks(FEW_ERAS, &[Cut::ChoiceBeforeHeavy], FROM_TSO, UAF);
}

#[test]
fn a_leader_that_sleeps_beside_two_readers() {
    breaks(ASLEEP_BESIDE_TWO, &[], NONE, Verdict::Stuck);
    breaks(ASLEEP_BESIDE_TWO, &[Cut::NoSleepHeavy], FROM_TSO, Verdict::Stuck);
    breaks(ASLEEP_BESIDE_TWO, &[Cut::NoRearm], ALL, Verdict::Stuck);
    breaks(ASLEEP_BESIDE_TWO, &[Cut::NoRecheck], ALL, Verdict::Stuck);
    breaks(ASLEEP_BESIDE_TWO, &[Cut::NoLightOnLeave], ALL, Verdict::Stuck);
}

/// Writes two looks of leaders at a count, whose address is in `held(0)`. (What was loaded is checked
/// after the look, so that the check does not order the load before its end.)
fn looks(cuts: &[Cut]) -> Asm {
    let mut a = Asm::new("leader");
    for look in 0..2 {
        let none = a.label();
        a.set(1, Imm(LIVE));
        a.store(X, Imm(2 * look + 1), Release);
        if !cuts.contains(&Cut::NoLookFence) {
            a.op(Op::Fence);
        }
        a.load(0, held(0), Acquire);
        a.branch(0, Is, Imm(0), none);
        a.load(1, object(By(0)), Relaxed);
        a.place(none);
        a.store(X, Imm(2 * look + 2), if cuts.contains(&Cut::LookEndRelaxed) { Relaxed } else { Release });
        a.check(1, Is, Imm(LIVE), "a leader loads a count that is gone");
    }
    a
}

/// Writes a thread that takes its count away, and whose memory is then freed (`Grace::detach`).
fn detach(cuts: &[Cut]) -> Asm {
    let mut a = Asm::new("thread");
    let (looked, free) = (a.label(), a.label());
    a.store(held(0), Imm(0), Relaxed);
    if !cuts.contains(&Cut::NoDetachFence) {
        a.op(Op::Fence);
    }
    a.load(0, X, Acquire);
    a.branch(0, Is, Imm(1), looked);
    a.branch(0, IsNot, Imm(3), free);
    a.place(looked);
    if !cuts.contains(&Cut::NoDetachWait) {
        let again = a.mark();
        a.load(1, X, Acquire);
        a.branch(1, Is, Src::Reg(0), again);
    }
    a.place(free);
    a.store(object(Fixed(1)), Imm(FREED), Relaxed);
    a
}

#[test]
fn a_count_that_goes() {
    let breaks = |cuts: &[Cut], models: &[Model]| {
        for &model in ALL {
            let memory = vec![(held(0).base, 1), (object(Fixed(1)).base, LIVE)];
            let expected = if models.contains(&model) { GONE } else { Verdict::Holds };
            let found = verdict(vec![looks(cuts), detach(cuts)], memory, model);
            assert_eq!(found, expected, "without {cuts:?}, under {model:?}");
        }
    };
    breaks(&[], NONE);
    breaks(&[Cut::NoLookFence], FROM_TSO);
    breaks(&[Cut::NoDetachFence], FROM_TSO);
    breaks(&[Cut::NoDetachWait], ALL);
    breaks(&[Cut::LookEndRelaxed], ONLY_WEAK);
}
