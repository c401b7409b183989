//! Wakers that panic or come back, for each public type of futures of the library and of its engine:
//! nothing is lost, nothing hangs, and no waker is dropped twice. A type without a row fails.

#![cfg(target_os = "linux")]
#![allow(missing_docs)]

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/hostile_wakers.rs"]
mod hostile_wakers;
#[path = "../common/polled.rs"]
mod polled;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, OnceLock, mpsc};
use std::thread::{self, JoinHandle};

use common::Watchdog;
use hostile_wakers::{AfterPanic, Held, Row, poll_and_drop, tries, waiting};
use leeward::collect::Bounded;
use leeward::rcu::{Domain, RcuCell};
use leeward::task;
use leeward_engine::parking::{ParkingLot, Process};
use leeward_engine::{Config, Engine, Heap, Host, Word};

leeward::rcu_domain! { struct Own; }

static WORD: AtomicU32 = AtomicU32::new(0);
static MUTEX: task::Mutex<u32> = task::Mutex::const_new(0);
static RWLOCK: task::RwLock<u32> = task::RwLock::const_new(0);
static SEMAPHORE: task::Semaphore = task::Semaphore::const_new(2);
static ONE: task::Notify = task::Notify::const_new();

/// What `static`s cannot be: a lock that its futures keep alive.
fn owned<L: 'static>(cell: &'static OnceLock<Arc<L>>, new: fn() -> L) -> Arc<L> {
    cell.get_or_init(|| Arc::new(new())).clone()
}

fn owned_mutex() -> Arc<task::Mutex<u32>> {
    static IT: OnceLock<Arc<task::Mutex<u32>>> = OnceLock::new();
    owned(&IT, || task::Mutex::new(0))
}

fn owned_rwlock() -> Arc<task::RwLock<u32>> {
    static IT: OnceLock<Arc<task::RwLock<u32>>> = OnceLock::new();
    owned(&IT, || task::RwLock::new(0))
}

fn owned_semaphore() -> Arc<task::Semaphore> {
    static IT: OnceLock<Arc<task::Semaphore>> = OnceLock::new();
    owned(&IT, || task::Semaphore::new(2))
}

fn all() -> Arc<task::Notify> {
    static IT: OnceLock<Arc<task::Notify>> = OnceLock::new();
    owned(&IT, task::Notify::new)
}

