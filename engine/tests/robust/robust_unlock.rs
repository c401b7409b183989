//! The unlock of a robust lock in one call (`FUTEX_ROBUST_UNLOCK`): what Linux 7.2 answers, and
//! what a death leaves to the other waiters with and without the waiters bit.

#![allow(missing_docs)]

#[path = "../common/arena.rs"]
mod arena;

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use arena::{Arena, BASE};
use leeward_engine::abi::{
    FUTEX_CLOCK_REALTIME, FUTEX_OWNER_DIED as DIED, FUTEX_PRIVATE_FLAG, FUTEX_ROBUST_LIST32 as LIST32,
    FUTEX_ROBUST_UNLOCK as UNLOCK, FUTEX_WAITERS as WAITERS, FUTEX_WAKE, FUTEX_WAKE_BITSET, Numbers,
};
use leeward_engine::{
    Config, Engine, Errno, Heap, ROBUST_LIST_LIMIT, RobustExit, RobustUnlock, Size, Wait, WaitAsync, Word,
};

const ANY: u32 = u32::MAX;
const ME: u32 = 77;
/// The only entry, whose lock lies 8 bytes after it, and an address that nothing is at.
const ENTRY: u64 = BASE + 256;
const LOCK: u64 = ENTRY + 8;
const NOWHERE: u64 = 8;
const MODES: [RobustUnlock; 2] = [RobustUnlock::StoreZero, RobustUnlock::KeepWaiters];

struct Case {
    arena: Arena,
    engine: Engine<Arena>,
}

type Waiting<'a> = Pin<Box<WaitAsync<'a, Arena>>>;

fn poll(waiter: &mut Waiting<'_>) -> Poll<Result<Wait, Errno>> {
    waiter.as_mut().poll(&mut Context::from_waker(Waker::noop()))
}

const WOKEN: Poll<Result<Wait, Errno>> = Poll::Ready(Ok(Wait::Woken));

/// Returns the address of a thread's list head: that of an empty list whose pending entry is the
/// lock's.
fn head(thread: u32) -> u64 {
    BASE + 32 * u64::from(thread - ME)
}

fn pending(thread: u32) -> u64 {
    head(thread) + 16
}

impl Case {
    fn new(mode: RobustUnlock) -> Case {
        let arena = Arena::new(128);
        arena.unlock.set(mode);
        for thread in ME..ME + 4 {
            arena.put(head(thread), head(thread));
            arena.put(head(thread) + 8, LOCK - ENTRY);
            arena.put(pending(thread), ENTRY);
        }
        arena.set(LOCK, ME | WAITERS);
        Case { arena, engine: Engine::new(Config::for_processors(1, 1), Heap).unwrap() }
    }

    fn waits(&self, bitset: u32) -> Waiting<'_> {
        let value = self.arena.get(LOCK).into();
        let mut waiter = Box::pin(self.engine.wait_async(&self.arena, Word::shared(LOCK), value, bitset));
        assert!(poll(&mut waiter).is_pending());
        waiter
    }

    fn futex(&self, arguments: [u64; 6]) -> i64 {
        self.engine.robust_syscall(&self.arena, &Numbers::X86_64, 202, arguments).expect("a flag of 7.2")
    }

    /// Unlocks the lock as a thread does, in one call that wakes one waiter.
    fn unlock(&self, thread: u32) -> i64 {
        self.futex([LOCK, (FUTEX_WAKE | UNLOCK).into(), 1, 0, pending(thread), 0])
    }

    /// The exit of a thread.
    fn exits(&self, thread: u32) -> RobustExit {
        self.arena.thread.set(thread);
        self.arena.head.set(head(thread));
        self.engine.exit_robust(&self.arena, ROBUST_LIST_LIMIT)
    }

    fn word_and_pending(&self) -> (u32, [u32; 2]) {
        (self.arena.get(LOCK), [pending(ME), pending(ME) + 4].map(|at| self.arena.get(at)))
    }
}

const UNTOUCHED: [u32; 2] = [ENTRY as u32, (ENTRY >> 32) as u32];

#[test]
fn without_the_host_the_flags_are_no_operation() {
    let case = Case::new(RobustUnlock::Absent);
    for flags in [UNLOCK, LIST32, UNLOCK | LIST32] {
        let call = [LOCK, (FUTEX_WAKE | flags).into(), 1, 0, pending(ME), 0];
        assert_eq!(case.engine.robust_syscall(&case.arena, &Numbers::X86_64, 202, call), None);
        assert_eq!(case.engine.syscall(&case.arena, &Numbers::X86_64, 202, call), Some(Errno::ENOSYS.answer()));
    }
    let answer = case.engine.robust_unlock(&case.arena, Word::shared(LOCK), 1, ANY, pending(ME), Size::U64);
    assert_eq!(answer, Err(Errno::ENOSYS));
    assert_eq!(case.word_and_pending(), (ME | WAITERS, UNTOUCHED));
}

