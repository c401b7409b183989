//! Pair L: callbacks that run, and a fork that is to copy none in its middle. `Queue::{begin, end,
//! pause}` of `rcu/free/defer.rs`, step by step; a callback changes two words, and the child must find
//! both changed or neither.

use super::explore::{Verdict, explore};
use super::lang::{Acquire, Asm, Imm, Is, IsNot, Op, Plus, Relaxed, Release, Src};
use super::layout::{X, Y, asked, held};
use super::machine::Machine;
use super::memory::Model;
use super::verdicts::{ALL, FROM_PSO, FROM_TSO, NONE, ONLY_WEAK};

const TORN: &str = "the child found a callback in its middle";

/// What is taken out of the algorithm.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Cut {
    NoHeavy,
    /// The light fence, as the compiler's swap of the two accesses.
    NoLight,
    EndRelaxed,
    LookRelaxed,
    /// A full fence in the place of the light one: what a model without remote fences would see.
    FullLight,
}

/// Writes the worker: it stores which callback it begins, loads whether the process forks, and runs
/// that many callbacks.
fn worker(callbacks: u8, cuts: &[Cut]) -> Asm {
    let (current, pausing) = (held(0), asked(0));
    let mut a = Asm::new("worker");
    let pauses = a.label();
    for _ in 0..callbacks {
        if cuts.contains(&Cut::NoLight) {
            a.load(0, pausing, Relaxed);
        }
        a.store(current, Imm(1), Relaxed);
        a.op(if cuts.contains(&Cut::FullLight) { Op::Fence } else { Op::CompilerFence });
        if !cuts.contains(&Cut::NoLight) {
            a.load(0, pausing, Relaxed);
        }
        a.branch(0, IsNot, Imm(0), pauses);
        for word in [X, Y] {
            a.load(1, word, Relaxed);
            a.store(word, Plus(1, 1), Relaxed);
        }
        a.store(current, Imm(0), if cuts.contains(&Cut::EndRelaxed) { Relaxed } else { Release });
    }
    a.place(pauses);
    a.store(current, Imm(0), Release);
    a
}

/// Writes the forking thread: it asks for a pause, waits until nothing runs, and copies.
fn forker(cuts: &[Cut]) -> Asm {
    let (current, pausing) = (held(0), asked(0));
    let mut a = Asm::new("forker");
    let quiet = a.label();
    a.store(pausing, Imm(1), Relaxed);
    if !cuts.contains(&Cut::NoHeavy) {
        a.op(Op::Heavy);
    }
    let again = a.mark();
    a.load(0, current, if cuts.contains(&Cut::LookRelaxed) { Relaxed } else { Acquire });
    a.branch(0, Is, Imm(0), quiet);
    a.jump(again);
    a.place(quiet);
    a.load(1, X, Relaxed);
    a.load(2, Y, Relaxed);
    a.check(1, Is, Src::Reg(2), TORN);
    a
}

/// Asserts that it breaks under exactly these models, and holds under the others.
fn breaks(cuts: &[Cut], models: &[Model]) {
    for &model in ALL {
        let machine = Machine {
            model,
            programs: vec![worker(2, cuts).finish(), forker(cuts).finish()],
            memory: Vec::new(),
            window: if model == Model::Sc { 1 } else { 5 },
            spurious: false,
            plain: false,
            loose_wake: false,
        };
        let verdict = explore(&machine, 1_000_000).verdict;
        let expected = if models.contains(&model) { Verdict::Violated(TORN) } else { Verdict::Holds };
        assert_eq!(verdict, expected, "without {cuts:?}, under {model:?}");
    }
}

#[test]
fn callbacks_beside_a_fork() {
    breaks(&[], NONE);
    breaks(&[Cut::FullLight], NONE);
    breaks(&[Cut::NoHeavy], FROM_TSO);
    breaks(&[Cut::NoLight], ALL);
    breaks(&[Cut::EndRelaxed], FROM_PSO);
    breaks(&[Cut::LookRelaxed], ONLY_WEAK);
    // Full fences on both sides need no heavy one; a full fence on one side is not enough.
    breaks(&[Cut::FullLight, Cut::NoHeavy], FROM_TSO);
}
