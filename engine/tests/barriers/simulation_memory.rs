//! The simulated machine's memory models themselves, on the classical programs: each must show
//! exactly the outcomes that it claims. Without these the verdicts on membarrier would mean
//! nothing.

use leeward_engine::simulation::{Machine, Model, Page, Setup, Spawn, Start, Thread};

const X: u64 = 0;
const Y: u64 = 4;
const ALL: [Model; 4] = [Model::Sc, Model::Tso, Model::Pso, Model::Weak];
const FROM_TSO: &[Model] = &[Model::Tso, Model::Pso, Model::Weak];
const FROM_PSO: &[Model] = &[Model::Pso, Model::Weak];
const WEAK: &[Model] = &[Model::Weak];

#[derive(Clone, Copy)]
enum Op {
    Get(u64),
    Set(u64, u32),
    Fence,
}
use Op::{Fence, Get, Set};

/// Returns what was loaded, one hexadecimal digit each, after a 1.
fn run(thread: &Thread, ops: &[Op]) -> u64 {
    ops.iter().fold(1, |sum, op| match *op {
        Get(word) => sum << 4 | u64::from(thread.get(word)),
        Set(word, value) => {
            thread.set(word, value);
            sum
        }
        Fence => {
            thread.fence();
            sum
        }
    })
}

/// Returns the models under which the threads may load `loads` while the words hold `end` in the
/// end.
fn seen(threads: &[&[Op]], loads: &[u64], end: &[(u64, u32)]) -> Vec<Model> {
    let shows = |model: &Model| {
        let start: Vec<Start> = (0..threads.len() as u8).map(Start::Runs).collect();
        let mut setup = Setup::new(&start);
        setup.model = *model;
        setup.spaces = vec![vec![Some(Page::private(0))]];
        for ops in threads {
            let ops = ops.to_vec();
            setup.threads.push(Spawn::new("thread", 0, move |thread| run(thread, &ops)));
        }
        let bad = |results: &[u64], look: &dyn Fn(u16, u16) -> u32| {
            results == loads && end.iter().all(|(word, value)| look(0, (*word / 4) as u16) == *value)
        };
        Machine::new(setup).explore(2_000_000, &bad).found.is_some()
    };
    ALL.into_iter().filter(shows).collect()
}

#[test]
fn store_buffering() {
    let run = |a: &[Op], b: &[Op]| seen(&[a, b], &[0x10, 0x10], &[]);
    let (one, two) = ([Set(X, 1), Get(Y)], [Set(Y, 1), Get(X)]);
    let (one_fenced, two_fenced) = ([Set(X, 1), Fence, Get(Y)], [Set(Y, 1), Fence, Get(X)]);
    assert_eq!(run(&one, &two), FROM_TSO);
    assert_eq!(run(&one_fenced, &two), FROM_TSO);
    assert_eq!(run(&one, &two_fenced), FROM_TSO);
    assert_eq!(run(&one_fenced, &two_fenced), []);
}

#[test]
fn message_passing() {
    let run = |write: &[Op], read: &[Op]| seen(&[write, read], &[1, 0x110], &[]);
    let (write, read) = ([Set(X, 1), Set(Y, 1)], [Get(Y), Get(X)]);
    let (write_fenced, read_fenced) = ([Set(X, 1), Fence, Set(Y, 1)], [Get(Y), Fence, Get(X)]);
    assert_eq!(run(&write, &read), FROM_PSO, "stores pass stores");
    assert_eq!(run(&write_fenced, &read), WEAK, "loads pass loads");
    assert_eq!(run(&write, &read_fenced), FROM_PSO);
    assert_eq!(run(&write_fenced, &read_fenced), []);
}

#[test]
fn shapes_that_end_in_memory() {
    let s = |a: &[Op], b: &[Op]| seen(&[a, b], &[1, 0x11], &[(X, 2)]);
    assert_eq!(s(&[Set(X, 2), Set(Y, 1)], &[Get(Y), Set(X, 1)]), FROM_PSO);
    assert_eq!(s(&[Set(X, 2), Fence, Set(Y, 1)], &[Get(Y), Fence, Set(X, 1)]), []);
    let r = |a: &[Op], b: &[Op]| seen(&[a, b], &[1, 0x10], &[(Y, 2)]);
    assert_eq!(r(&[Set(X, 1), Set(Y, 1)], &[Set(Y, 2), Get(X)]), FROM_TSO);
    assert_eq!(r(&[Set(X, 1), Fence, Set(Y, 1)], &[Set(Y, 2), Fence, Get(X)]), []);
    let w = |a: &[Op], b: &[Op]| seen(&[a, b], &[1, 1], &[(X, 2), (Y, 2)]);
    assert_eq!(w(&[Set(X, 2), Set(Y, 1)], &[Set(Y, 2), Set(X, 1)]), FROM_PSO);
    assert_eq!(w(&[Set(X, 2), Fence, Set(Y, 1)], &[Set(Y, 2), Fence, Set(X, 1)]), []);
}

/// What is not modelled: a load is never done after a later store.
#[test]
fn load_buffering() {
    assert_eq!(seen(&[&[Get(X), Set(Y, 1)], &[Get(Y), Set(X, 1)]], &[0x11, 0x11], &[]), []);
}

#[test]
fn one_word_is_coherent() {
    let writer = [Set(X, 1), Set(X, 2)];
    for loads in [0x121, 0x120, 0x110] {
        assert_eq!(seen(&[&writer, &[Get(X), Get(X)]], &[1, loads], &[]), [], "{loads:#x}");
    }
    assert_eq!(seen(&[&writer, &[Get(X), Get(X)]], &[1, 0x112], &[]), ALL);
    assert_eq!(seen(&[&[Set(X, 1), Get(X)]], &[0x10], &[]), [], "its own store");
    assert_eq!(seen(&[&writer], &[1], &[(X, 1)]), []);
}

#[test]
fn stores_reach_all_at_once() {
    let run = |a: &[Op], b: &[Op]| seen(&[&[Set(X, 1)], &[Set(Y, 1)], a, b], &[1, 1, 0x110, 0x110], &[]);
    assert_eq!(run(&[Get(X), Get(Y)], &[Get(Y), Get(X)]), WEAK);
    assert_eq!(run(&[Get(X), Fence, Get(Y)], &[Get(Y), Fence, Get(X)]), []);
}
