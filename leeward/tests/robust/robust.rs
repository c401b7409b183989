//! Robust locks: what the next owner gets, whichever thread was the last owner and however it
//! ended; and what a lock is when its memory is garbage.

#![cfg(all(target_os = "linux", target_env = "gnu", target_pointer_width = "64", not(leeward_symmetric)))]
#![allow(missing_docs)]

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/robust.rs"]
mod robust;

use common::*;
use robust::*;

use std::sync::Mutex as Lock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use leeward::robust::{LockError, Mutex};

/// Held by each test that forks: children copy what other tests' threads hold.
static ALONE: Lock<()> = Lock::new(());

const SHORT: Duration = Duration::from_millis(20);

#[test]
fn layout() {
    let mutex = shared_mutex::<u64>();
    let base = core::ptr::from_ref(mutex).cast::<u8>();
    assert_eq!((size_of::<Mutex<u64>>(), align_of::<Mutex<u64>>()), (48, 8));
    assert_eq!(size_of::<Mutex<u128>>(), 64);
    let field = |at: usize| {
        // SAFETY: within the mutex.
        unsafe { base.wrapping_add(at).cast::<u64>().read() }
    };
    let mut guard = mutex.lock().unwrap();
    guard.set(0x1122_3344_5566_7788);
    assert_eq!(value(word(mutex)), gettid() as u32);
    let head = head() as u64;
    // The word (and the state), nothing, `prev`, `next`, the value.
    assert_eq!([field(0), field(8), field(16), field(24)], [gettid() as u64, 0, 0, head]);
    assert_eq!((field(32), field(40)), (head, 0x1122_3344_5566_7788));
    assert_eq!(walk(), [base as usize]);
    drop(guard);
    assert_eq!((value(word(mutex)), walk().len()), (0, 0));
}

#[test]
fn owner_killed() {
    let _alone = alone(&ALONE);
    let _dog = Watchdog::new("owner_killed");
    let mutex = shared_mutex::<[u64; 2]>();
    for turn in 0..20 {
        let inside = shared::<AtomicU32>();
        let owner = child(|| {
            let mut guard = mutex.lock().unwrap();
            guard.with(|record| record[0] = turn + 1);
            inside.store(1, Ordering::SeqCst);
            for_ever()
        });
        eventually("it is inside", || value(inside) == 1);
        assert_eq!(outcome(mutex.try_lock()), "would block");
        kill(owner);
        // Without waiting for the child's end first: the kernel wakes this thread.
        let Err(LockError::OwnerDied(mut guard)) = mutex.lock() else { panic!("its death was not told") };
        assert_eq!(guard.get(), [turn + 1, turn]);
        assert!(guard.is_inconsistent());
        guard.with(|record| record[1] = record[0]);
        guard.mark_consistent();
        drop(guard);
        reap(owner);
        assert_eq!(outcome(mutex.lock()), "ok");
    }
}

#[test]
fn not_repaired_is_not_recoverable_for_everybody() {
    let _alone = alone(&ALONE);
    let _dog = Watchdog::new("not_repaired_is_not_recoverable_for_everybody");
    let mutex = shared_mutex::<u64>();
    let owner = child(|| {
        std::mem::forget(mutex.lock());
        0
    });
    must_end_well(owner);
    let Err(LockError::OwnerDied(guard)) = mutex.lock() else { panic!("its death was not told") };
    let names: Vec<_> = (0..3).map(|_| shared::<AtomicU32>()).collect();
    let waiters: Vec<_> = names
        .iter()
        .map(|name| {
            child(|| {
                name.store(gettid() as u32, Ordering::SeqCst);
                i32::from(outcome(mutex.lock()) != "not recoverable")
            })
        })
        .collect();
    eventually("they sleep", || names.iter().all(|name| value(name) != 0 && is_in_futex(value(name) as i32)));
    assert!(!mutex.is_unrecoverable());
    drop(guard);
    waiters.into_iter().for_each(must_end_well);
    assert!(mutex.is_unrecoverable());
    for _ in 0..2 {
        assert_eq!(outcome(mutex.lock()), "not recoverable");
        assert_eq!(outcome(mutex.try_lock()), "not recoverable");
        assert_eq!(outcome(mutex.try_lock_for(SHORT)), "not recoverable");
    }
    assert!(walk().is_empty());
}

