//! Threads that exit: with locks held, with keys of the program's own that come later, in a signal
//! handler's debt, and beside a fork.

use alloc::boxed::Box;
use core::ffi::c_void;
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use leeward::asym::{Mutex, RwLock, RwLockReadGuard};

use crate::runtime::{ALLOCATIONS, MAPPINGS, in_child, nap, on_a_thread, say, spawn, until};

pub fn all(may_fork: bool) {
    with_a_lock_held();
    before_other_keys();
    first_used_by_another_key();
    first_used_by_a_handler();
    if may_fork {
        beside_a_fork();
    }
}

/// What a thread leaked stays locked, in its slots and beyond them; nothing else does.
fn with_a_lock_held() {
    static LOCKS: [RwLock<u32>; 6] = [const { RwLock::new(1) }; 6];
    static OTHER: RwLock<u32> = RwLock::new(1);
    static OWNED: Mutex<u32> = Mutex::new(1);
    LOCKS.iter().chain([&OTHER]).for_each(|lock| drop(lock.read()));
    on_a_thread(|| {
        drop(OTHER.read());
        LOCKS.iter().for_each(|lock| core::mem::forget(lock.read()));
    });
    on_a_thread(|| core::mem::forget(OWNED.lock()));
    assert!(LOCKS.iter().all(|lock| lock.try_write().is_none() && lock.try_read().is_some()));
    assert!(OTHER.try_write().is_some() && OWNED.try_lock().is_none());
    say(c"exits: what was leaked stays locked");
}

/// A key of this program's. The library made its own when it was loaded, so this one's destructor
/// comes after the library's.
fn key(destructor: extern "C" fn(*mut c_void)) -> libc::pthread_key_t {
    let mut key = 0;
    // SAFETY: a local variable, and a function that lives as long as the program.
    assert!(unsafe { libc::pthread_key_create(&mut key, Some(destructor)) } == 0);
    // The values of early keys need no memory in glibc.
    assert!((1..32).contains(&key) || cfg!(not(target_env = "gnu")), "the library made its key at load");
    key
}

fn set(key: libc::pthread_key_t, value: *const c_void) {
    // SAFETY: a key that is not deleted.
    assert!(unsafe { libc::pthread_setspecific(key, value) } == 0);
}

static LATE: RwLock<u32> = RwLock::new(3);
static KEY: AtomicU32 = AtomicU32::new(0);
static ROUNDS: AtomicUsize = AtomicUsize::new(0);
/// The value of the key in the rounds after the first.
const AGAIN: usize = 1;

/// Destructors that come after the library's: they drop a guard that the exit found, and lock, by
/// the ordinary lock, in each of the rounds.
fn before_other_keys() {
    extern "C" fn later(value: *mut c_void) {
        if value.addr() != AGAIN {
            // SAFETY: the box that the thread made.
            let guard = unsafe { Box::from_raw(value.cast::<RwLockReadGuard<'static, u32>>()) };
            assert!(**guard == 3 && LATE.try_write().is_none());
        }
        drop((LATE.read(), LATE.read()));
        assert!(LATE.try_write().is_some());
        if ROUNDS.fetch_add(1, Ordering::Relaxed) < 2 {
            set(KEY.load(Ordering::Relaxed), core::ptr::without_provenance(AGAIN));
        }
    }
    drop(LATE.read());
    KEY.store(key(later), Ordering::Relaxed);
    on_a_thread(|| {
        let guard = Box::new(LATE.read());
        set(KEY.load(Ordering::Relaxed), Box::into_raw(guard).cast());
    });
    assert!(ROUNDS.load(Ordering::Relaxed) == 3 && LATE.try_write().is_some());
    say(c"exits: later destructors found the locks");
}

/// A thread whose first lock is one that a destructor takes: it is given its slots, and gives them
/// back in the same round or in the next.
fn first_used_by_another_key() {
    static LOCK: RwLock<u32> = RwLock::new(3);
    extern "C" fn first(_: *mut c_void) {
        assert!(*LOCK.read() == 3);
    }
    drop(LOCK.read());
    let key = key(first);
    let before = MAPPINGS.load(Ordering::Relaxed);
    for _ in 0..100 {
        on_a_thread(move || set(key, core::ptr::without_provenance(1)));
    }
    assert!(LOCK.try_write().is_some() && MAPPINGS.load(Ordering::Relaxed) == before);
    say(c"exits: a first use within the exit");
}

/// A thread that has never met the library is interrupted where it holds nothing, by a handler that
/// locks: nothing is allocated, and the exit gives back what the handler took.
fn first_used_by_a_handler() {
    static LOCK: RwLock<u32> = RwLock::new(3);
    static HANDLED: AtomicUsize = AtomicUsize::new(0);
    extern "C" fn handler(_: libc::c_int) {
        let before = ALLOCATIONS.load(Ordering::Relaxed);
        assert!(*LOCK.read() == 3 && ALLOCATIONS.load(Ordering::Relaxed) == before);
        HANDLED.fetch_add(1, Ordering::Relaxed);
    }
    drop(LOCK.read());
    // SAFETY: a handler that touches no memory but the library's.
    unsafe { libc::signal(libc::SIGUSR1, handler as extern "C" fn(libc::c_int) as libc::sighandler_t) };
    for round in 0..50 {
        let thread = spawn(move || until(|| HANDLED.load(Ordering::Relaxed) > round));
        // SAFETY: a thread that is not joined.
        assert!(unsafe { libc::pthread_kill(thread.0, libc::SIGUSR1) } == 0);
        thread.join();
    }
    assert!(LOCK.try_write().is_some());
    say(c"exits: a handler's first use");
}

/// In the child there is one thread: what others read is free, what the forking thread reads is
/// not, and new threads find slots. Each exit there is noticed.
fn beside_a_fork() {
    static READ: RwLock<u32> = RwLock::new(3);
    static MINE: RwLock<u32> = RwLock::new(4);
    static STEP: AtomicUsize = AtomicUsize::new(0);
    drop((READ.read(), MINE.read()));
    let other = spawn(|| {
        let guard = READ.read();
        STEP.store(1, Ordering::Relaxed);
        until(|| STEP.load(Ordering::Relaxed) == 2);
        drop(guard);
    });
    until(|| STEP.load(Ordering::Relaxed) == 1);
    let mine = MINE.read();
    assert!(in_child(|| {
        let is_repaired = READ.try_write().is_some() && MINE.try_write().is_none();
        drop(mine);
        (0..40).for_each(|_| on_a_thread(|| assert!(*READ.read() + *MINE.read() == 7)));
        is_repaired && READ.try_write().is_some() && MINE.try_write().is_some()
    }));
    assert!(READ.try_write().is_none());
    STEP.store(2, Ordering::Relaxed);
    other.join();
    assert!(READ.try_write().is_some());
    nap();
    say(c"exits: a fork beside them");
}
