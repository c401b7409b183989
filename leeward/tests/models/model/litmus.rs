//! The memory models themselves, on the classical two-thread programs: each model must allow
//! exactly the reorderings it claims, and each fence must forbid exactly what it should. Without
//! these the verdicts on the algorithm would mean nothing.

use super::explore::{Verdict, explore};
use super::lang::{Acquire, Asm, Imm, Is, IsNot, Op, Program, Relaxed, Release, Src};
use super::layout::{Fixed, X, Y, object, pointer};
use super::machine::Machine;
use super::memory::Model;

const WEIRD: &str = "the outcome that program order forbids";
const ALL: [Model; 4] = [Model::Sc, Model::Tso, Model::Pso, Model::Weak];

fn program(name: &str, write: impl FnOnce(&mut Asm)) -> Program {
    let mut asm = Asm::new(name);
    write(&mut asm);
    asm.finish()
}

/// Returns the models under which the outcome can be seen, by the reduced machine and by the plain
/// one.
fn seen(programs: &[Program]) -> Vec<Model> {
    let run = |model, plain| {
        let programs = programs.to_vec();
        let window = if model == Model::Sc { 1 } else { 4 };
        let machine =
            Machine { model, programs, memory: Vec::new(), window, spurious: false, plain, loose_wake: false };
        explore(&machine, 1_000_000).verdict
    };
    let one = |model: &Model| {
        let verdict = run(*model, false);
        assert_eq!(verdict, run(*model, true), "{model:?}: reduced and plain machine disagree");
        verdict == Verdict::Violated(WEIRD)
    };
    ALL.into_iter().filter(one).collect()
}

/// Returns the models under which both threads may have loaded `want`. Each leaves what it loaded,
/// plus one, in a pointer; the later one sees both.
fn both(first: impl Fn(&mut Asm), second: impl Fn(&mut Asm), want: u8) -> Vec<Model> {
    let side = |name, body: &dyn Fn(&mut Asm), own: u8, other: u8| {
        program(name, |a| {
            body(a);
            a.op(Op::Fence);
            a.store(pointer(own), Src::Plus(0, 1), Relaxed);
            a.op(Op::Fence);
            a.load(1, pointer(other), Relaxed);
            let apart = a.label();
            a.branch(1, IsNot, Imm(want + 1), apart);
            a.check(0, IsNot, Imm(want), WEIRD);
            a.place(apart);
        })
    };
    seen(&[side("left", &first, 0, 1), side("right", &second, 1, 0)])
}

#[test]
fn store_buffering() {
    let side = |from, to, between: Option<Op>| {
        move |a: &mut Asm| {
            a.store(from, Imm(1), Relaxed);
            if let Some(op) = between {
                a.op(op);
            }
            a.load(0, to, Relaxed);
        }
    };
    let run = |one, two| both(side(X, Y, one), side(Y, X, two), 0);
    let (none, light) = (None, Some(Op::CompilerFence));
    assert_eq!(run(none, none), ALL[1..]);
    assert_eq!(run(light, light), ALL[1..]);
    assert_eq!(run(light, Some(Op::Fence)), ALL[1..], "a fence on one side is not enough");
    assert_eq!(run(Some(Op::Fence), Some(Op::Fence)), []);
    assert_eq!(run(light, Some(Op::Heavy)), [], "the asymmetric pair");
    assert_eq!(run(Some(Op::Heavy), light), []);
    assert_eq!(run(Some(Op::Heavy), Some(Op::Heavy)), []);
    assert_eq!(run(light, light).len(), 3, "two light halves order nothing");
}

#[test]
fn load_buffering() {
    let side = |from, to, order| {
        move |a: &mut Asm| {
            a.load(0, from, order);
            a.store(to, Imm(1), Relaxed);
        }
    };
    assert_eq!(both(side(X, Y, Relaxed), side(Y, X, Relaxed), 1), [Model::Weak]);
    assert_eq!(both(side(X, Y, Acquire), side(Y, X, Relaxed), 1), [Model::Weak]);
    assert_eq!(both(side(X, Y, Acquire), side(Y, X, Acquire), 1), []);
}

/// Tries message passing: `write` and `read` are what stands between the two accesses of either
/// side.
fn message(stored: super::lang::Order, loaded: super::lang::Order, write: &[Op], read: &[Op]) -> Vec<Model> {
    let ops = |list: &[Op], a: &mut Asm| list.iter().for_each(|&op| a.op(op));
    seen(&[
        program("writer", |a| {
            a.store(X, Imm(1), Relaxed);
            ops(write, a);
            a.store(Y, Imm(1), stored);
        }),
        program("reader", |a| {
            a.load(0, Y, loaded);
            ops(read, a);
            a.load(1, X, Relaxed);
            let early = a.label();
            a.branch(0, Is, Imm(0), early);
            a.check(1, Is, Imm(1), WEIRD);
            a.place(early);
        }),
    ])
}

#[test]
fn message_passing() {
    let (weak, pso) = ([Model::Weak], &ALL[2..]);
    assert_eq!(message(Relaxed, Relaxed, &[], &[]), pso, "stores pass stores");
    assert_eq!(message(Release, Relaxed, &[], &[]), weak, "loads pass loads");
    assert_eq!(message(Relaxed, Acquire, &[], &[]), pso);
    assert_eq!(message(Release, Acquire, &[], &[]), []);
    assert_eq!(message(Relaxed, Relaxed, &[Op::Fence], &[Op::Fence]), []);
    assert_eq!(message(Relaxed, Relaxed, &[Op::Heavy], &[Op::CompilerFence]), []);
    assert_eq!(message(Relaxed, Relaxed, &[Op::CompilerFence], &[Op::Heavy]), []);
    assert_eq!(message(Relaxed, Relaxed, &[Op::CompilerFence], &[Op::CompilerFence]), pso);
}

