//! Robust lists: what a dying thread's walk marks and wakes, whatever it finds in memory.

#![allow(missing_docs)]

#[path = "../common/arena.rs"]
mod arena;

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use arena::{Arena, BASE};
use leeward_engine::abi::{FUTEX_OWNER_DIED as DIED, FUTEX_WAITERS as WAITERS, Numbers};
use leeward_engine::{Config, Engine, Errno, Heap, ROBUST_LIST_LIMIT, RobustExit, Wait, WaitAsync, WalkEnd, Word};

const ANY: u32 = u32::MAX;
const ME: u32 = 77;
const OFFSET: u64 = 8;

/// The address of the head; entry i lies 64 + 16 * i bytes after `BASE`, and its word 8 bytes after
/// that.
const HEAD: u64 = BASE;

fn entry(i: usize) -> u64 {
    BASE + 64 + 16 * i as u64
}

fn lock(i: usize) -> u64 {
    entry(i) + OFFSET
}

struct Case {
    arena: Arena,
    engine: Engine<Arena>,
}

type Waiting<'a> = Pin<Box<WaitAsync<'a, Arena>>>;

impl Case {
    /// Makes a list of `locks` locks that the thread holds.
    fn new(locks: usize) -> Case {
        let arena = Arena::new(64 + 4 * locks);
        for i in 0..locks {
            arena.put(entry(i), if i + 1 == locks { HEAD } else { entry(i + 1) });
            arena.set(lock(i), ME);
        }
        arena.put(HEAD, if locks == 0 { HEAD } else { entry(0) });
        arena.put(HEAD + 8, OFFSET);
        arena.head.set(HEAD);
        Case { arena, engine: Engine::new(Config::for_processors(1, 1), Heap).unwrap() }
    }

    fn pending(&self, pointer: u64) {
        self.arena.put(HEAD + 16, pointer);
    }

    fn waiter(&self, word: Word) -> Waiting<'_> {
        let value = self.arena.get(word.address);
        let mut waiter = Box::pin(self.engine.wait_async(&self.arena, word, value.into(), ANY));
        assert!(poll(&mut waiter).is_pending());
        waiter
    }

    fn exit(&self) -> RobustExit {
        self.engine.exit_robust(&self.arena, ROBUST_LIST_LIMIT)
    }
}

fn poll(waiter: &mut Waiting<'_>) -> Poll<Result<Wait, Errno>> {
    waiter.as_mut().poll(&mut Context::from_waker(Waker::noop()))
}

const WOKEN: Poll<Result<Wait, Errno>> = Poll::Ready(Ok(Wait::Woken));

#[test]
fn a_million_locks_are_marked_when_the_cap_allows() {
    const LOCKS: usize = 1_000_000;
    let case = Case::new(LOCKS);
    for i in (0..LOCKS).step_by(3) {
        case.arena.set(lock(i), ME | WAITERS);
    }
    let mut waiter = case.waiter(Word::shared(lock(LOCKS - 1)));
    let exit = case.engine.exit_robust(&case.arena, u32::MAX);
    assert_eq!(exit, RobustExit { entries: 1_000_000, marked: 1_000_000, woken: 1, end: WalkEnd::Whole });
    assert_eq!(poll(&mut waiter), WOKEN);
    assert!((0..LOCKS).all(|i| case.arena.get(lock(i)) == if i % 3 == 0 { DIED | WAITERS } else { DIED }));
}

#[test]
fn one_waiter_of_each_lock_is_woken_however_many_locks_there_are() {
    for locks in [1, 15, 16, 17, 100] {
        let case = Case::new(locks);
        (0..locks).for_each(|i| case.arena.set(lock(i), ME | WAITERS));
        let mut waiters: Vec<_> = (0..2 * locks).map(|i| case.waiter(Word::shared(lock(i / 2)))).collect();
        let exit = RobustExit { entries: locks as u32, marked: locks as u32, woken: locks as u32, end: WalkEnd::Whole };
        assert_eq!(case.exit(), exit);
        let woken: Vec<_> = waiters.iter_mut().map(|waiter| poll(waiter) == WOKEN).collect();
        assert!(woken.chunks(2).all(|pair| pair == [true, false]), "{woken:?}");
    }
}

