//! Heavy fences that become impossible when they have worked for a while: a program puts a filter on
//! its system calls after its start. Nothing may be freed then, no call may hang or end the process
//! but where its page says so, and what a refusal costs must not grow with what waits.
//!
//! | case | public types | once heavy fences are refused |
//! |---|---|---|
//! | `collectors` | `epoch`: `Collector`, `LocalHandle`, `Guard` | what is deferred is kept; `synchronize` panics |
//! | `exits` | `CollectorGuard`, and threads of collectors that exit | as above |
//! | `children` | all of these in the child of a fork, and callbacks that it adopts | as above |
//! | `hazards` | `hazard`: `Cell`, `Retired`, `HazardPointer`, `retire_raw` | what is retired is kept |
//! | `domains` | `rcu`: `Domain`, `RcuCell`, `RcuOption`, `Reader`, `qsbr::Reader` | as `collectors` |
//! | `containers` | `collect`: `HashMap`, `HashSet`, `OrderedMap`, `List` | kept until the container's end |
//! | `queues` | `collect`: `Queue`, `Consumer`, `Bounded` | one that sleeps looks again by itself |
//! | `biased_alone` | `asym`: `Mutex`, `RwLock`; `collect`: `ShardMap`, `ShardSet` | one owner, or readers, go on |
//! | `biased`, `biased_mutex`, `shards` | the same | who needs the others' slots ends the process |
//! | `light`, `light_waits` | `sync::LightMutex` | goes on while none waits; a wait ends the process |
//! | `robust_light` | `robust::LightMutex` | a sleeper looks again by itself |
//!
//! Other public types have no heavy half. Each case is a process of its own: this program, started
//! again.

#![cfg(all(target_os = "linux", not(leeward_symmetric)))]
#![allow(missing_docs)]

#[path = "../common/cases.rs"]
mod cases;
#[path = "../common/mod.rs"]
mod common;
#[path = "../common/processes.rs"]
mod processes;
#[cfg(all(target_env = "gnu", target_pointer_width = "64"))]
#[path = "../common/robust.rs"]
mod robust;
#[path = "../common/seccomp.rs"]
mod seccomp;

use cases::{aborts, passes};
use common::*;
use processes::{child, status_of};
use seccomp::{Action, Rule, When, answer_by, let_through, refuse};

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed, Ordering::SeqCst};
use std::thread;

use leeward::asym;
use leeward::collect::{Bounded, HashMap, HashSet, List, OrderedMap, Queue, ShardMap};
use leeward::fence::{self, Error};
use leeward::hazard;
use leeward::rcu::epoch::{self, Collector};
use leeward::rcu::{Domain, RcuCell, RcuOption, Reader, qsbr};
use leeward::sync::LightMutex;

/// What ends the process says this.
const SENTENCE: &str = "no heavy fence is possible here";
/// How many calls of each kind are made.
const MANY: usize = 40_000;
/// The number of heavy fences that may be asked for in so many calls: some dozens that double their
/// distance, and one for each of a few calls that insist.
const FEW: u64 = 64;

/// How often membarrier was asked for since it is refused.
static ASKED: AtomicU64 = AtomicU64::new(0);
static IS_REFUSED: AtomicBool = AtomicBool::new(true);

fn answer(arguments: [i64; 3]) -> i64 {
    if !IS_REFUSED.load(Relaxed) {
        return let_through(libc::SYS_membarrier, arguments);
    }
    ASKED.fetch_add(1, Relaxed);
    -i64::from(libc::EPERM)
}

/// Refuses all that heavy fences are made of, from now on. Where the machine allows it, refusals are
/// counted, and end by `allow`.
fn refuse_fences() -> bool {
    assert_eq!(fence::try_heavy(), Ok(()), "it has worked so far");
    let refuse_call = |number| Rule::new(number, When::Always, Action::Errno(libc::EPERM));
    let is_counted = answer_by(libc::SYS_membarrier, answer);
    if !is_counted {
        refuse(&[refuse_call(libc::SYS_membarrier)]);
    }
    refuse(&[refuse_call(libc::SYS_rt_tgsigqueueinfo), refuse_call(libc::SYS_sched_setaffinity)]);
    assert_eq!(fence::try_heavy(), Err(Error::NoStrategy));
    is_counted
}

