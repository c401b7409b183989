//! Futexes on the simulated machine: schedules from seeds, with pages that are taken away, signals,
//! and more threads than processors.

use std::sync::Arc;

use leeward_engine::simulation::{Bank, End, Machine, Page, Setup, Spawn, Start, Thread};
use leeward_engine::{Access, Config, Deadline, Engine, Errno, Host, Wait, Word};

const ANY: u32 = u32::MAX;
/// The address of a word in the page that two spaces share.
const LOCK: u64 = 0;
const COUNT: u64 = 4;
/// An address in the page that is a space's own.
const OWN: u64 = 32;
/// An address in a page that may not be written.
const FIXED: u64 = 64;
const MISSING: u64 = 96;

/// Makes an access, and asks for the page where it is missing.
fn patient<T>(thread: &Thread, address: u64, access: impl Fn() -> Result<T, leeward_engine::Fault>) -> T {
    loop {
        match access() {
            Ok(value) => return value,
            Err(_) => thread.fault_in(address, Access::Write).expect("a page that is only away"),
        }
    }
}

fn exchange(thread: &Thread, address: u64, old: u32, new: u32) -> u32 {
    patient(thread, address, || thread.compare_exchange(address, old, new))
}

/// Takes a three-state lock: 0 free, 1 taken, 2 taken and perhaps waited for.
fn lock(engine: &Engine<Thread>, thread: &Thread, word: Word) {
    let mut was = exchange(thread, word.address, 0, 1);
    while was != 0 {
        if was == 2 || exchange(thread, word.address, 1, 2) != 0 {
            engine.wait(thread, word, 2, ANY, None).expect("a word that is there");
        }
        was = exchange(thread, word.address, 0, 2);
    }
}

fn unlock(engine: &Engine<Thread>, thread: &Thread, word: Word) {
    if exchange(thread, word.address, 1, 0) != 1 {
        assert_eq!(exchange(thread, word.address, 2, 0), 2);
        engine.wake(thread, word, 1, ANY).expect("a word");
    }
}

/// Makes a machine on which five threads of two spaces, on three processors of two nodes, each add
/// 3 under a shared lock.
fn contended(wake: bool) -> Machine {
    let mut setup = Setup::new(&[Start::Runs(0), Start::Lazy(1), Start::Idle]);
    setup.bank = Bank::new(2);
    setup.nodes = 2;
    let pages = vec![Some(Page::shared(0)), Some(Page::private(1)), Some(Page::private(2).read_only()), None];
    setup.spaces = vec![pages.clone(), pages];
    (setup.page_outs, setup.signals) = (6, 3);
    let config = Config { nodes: 2, ..Config::small(7) }.with_private_tables();
    let engine = Arc::new(Engine::new(config, setup.bank.clone()).unwrap());
    for i in 0..5 {
        let engine = Arc::clone(&engine);
        setup.threads.push(Spawn::new("adder", i % 2, move |thread| {
            for _ in 0..3 {
                lock(&engine, thread, Word::shared(LOCK));
                let count = patient(thread, COUNT, || thread.load(COUNT));
                assert_eq!(exchange(thread, COUNT, count, count + 1), count, "two at once");
                if wake {
                    unlock(&engine, thread, Word::shared(LOCK));
                } else {
                    exchange(thread, LOCK, 2, 0);
                    exchange(thread, LOCK, 1, 0);
                }
            }
            patient(thread, COUNT, || thread.load(COUNT)).into()
        }));
    }
    Machine::new(setup)
}

#[test]
fn a_lock_on_shared_words_under_many_schedules() {
    let mut waited = 0;
    for seed in 0..40 {
        let machine = contended(true);
        let run = machine.run(seed, 100_000);
        assert_eq!(run.end, End::Over, "seed {seed}: {}", machine.tell_run(&run));
        assert_eq!(run.results.iter().max(), Some(&Some(15)), "seed {seed}");
        waited = waited.max(run.schedule.len());
    }
    assert!(waited > 500, "nobody ever waited: {waited} steps");
}

#[test]
fn without_its_wakes_some_schedule_stands_still() {
    assert!((0..40).any(|seed| contended(false).run(seed, 100_000).end == End::Stuck));
}

#[test]
fn a_seed_is_a_schedule_and_a_schedule_can_be_replayed() {
    let first = contended(true).run(11, 100_000);
    assert_eq!(first, contended(true).run(11, 100_000));
    assert_ne!(first.schedule, contended(true).run(12, 100_000).schedule);
    let again = contended(true).replay(&first.schedule);
    assert_eq!((again.results, again.schedule), (first.results, first.schedule));
}

/// Runs one thread that does this.
fn alone(program: impl Fn(&Engine<Thread>, &Thread) -> u64 + Send + Sync + 'static) -> (Machine, Bank) {
    let mut setup = Setup::new(&[Start::Runs(0)]);
    setup.bank = Bank::new(3);
    setup.nodes = 3;
    setup.spaces = vec![vec![Some(Page::shared(0)), Some(Page::private(1)), Some(Page::private(2).read_only()), None]];
    let config = Config { nodes: 3, ..Config::small(7) };
    let engine = Engine::new(config, setup.bank.clone()).unwrap();
    let bank = setup.bank.clone();
    setup.threads = vec![Spawn::new("alone", 0, move |thread| program(&engine, thread))];
    (Machine::new(setup), bank)
}

#[test]
fn memory_faults_as_it_should_and_time_passes() {
    let (machine, bank) = alone(|engine, thread| {
        let wait = |word, value, until| engine.wait(thread, word, value, ANY, until);
        assert_eq!(wait(Word::private(MISSING), 0, None), Err(Errno::EFAULT));
        assert_eq!(wait(Word::shared(MISSING), 0, None), Err(Errno::EFAULT));
        assert_eq!(wait(Word::private(FIXED), 1, None), Ok(Wait::Changed));
        assert_eq!(wait(Word::shared(FIXED), 0, None), Err(Errno::EFAULT), "read-only memory of its own");
        assert_eq!(thread.compare_exchange(FIXED, 0, 1), Err(leeward_engine::Fault));
        let clock = leeward_engine::Clock::Monotonic;
        let until = thread.now(clock) + 1_000_000;
        assert_eq!(wait(Word::private(OWN), 0, Some(Deadline { clock, at: until })), Ok(Wait::TimedOut));
        assert!(thread.now(clock) >= until);
        1
    });
    for node in 0..3 {
        assert!(bank.bytes(Some(node)) >= 16 * 128, "the global table has a part on each node");
    }
    let run = machine.run(3, 10_000);
    assert_eq!((run.end, run.results), (End::Over, vec![Some(1)]));
}

#[test]
fn a_thread_that_moves_sees_the_nodes_of_its_processors() {
    let mut setup = Setup::new(&[Start::Runs(0), Start::Idle, Start::Idle, Start::Idle]);
    setup.nodes = 2;
    let look = |thread: &Thread| (0..50).fold(0, |seen, _| seen | 1 << thread.node());
    setup.threads = vec![Spawn::new("wanderer", 0, look), Spawn::new("resident", 0, look).only_on(3)];
    let machine = Machine::new(setup);
    let runs: Vec<_> = (0..10).map(|seed| machine.run(seed, 100_000)).collect();
    assert!(runs.iter().all(|run| run.end == End::Over && run.results[1] == Some(0b10)));
    assert!(runs.iter().any(|run| run.results[0] == Some(0b11)));
}