#[test]
fn a_long_list_is_cut_at_the_cap_and_the_pending_lock_marked_all_the_same() {
    for (locks, end) in [(2047, WalkEnd::Whole), (2048, WalkEnd::Whole), (2049, WalkEnd::Truncated)] {
        let case = Case::new(locks);
        case.arena.set(BASE + 44, ME);
        case.pending(BASE + 44 - OFFSET);
        let exit = case.exit();
        let followed = locks.min(2048) as u32;
        assert_eq!((exit.entries, exit.marked, exit.end), (followed, followed + 1, end));
        assert_eq!(case.arena.get(BASE + 44), DIED);
        assert!((0..locks).all(|i| case.arena.get(lock(i)) == if i < 2048 { DIED } else { ME }));
    }
    let case = Case::new(3);
    assert_eq!(case.engine.exit_robust(&case.arena, 0).end, WalkEnd::Truncated);
}

#[test]
fn a_list_that_goes_round_ends_soon_whatever_the_cap() {
    for locks in [1, 2, 3, 7, 100] {
        for back_to in [0, locks / 2, locks - 1] {
            let case = Case::new(locks);
            case.arena.put(entry(locks - 1), entry(back_to));
            let exit = case.engine.exit_robust(&case.arena, u32::MAX);
            assert_eq!((exit.marked, exit.end), (locks as u32, WalkEnd::Cycle));
            assert!(exit.entries <= 4 * locks as u32 + 4, "{exit:?}");
        }
    }
}

#[test]
fn a_fault_ends_the_walk_and_leaves_the_pending_lock_alone() {
    let bad = [8, BASE - 16, u64::MAX - 7, 1 << 47, 0xffff_ffff_8000_0000, entry(2) + 2];
    for pointer in bad {
        let case = Case::new(5);
        case.arena.put(entry(1), pointer);
        case.pending(entry(4));
        let exit = case.exit();
        assert_eq!((exit.marked, exit.end), (2, WalkEnd::Fault), "{pointer:#x}");
        let words: Vec<_> = (0..5).map(|i| case.arena.get(lock(i))).collect();
        assert_eq!(words, [DIED, DIED, ME, ME, ME]);
    }
    // The head itself.
    for head in [8, BASE + 4 * 1024, u64::MAX - 3, 1 << 63] {
        let case = Case::new(1);
        case.arena.head.set(head);
        assert_eq!(case.exit(), RobustExit { end: WalkEnd::Fault, ..RobustExit::default() });
    }
}

#[test]
fn a_page_that_is_missing_or_read_only_in_the_middle() {
    let page = |i: usize| entry(i) / 4096;
    for read_only in [false, true] {
        let case = Case::new(1000);
        case.pending(entry(999));
        let pages = if read_only { &case.arena.read_only } else { &case.arena.missing };
        pages.borrow_mut().insert(page(0) + 1);
        let there = (0..1000).take_while(|i| page(*i) == page(0)).count() as u32;
        let exit = case.exit();
        assert_eq!((exit.marked, exit.end), (there, WalkEnd::Fault));
        pages.borrow_mut().clear();
        assert!((0..1000).all(|i| case.arena.get(lock(i)) == if i < there as usize { DIED } else { ME }));
    }
}