/// Asserts that a fence was asked for a few times only while `work` ran.
fn asks_rarely(work: impl FnOnce()) {
    ASKED.store(0, Relaxed);
    assert_eq!(fence::try_heavy(), Err(Error::NoStrategy));
    let each = ASKED.swap(0, Relaxed);
    work();
    let asked = ASKED.load(Relaxed);
    assert!(asked <= FEW * each, "{asked} calls, {each} for each fence");
}

/// A value that counts its drop.
#[derive(Debug)]
struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
    }
}

/// A maker of values that count their drops.
#[derive(Default)]
struct Counter(Arc<AtomicUsize>);

impl Counter {
    fn make(&self) -> Counted {
        Counted(Arc::clone(&self.0))
    }

    fn dropped(&self) -> usize {
        self.0.load(SeqCst)
    }
}

/// Pins, defers and flushes, many times.
fn use_collector(collector: &Collector, counter: &Counter) {
    let handle = collector.register();
    asks_rarely(|| {
        for _ in 0..MANY {
            let value = counter.make();
            handle.pin().defer(move || drop(value));
        }
        (0..MANY).for_each(|_| drop(handle.pin()));
        (0..8).for_each(|_| handle.pin().flush());
    });
    assert_eq!(panic_of(|| collector.synchronize()), format!("leeward: {}", Error::NoStrategy));
}

fn collectors() {
    let (counter, own, collector) = (Counter::default(), Counter::default(), Collector::new());
    collector.register().pin().flush();
    // The default collector has met a heavy fence, too.
    epoch::pin().defer(|| ());
    epoch::pin().flush();
    let is_counted = refuse_fences();
    // A reader, so that even an idle collector needs the fence.
    let (handle, also) = (collector.register(), epoch::default_collector().register());
    use_collector(&collector, &counter);
    use_collector(epoch::default_collector(), &own);
    assert_eq!((counter.dropped(), own.dropped()), (0, 0));
    assert!(collector.stats().callbacks_queued > (MANY - 64) as u64);
    drop(also);
    if is_counted {
        // What was refused may be granted later, and then all goes on.
        IS_REFUSED.store(false, Relaxed);
        for _ in 0..3 {
            handle.pin().flush();
            epoch::pin().flush();
        }
        assert_eq!((counter.dropped(), own.dropped()), (MANY, MANY));
        collector.synchronize();
        let value = counter.make();
        handle.pin().defer(move || drop(value));
        IS_REFUSED.store(true, Relaxed);
    }
    // Without readers, no fence is needed.
    drop((handle, collector));
    assert_eq!(counter.dropped(), if is_counted { MANY + 1 } else { MANY });
}

static ENTERED: std::sync::LazyLock<Collector> = std::sync::LazyLock::new(Collector::new);

/// Threads that exit with deferred calls: they entered without a handle, by the default collector, or
/// keep a guard until they have run their other destructors.
fn exits() {
    thread_local!(static KEPT: std::cell::Cell<Option<epoch::Guard>> = const { std::cell::Cell::new(None) });
    let counter = Counter::default();
    let defer = |guard: &epoch::Guard| {
        let value = counter.make();
        guard.defer(move || drop(value));
    };
    // Without any reader no fence would be needed.
    let (section, also) = (ENTERED.enter(), epoch::default_collector().register());
    refuse_fences();
    for keeps in [false, true].repeat(20) {
        thread::scope(|scope| {
            let exiting = scope.spawn(|| {
                KEPT.set(None);
                defer(&ENTERED.enter());
                let guard = epoch::pin();
                defer(&guard);
                KEPT.set(keeps.then_some(guard));
            });
            exiting.join().unwrap();
        });
    }
    drop(section);
    drop(ENTERED.enter());
    assert_eq!(counter.dropped(), 0);
    drop(also);
}

/// The children of a fork go on as their parents do: with collectors, hazard pointers and domains.
fn children() {
    leeward::rcu_domain! { struct Adopting; }
    Adopting::set_child_adopts(true);
    Adopting::synchronize();
    let (counter, collector) = (Counter::default(), Collector::new());
    let handle = collector.register();
    let reader = Reader::<Adopting>::register_in();
    let retired = hazard::Cell::new(counter.make());
    refuse_fences();
    let use_all = || {
        let guard = handle.pin();
        for _ in 0..1_000 {
            let value = counter.make();
            guard.defer(move || drop(value));
            retired.store(counter.make());
            drop(reader.read());
        }
        guard.flush();
        drop(guard);
        drop(collector.enter());
        hazard::reclaim();
        counter.dropped() == 0
    };
    assert!(use_all());
    // What is queued has the fork wait for the domain's callbacks, by a heavy fence.
    Adopting::defer(|| ());
    for _ in 0..3 {
        assert_eq!(status_of(child(use_all)), 0, "the child went on otherwise");
    }
    assert!(use_all());
    drop(reader);
}

