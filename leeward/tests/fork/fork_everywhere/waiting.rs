//! fork while other threads wait: a thread sleeps in each operation that waits, and one forks. The
//! child uses everything, and what the others wait for; then, in the parent, each is let go and
//! ends well.

use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use leeward::futex::{self, Futex, Hosted, Parking, Private, Shared};
use leeward::raw::{self, Barrier, LightMutex, Mutex, Once, RwLock};
use leeward::rcu::{Domain, Limit, Policy};
use leeward::robust::{self, ByExchange, ByStore, Unlock};
use leeward::{asym, pi, task};

use super::common::{eventually, is_asleep, patience};
use super::small_locks::SmallLock;
use super::{cases, everything};

/// Something that a thread waits for.
struct Awaited {
    name: &'static str,
    /// Runs before any thread waits, on the thread that will fork.
    hold: fn(),
    /// Waits, and leaves it free.
    wait: fn(),
    /// Lets the waiting threads go, on the thread that forks.
    release: fn(),
    /// Runs after that in the child, where no thread waits. `None`: the parent's lock is held.
    again: Option<fn()>,
}

/// Makes a lock's functions, each without a guard.
macro_rules! lock {
    ($lock:expr, $take:ident, $leave:ident) => {
        (
            || {
                $lock.$take();
            },
            || {
                $lock.$take();
                // SAFETY: locked just now.
                unsafe { $lock.$leave() };
            },
            || {
                // SAFETY: held by the thread that forks, in whichever process.
                unsafe { $lock.$leave() };
            },
        )
    };
}

const fn awaited(name: &'static str, (hold, wait, release): (fn(), fn(), fn()), again: Option<fn()>) -> Awaited {
    Awaited { name, hold, wait, release, again }
}

const fn of_a_lock(name: &'static str, functions: (fn(), fn(), fn())) -> Awaited {
    awaited(name, functions, Some(functions.1))
}

static MUTEX: Mutex = <Mutex>::new();
static SHARED: Mutex<Shared> = Mutex::new_in();
static PARKED: Mutex<Hosted<Parking>> = Mutex::new_in();
static LIGHT: LightMutex = LightMutex::new();
static WRITTEN: RwLock = <RwLock>::new();
static READ: RwLock = <RwLock>::new();
static UPGRADED: RwLock = <RwLock>::new();
static BARRIER: Barrier = <Barrier>::new(2);
static CONDVAR: raw::Condvar = <raw::Condvar>::new();
static PLAIN: raw::Condvar<raw::Plain> = raw::Condvar::new_in();
static OF_CONDVAR: Mutex = <Mutex>::new();
static OF_PLAIN: Mutex = <Mutex>::new();
static ONCE: Once = <Once>::new();
static BIASED: asym::RawMutex = asym::RawMutex::new();
static SLOTS: asym::RawRwLock = asym::RawRwLock::new();
static LENDING: pi::RawMutex = <pi::RawMutex>::new();
static BY_EXCHANGE: robust::Mutex<[u32; 1], ByExchange> = robust::Mutex::with_unlock([0]);
static BY_STORE: robust::Mutex<[u32; 1], ByStore> = robust::Mutex::with_unlock([0]);
static ROBUSTLY_WRITTEN: robust::RwLock<u32> = robust::RwLock::new(0);
static ROBUSTLY_READ: robust::RwLock<u32> = robust::RwLock::new(0);
static OF_TASKS: task::Mutex<u32> = task::Mutex::const_new(0);
static HELD: std::sync::Mutex<Option<task::MutexGuard<'_, u32>>> = std::sync::Mutex::new(None);
static WORDS: [AtomicU32; 2] = [const { AtomicU32::new(0) }; 2];