#[test]
fn the_word_is_freed_whatever_it_holds_and_the_pending_entry_in_its_width() {
    for mode in MODES {
        for operation in [FUTEX_WAKE, FUTEX_WAKE_BITSET] {
            for scope in [0, FUTEX_PRIVATE_FLAG] {
                for value in [0, ME, 5, WAITERS, ME | WAITERS, DIED, ME | DIED | WAITERS] {
                    for (width, left) in [(0, 0), (LIST32, ANY)] {
                        let case = Case::new(mode);
                        case.arena.set(LOCK, value);
                        (0..4).for_each(|word| case.arena.set(pending(ME) - 4 + 4 * word, ANY));
                        let flags = operation | scope | width | UNLOCK;
                        let answer = case.futex([LOCK, flags.into(), 1, 0, pending(ME), ANY.into()]);
                        assert_eq!(answer, 0, "{flags:#x} with {value:#x}");
                        assert_eq!(case.word_and_pending(), (0, [0, left]), "{flags:#x} with {value:#x}");
                        assert_eq!([pending(ME) - 4, pending(ME) + 8].map(|at| case.arena.get(at)), [ANY, ANY]);
                    }
                }
            }
        }
    }
}

#[test]
fn a_32_bit_programs_call_ignores_the_upper_halves() {
    let case = Case::new(RobustUnlock::KeepWaiters);
    let mut waiter = case.waits(ANY);
    let call = |operation: u32, odd| {
        let call = [LOCK, operation.into(), 1, 0, pending(ME), 0].map(|argument| argument | odd);
        case.engine.compat_robust_syscall(&case.arena, &Numbers::I386, 422, call)
    };
    assert_eq!(call(FUTEX_WAKE, 0), None);
    case.arena.set(pending(ME) + 4, ANY);
    assert_eq!(call(FUTEX_WAKE | UNLOCK | LIST32, 5 << 32), Some(1));
    assert_eq!(case.word_and_pending(), (0, [0, ANY]));
    assert_eq!(poll(&mut waiter), WOKEN);
}

#[test]
fn a_count_of_0_or_less_wakes_one() {
    for count in [0, u64::MAX, 1] {
        let case = Case::new(RobustUnlock::StoreZero);
        let mut waiters = [case.waits(ANY), case.waits(ANY)];
        assert_eq!(case.futex([LOCK, (FUTEX_WAKE | UNLOCK).into(), count, 0, pending(ME), 0]), 1);
        assert_eq!(waiters.each_mut().map(|waiter| poll(waiter)), [WOKEN, Poll::Pending]);
        // As on Linux, the bit is lost, and a thread waits.
        assert_eq!(case.word_and_pending(), (0, [0, 0]));
    }
}

#[test]
fn the_pending_entry_may_lie_anywhere() {
    let case = Case::new(RobustUnlock::StoreZero);
    let at = BASE + 400;
    (0..4).for_each(|word| case.arena.set(at + 4 * word, ANY));
    assert_eq!(case.futex([LOCK, (FUTEX_WAKE | UNLOCK).into(), 1, 0, at + 3, 0]), 0);
    let words = [0, 4, 8].map(|offset| case.arena.get(at + offset).to_ne_bytes());
    assert_eq!(words, [[255, 255, 255, 0], [0; 4], [0, 0, 0, 255]]);
}

#[test]
fn other_operations_and_clocks_are_no_operations_with_the_flag() {
    for mode in MODES {
        let case = Case::new(mode);
        let odd = [FUTEX_WAKE | FUTEX_CLOCK_REALTIME, FUTEX_WAKE | 2048, FUTEX_WAKE | 1 << 31];
        for operation in (0..32).filter(|op| ![FUTEX_WAKE, FUTEX_WAKE_BITSET].contains(op)).chain(odd) {
            let flags = u64::from(operation | UNLOCK);
            // The arena's host knows no inheritance: UNLOCK_PI is unknown, too.
            assert_eq!(case.futex([LOCK, flags, 1, 0, pending(ME), 1]), Errno::ENOSYS.answer(), "{operation}");
        }
        assert_eq!(case.word_and_pending(), (ME | WAITERS, UNTOUCHED));
    }
}