#[test]
fn the_pending_lock_by_its_word() {
    for waiters in [0, WAITERS] {
        // Given up: a waiter may have to be woken, and nothing is written.
        for died in [0, DIED] {
            let case = Case::new(0);
            case.arena.set(lock(0), waiters | died);
            case.pending(entry(0));
            let mut waiter = case.waiter(Word::shared(lock(0)));
            assert_eq!(case.exit(), RobustExit { woken: 1, ..RobustExit::default() });
            assert_eq!((poll(&mut waiter), case.arena.get(lock(0))), (WOKEN, waiters | died));
        }
        // Another thread's lock.
        let case = Case::new(0);
        case.arena.set(lock(0), waiters | 5);
        case.pending(entry(0));
        let mut waiter = case.waiter(Word::shared(lock(0)));
        assert_eq!(case.exit(), RobustExit::default());
        assert!(poll(&mut waiter).is_pending() && case.arena.get(lock(0)) == waiters | 5);
        // The dying thread's lock, also where the list has it too: marked once.
        for locks in [0, 1] {
            let case = Case::new(locks);
            case.arena.set(lock(0), waiters | ME);
            case.pending(entry(0));
            let mut waiter = case.waiter(Word::shared(lock(0)));
            let exit = case.exit();
            assert_eq!((exit.marked, exit.woken), (1, u32::from(waiters != 0)));
            assert_eq!((poll(&mut waiter) == WOKEN, case.arena.get(lock(0))), (waiters != 0, waiters | DIED));
        }
    }
}

#[test]
fn gvisor_the_bit_of_a_lock_that_inherits_is_no_part_of_the_pointer_and_leaves_the_wake_out() {
    let case = Case::new(3);
    (0..3).for_each(|i| case.arena.set(lock(i), ME | WAITERS));
    case.arena.put(entry(0), entry(1) | 1);
    let mut waiters: Vec<_> = (0..3).map(|i| case.waiter(Word::shared(lock(i)))).collect();
    let exit = case.exit();
    assert_eq!(exit, RobustExit { entries: 3, marked: 3, woken: 2, end: WalkEnd::Whole });
    assert!((0..3).all(|i| case.arena.get(lock(i)) == WAITERS | DIED));
    let woken: Vec<_> = waiters.iter_mut().map(|waiter| poll(waiter) == WOKEN).collect();
    assert_eq!(woken, [true, false, true]);
}

#[test]
fn gvisor_an_owner_whose_number_has_bit_7_wakes_its_shared_waiters() {
    for thread in [128, 128 | 5, 0x3fff_ffff] {
        let case = Case::new(1);
        case.arena.thread.set(thread);
        case.arena.set(lock(0), thread | WAITERS);
        let mut shared = case.waiter(Word::shared(lock(0)));
        let mut private = case.waiter(Word::private(lock(0)));
        assert_eq!(case.exit().woken, 1);
        assert!(poll(&mut shared) == WOKEN && poll(&mut private).is_pending());
    }
}

#[test]
fn asterinas_2515_the_walk_goes_past_the_first_entry_and_the_head_is_no_lock() {
    let case = Case::new(4);
    // What a head that is taken for an entry would have as its lock: the offset's low half.
    case.arena.put(HEAD + 8, OFFSET);
    assert_eq!(case.exit().marked, 4);
    assert_eq!(case.arena.get(HEAD + 8), OFFSET as u32);
    assert_eq!((case.arena.head.get(), case.exit()), (0, RobustExit::default()));
}

#[test]
fn starryos_494_a_lock_that_another_owns_is_left_alone() {
    let case = Case::new(4);
    case.arena.set(lock(1), 78 | WAITERS);
    case.arena.set(lock(2), DIED | WAITERS);
    let mut waiter = case.waiter(Word::shared(lock(1)));
    assert_eq!(case.exit().marked, 2);
    assert!(poll(&mut waiter).is_pending());
    assert_eq!((case.arena.get(lock(1)), case.arena.get(lock(2))), (78 | WAITERS, DIED | WAITERS));
}

#[test]
fn the_next_entry_is_read_before_the_lock_is_given_up() {
    let case = Case::new(5);
    // The thread that gets the lock frees its memory.
    let free = |arena: &Arena, word: u64| arena.put(word - OFFSET, 0xdead_beef);
    *case.arena.after.borrow_mut() = Some(Box::new(free));
    assert_eq!(case.exit(), RobustExit { entries: 5, marked: 5, woken: 0, end: WalkEnd::Whole });
}