#[test]
fn errors_of_the_living() {
    static M: Mutex<u64> = Mutex::new(7);
    let guard = M.lock().unwrap();
    assert_eq!(outcome(M.lock()), "would deadlock");
    assert_eq!(outcome(M.try_lock()), "would deadlock");
    thread::scope(|scope| {
        scope.spawn(|| {
            assert_eq!(outcome(M.try_lock()), "would block");
            assert_eq!(outcome(M.try_lock_for(SHORT)), "timed out");
        });
    });
    assert_eq!(walk().len(), 1);
    // No thread sleeps any more: the bit goes with the next unlock.
    drop(guard);
    assert_eq!(value(word(&M)), 0);
    assert_eq!(M.lock().unwrap().get(), 7);
}

#[test]
fn a_repair_that_panics() {
    static M: Mutex<u64> = Mutex::new(0);
    thread::spawn(|| std::mem::forget(M.lock())).join().unwrap();
    let panic = panic_of(|| drop(M.lock().or_else(|error| error.repair(|_| panic!("no idea")))));
    assert_eq!(panic, "no idea");
    assert_eq!(outcome(M.lock()), "not recoverable");
}

/// Threads of this very process end with locks held, by a leaked guard.
#[test]
fn a_thread_ends() {
    static LOCKS: [Mutex<u64>; 5] = [const { Mutex::new(0) }; 5];
    for _ in 0..3 {
        thread::spawn(|| LOCKS.iter().for_each(|lock| std::mem::forget(lock.lock()))).join().unwrap();
        for lock in &LOCKS {
            assert_eq!(outcome(lock.lock()), "owner died");
            assert_eq!(outcome(lock.lock()), "ok");
        }
    }
}

#[test]
fn increments_are_not_lost() {
    let _alone = alone(&ALONE);
    let _dog = Watchdog::new("increments_are_not_lost");
    const EACH: u64 = 20_000;
    let mutex = shared_mutex::<u64>();
    let add = || (0..EACH).for_each(|_| mutex.lock().unwrap().with(|count| *count += 1));
    let children: Vec<_> = (0..3)
        .map(|_| {
            child(|| {
                add();
                0
            })
        })
        .collect();
    thread::scope(|scope| {
        scope.spawn(add);
        add();
    });
    children.into_iter().for_each(must_end_well);
    assert_eq!(mutex.lock().unwrap().get(), 5 * EACH);
    assert_eq!(value(word(mutex)), 0, "nobody is left");
}

/// A word with any value gives an error or a lock, soon.
#[test]
fn garbage() {
    let _dog = Watchdog::new("garbage");
    let mutex = shared_mutex::<u64>();
    let state = {
        // SAFETY: the documented layout.
        unsafe { &*word(mutex).as_ptr().wrapping_add(1).cast::<AtomicU32>() }
    };
    let mut rng = Rng::new(5);
    let me = gettid() as u32;
    // More than the kernel gives out, so that no thread has it.
    let nobody = 0x2000_0000;
    let mut words = vec![0, WAITERS, OWNER_DIED, WAITERS | OWNER_DIED, nobody, nobody | WAITERS, OWNER, u32::MAX, me];
    words.extend((0..40).map(|_| nobody | rng.next() as u32));
    for garbage in words {
        for bad_state in [0, 1, 0xdead_beef] {
            word(mutex).store(garbage, Ordering::SeqCst);
            state.store(bad_state, Ordering::SeqCst);
            let found = outcome(mutex.try_lock_for(Duration::from_millis(1)));
            let free = garbage & OWNER == 0;
            let expected = match (free, garbage & OWNER_DIED != 0) {
                (true, true) if bad_state == 1 => "not recoverable",
                (true, true) => "owner died",
                (true, false) => "ok",
                _ if garbage & OWNER == me => "would deadlock",
                _ => "owner lost",
            };
            assert_eq!(found, expected, "word {garbage:#x}, state {bad_state:#x}");
            assert!(walk().is_empty());
        }
    }
}

/// The word is overwritten while it is held: its owner takes it off its list, and the word keeps
/// the new value.
#[test]
fn overwritten() {
    let mutex = shared_mutex::<u64>();
    for garbage in [0, WAITERS, OWNER_DIED, 0x2000_0000, u32::MAX] {
        let guard = mutex.lock().unwrap();
        assert_eq!(walk().len(), 1);
        word(mutex).store(garbage, Ordering::SeqCst);
        drop(guard);
        assert_eq!((value(word(mutex)), walk().len()), (garbage, 0));
        word(mutex).store(0, Ordering::SeqCst);
    }
}

/// A woken waiter is killed before it takes the lock: the other waiters do not sleep on.
mod woken_waiter_killed {
    use super::*;

    struct Waiter(i32);

    /// Starts a child that waits.
    fn waiter(mutex: &'static Mutex<u64>, passed: &'static AtomicU64) -> Waiter {
        let name = child(|| {
            drop(mutex.lock().or_else(|error| error.repair(|_| ())));
            passed.fetch_add(1, Ordering::SeqCst);
            0
        });
        eventually("it sleeps", || is_in_futex(name));
        Waiter(name)
    }

