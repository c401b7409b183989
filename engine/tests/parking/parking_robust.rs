//! Robust lists of a process's own threads.

#![cfg(all(target_os = "linux", target_pointer_width = "64"))]
#![allow(missing_docs)]

#[path = "../common/mod.rs"]
mod common;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::task::{Context, Wake, Waker};

use common::until;
use leeward_engine::abi::{FUTEX_OWNER_DIED as DIED, FUTEX_WAITERS as WAITERS, Numbers};
use leeward_engine::parking::{Process, now};
use leeward_engine::{
    Clock, Config, Deadline, Engine, Errno, Heap, Host, LockPi, ROBUST_LIST_LIMIT, RobustExit, RobustHost, Wait,
    WalkEnd, Word,
};

/// The head of a list: the first entry, the offset to its lock, the pending entry.
#[derive(Default)]
#[repr(C)]
struct Head([AtomicU64; 3]);

#[derive(Default)]
#[repr(C)]
struct Lock {
    next: AtomicU64,
    word: AtomicU32,
}

fn at<T>(of: &T) -> u64 {
    std::ptr::from_ref(of).expose_provenance() as u64
}

/// Takes the locks, and lists them, as the calling thread.
fn take(process: &Process, head: &Head, locks: &[Lock]) {
    let mut from = &head.0[0];
    for lock in locks {
        lock.word.store(process.thread_id(), Ordering::SeqCst);
        from.store(at(lock), Ordering::SeqCst);
        from = &lock.next;
    }
    from.store(at(head), Ordering::SeqCst);
    head.0[1].store(std::mem::offset_of!(Lock, word) as u64, Ordering::SeqCst);
    process.set_robust_head(at(head));
}

#[test]
fn a_threads_locks_are_marked_at_its_end_and_another_threads_are_not() {
    // SAFETY: words and lists live as long as the threads.
    let process = unsafe { Process::new(4, 7) };
    let engine = Engine::new(Config::for_processors(1, 3), Heap).unwrap();
    let (heads, locks): ([Head; 2], [[Lock; 9]; 2]) = Default::default();
    let exit = |entries, woken| RobustExit { entries, marked: entries, woken, end: WalkEnd::Whole };
    std::thread::scope(|threads| {
        take(&process, &heads[0], &locks[0]);
        let word = &locks[1][4].word;
        let dying = threads.spawn(|| {
            take(&process, &heads[1], &locks[1]);
            until(|| engine.stats(&process).waiters == 1);
            engine.exit_robust(&process, ROBUST_LIST_LIMIT)
        });
        until(|| word.load(Ordering::SeqCst) != 0);
        let held = word.fetch_or(WAITERS, Ordering::SeqCst) | WAITERS;
        let woken = match engine.wait(&process, Word::shared(at(word)), held.into(), u32::MAX, None).unwrap() {
            Wait::Woken => 1,
            // It compared the word once more before its sleep, between the mark and the wake.
            Wait::Changed => 0,
            other => panic!("{other:?}"),
        };
        assert_eq!(word.load(Ordering::SeqCst), DIED | WAITERS);
        assert_eq!(dying.join().unwrap(), exit(9, woken));
        let me = process.thread_id();
        assert!(locks[0].iter().all(|lock| lock.word.load(Ordering::SeqCst) == me));
        assert_eq!(engine.exit_robust(&process, ROBUST_LIST_LIMIT), exit(9, 0));
        assert_eq!(engine.exit_robust(&process, ROBUST_LIST_LIMIT), RobustExit::default());
    });
}

#[test]
fn whose_head_it_is_is_known_by_the_threads_id() {
    // SAFETY: as above.
    let process = unsafe { Process::new(4, 7) };
    let engine = Engine::new(Config::for_processors(1, 3), Heap).unwrap();
    let (head, answer) = (Head::default(), [const { AtomicU64::new(9) }; 2]);
    take(&process, &head, &[]);
    let me = process.thread_id();
    std::thread::scope(|threads| {
        let other = threads.spawn(|| (process.robust_head(0), process.robust_head(me)));
        assert_eq!(other.join().unwrap(), (Ok(0), Ok(at(&head))));
    });
    assert_eq!(process.robust_head(0x3fff_fff0), Err(Errno::ESRCH));
    let call = [u64::from(me), at(&answer[0]), at(&answer[1]), 0, 0, 0];
    assert_eq!(engine.robust_syscall(&process, &Numbers::X86_64, 274, call), Some(0));
    assert_eq!(answer.map(AtomicU64::into_inner), [at(&head), 24]);
}

/// An executor that panics when it is told.
struct Panics;

impl Wake for Panics {
    fn wake(self: Arc<Self>) {
        panic!("the executor panics");
    }
}

#[test]
fn a_waker_that_panics_in_the_walk_keeps_no_lock_from_its_waiter() {
    // SAFETY: as above.
    let process = unsafe { Process::new(4, 7) };
    let engine = Engine::new(Config::for_processors(1, 3), Heap).unwrap();
    let (head, lock, inheriting) = (Head::default(), Lock::default(), AtomicU32::new(0));
    let word = Word::private(at(&inheriting));
    std::thread::scope(|threads| {
        threads.spawn(|| {
            take(&process, &head, std::slice::from_ref(&lock));
            assert_eq!(engine.lock_pi(&process, word, None), Ok(LockPi::Acquired));
            let held = lock.word.fetch_or(WAITERS, Ordering::SeqCst) | WAITERS;
            let mut future = Box::pin(engine.wait_async(&process, Word::shared(at(&lock.word)), held.into(), u32::MAX));
            let waker = Waker::from(Arc::new(Panics));
            assert!(future.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
            until(|| engine.stats(&process).waiters + process.space().stats(&process).waiters == 2);
            assert!(catch_unwind(AssertUnwindSafe(|| process.exit_thread(&engine))).is_err());
            assert_eq!(lock.word.load(Ordering::SeqCst), DIED | WAITERS);
        });
        until(|| inheriting.load(Ordering::SeqCst) != 0);
        let until = Deadline { clock: Clock::Monotonic, at: now(Clock::Monotonic) + 30_000_000_000 };
        assert_eq!(engine.lock_pi(&process, word, Some(until)), Ok(LockPi::Acquired));
        assert_eq!(engine.unlock_pi(&process, word), Ok(()));
    });
}
