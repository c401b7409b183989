//! Waits on several words at once.

#![cfg(target_os = "linux")]
#![allow(missing_docs)]

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/guest.rs"]
mod guest;

use std::sync::atomic::{AtomicU32, Ordering};

use common::until;
use guest::{Guest, Page, put_waitv};
use leeward_engine::abi::Numbers;
use leeward_engine::parking::now;
use leeward_engine::{
    Clock, Config, Deadline, Engine, Errno, Heap, Host, MOST_WORDS, Requeue, Wait, WaitAny, WaitEntry, Word,
};

const ANY: u32 = u32::MAX;

struct Case {
    guest: Guest,
    engine: Engine<Guest>,
}

impl Case {
    fn new() -> Case {
        Case { guest: Guest::new(), engine: Engine::new(Config::for_processors(1, 1), Heap).unwrap() }
    }

    fn word(&self, i: u64) -> Word {
        Word::private(self.guest.address(Page::Writable) + 4 * i)
    }

    fn waitv(&self, words: &[u64], until: Option<Deadline>) -> Result<WaitAny, Errno> {
        let mut entries: Vec<_> = words.iter().map(|word| WaitEntry::new(self.word(*word), 0)).collect();
        self.engine.waitv(&self.guest, &mut entries, until)
    }

    fn waiting(&self) -> u64 {
        self.engine.stats(&self.guest).waiters + self.guest.space().stats(&self.guest).waiters
    }

    fn wake(&self, word: u64, count: u32) -> u32 {
        self.engine.wake(&self.guest, self.word(word), count, ANY).unwrap()
    }
}

fn soon(microseconds: u64) -> Option<Deadline> {
    Some(Deadline { clock: Clock::Monotonic, at: now(Clock::Monotonic) + 1000 * microseconds })
}

#[test]
fn each_word_ends_the_wait_and_none_is_left_queued() {
    let case = Case::new();
    let words: Vec<u64> = (0..MOST_WORDS as u64).collect();
    for index in [0, 1, 64, 127] {
        std::thread::scope(|threads| {
            let waiter = threads.spawn(|| case.waitv(&words, None));
            until(|| case.waiting() == MOST_WORDS as u64);
            assert_eq!(case.wake(index, 9), 1);
            assert_eq!(waiter.join().unwrap(), Ok(WaitAny::Woken(index as usize)));
            assert_eq!(case.waiting(), 0);
        });
    }
}

#[test]
fn a_word_given_twice_is_woken_twice_and_the_last_index_is_told() {
    let case = Case::new();
    std::thread::scope(|threads| {
        let waiter = threads.spawn(|| case.waitv(&[3, 5, 3], None));
        until(|| case.waiting() == 3);
        assert_eq!(case.wake(3, 9), 2);
        assert_eq!(waiter.join().unwrap(), Ok(WaitAny::Woken(2)));
    });
    assert_eq!(case.waiting(), 0);
}

#[test]
fn a_changed_word_a_time_and_too_many_words_leave_nothing_queued() {
    let case = Case::new();
    case.guest.store(case.guest.address(Page::Writable) + 4 * 7, 1);
    assert_eq!(case.waitv(&[1, 2, 7], None), Ok(WaitAny::Changed));
    assert_eq!(case.waitv(&[1, 2, 3], soon(0)), Ok(WaitAny::TimedOut));
    assert_eq!(case.waitv(&[], None), Err(Errno::EINVAL));
    assert_eq!(case.waitv(&[1; MOST_WORDS + 1], None), Err(Errno::EINVAL));
    let mut entries =
        [case.word(1), Word::private(case.guest.address(Page::Missing))].map(|word| WaitEntry::new(word, 0));
    assert_eq!(case.engine.waitv(&case.guest, &mut entries, None), Err(Errno::EFAULT));
    assert_eq!((case.waiting(), case.wake(1, 9)), (0, 0));
}

#[test]
fn each_of_its_waiters_is_requeued_by_itself() {
    let case = Case::new();
    std::thread::scope(|threads| {
        let waiter = threads.spawn(|| case.waitv(&[1, 2], None));
        until(|| case.waiting() == 2);
        let moved = case.engine.requeue(&case.guest, case.word(2), case.word(9), 0, 9, Some(0));
        assert_eq!(moved, Ok(Requeue::Done(1)));
        assert_eq!((case.wake(2, 9), case.wake(9, 9)), (0, 1));
        assert_eq!(waiter.join().unwrap(), Ok(WaitAny::Woken(1)));
    });
    assert_eq!(case.waiting(), 0);
}

#[test]
fn wakes_and_waits_count_the_same() {
    let case = Case::new();
    let (told, running) = (AtomicU32::new(0), AtomicU32::new(4));
    let mut woken = 0;
    std::thread::scope(|threads| {
        for i in 0..4_u64 {
            let (case, told, running) = (&case, &told, &running);
            threads.spawn(move || {
                for round in 0..1500 {
                    // One word for each waiter that is never woken, and the one that is woken once
                    // for each of them.
                    let ended = if i == 0 {
                        case.engine.wait(&case.guest, case.word(0), 0, ANY, soon(round % 7)) == Ok(Wait::Woken)
                    } else {
                        case.waitv(&[20 + i, 0], soon((i + round) % 7)) == Ok(WaitAny::Woken(1))
                    };
                    told.fetch_add(u32::from(ended), Ordering::Relaxed);
                }
                running.fetch_sub(1, Ordering::Release);
            });
        }
        while running.load(Ordering::Acquire) != 0 {
            woken += case.wake(0, 1 + woken % 3);
        }
    });
    assert_eq!(told.load(Ordering::Relaxed), woken);
    assert_eq!(case.waiting(), 0);
}

#[test]
fn linux_2026_the_futex2_requeue_refuses_words_of_different_scope() {
    let case = Case::new();
    let (private, object) = (case.guest.address(Page::Writable), case.guest.address(Page::Object));
    let array = private + 1024;
    for (from, to) in [((private, 130), (object, 2)), ((object, 2), (private, 130))] {
        put_waitv(&case.guest, array, &[(0, from.0, from.1, 0), (0, to.0, to.1, 0)]);
        let answer = case.engine.syscall(&case.guest, &Numbers::X86_64, 456, [array, 0, 1, 1, 0, 0]);
        assert_eq!(answer, Some(Errno::EINVAL.answer()));
    }
}