const ROWS: &[Row] = &[
    Row {
        declared: "engine/ops/wait_async.rs: WaitAsync",
        name: "Engine::wait_async",
        future: || {
            let (engine, process) = engine();
            waiting(engine.wait_async(process, word(), 0, u32::MAX), |woken| {
                woken.unwrap();
                Box::new(Wakes(wake_by_engine))
            })
        },
        // All at a time: a waker that panics keeps the others asleep no longer.
        hold: || Box::new(Wakes(wake_all_by_engine)),
        call: || {
            wake_by_engine();
            let (engine, process) = engine();
            engine.requeue(process, word(), word(), 0, 1, None).unwrap();
            poll_and_drop(waiting(engine.wait_async(process, word(), 0, u32::MAX), |_| Box::new(())));
        },
        is_free: || {
            let (engine, process) = engine();
            process.space().stats(process).waiters + engine.stats(process).waiters == 0
        },
        after_panic: AfterPanic::GoesOnAfterTheFirst,
    },
    Row {
        declared: "engine/parking/lot.rs: wait_async",
        name: "ParkingLot::wait_async",
        future: || waiting(lot().wait_async(&WORD, 0), |_| Box::new(Wakes(wake_by_lot))),
        hold: || Box::new(Wakes(wake_by_lot)),
        call: || {
            wake_by_lot();
            lot().requeue(&WORD, 0, 0, &WORD, 1);
            poll_and_drop(waiting(lot().wait_async(&WORD, 0), |_| Box::new(())));
        },
        is_free: || lot().stats().waiters + lot().global_stats().waiters == 0,
        after_panic: AfterPanic::Ended,
    },
    Row {
        declared: "leeward/collect/bounded/futures.rs: Pop",
        name: "Bounded::pop_async",
        future: || waiting(values().pop_async(), |value| Box::new(Comes(value.unwrap()))),
        hold: || Box::new(Comes(values().try_pop().value().unwrap())),
        call: || {
            drop(values().try_pop().value().map(Comes));
            poll_and_drop(waiting(values().pop_async(), |value| Box::new(value.map(Comes))));
        },
        is_free: || values().len() == 1,
        after_panic: AfterPanic::GoesOn,
    },
    Row {
        declared: "leeward/collect/bounded/futures.rs: Push",
        name: "Bounded::push_async",
        future: || waiting(room().push_async(()), |pushed| Box::new(pushed.map(|()| Goes).unwrap())),
        hold: || Box::new(room().try_push(()).map(|()| Goes).unwrap()),
        call: || {
            drop(room().try_push(()).map(|()| Goes));
            poll_and_drop(waiting(room().push_async(()), |pushed| Box::new(pushed.map(|()| Goes))));
        },
        is_free: || room().is_empty(),
        after_panic: AfterPanic::GoesOn,
    },
    Row {
        declared: "leeward/task/mutex.rs: Lock",
        name: "task::Mutex::lock",
        future: || waiting(MUTEX.lock(), held),
        hold: || Box::new(MUTEX.try_lock().unwrap()),
        call: || {
            drop(MUTEX.try_lock());
            poll_and_drop(waiting(MUTEX.lock(), held));
        },
        is_free: || MUTEX.try_lock().is_ok(),
        after_panic: AfterPanic::GoesOn,
    },
    Row {
        declared: "leeward/task/rwlock.rs: Read",
        name: "task::RwLock::read",
        future: || waiting(RWLOCK.read(), held),
        hold: || Box::new(RWLOCK.try_write().unwrap()),
        call: call_rwlock,
        is_free: || RWLOCK.try_write().is_ok(),
        after_panic: AfterPanic::GoesOn,
    },
    Row {
        declared: "leeward/task/rwlock.rs: Write",
        name: "task::RwLock::write",
        future: || waiting(RWLOCK.write(), held),
        hold: || Box::new(RWLOCK.try_read().unwrap()),
        call: call_rwlock,
        is_free: || RWLOCK.try_write().is_ok(),
        after_panic: AfterPanic::GoesOn,
    },
    Row {
        declared: "leeward/task/semaphore.rs: Acquire",
        name: "task::Semaphore::acquire_many",
        future: || waiting(SEMAPHORE.acquire_many(2), |permit| Box::new(permit.unwrap())),
        hold: || Box::new(SEMAPHORE.try_acquire().unwrap()),
        call: || {
            drop(SEMAPHORE.try_acquire());
            poll_and_drop(waiting(SEMAPHORE.acquire(), |permit| Box::new(permit.unwrap())));
        },
        is_free: || SEMAPHORE.available_permits() == 2,
        after_panic: AfterPanic::GoesOn,
    },
    Row {
        declared: "leeward/task/mutex.rs: LockOwned",
        name: "task::Mutex::lock_owned",
        future: || waiting(owned_mutex().lock_owned(), held),
        hold: || Box::new(owned_mutex().try_lock_owned().unwrap()),
        call: || {
            drop(owned_mutex().try_lock_owned());
            poll_and_drop(waiting(owned_mutex().lock_owned(), held));
        },
        is_free: || owned_mutex().try_lock().is_ok(),
        after_panic: AfterPanic::GoesOn,
    },
    Row {
        declared: "leeward/task/rwlock.rs: ReadOwned",
        name: "task::RwLock::read_owned",
        future: || waiting(owned_rwlock().read_owned(), held),
        hold: || Box::new(owned_rwlock().try_write_owned().unwrap()),
        call: call_owned_rwlock,
        is_free: || owned_rwlock().try_write().is_ok(),
        after_panic: AfterPanic::GoesOn,
    },
    Row {
        declared: "leeward/task/rwlock.rs: WriteOwned",
        name: "task::RwLock::write_owned",
        future: || waiting(owned_rwlock().write_owned(), held),
        hold: || Box::new(owned_rwlock().try_read_owned().unwrap()),
        call: call_owned_rwlock,
        is_free: || owned_rwlock().try_write().is_ok(),
        after_panic: AfterPanic::GoesOn,
    },
    Row {
        declared: "leeward/task/semaphore/owned.rs: AcquireOwned",
        name: "task::Semaphore::acquire_many_owned",
        future: || waiting(owned_semaphore().acquire_many_owned(2), |permit| Box::new(permit.unwrap())),
        hold: || Box::new(owned_semaphore().try_acquire_owned().unwrap()),
        call: || {
            drop(owned_semaphore().try_acquire_owned());
            poll_and_drop(waiting(owned_semaphore().acquire_owned(), |permit| Box::new(permit.unwrap())));
        },
        is_free: || owned_semaphore().available_permits() == 2,
        after_panic: AfterPanic::GoesOn,
    },
    Row {
        declared: "leeward/task/notify.rs: Notified",
        name: "Notify::notify_one",
        future: || waiting(ONE.notified(), |()| Box::new(Wakes(|| ONE.notify_one()))),
        hold: || Box::new(Wakes(|| ONE.notify_one())),
        call: || poll_and_drop(waiting(ONE.notified(), |()| Box::new(Wakes(|| ONE.notify_one())))),
        // The one notification is the last one's, who has told the next: it is taken.
        is_free: || Box::pin(ONE.notified()).as_mut().enable(),
        after_panic: AfterPanic::GoesOn,
    },
    Row {
        declared: "leeward/task/notify.rs: OwnedNotified",
        name: "Notify::notify_waiters",
        future: || waiting(all().notified_owned(), held),
        hold: || Box::new(Wakes(|| all().notify_waiters())),
        call: || {
            all().notify_waiters();
            poll_and_drop(waiting(all().notified_owned(), held));
        },
        is_free: || !Box::pin(all().notified_owned()).as_mut().enable(),
        after_panic: AfterPanic::GoesOn,
    },
    Row {
        declared: "leeward/rcu/grace/future.rs: GracePeriod",
        name: "Domain::synchronize_async",
        future: || waiting(Own::synchronize_async(), held),
        hold: || Box::new(Section::new()),
        call: call_domain,
        is_free: || true,
        after_panic: AfterPanic::GoesOn,
    },
    Row {
        declared: "leeward/rcu/free/reclaimed.rs: Reclaimed",
        name: "Retired::reclaimed",
        future: || waiting(RcuCell::<_, Own>::new_in(0).replace(1).reclaimed(), held),
        hold: || Box::new(Section::new()),
        call: call_domain,
        is_free: || true,
        after_panic: AfterPanic::GoesOn,
    },
];