    impl Waiter {
        /// Has the sleeping child run on this processor only, and when no other thread wants it:
        /// when it is woken, it does not run before the test lets it. (It goes to sleep before: on
        /// a busy machine it might never come to that.)
        fn must_be_idle_on(&self, cpu: usize) {
            // SAFETY: zeroed is an empty set.
            let mut only: libc::cpu_set_t = unsafe { std::mem::zeroed() };
            // SAFETY: `cpu` came from `processors`.
            unsafe { libc::CPU_SET(cpu, &mut only) };
            // SAFETY: the set is ours and of the size that is said.
            assert_eq!(unsafe { libc::sched_setaffinity(self.0, size_of::<libc::cpu_set_t>(), &only) }, 0);
            assert_eq!(self.set_policy(libc::SCHED_IDLE), 0);
        }

        /// Kills the child, and waits until it has died.
        fn dies(&self) {
            kill(self.0);
            // It needs a processor to die. Where the system refuses, it waits for an idle one.
            self.set_policy(libc::SCHED_OTHER);
            reap(self.0);
        }

        fn set_policy(&self, policy: libc::c_int) -> libc::c_int {
            let parameters = libc::sched_param { sched_priority: 0 };
            // SAFETY: parameters of ours, for a child that was not waited for.
            unsafe { libc::sched_setscheduler(self.0, policy, &parameters) }
        }
    }

    fn scenario(unlock_and_kill: impl Fn(&'static Mutex<u64>, Waiter)) {
        let mutex = shared_mutex::<u64>();
        let passed = shared::<AtomicU64>();
        let guard = mutex.lock().unwrap();
        let cpu = processors()[0];
        let first = waiter(mutex, passed);
        let others = [waiter(mutex, passed), waiter(mutex, passed)];
        pin(cpu);
        first.must_be_idle_on(cpu);
        assert_ne!(value(word(mutex)) & WAITERS, 0);
        drop(guard);
        unlock_and_kill(mutex, first);
        eventually("the others have it", || passed.load(Ordering::SeqCst) >= 2);
        others.into_iter().for_each(|waiter| must_end_well(waiter.0));
        assert_eq!(value(word(mutex)) & OWNER, 0);
    }

    /// Another thread takes the lock in between, and finds no waiter: in the classic protocol.
    #[test]
    fn behind_a_thief() {
        let _alone = alone(&ALONE);
        let _dog = Watchdog::within("woken_waiter_killed::behind_a_thief", 4 * patience());
        thread::spawn(|| {
            for _ in 0..10 {
                scenario(|mutex, woken| {
                    // The woken waiter runs on a processor that is idle for a moment, and dies with the lock.
                    let thief = mutex.lock().or_else(|error| error.repair(|_| ()));
                    woken.dies();
                    drop(thief);
                });
            }
        })
        .join()
        .unwrap();
    }

    /// No other thread comes: the kernel wakes another waiter.
    #[test]
    fn and_nobody_else_comes() {
        let _alone = alone(&ALONE);
        let _dog = Watchdog::within("woken_waiter_killed::and_nobody_else_comes", 4 * patience());
        thread::spawn(|| {
            for _ in 0..10 {
                scenario(|_, woken| woken.dies());
            }
        })
        .join()
        .unwrap();
    }
}

/// In one process the value may be lent to threads that `with` waits for: the lock is held as long,
/// and a panic of such a thread is not its owner's death.
#[test]
fn lent_to_scoped_threads() {
    static MUTEX: Mutex<[u64; 2]> = Mutex::new([0, 0]);
    let _dog = Watchdog::new("lent_to_scoped_threads");
    for turn in 1..=100 {
        let mut guard = MUTEX.lock().unwrap();
        guard.with(|[first, second]| {
            thread::scope(|scope| {
                for place in [first, second] {
                    scope.spawn(move || {
                        assert_eq!(outcome(MUTEX.try_lock()), "would block");
                        *place += turn;
                    });
                }
            });
        });
        let [first, second] = guard.get();
        assert_eq!((first, second), (turn * (turn + 1) / 2, first));
    }
    let mut guard = MUTEX.lock().unwrap();
    let panic = panic_of(|| {
        guard.with(|values| {
            thread::scope(|scope| {
                scope.spawn(|| {
                    values[0] = 7;
                    panic!("on another thread");
                });
            });
        });
    });
    assert_eq!(panic, "a scoped thread panicked");
    assert!(!guard.is_inconsistent() && guard.get()[0] == 7);
    drop(guard);
    assert_eq!(outcome(MUTEX.lock()), "ok");
}