#[test]
fn the_flag_of_the_width_alone_means_nothing() {
    let case = Case::new(RobustUnlock::StoreZero);
    let mut waiter = case.waits(ANY);
    let call = |operation: u32, value: u32| case.futex([LOCK, (operation | LIST32).into(), value.into(), 0, 0, 0]);
    assert_eq!(call(0, 5), Errno::EAGAIN.answer());
    assert_eq!(call(FUTEX_WAKE, 1), 1);
    assert_eq!(poll(&mut waiter), WOKEN);
    assert_eq!(call(77, 1), Errno::ENOSYS.answer());
    assert_eq!(case.word_and_pending(), (ME | WAITERS, UNTOUCHED));
}

#[test]
fn a_word_that_cannot_be_freed_leaves_the_pending_entry() {
    for mode in MODES {
        let case = Case::new(mode);
        let mut waiter = case.waits(ANY);
        let unlock = |word, operation, bits| case.futex([word, u64::from(operation | UNLOCK), 1, 0, pending(ME), bits]);
        assert_eq!(unlock(LOCK, FUTEX_WAKE_BITSET, 0), Errno::EINVAL.answer());
        assert_eq!(unlock(LOCK + 1, FUTEX_WAKE, 0), Errno::EINVAL.answer());
        for private in [0, FUTEX_PRIVATE_FLAG] {
            assert_eq!(unlock(NOWHERE, FUTEX_WAKE | private, 0), Errno::EFAULT.answer());
            case.arena.read_only.borrow_mut().insert(LOCK / 4096);
            assert_eq!(unlock(LOCK, FUTEX_WAKE | private, 0), Errno::EFAULT.answer());
            case.arena.read_only.borrow_mut().clear();
        }
        let entry = |size| case.engine.robust_unlock(&case.arena, Word::shared(LOCK), 1, ANY, pending(ME), size);
        assert_eq!([Size::U8, Size::U16].map(entry), [Err(Errno::EINVAL); 2]);
        for size in [Size::U8, Size::U16, Size::U64] {
            let word = Word::shared(LOCK).sized(size);
            let answer = case.engine.robust_unlock(&case.arena, word, 1, ANY, pending(ME), Size::U64);
            assert_eq!(answer, Err(Errno::EINVAL));
        }
        assert_eq!(case.word_and_pending(), (ME | WAITERS, UNTOUCHED));
        assert!(poll(&mut waiter).is_pending());
        // The owner that cannot unlock exits: the lock is marked, the waiter told.
        assert_eq!((case.exits(ME).marked, case.arena.get(LOCK)), (1, DIED | WAITERS));
        assert_eq!(poll(&mut waiter), WOKEN);
    }
}

#[test]
fn a_pending_entry_that_cannot_be_cleared_is_an_error_after_the_unlock() {
    for (mode, woken) in [(RobustUnlock::StoreZero, Poll::Pending), (RobustUnlock::KeepWaiters, WOKEN)] {
        for at in [0, NOWHERE, 1 << 63, u64::MAX - 2] {
            let case = Case::new(mode);
            let mut waiter = case.waits(ANY);
            let answer = case.futex([LOCK, (FUTEX_WAKE | UNLOCK).into(), 1, 0, at, 0]);
            assert_eq!(answer, Errno::EFAULT.answer());
            assert_eq!(case.word_and_pending(), (0, UNTOUCHED));
            assert_eq!(poll(&mut waiter), woken, "{mode:?}");
            if woken.is_pending() {
                // The walk of the owner's list finds a pending lock that is free, and wakes.
                let exit = case.exits(ME);
                assert_eq!((exit.marked, exit.woken), (0, 1));
                assert_eq!(poll(&mut waiter), WOKEN);
            }
        }
    }
}

#[test]
fn a_panic_in_the_write_to_the_pending_entry_wakes_the_waiters() {
    for mode in MODES {
        let case = Case::new(mode);
        let mut waiter = case.waits(ANY);
        case.arena.write_panics.set(true);
        let panicked = catch_unwind(AssertUnwindSafe(|| case.unlock(ME)));
        assert!(panicked.is_err());
        assert_eq!(case.word_and_pending(), (0, UNTOUCHED));
        assert_eq!(poll(&mut waiter), WOKEN, "{mode:?}");
    }
}