/// Returns a queue with one value.
fn values() -> &'static Bounded<u32> {
    static VALUES: OnceLock<Bounded<u32>> = OnceLock::new();
    VALUES.get_or_init(|| {
        let values = Bounded::with_capacity(2);
        values.push(1).unwrap();
        values
    })
}

/// Returns a queue with room for one value.
fn room() -> &'static Bounded<()> {
    static ROOM: OnceLock<Bounded<()>> = OnceLock::new();
    ROOM.get_or_init(|| Bounded::with_capacity(1))
}

/// A value that is pushed again when this is dropped.
struct Comes(u32);

impl Drop for Comes {
    fn drop(&mut self) {
        values().try_push(self.0).unwrap();
    }
}

/// A value's room that is free again when this is dropped.
struct Goes;

impl Drop for Goes {
    fn drop(&mut self) {
        room().try_pop().value().unwrap();
    }
}

fn held<T: Send + 'static>(value: T) -> Held {
    Box::new(value)
}

fn word() -> Word {
    Word::private(WORD.as_ptr().expose_provenance() as u64)
}

fn engine() -> (&'static Engine<Process>, &'static Process) {
    static ENGINE: OnceLock<(Engine<Process>, Process)> = OnceLock::new();
    // SAFETY: the one word that is named is a static; one engine serves the host.
    let make = || (Engine::new(Config::small(1).with_private_tables(), Heap).unwrap(), unsafe { Process::new(2, 1) });
    let (engine, process) = ENGINE.get_or_init(make);
    (engine, process)
}

fn lot() -> &'static ParkingLot {
    static LOT: OnceLock<ParkingLot> = OnceLock::new();
    LOT.get_or_init(|| ParkingLot::new(2).unwrap())
}

fn wake_by_engine() {
    let (engine, process) = engine();
    engine.wake(process, word(), 1, u32::MAX).unwrap();
}

fn wake_all_by_engine() {
    let (engine, process) = engine();
    engine.wake(process, word(), u32::MAX, u32::MAX).unwrap();
}

fn wake_by_lot() {
    lot().wake(&WORD, 1);
}

/// Wakes those that wait, or one of them, when it is dropped.
struct Wakes(fn());

impl Drop for Wakes {
    fn drop(&mut self) {
        (self.0)();
    }
}

fn call_rwlock() {
    drop(RWLOCK.try_read());
    drop(RWLOCK.try_write());
    poll_and_drop(waiting(RWLOCK.read(), held));
    poll_and_drop(waiting(RWLOCK.write(), held));
}

fn call_owned_rwlock() {
    drop(owned_rwlock().try_read_owned());
    drop(owned_rwlock().try_write_owned());
    poll_and_drop(waiting(owned_rwlock().read_owned(), held));
    poll_and_drop(waiting(owned_rwlock().write_owned(), held));
}

fn call_domain() {
    Own::defer(|| ());
    Own::poll_state(&Own::start_poll());
    poll_and_drop(waiting(Own::synchronize_async(), held));
}

/// A section on another thread, which ends when this is dropped.
struct Section {
    leave: mpsc::Sender<()>,
    thread: Option<JoinHandle<()>>,
}

impl Section {
    fn new() -> Section {
        let (leave, may_leave) = mpsc::channel();
        let (enter, has_entered) = mpsc::channel();
        let thread = thread::spawn(move || {
            let _guard = Own::read();
            enter.send(()).unwrap();
            may_leave.recv().unwrap();
        });
        has_entered.recv().unwrap();
        Section { leave, thread: Some(thread) }
    }
}

