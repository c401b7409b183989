//! Waiters that are moved to locks that inherit priorities, step by step.

#![cfg(target_os = "linux")]
#![allow(missing_docs)]

#[path = "../common/crew.rs"]
mod crew;
#[path = "../common/locking.rs"]
mod locking;

use crew::{Crew, End};
use leeward_engine::abi::{FUTEX_WAITERS as WAITERS, Numbers};
use leeward_engine::{Errno, LockPi, Requeue, WaitPi};
use locking::end;

#[test]
fn a_requeue_to_a_free_lock_wakes_one_as_its_owner_and_moves_the_rest() {
    let crew = Crew::new();
    for (number, priority) in [(2, 50), (3, 10), (4, 40), (5, 60)] {
        crew.set_priority(number, priority);
    }
    let mut waiting: Vec<_> = (2..6).map(|number| Some(crew.wait_requeue(number, 8, 0))).collect();
    let mut acquired = |number: usize| waiting[number - 2].take().unwrap().join().unwrap() == Ok(WaitPi::Acquired);
    assert_eq!(crew.requeue(8, 1, 9), Err(Errno::EINVAL), "another lock than they named");
    assert_eq!(crew.requeue(8, 0, 2), Ok(Requeue::Done(3)));
    assert!(acquired(3));
    assert_eq!((crew.get(0), crew.lent(3)), (3 | WAITERS, Some(40)));
    crew.unlock(3, 0).unwrap();
    assert!(acquired(4));
    crew.unlock(4, 0).unwrap();
    assert!(acquired(2));
    crew.unlock(2, 0).unwrap();
    assert_eq!(crew.get(0), 0);
    assert_eq!(crew.requeue(8, 0, 0), Ok(Requeue::Done(1)));
    assert!(acquired(5));
    assert_eq!((crew.get(0), crew.waiters()), (5, 0));
}

#[test]
fn starnix_a_requeue_to_a_lock_takes_from_the_front() {
    let crew = Crew::new();
    crew.own(1, 0);
    let mut waiting: Vec<_> = (2..7).map(|number| Some(crew.wait_requeue(number, 8, 0))).collect();
    assert_eq!(crew.requeue(8, 0, 2), Ok(Requeue::Done(3)));
    let mut owner = 1;
    for next in 2..5 {
        crew.unlock(owner, 0).unwrap();
        assert_eq!(waiting[next as usize - 2].take().unwrap().join().unwrap(), Ok(WaitPi::Acquired));
        owner = next;
    }
    crew.unlock(owner, 0).unwrap();
    for (number, waiter) in (5..7).zip(&mut waiting[3..]) {
        assert!(crew.is_asleep(number));
        crew.end(number, End::Signal);
        assert_eq!(waiter.take().unwrap().join().unwrap(), Ok(WaitPi::Interrupted));
    }
    assert_eq!(crew.waiters(), 0);
}

#[test]
fn a_word_that_a_handler_changed_ends_the_wait_of_one_that_was_not_moved() {
    let crew = Crew::new();
    crew.own(1, 0);
    let moved = crew.wait_requeue(2, 8, 0);
    crew.handle(2);
    assert_eq!(crew.requeue(8, 0, 0), Ok(Requeue::Done(1)));
    let waiting = crew.wait_requeue(3, 8, 0);
    crew.set(4 * 8, 1);
    // The thread that waits for the lock by now goes on.
    crew.handle(2);
    crew.end(3, End::Handled);
    assert_eq!(waiting.join().unwrap(), Ok(WaitPi::Changed));
    crew.unlock(1, 0).unwrap();
    assert_eq!(moved.join().unwrap(), Ok(WaitPi::Acquired));
    assert_eq!((crew.get(0), crew.waiters()), (2 | WAITERS, 0));
    crew.unlock(2, 0).unwrap();
}

#[test]
fn a_handler_before_a_word_that_cannot_be_read_and_before_a_lock() {
    let crew = Crew::new();
    let waiting = crew.wait_requeue(3, 8, 0);
    crew.take_away(4 * 8, true);
    crew.end(3, End::Handled);
    assert_eq!(waiting.join().unwrap(), Err(Errno::EFAULT));
    // A thread that waits for a lock has no such word.
    crew.own(1, 0);
    let locking = crew.wait_for(2, 0);
    crew.handle(2);
    crew.unlock(1, 0).unwrap();
    assert_eq!(end(locking), LockPi::Acquired);
    assert_eq!(crew.waiters(), 0);
}

#[test]
fn who_was_moved_leaves_the_lock_that_it_was_moved_to() {
    let crew = Crew::new();
    crew.own(1, 0);
    let waiting: Vec<_> = (2..5).map(|number| crew.wait_requeue(number, 8, 0)).collect();
    // It was not moved yet.
    crew.end(2, End::Time);
    crew.set_priority(3, 5);
    let mut waiting = waiting.into_iter();
    assert_eq!(waiting.next().unwrap().join().unwrap(), Ok(WaitPi::TimedOut));
    assert_eq!(crew.requeue(8, 0, 9), Ok(Requeue::Done(2)));
    assert_eq!(crew.lent(1), Some(5));
    crew.end(3, End::Time);
    assert_eq!(waiting.next().unwrap().join().unwrap(), Ok(WaitPi::TimedOut));
    assert_eq!(crew.lent(1), Some(100));
    crew.end(4, End::Signal);
    assert_eq!(waiting.next().unwrap().join().unwrap(), Ok(WaitPi::Changed));
    assert_eq!((crew.lent(1), crew.waiters()), (None, 0));
    crew.unlock(1, 0).unwrap();
    assert_eq!(crew.get(0), 0);
}

#[test]
fn a_requeue_that_would_make_a_circle_leaves_the_waiter_where_it_is() {
    let crew = Crew::new();
    crew.own(1, 0);
    crew.own(2, 1);
    let two = crew.wait_requeue(2, 8, 0);
    let one = crew.wait_for(1, 1);
    assert_eq!(crew.requeue(8, 0, 9), Err(Errno::EDEADLK));
    assert!(crew.is_asleep(2));
    crew.end(1, End::Time);
    assert_eq!(end(one), LockPi::TimedOut);
    assert_eq!(crew.requeue(8, 0, 9), Ok(Requeue::Done(1)));
    crew.unlock(1, 0).unwrap();
    assert_eq!(two.join().unwrap(), Ok(WaitPi::Acquired));
    // A waiter that owns the lock.
    let two = crew.wait_requeue(2, 8, 0);
    assert_eq!(crew.requeue(8, 0, 9), Err(Errno::EDEADLK));
    crew.end(2, End::Time);
    assert_eq!(two.join().unwrap(), Ok(WaitPi::TimedOut));
}

#[test]
fn dragonos_wait_requeue_pi_with_any_arguments_is_a_number() {
    let crew = Crew::new();
    crew.set(0, 1);
    crew.set(4, 7);
    let values = [0, 1, 4, 6, 20, 8192, 1 << 47, u64::MAX, u64::MAX - 3, 1 << 63];
    for a in values {
        for b in values {
            for operation in [11, 11 | 128, 11 | 256, 12, 12 | 128] {
                // An invalid time: it never sleeps.
                let call = [a, operation, 1, 1 << 47, b, 9];
                let answer = crew.engine.syscall(&crew.member(3), &Numbers::X86_64, 202, call).unwrap();
                assert!([-38, -22, -14, -11].contains(&answer), "{answer} for {call:x?}");
            }
        }
    }
    assert_eq!(crew.waiters(), 0);
}