#[test]
fn words_that_change_meanwhile() {
    // The waiters bit is set between the load and the exchange: it is kept, and a waiter is woken.
    let case = Case::new(1);
    let set = |arena: &Arena, word: u64| arena.set(word, ME | WAITERS);
    *case.arena.before.borrow_mut() = Some(Box::new(set));
    assert_eq!((case.exit().marked, case.arena.get(lock(0))), (1, DIED | WAITERS));
    // It never holds still: the walk ends nevertheless.
    let case = Case::new(2);
    let flip = |arena: &Arena, word: u64| arena.set(word, arena.get(word) ^ WAITERS);
    *case.arena.before.borrow_mut() = Some(Box::new(flip));
    assert_eq!(case.exit().end, WalkEnd::Fault);
}

#[test]
fn any_memory_ends_in_a_report_and_touches_no_lock_of_others() {
    let mut state = 5_u64;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let mut ends = [0; 4];
    for _ in 0..3000 {
        let case = Case::new(60);
        let words = case.arena.contents().len() as u64;
        for at in (0..words / 2).map(|i| BASE + 8 * i) {
            case.arena.put(
                at,
                match random() % 8 {
                    0 => random(),
                    1 => u64::from(ME) << (32 * (random() & 1)) | random() << 63,
                    2 => random() & 255,
                    _ => BASE + random() % (4 * words),
                },
            );
        }
        // Half of the cases, by chance, look like a list.
        if random() & 1 == 0 {
            case.arena.put(HEAD + 8, [OFFSET, OFFSET.wrapping_neg(), 4, 0][random() as usize & 3]);
            (0..30).for_each(|i| case.arena.put(entry(2 * i), entry(2 * (random() as usize % 31)) | random() & 1));
            case.arena.put(HEAD, entry(0));
        }
        let before = case.arena.contents();
        let exit = case.engine.exit_robust(&case.arena, 500);
        assert!(exit.entries <= 500);
        ends[exit.end as usize] += 1;
        let after = case.arena.contents();
        let changed = before.iter().zip(&after).filter(|(old, new)| old != new);
        for (old, new) in changed {
            assert_eq!((old & !(WAITERS | DIED), *new), (ME & !DIED, old & WAITERS | DIED));
        }
    }
    assert!(ends.iter().filter(|count| **count > 0).count() >= 2, "{ends:?}");
}

#[test]
fn setting_and_asking_for_the_head() {
    let case = Case::new(0);
    let call = |number, arguments| case.engine.robust_syscall(&case.arena, &Numbers::X86_64, number, arguments);
    let (head, length) = (BASE + 32, BASE + 40);
    for wrong in [0, 12, 23, 25, 24 | 1 << 32] {
        assert_eq!(call(273, [0x5000, wrong, 0, 0, 0, 0]), Some(-22));
    }
    assert_eq!(call(273, [u64::MAX, 24, 0, 0, 0, 0]), Some(0));
    assert_eq!(call(274, [0, head, length, 0, 0, 0]), Some(0));
    assert_eq!((case.arena.get(head), case.arena.get(head + 4), case.arena.get(length)), (ANY, ANY, 24));
    let errnos: Vec<_> = [1, 2, 0xffff_ffff, 77].map(|thread| call(274, [thread, head, length, 0, 0, 0])).to_vec();
    assert_eq!(errnos, [Some(-1), Some(-3), Some(-3), Some(0)]);
    assert_eq!(call(274, [0, 8, length, 0, 0, 0]), Some(-14));
    assert_eq!(call(202, [BASE, 1, 0, 0, 0, 0]), None);
    // No head is too bad to be walked.
    assert_eq!(case.exit().end, WalkEnd::Fault);
}