const AWAITED: &[Awaited] = &[
    of_a_lock("a mutex", lock!(MUTEX, lock, unlock)),
    of_a_lock("a mutex of processes", lock!(SHARED, lock, unlock)),
    of_a_lock("a mutex on the parking lot", lock!(PARKED, lock, unlock)),
    of_a_lock("a light mutex", lock!(LIGHT, lock, unlock)),
    of_a_lock("a writer, by a writer", lock!(WRITTEN, lock_exclusive, unlock_exclusive)),
    awaited(
        "a writer, by a reader",
        (
            || (),
            || {
                WRITTEN.lock_shared();
                // SAFETY: locked just now.
                unsafe { WRITTEN.unlock_shared() };
            },
            || (),
        ),
        Some(|| ()),
    ),
    awaited(
        "a reader, by a writer",
        (
            || READ.lock_shared(),
            lock!(READ, lock_exclusive, unlock_exclusive).1,
            || {
                // SAFETY: held by the thread that forks, in whichever process.
                unsafe { READ.unlock_shared() };
            },
        ),
        Some(|| ()),
    ),
    awaited(
        "a reader, by an upgrade",
        (
            || UPGRADED.lock_shared(),
            || {
                UPGRADED.lock_upgradable();
                // SAFETY: locked just now.
                unsafe { UPGRADED.upgrade() };
                // SAFETY: upgraded.
                unsafe { UPGRADED.unlock_exclusive() };
            },
            || {
                // SAFETY: held by the thread that forks, in whichever process.
                unsafe { UPGRADED.unlock_shared() };
            },
        ),
        Some(|| ()),
    ),
    awaited("a barrier", (|| (), arrive, arrive), Some(|| ())),
    awaited("a condition", (|| (), || wait_for(&CONDVAR, &OF_CONDVAR), || notify(&CONDVAR)), Some(|| notify(&CONDVAR))),
    awaited(
        "a condition, plainly",
        (|| (), || wait_for(&PLAIN, &OF_PLAIN), || notify(&PLAIN)),
        Some(|| notify(&PLAIN)),
    ),
    of_a_lock("an asymmetric mutex", lock!(BIASED, lock, unlock)),
    of_a_lock("an asymmetric writer", lock!(SLOTS, lock_exclusive, unlock_exclusive)),
    awaited("a lock that lends priority", lending(), None),
    awaited("a robust lock", (|| (), || lock_robust(&BY_EXCHANGE), || ()), Some(|| ())),
    awaited("a light robust lock", (|| (), || lock_robust(&BY_STORE), || ()), Some(|| ())),
    awaited("a robust writer, by a reader", (|| (), read_robust, || ()), Some(|| ())),
    awaited("a robust reader, by a writer", (|| (), write_robust, || ()), Some(|| ())),
    awaited("one of two words", (|| (), wait_any, set_second), Some(wait_any)),
    awaited("readers", (|| (), InUse::synchronize, || ()), Some(|| ())),
    awaited("readers, behind one that waits", (|| (), InUse::synchronize, || ()), Some(|| ())),
    awaited("what was deferred", (|| (), InUse::barrier, || ()), Some(|| ())),
    awaited("room for what is deferred", (limit, || Limited::defer(|| ()), || ()), Some(|| ())),
    awaited("a lock of tasks", (hold_task_lock, wait_for_task_lock, give_task_lock), Some(wait_for_task_lock)),
    awaited("who does it once", (|| (), || ONCE.wait(), || ()), Some(|| ())),
];

macro_rules! small {
    ($($name:ident: $lock:ident $row:tt)*) => {
        const SMALL: &[Awaited] = &[$({
            static LOCK: raw::$lock = SmallLock::NEW;
            awaited(stringify!($name), (|| (), || LOCK.wait(), || LOCK.let_go()), Some(|| LOCK.wait()))
        }),*];
    };
}
for_each_small_lock! { small }

/// Returns all that threads wait for.
fn all() -> impl Iterator<Item = &'static Awaited> {
    AWAITED.iter().chain(SMALL)
}

leeward::rcu_domain! { struct InUse; }
leeward::rcu_domain! { struct Limited; }

fn wait_for<S: raw::Scheme>(condvar: &raw::Condvar<S>, mutex: &Mutex) {
    mutex.lock();
    // SAFETY: locked just now, and with this condition variable always.
    unsafe { condvar.wait(mutex, futex::Timeout::Never) };
    // SAFETY: locked again.
    unsafe { mutex.unlock() };
}

fn notify<S: raw::Scheme>(condvar: &raw::Condvar<S>) {
    condvar.notify_all();
}

fn arrive() {
    BARRIER.wait();
}

const fn lending() -> (fn(), fn(), fn()) {
    fn leave() {
        // SAFETY: held by the calling thread.
        unsafe { LENDING.unlock() };
    }
    (
        || LENDING.lock().unwrap(),
        || {
            LENDING.lock().unwrap();
            leave();
        },
        leave,
    )
}

fn lock_robust<U: Unlock>(mutex: &'static robust::Mutex<[u32; 1], U>) {
    mutex.lock().unwrap().with(|[count]| *count += 1);
}

fn read_robust() {
    assert_eq!(ROBUSTLY_WRITTEN.read().unwrap().get(), 0);
}

fn write_robust() {
    ROBUSTLY_READ.write().unwrap().with(|count| *count += 1);
}

fn hold_task_lock() {
    *HELD.lock().unwrap() = Some(OF_TASKS.try_lock().unwrap());
}

