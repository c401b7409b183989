//! Pair N: a reader that protects one object, and a thread that unlinks it, fences and scans.
//! `Slot::{protect, reset}` of `hazard/slot.rs` and `reclaim` of `hazard/reclaim.rs`, step by step.
//! A use of an object is a word that is 1 meanwhile: its end must find 0, and a use no end.

use super::explore::{Verdict, explore};
use super::lang::{Acquire, Asm, Imm, Is, IsNot, Op, Relaxed, Release, Src};
use super::layout::{By, FREED, Fixed, LIVE, held, object, payload, pointer};
use super::machine::Machine;
use super::memory::Model;
use super::verdicts::{ALL, FROM_PSO, FROM_TSO, NONE, ONLY_WEAK};

const UAF: &str = "a reader uses an object that was freed";
const IN_USE: &str = "an object is freed within a use";

/// What is taken out of the algorithm.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Cut {
    NoHeavy,
    /// The light fence, as the compiler's swap of the announcement and the second load.
    NoLight,
    /// A full fence in the place of the light one: what a model without remote fences would see.
    FullLight,
    NoRecheck,
    ResetRelaxed,
    ProtectRelaxed,
    LoadRelaxed,
    ScanRelaxed,
}

/// Writes the reader: it protects what the pointer points to, and uses it, that many times. Between
/// two uses it resets the slot, or not.
fn reader(uses: u8, resets: bool, cuts: &[Cut]) -> Asm {
    let cut = |cut| cuts.contains(&cut);
    let mut a = Asm::new("reader");
    for _ in 0..uses {
        let protected = a.label();
        a.load(0, pointer(0), Relaxed);
        let again = a.mark();
        if cut(Cut::NoLight) {
            a.load(1, pointer(0), Acquire);
        }
        a.store(held(0), Src::Reg(0), if cut(Cut::ProtectRelaxed) { Relaxed } else { Release });
        a.op(if cut(Cut::FullLight) { Op::Fence } else { Op::CompilerFence });
        if !cut(Cut::NoLight) {
            a.load(1, pointer(0), if cut(Cut::LoadRelaxed) { Relaxed } else { Acquire });
        }
        if !cut(Cut::NoRecheck) {
            a.branch(1, Is, Src::Reg(0), protected);
            a.set(0, Src::Reg(1));
            a.jump(again);
        }
        a.place(protected);
        a.store(payload(By(0)), Imm(1), Relaxed);
        a.load(2, object(By(0)), Relaxed);
        a.check(2, Is, Imm(LIVE), UAF);
        a.store(payload(By(0)), Imm(0), Relaxed);
        if resets {
            a.store(held(0), Imm(0), if cut(Cut::ResetRelaxed) { Relaxed } else { Release });
        }
    }
    a
}

/// Writes the writer: it publishes the second object, and frees the first if no slot names it, at
/// the first look or at a later one.
/// Puts the first object into use again when it was freed, if `again`.
fn writer(looks: u8, again: bool, cuts: &[Cut]) -> Asm {
    let cut = |cut| cuts.contains(&cut);
    let mut a = Asm::new("writer");
    let done = a.label();
    a.store(object(Fixed(2)), Imm(LIVE), Relaxed);
    a.store(pointer(0), Imm(2), Release);
    for _ in 0..looks {
        let kept = a.label();
        if !cut(Cut::NoHeavy) {
            a.op(Op::Heavy);
        }
        a.load(0, held(0), if cut(Cut::ScanRelaxed) { Relaxed } else { Acquire });
        a.branch(0, Is, Imm(1), kept);
        a.load(1, payload(Fixed(1)), Relaxed);
        a.check(1, IsNot, Imm(1), IN_USE);
        a.store(object(Fixed(1)), Imm(FREED), Relaxed);
        if again {
            a.store(object(Fixed(1)), Imm(LIVE), Relaxed);
            a.store(pointer(0), Imm(1), Release);
        }
        a.jump(done);
        a.place(kept);
    }
    a.place(done);
    a
}

/// Who runs what.
#[derive(Clone, Copy)]
struct Setup {
    uses: u8,
    resets: bool,
    again: bool,
}

/// Returns what the search finds.
fn verdict(setup: Setup, cuts: &[Cut], model: Model) -> Verdict {
    let Setup { uses, resets, again } = setup;
    let word = |at: super::lang::At, value| (at.base, value);
    let machine = Machine {
        model,
        programs: vec![reader(uses, resets, cuts).finish(), writer(2, again, cuts).finish()],
        memory: vec![word(pointer(0), 1), word(object(Fixed(1)), LIVE)],
        window: if model == Model::Sc { 1 } else { 5 },
        spurious: false,
        plain: false,
        loose_wake: false,
    };
    explore(&machine, 4_000_000).verdict
}

/// Asserts that it breaks under exactly these models, and holds under the others.
fn breaks(setup: Setup, cuts: &[Cut], models: &[Model]) {
    for &model in ALL {
        let verdict = verdict(setup, cuts, model);
        let expected = models.contains(&model);
        assert_eq!(verdict != Verdict::Holds, expected, "without {cuts:?}, under {model:?}: {verdict:?}");
    }
}

const ONE: Setup = Setup { uses: 1, resets: true, again: false };
const TWO: Setup = Setup { uses: 2, resets: false, again: false };
const AGAIN: Setup = Setup { uses: 1, resets: true, again: true };

#[test]
fn one_use() {
    breaks(ONE, &[], NONE);
    breaks(ONE, &[Cut::NoHeavy], FROM_TSO);
    breaks(ONE, &[Cut::NoLight], ALL);
    breaks(ONE, &[Cut::NoRecheck], ALL);
    // Every machine orders the use behind the first load, by its address. See `an_address_again`.
    breaks(ONE, &[Cut::LoadRelaxed], NONE);
    // The use goes on after its end is announced.
    breaks(ONE, &[Cut::ResetRelaxed], FROM_PSO);
    // The scan's look at the slot comes after the end of the object began.
    breaks(ONE, &[Cut::ScanRelaxed], ONLY_WEAK);
    // Nothing was protected before.
    breaks(ONE, &[Cut::ProtectRelaxed], NONE);
    // Full fences on both sides need no heavy one; a full fence on one side is not enough.
    breaks(ONE, &[Cut::FullLight], NONE);
    breaks(ONE, &[Cut::FullLight, Cut::NoHeavy], FROM_TSO);
}

/// The next protection takes the place of the one before, without a reset.
#[test]
fn one_use_after_the_other() {
    breaks(TWO, &[], NONE);
    breaks(TWO, &[Cut::NoHeavy], FROM_TSO);
    breaks(TWO, &[Cut::ProtectRelaxed], FROM_PSO);
    breaks(TWO, &[Cut::ResetRelaxed], NONE);
}

/// The object is freed between the reader's loads, and another one is published at its address: the
/// reader may use that, and must not have looked at it before the second load.
#[test]
fn an_address_again() {
    breaks(AGAIN, &[], NONE);
    breaks(AGAIN, &[Cut::NoHeavy], FROM_TSO);
    breaks(AGAIN, &[Cut::LoadRelaxed], ONLY_WEAK);
}