/// The word is written under the bucket's lock where the bit is kept: a panic there gives the lock
/// up, and nothing has happened.
#[test]
fn a_panic_in_the_store_to_the_word_leaves_all_as_it_was() {
    for mode in MODES {
        let case = Case::new(mode);
        let mut waiter = case.waits(ANY);
        *case.arena.before.borrow_mut() = Some(Box::new(|_, _| resume_unwind(Box::new("exchange"))));
        assert!(catch_unwind(AssertUnwindSafe(|| case.unlock(ME))).is_err());
        *case.arena.before.borrow_mut() = None;
        assert_eq!(case.word_and_pending(), (ME | WAITERS, UNTOUCHED));
        assert!(poll(&mut waiter).is_pending());
        // This would hang if the lock were held.
        assert_eq!(case.unlock(ME), 1);
        assert_eq!(poll(&mut waiter), WOKEN);
    }
}

#[test]
fn the_bit_is_kept_as_long_as_threads_wait_beyond_those_that_are_woken() {
    // The bitsets of the waiters, the wake's count and bits, and the word that is left.
    let cases: [(&[u32], u64, u32, u32); 8] = [
        (&[], 1, ANY, 0),
        (&[ANY], 1, ANY, 0),
        (&[ANY, ANY], 1, ANY, WAITERS),
        (&[ANY, ANY], 2, ANY, 0),
        (&[ANY; 40], 39, ANY, WAITERS),
        (&[ANY; 40], 40, ANY, 0),
        (&[1, 2], 9, 1, WAITERS),
        (&[1, 3], 9, 1, 0),
    ];
    for (bitsets, count, bits, left) in cases {
        let case = Case::new(RobustUnlock::KeepWaiters);
        let waiters: Vec<_> = bitsets.iter().map(|bitset| case.waits(*bitset)).collect();
        // A waiter of the same space at another address is none of this lock's.
        let mut other = Box::pin(case.engine.wait_async(&case.arena, Word::shared(BASE + 480), 0, ANY));
        assert!(poll(&mut other).is_pending());
        let flags = u64::from(FUTEX_WAKE_BITSET | UNLOCK);
        let woken = case.futex([LOCK, flags, count, 0, pending(ME), bits.into()]);
        let chosen = bitsets.iter().filter(|bitset| *bitset & bits != 0).count().min(count as usize);
        assert_eq!(woken, chosen as i64, "{bitsets:?}");
        assert_eq!(case.word_and_pending(), (left, [0, 0]), "{bitsets:?} with {count}, {bits}");
        drop(waiters);
    }
}

/// Has A and B wait for a lock, which its owner unlocks in one call; C takes the lock as a program
/// does whose locks keep the bit; A, which was woken, is killed before it looked at the word; C
/// unlocks. Returns true if B was woken.
fn wakes_the_second(mode: RobustUnlock) -> bool {
    let (case, a, c) = (Case::new(mode), ME + 1, ME + 3);
    let mut waiters = [case.waits(ANY), case.waits(ANY)];
    assert_eq!(case.unlock(ME), 1);
    assert_eq!(waiters.each_mut().map(|waiter| poll(waiter)), [WOKEN, Poll::Pending]);
    // C comes along: the word is free, with or without the bit.
    let free = case.arena.get(LOCK);
    assert_eq!(free & !WAITERS, 0);
    case.arena.set(LOCK, free | c);
    // A was about to take the lock, so its pending entry leads there.
    let exit = case.exits(a);
    assert_eq!((exit.marked, exit.woken, case.arena.get(LOCK)), (0, 0, free | c));
    if case.arena.get(LOCK) == c {
        // No thread waits, as C sees it: it unlocks without a call.
        case.arena.set(LOCK, 0);
    } else {
        assert_eq!(case.unlock(c), 1);
        assert_eq!(case.arena.get(LOCK), 0, "the last waiter is woken");
    }
    poll(&mut waiters[1]) == WOKEN
}

#[test]
fn a_waiter_that_is_killed_strands_the_others_where_0_is_stored() {
    assert!(!wakes_the_second(RobustUnlock::StoreZero), "as on Linux 7.2");
}

#[test]
fn a_waiter_that_is_killed_strands_no_other_where_the_waiters_bit_is_kept() {
    assert!(wakes_the_second(RobustUnlock::KeepWaiters));
}

#[test]
fn a_woken_waiter_that_dies_before_any_other_thread_comes_passes_the_wake_on() {
    for mode in MODES {
        let case = Case::new(mode);
        let mut waiters = [case.waits(ANY), case.waits(ANY)];
        assert_eq!(case.unlock(ME), 1);
        // The pending entry of the thread that dies leads to a free lock.
        assert_eq!(case.exits(ME + 1).woken, 1);
        assert_eq!(waiters.each_mut().map(|waiter| poll(waiter)), [WOKEN, WOKEN], "{mode:?}");
    }
}