#[test]
fn dependencies() {
    // A branch before the second load does not order it (it is predicted); an index does.
    let publish = |a: &mut Asm| {
        a.store(object(Fixed(1)), Imm(1), Relaxed);
        a.store(X, Imm(1), Release);
    };
    let guarded = program("reader", |a| {
        let early = a.label();
        a.load(0, X, Relaxed);
        a.branch(0, Is, Imm(0), early);
        a.load(1, object(Fixed(1)), Relaxed);
        a.check(1, Is, Imm(1), WEIRD);
        a.place(early);
    });
    assert_eq!(seen(&[program("writer", publish), guarded]), [Model::Weak]);
    let indexed = program("reader", |a| {
        let early = a.label();
        a.load(0, X, Relaxed);
        a.load(1, object(super::layout::By(0)), Relaxed);
        a.branch(0, Is, Imm(0), early);
        a.check(1, Is, Imm(1), WEIRD);
        a.place(early);
    });
    assert_eq!(seen(&[program("writer", publish), indexed]), []);
    // A store waits for the branch: load buffering with branches is forbidden.
    let side = |from, to| {
        move |a: &mut Asm| {
            let early = a.label();
            a.load(0, from, Relaxed);
            a.branch(0, Is, Imm(0), early);
            a.store(to, Imm(1), Relaxed);
            a.place(early);
        }
    };
    assert_eq!(both(side(X, Y), side(Y, X), 1), []);
}

#[test]
fn one_word_is_coherent() {
    let reader = program("reader", |a| {
        let fine = a.label();
        a.load(0, X, Relaxed);
        a.load(1, X, Relaxed);
        a.branch(0, Is, Imm(0), fine);
        a.check(1, IsNot, Imm(0), WEIRD);
        a.branch(0, IsNot, Imm(2), fine);
        a.check(1, IsNot, Imm(1), WEIRD);
        a.place(fine);
    });
    let writer = program("writer", |a| {
        a.store(X, Imm(1), Relaxed);
        a.store(X, Imm(2), Relaxed);
        a.load(0, X, Relaxed);
        a.check(0, Is, Imm(2), WEIRD);
    });
    assert_eq!(seen(&[writer, reader]), []);
}

#[test]
fn a_release_store_orders_only_for_who_reads_it() {
    let writer = |order| {
        program("writer", move |a| {
            a.store(Y, Imm(1), Relaxed);
            a.store(X, Imm(1), Release);
            a.store(X, Imm(2), order);
        })
    };
    let reader = program("reader", |a| {
        let early = a.label();
        a.load(0, X, Acquire);
        a.load(1, Y, Relaxed);
        a.branch(0, IsNot, Imm(2), early);
        a.check(1, Is, Imm(1), WEIRD);
        a.place(early);
    });
    assert_eq!(seen(&[writer(Relaxed), reader.clone()]), [Model::Weak]);
    assert_eq!(seen(&[writer(Release), reader]), []);
}

#[test]
fn stores_reach_all_at_once() {
    // Independent reads of independent writes: the models' limit, see `memory`. POWER differs.
    let writer = |at| program("writer", move |a| a.store(at, Imm(1), Relaxed));
    let reader = |order, first, second, own, other| {
        program("reader", move |a| {
            let early = a.label();
            a.load(0, first, order);
            a.load(1, second, order);
            a.branch(0, Is, Imm(0), early);
            a.branch(1, IsNot, Imm(0), early);
            a.store(pointer(own), Imm(1), Relaxed);
            a.op(Op::Fence);
            a.load(1, pointer(other), Relaxed);
            a.check(1, Is, Imm(0), WEIRD);
            a.place(early);
        })
    };
    let run = |order| seen(&[writer(X), writer(Y), reader(order, X, Y, 0, 1), reader(order, Y, X, 1, 0)]);
    assert_eq!(run(Acquire), []);
    assert_eq!(run(Relaxed), [Model::Weak]);
}

/// Loads `x`, then sleeps while `y` holds `expected`.
fn sleeper(expected: Src) -> Program {
    program("sleeper", |a| {
        let again = a.mark();
        let done = a.label();
        a.load(0, X, Acquire);
        a.branch(0, IsNot, Imm(0), done);
        a.load(1, Y, Relaxed);
        a.op(Op::Wait { at: Y, val: expected });
        a.jump(again);
        a.place(done);
    })
}

fn waker(wake: bool) -> Program {
    program("waker", |a| {
        a.store(X, Imm(1), Relaxed);
        a.store(Y, Imm(1), Release);
        if wake {
            a.op(Op::Wake { at: Y, all: true });
        }
    })
}

/// A flag that is set after the load and before the sleep must not be missed, and is if the sleep
/// compares with what it read after the load.
#[test]
fn futex() {
    let run = |expected, wake| {
        let machine = Machine {
            model: Model::Tso,
            programs: vec![sleeper(expected), waker(wake)],
            memory: Vec::new(),
            window: 4,
            spurious: false,
            plain: false,
            loose_wake: false,
        };
        explore(&machine, 10_000).verdict
    };
    assert_eq!(run(Imm(0), true), Verdict::Holds);
    assert_eq!(run(Imm(0), false), Verdict::Stuck, "no wake");
    assert_eq!(run(Src::Reg(1), true), Verdict::Stuck, "a late read");
}