fn hazards() {
    let counter = Counter::default();
    let cell = hazard::Cell::new(counter.make());
    cell.store(counter.make());
    assert_eq!(hazard::reclaim(), 1);
    let is_counted = refuse_fences();
    asks_rarely(|| (0..MANY).for_each(|_| cell.store(counter.make())));
    asks_rarely(|| (0..8).for_each(|_| assert_eq!(hazard::reclaim(), 0)));
    assert_eq!((counter.dropped(), hazard::waiting()), (1, MANY));
    // Whether it is protected cannot be found out.
    let old = cell.replace(counter.make()).unwrap().try_into_inner().unwrap_err();
    let mut pointer = hazard::HazardPointer::new();
    assert_eq!(Arc::strong_count(&pointer.protect(&cell).unwrap().0), MANY + 3);
    drop(old);
    if is_counted {
        IS_REFUSED.store(false, Relaxed);
        assert_eq!(hazard::reclaim(), MANY + 1);
        assert_eq!((counter.dropped(), hazard::waiting()), (MANY + 2, 0));
        // And by itself, as before.
        (0..MANY).for_each(|_| cell.store(counter.make()));
        assert!(hazard::waiting() < 1_000);
    }
}

/// Sections, callbacks and cells of a domain; grace periods that cannot be had are refused.
fn domains() {
    leeward::rcu_domain! { struct D; }
    let counter = Counter::default();
    let (cell, option) = (RcuCell::<_, D>::new_in(counter.make()), RcuOption::<Counted, D>::none_in());
    D::synchronize();
    let (reader, mut quiescent) = (Reader::<D>::register_in(), qsbr::Reader::<D>::register_in());
    refuse_fences();
    for _ in 0..MANY {
        quiescent.quiescent();
        drop((D::read(), reader.read()));
    }
    for _ in 0..100 {
        drop(cell.replace(counter.make()));
        drop(option.replace(Some(counter.make())));
        let value = counter.make();
        D::defer(move || drop(value));
    }
    quiescent.offline(|| {
        let said = format!("leeward: {}", Error::NoStrategy);
        assert_eq!(panic_of(D::synchronize), said);
        assert_eq!(panic_of(|| drop(cell.replace(counter.make()).synchronize())), said);
    });
    assert_eq!(counter.dropped(), 0);
    assert_eq!(Arc::strong_count(&cell.load(&reader.read()).0), 303);
}

/// Fills and empties containers; what was taken out is dropped with them.
fn containers() {
    let (before, later) = (Counter::default(), Counter::default());
    let (map, set, ordered, list) = (HashMap::new(), HashSet::new(), OrderedMap::new(), <List<Counted>>::new());
    let use_all = |counter: &Counter| {
        for key in 0..MANY / 8 {
            let key = key % 100;
            drop(map.insert(key, counter.make()));
            drop(ordered.insert(key, counter.make()));
            assert!(set.insert(key) && set.remove(&key));
            list.push_back(counter.make());
            list.lock().cursor_front().remove_current();
            drop(map.remove(&(key / 2)));
            drop(ordered.remove(&(key / 2)));
        }
        map.reclaim();
        list.reclaim();
    };
    use_all(&before);
    let guard = leeward::rcu::read();
    assert!(map.contains_key(&99) && ordered.get(&99, &guard).is_some());
    drop(guard);
    refuse_fences();
    asks_rarely(|| use_all(&later));
    // Of the others some may have had their grace period before.
    assert_eq!(later.dropped(), 0, "a value was dropped without a grace period");
    let guard = leeward::rcu::read();
    assert!(map.contains_key(&99) && !map.contains_key(&0) && !set.contains(&1));
    drop(guard);
    drop((map, set, ordered, list));
    assert_eq!((before.dropped(), later.dropped()), (3 * (MANY / 8), 3 * (MANY / 8)));
}

