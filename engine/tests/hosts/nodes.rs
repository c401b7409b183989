//! Which node serves what, on a simulated machine of two nodes: shown by the counters.

#![allow(missing_docs)]

use std::sync::Arc;

use leeward_engine::simulation::{Bank, End, Machine, Page, Setup, Spawn, Start, Thread};
use leeward_engine::{Clock, Config, Deadline, Engine, Errno, NO_NODE, Node, Wait, Word};

const ANY: u32 = u32::MAX;
/// A shared word that is aligned to 8 bytes, with its node after it.
const PLACED: Word = Word { node: Node::Beside, ..Word::shared(8) };
const NUMBER: u64 = 12;
const READY: u64 = 16;
/// An address in the page that is a space's own.
const OWN: u64 = 32;
const SOON: Option<Deadline> = Some(Deadline { clock: Clock::Monotonic, at: 1 });

/// Makes a machine of four processors, two on each node, with threads that are bound to one each.
fn machine(bank: &Bank, threads: Vec<Spawn>) -> Machine {
    let mut setup = Setup::new(&[Start::Idle; 4]);
    setup.bank = bank.clone();
    setup.nodes = 2;
    setup.spaces = vec![vec![Some(Page::shared(0)), Some(Page::private(1))]];
    setup.threads = threads;
    Machine::new(setup)
}

fn engine(bank: &Bank, config: Config) -> Arc<Engine<Thread>> {
    Arc::new(Engine::new(Config { nodes: 2, ..config }, bank.clone()).unwrap())
}

/// Returns how many waits the nodes' tables queued.
fn queued(engine: &Engine<Thread>, thread: &Thread) -> [u64; 2] {
    [0, 1].map(|node| engine.node_stats(thread, node).unwrap().queued)
}

#[test]
fn a_word_without_a_node_gets_that_of_its_first_waiter_and_all_wakers_find_it_there() {
    let bank = Bank::new(2);
    let engine = engine(&bank, Config::small(7));
    let (first, second) = (Arc::clone(&engine), engine);
    let waiter = Spawn::new("waiter", 0, move |thread| {
        thread.set(NUMBER, NO_NODE);
        assert_eq!(first.wait(thread, PLACED, 0, ANY, SOON), Ok(Wait::TimedOut));
        assert_eq!(thread.get(NUMBER), 1);
        thread.fence();
        thread.set(READY, 1);
        assert_eq!(first.wait(thread, PLACED, 0, ANY, None), Ok(Wait::Woken));
        1
    });
    let waker = Spawn::new("waker", 0, move |thread| {
        while thread.get(READY) == 0 || second.wake(thread, PLACED, 1, ANY) == Ok(0) {
            leeward_engine::Host::spin(thread, 0);
        }
        assert_eq!(queued(&second, thread), [0, 2]);
        // A thread of the other node waits at the word's node as well.
        assert_eq!(second.wait(thread, PLACED, 0, ANY, SOON), Ok(Wait::TimedOut));
        assert_eq!(queued(&second, thread), [0, 3]);
        thread.set(NUMBER, 0);
        assert_eq!(second.wait(thread, PLACED, 0, ANY, SOON), Ok(Wait::TimedOut));
        assert_eq!(queued(&second, thread), [1, 3]);
        for (number, word) in [(2, PLACED), (0, Word { address: 4, ..PLACED })] {
            thread.set(NUMBER, number);
            assert_eq!(second.wait(thread, word, 0, ANY, SOON), Err(Errno::EINVAL));
        }
        assert!(second.node_stats(thread, 2).is_none());
        2
    });
    let run = machine(&bank, vec![waiter.only_on(3), waker.only_on(0)]).run(5, 100_000);
    assert_eq!((run.end, run.results), (End::Over, vec![Some(1), Some(2)]));
}

#[test]
fn a_space_gets_its_table_at_the_node_of_the_thread_that_needs_it() {
    let bank = Bank::new(2);
    let engine = engine(&bank, Config::small(7).with_private_tables());
    let before = [0, 1].map(|node| bank.bytes(Some(node)));
    let second = Spawn::new("second", 0, |_| 0).only_on(0);
    let inside = bank.clone();
    let first = Spawn::new("first", 0, move |thread| {
        assert_eq!(engine.wait(thread, Word::private(OWN), 0, ANY, SOON), Ok(Wait::TimedOut));
        assert_eq!(queued(&engine, thread), [0, 0]);
        assert_eq!(inside.bytes(Some(0)), before[0]);
        (inside.bytes(Some(1)) - before[1]) as u64
    });
    let run = machine(&bank, vec![first.only_on(2), second]).run(5, 100_000);
    assert_eq!(run.end, End::Over);
    assert!(run.results[0].is_some_and(|bytes| bytes >= 16 * 128), "{:?}", run.results);
}