fn wait_for_task_lock() {
    *OF_TASKS.blocking_lock() += 1;
}

fn give_task_lock() {
    *HELD.lock().unwrap() = None;
}

fn wait_any() {
    while WORDS.iter().all(|word| word.load(Ordering::SeqCst) == 0) {
        futex::wait_any(&[(&WORDS[0], 0), (&WORDS[1], 0)], futex::Timeout::Never).unwrap();
    }
}

fn set_second() {
    WORDS[1].store(1, Ordering::SeqCst);
    Private::wake(&raw const WORDS[1], 1);
}

fn limit() {
    Limited::set_limit(Limit { callbacks: 1, policy: Policy::WaitForever, ..Limit::default() });
}

/// Holds, on a thread other than the forking one, what such a thread must hold.
fn hold_beside(is_held: &AtomicBool, is_over: &AtomicBool) {
    let robust = (BY_EXCHANGE.lock().unwrap(), BY_STORE.lock().unwrap());
    let robust_guards = (ROBUSTLY_WRITTEN.write().unwrap(), ROBUSTLY_READ.read().unwrap());
    let sections = (InUse::read(), Limited::read());
    InUse::defer(|| ());
    Limited::defer(|| ());
    ONCE.call_once(|| {
        is_held.store(true, Ordering::SeqCst);
        while !is_over.load(Ordering::SeqCst) {
            thread::sleep(Duration::from_millis(1));
        }
    });
    drop((robust, robust_guards, sections));
}

/// Runs the case: all threads wait at once.
pub fn case() {
    // SAFETY: ends a case that hangs.
    unsafe { libc::alarm(16 * patience().as_secs() as u32) };
    let (is_held, is_over) = (AtomicBool::new(false), AtomicBool::new(false));
    let numbers: Vec<_> = all().map(|_| AtomicI32::new(0)).collect();
    let is_through: Vec<_> = all().map(|_| AtomicBool::new(false)).collect();
    thread::scope(|scope| {
        scope.spawn(|| hold_beside(&is_held, &is_over));
        eventually("all is held", || is_held.load(Ordering::SeqCst));
        all().for_each(|awaited| (awaited.hold)());
        for (awaited, (number, is_through)) in all().zip(numbers.iter().zip(&is_through)) {
            scope.spawn(|| {
                // SAFETY: has no precondition.
                number.store(unsafe { libc::gettid() }, Ordering::SeqCst);
                (awaited.wait)();
                is_through.store(true, Ordering::SeqCst);
            });
            eventually(awaited.name, || is_asleep(number.load(Ordering::SeqCst)));
        }
        for _ in 0..3 {
            fork();
        }
        for (awaited, is_through) in all().zip(&is_through) {
            assert!(!is_through.load(Ordering::SeqCst), "{} was not awaited", awaited.name);
        }
        all().for_each(|awaited| (awaited.release)());
        is_over.store(true, Ordering::SeqCst);
    });
    assert!(everything::use_it(&AtomicU32::new(0)));
}

fn fork() {
    // SAFETY: the child uses this library, atomics, and what the C library repairs in children.
    let child = unsafe { libc::fork() };
    assert_ne!(child, -1, "fork failed");
    if child == 0 {
        // SAFETY: ends a child that hangs.
        unsafe { libc::alarm(4 * patience().as_secs() as u32) };
        let at = AtomicU32::new(0);
        let works = std::panic::catch_unwind(|| everything::use_it(&at) && again());
        if !matches!(works, Ok(true)) {
            eprintln!("the child: {}", everything::name(at.load(Ordering::SeqCst)));
        }
        // SAFETY: ends the child without running what belongs to the parent.
        unsafe { libc::_exit(i32::from(!matches!(works, Ok(true)))) }
    }
    let mut status = 0;
    // SAFETY: `status` is ours to write.
    while unsafe { libc::waitpid(child, &mut status, 0) } != child {}
    assert_eq!(status, 0, "a child did not do everything (14: it hung)");
}

/// Uses, in a child, what the other threads waited for.
fn again() -> bool {
    for awaited in all() {
        if let Some(again) = awaited.again {
            (awaited.release)();
            again();
        }
    }
    InUse::synchronize();
    InUse::barrier();
    Limited::defer(|| ());
    Limited::barrier();
    true
}

#[test]
fn each_in_an_operation() {
    cases::passes("waiting");
}

#[test]
fn each_in_an_operation_with_signals() {
    cases::passed("waiting", cases::command("waiting").env("LEEWARD_FENCE", "signal").output().unwrap());
}