impl Drop for Section {
    fn drop(&mut self) {
        self.leave.send(()).unwrap();
        self.thread.take().unwrap().join().unwrap();
        // The worker has woken those that waited for it.
        Own::barrier();
    }
}

/// The macros that make types of futures: the name is the first word.
const MACROS: &[&str] = &["side", "notified"];

/// Calls `each` with the file and the name of each type of futures, and each function that returns one,
/// that a folder's files declare.
fn declared(folder: &Path, within: &str, each: &mut dyn FnMut(String)) {
    let mut entries: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        // What a model or a unit test declares is no program's.
        if name.contains("tests") || within == "engine" && name == "loom" {
            continue;
        }
        let within = format!("{within}/{name}");
        if path.is_dir() {
            declared(&path, &within, each);
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let code = || text.lines().map(str::trim_start).filter(|line| !line.starts_with("//"));
        for line in code() {
            let is_type = line.starts_with("impl") && line.contains("Future for ");
            let name = if is_type {
                line.split("Future for ").nth(1).unwrap()
            } else if let Some(name) = line.strip_prefix("pub async fn ") {
                name
            } else {
                assert!(!line.contains("impl Future"), "{within}: a type without a name: {line}");
                continue;
            };
            let name = name.split(|letter: char| !letter.is_alphanumeric() && !"_$".contains(letter)).next().unwrap();
            if !name.starts_with('$') {
                each(format!("{within}: {name}"));
                continue;
            }
            // One that a macro names.
            assert!(MACROS.iter().any(|name| text.contains(&format!("macro_rules! {name} "))), "{within}: {line}");
        }
        let names = code().filter_map(|line| {
            let called = MACROS.iter().find_map(|name| line.strip_prefix(name)?.strip_prefix("!("));
            called?.split(' ').next()
        });
        names.for_each(|name| each(format!("{within}: {name}")));
    }
}

#[test]
fn each_type_of_futures_is_in_the_table() {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut met = BTreeSet::new();
    for (folder, within) in [("../src", "leeward"), ("../../engine/src", "engine")] {
        declared(&sources.join(folder), within, &mut |name| _ = met.insert(name));
    }
    let rows: BTreeSet<_> = ROWS.iter().map(|row| row.declared.to_owned()).collect();
    assert_eq!(rows.len(), ROWS.len(), "each row is of another type");
    assert_eq!(met, rows);
}

/// Has the wakers of a row's futures do all that they can.
fn hostile(declared: &str) {
    let row = ROWS.iter().find(|row| row.declared == declared).unwrap();
    let _watch = Watchdog::new(row.name);
    let acts = tries(row);
    println!("{}: {acts:?} acts of clone, wake, wake_by_ref and drop", row.name);
    // By reference those are woken that hand on what they cannot use, which few do.
    let [cloned, woken, _, dropped] = acts;
    assert!(cloned.min(woken).min(dropped) >= 4, "{}: {acts:?} acts", row.name);
}

/// Makes a test of each row.
macro_rules! rows {
    ($($test:ident: $declared:literal;)*) => {
        $(
            #[test]
            fn $test() {
                hostile($declared);
            }
        )*

        #[test]
        fn each_row_has_its_test() {
            let tested = [$($declared),*];
            assert!(ROWS.iter().all(|row| tested.contains(&row.declared)) && tested.len() == ROWS.len());
        }
    };
}

rows! {
    a_wait_of_the_engine: "engine/ops/wait_async.rs: WaitAsync";
    a_wait_of_a_parking_lot: "engine/parking/lot.rs: wait_async";
    a_pop: "leeward/collect/bounded/futures.rs: Pop";
    a_push: "leeward/collect/bounded/futures.rs: Push";
    a_mutex: "leeward/task/mutex.rs: Lock";
    a_reader: "leeward/task/rwlock.rs: Read";
    a_writer: "leeward/task/rwlock.rs: Write";
    permits: "leeward/task/semaphore.rs: Acquire";
    an_owned_mutex: "leeward/task/mutex.rs: LockOwned";
    an_owned_reader: "leeward/task/rwlock.rs: ReadOwned";
    an_owned_writer: "leeward/task/rwlock.rs: WriteOwned";
    owned_permits: "leeward/task/semaphore/owned.rs: AcquireOwned";
    one_that_is_told: "leeward/task/notify.rs: Notified";
    all_that_are_told: "leeward/task/notify.rs: OwnedNotified";
    a_grace_period: "leeward/rcu/grace/future.rs: GracePeriod";
    what_is_reclaimed: "leeward/rcu/free/reclaimed.rs: Reclaimed";
}
