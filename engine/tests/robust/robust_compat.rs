//! Robust lists of 32-bit programs: pointers and the offset have 4 bytes. (Their kernel's answers:
//! `differential_robust.rs`.)

#![allow(missing_docs)]

#[path = "../common/arena.rs"]
mod arena;

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use arena::{Arena, BASE};
use leeward_engine::abi::{FUTEX_OWNER_DIED as DIED, FUTEX_WAITERS as WAITERS, Numbers};
use leeward_engine::{Config, Engine, Errno, Heap, RobustExit, Wait, WalkEnd, Word};

const ME: u32 = 77;
const HEAD: u64 = BASE;

/// Returns the address of entry i, whose word is 4 bytes after it.
fn entry(i: usize) -> u64 {
    BASE + 64 + 8 * i as u64
}

fn lock(i: usize) -> u64 {
    entry(i) + 4
}

struct Case {
    arena: Arena,
    engine: Engine<Arena>,
}

impl Case {
    /// Makes a list of `locks` locks that the thread holds.
    fn new(locks: usize) -> Case {
        let arena = Arena::new(64 + 2 * locks);
        let mut from = HEAD;
        for i in 0..locks {
            arena.set(from, entry(i) as u32);
            arena.set(lock(i), ME);
            from = entry(i);
        }
        arena.set(from, HEAD as u32);
        arena.set(HEAD + 4, 4);
        arena.compat_head.set(Some(HEAD));
        Case { arena, engine: Engine::new(Config::for_processors(1, 1), Heap).unwrap() }
    }

    fn exit(&self) -> RobustExit {
        self.engine.exit_robust_compat(&self.arena, 100)
    }

    fn call(&self, number: u64, arguments: [u64; 6]) -> Option<i64> {
        self.engine.compat_robust_syscall(&self.arena, &Numbers::I386, number, arguments)
    }
}

#[test]
fn a_list_with_an_inheriting_lock_another_ones_and_a_pending_one() {
    let case = Case::new(5);
    case.arena.set(entry(0), entry(1) as u32 | 1);
    for i in [0, 1, 3] {
        case.arena.set(lock(i), ME | WAITERS);
    }
    case.arena.set(lock(2), 78);
    // The pending entry is in the list too: marked once, and last.
    case.arena.set(HEAD + 8, entry(3) as u32);
    let mut waiter = pin!(case.engine.wait_async(&case.arena, Word::shared(lock(3)), (ME | WAITERS).into(), 1));
    assert!(waiter.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    assert_eq!(case.exit(), RobustExit { entries: 5, marked: 4, woken: 1, end: WalkEnd::Whole });
    assert_eq!(waiter.poll(&mut Context::from_waker(Waker::noop())), Poll::Ready(Ok(Wait::Woken)));
    let words: Vec<_> = (0..5).map(|i| case.arena.get(lock(i))).collect();
    assert_eq!(words, [DIED | WAITERS, DIED | WAITERS, 78, DIED | WAITERS, DIED]);
    // The head is forgotten.
    assert_eq!(case.exit(), RobustExit::default());
}

#[test]
fn it_is_cut_goes_round_and_faults_like_the_other() {
    let case = Case::new(200);
    assert_eq!(case.exit(), RobustExit { entries: 100, marked: 100, woken: 0, end: WalkEnd::Truncated });
    let case = Case::new(9);
    case.arena.set(entry(8), entry(3) as u32);
    let exit = case.exit();
    assert_eq!((exit.marked, exit.end), (9, WalkEnd::Cycle));
    let case = Case::new(9);
    case.arena.set(entry(4), 8);
    assert_eq!(case.exit(), RobustExit { entries: 6, marked: 5, woken: 0, end: WalkEnd::Fault });
}

#[test]
fn an_offset_may_be_negative() {
    let case = Case::new(1);
    case.arena.set(HEAD + 4, 4_u32.wrapping_neg());
    case.arena.set(entry(0) - 4, ME);
    assert_eq!((case.exit().marked, case.arena.get(entry(0) - 4), case.arena.get(lock(0))), (1, DIED, ME));
}

#[test]
fn a_thread_may_have_both_lists() {
    let case = Case::new(3);
    let other = BASE + 32;
    case.arena.put(other, other);
    case.arena.head.set(other);
    assert_eq!(case.engine.exit_robust(&case.arena, 100), RobustExit::default());
    assert_eq!((case.arena.compat_head.get(), case.exit().marked), (Some(HEAD), 3));
}

#[test]
fn setting_and_asking_for_the_head() {
    let case = Case::new(0);
    for wrong in [0, 8, 24] {
        assert_eq!(case.call(311, [BASE, wrong, 0, 0, 0, 0]), Some(Errno::EINVAL.answer()));
    }
    // The upper halves of arguments are ignored.
    let high = 7 << 32;
    assert_eq!(case.call(311, [0x5000 | high, 12 | high, 0, 0, 0, 0]), Some(0));
    let (head, length) = (BASE + 32, BASE + 40);
    case.arena.set(head + 4, 5);
    case.arena.set(length + 4, 5);
    assert_eq!(case.call(312, [high, head | high, length, 0, 0, 0]), Some(0));
    let told = [head, head + 4, length, length + 4].map(|at| case.arena.get(at));
    assert_eq!(told, [0x5000, 5, 12, 5]);
    let errnos = [1, 2, 0x8000_0000].map(|thread| case.call(312, [thread, head, length, 0, 0, 0]));
    assert_eq!(errnos, [Errno::EPERM, Errno::ESRCH, Errno::ESRCH].map(|errno| Some(errno.answer())));
    assert_eq!(case.call(312, [0, 8, length, 0, 0, 0]), Some(Errno::EFAULT.answer()));
    assert_eq!(case.call(422, [0; 6]), None);
    // A host that serves no 32-bit programs.
    case.arena.compat_head.set(None);
    assert_eq!(case.call(311, [BASE, 12, 0, 0, 0, 0]), Some(Errno::ENOSYS.answer()));
    assert_eq!(case.call(312, [0, head, length, 0, 0, 0]), Some(Errno::ENOSYS.answer()));
    assert_eq!(case.exit(), RobustExit::default());
}