/// A consumer that finds the queue empty or a value half pushed, and goes to sleep.
fn queues() {
    let queue = <Queue<usize>>::new();
    queue.push(0);
    assert_eq!(queue.pop(), Some(0));
    let bounded = Bounded::with_capacity(2);
    bounded.push(0).unwrap();
    refuse_fences();
    thread::scope(|scope| {
        scope.spawn(|| (1..=MANY).for_each(|value| queue.push(value)));
        (1..=MANY).for_each(|value| assert_eq!(queue.pop(), Some(value)));
        scope.spawn(|| (1..=MANY).for_each(|value| bounded.push(value).unwrap()));
        (0..=MANY).for_each(|value| assert_eq!(bounded.pop(), Some(value)));
    });
}

/// Readers of an open lock, and the owner of a mutex.
fn biased_alone() {
    let (lock, mutex) = (asym::RwLock::new(1), asym::Mutex::new(1));
    let shards = ShardMap::new();
    shards.insert(1, 1);
    drop((lock.read(), mutex.lock(), shards.get(&1)));
    refuse_fences();
    for _ in 0..MANY {
        assert_eq!((*lock.read(), *mutex.lock(), *shards.get(&1).unwrap()), (1, 1, 1));
    }
    // A lock that is new here takes no bias.
    let (lock, mutex) = (asym::RwLock::new(1), asym::Mutex::new(1));
    drop((lock.read(), mutex.lock()));
    thread::scope(|scope| {
        scope.spawn(|| drop((lock.read(), mutex.lock())));
    });
}

fn biased() {
    let lock = asym::RwLock::new(1);
    drop(lock.read());
    refuse_fences();
    *lock.write() += 1;
}

fn biased_mutex() {
    let mutex = asym::Mutex::new(1);
    drop(mutex.lock());
    refuse_fences();
    thread::scope(|scope| {
        scope.spawn(|| *mutex.lock() += 1);
    });
}

fn shards() {
    let shards = ShardMap::new();
    shards.insert(1, 1);
    for _ in 0..100 {
        drop(shards.get(&1));
    }
    refuse_fences();
    shards.insert(1, 2);
}

fn light() {
    let mutex = LightMutex::new(0);
    *mutex.lock() += 1;
    refuse_fences();
    (0..MANY).for_each(|_| *mutex.lock() += 1);
    assert_eq!(*mutex.lock(), MANY + 1);
}

fn light_waits() {
    let mutex = LightMutex::new(0);
    let guard = mutex.lock();
    refuse_fences();
    thread::scope(|scope| {
        scope.spawn(|| *mutex.lock() += 1).join().unwrap();
        drop(guard);
    });
}

/// A thread sleeps on the lock while another holds it.
#[cfg(all(target_env = "gnu", target_pointer_width = "64"))]
fn robust_light() {
    let mutex = robust::shared_mutex_of::<u64, leeward::robust::ByStore>();
    drop(mutex.lock().unwrap());
    refuse_fences();
    let count = AtomicU64::new(0);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for _ in 0..50 {
                    let guard = mutex.lock().unwrap();
                    // The other one goes to sleep meanwhile.
                    let before = count.load(Relaxed);
                    thread::yield_now();
                    count.store(before + 1, Relaxed);
                    drop(guard);
                }
            });
        }
    });
    assert_eq!(count.load(Relaxed), 100);
}

#[cfg(not(all(target_env = "gnu", target_pointer_width = "64")))]
fn robust_light() {}

macro_rules! in_processes_of_their_own {
    ($($test:ident: $case:ident)*; $($aborting:ident: $abort:ident)*) => {
        $(#[test]
        fn $test() {
            passes(stringify!($case));
        })*
        $(#[test]
        fn $aborting() {
            aborts(stringify!($abort), SENTENCE);
        })*

        #[test]
        #[ignore = "started by the other tests"]
        fn case() {
            let _dog = Watchdog::new("what goes on without fences");
            match cases::current().as_str() {
                $(stringify!($case) => $case(),)*
                $(stringify!($abort) => $abort(),)*
                other => panic!("no such case: {other}"),
            }
        }
    };
}

in_processes_of_their_own! {
    collectors_keep_what_is_deferred: collectors
    threads_that_entered_exit: exits
    children_go_on: children
    what_is_retired_waits: hazards
    domains_read_and_defer: domains
    containers_keep_what_was_taken_out: containers
    a_consumer_looks_again: queues
    a_lock_of_one_owner_goes_on: biased_alone
    a_light_mutex_goes_on_alone: light
    a_robust_sleeper_looks_again: robust_light;
    readers_in_the_way_end_the_process: biased
    an_owner_in_the_way_ends_the_process: biased_mutex
    shards_in_the_way_end_the_process: shards
    a_light_mutex_that_is_waited_for_ends_the_process: light_waits
}
