//! Locks that inherit priorities, step by step: order, what is lent, circles, hand-off, time-outs,
//! exits. Requeues: `inheritance_requeue.rs`.

#![cfg(target_os = "linux")]
#![allow(missing_docs)]

#[path = "../common/crew.rs"]
mod crew;
#[path = "../common/locking.rs"]
mod locking;

use crew::{Crew, End, LATER};
use leeward_engine::abi::{FUTEX_OWNER_DIED as DIED, FUTEX_WAITERS as WAITERS};
use leeward_engine::{Errno, LockPi, MOST_CHAIN, Owner, Requeue, WaitPi};
use locking::{end, word};

#[test]
fn the_most_urgent_gets_the_lock_and_of_equals_the_first() {
    let crew = Crew::new();
    crew.own(1, 0);
    for (number, priority) in [(2, 50), (3, 10), (4, 50), (5, 10), (6, 90)] {
        crew.set_priority(number, priority);
    }
    let mut waiting: Vec<_> = (2..7).map(|number| (number, Some(crew.wait_for(number, 0)))).collect();
    let mut owner = 1;
    for next in [3, 5, 2, 4, 6] {
        crew.unlock(owner, 0).unwrap();
        let (_, locking) = waiting.iter_mut().find(|(number, _)| *number == next).unwrap();
        assert_eq!(end(locking.take().unwrap()), LockPi::Acquired);
        assert_eq!(crew.get(0), next | WAITERS);
        owner = next;
    }
    assert_eq!(crew.unlock(owner, 0), Ok(()));
    assert_eq!((crew.get(0), crew.waiters()), (0, 0));
}

#[test]
fn an_owner_is_lent_what_its_most_urgent_waiter_has_as_long_as_it_waits() {
    let crew = Crew::new();
    crew.own(1, 0);
    crew.set_priority(2, 50);
    crew.set_priority(3, 10);
    let two = crew.wait_for(2, 0);
    assert_eq!(crew.lent(1), Some(50));
    let three = crew.wait_for(3, 0);
    assert_eq!(crew.lent(1), Some(10));
    crew.end(3, End::Time);
    assert_eq!(end(three), LockPi::TimedOut);
    assert_eq!(crew.lent(1), Some(50));
    crew.end(2, End::Signal);
    assert_eq!(end(two), LockPi::Interrupted);
    assert_eq!(crew.lent(1), None);
    // The waiters bit stays: unlocking takes a call, which finds no waiter.
    assert_eq!(crew.get(0), 1 | WAITERS);
    assert_eq!(crew.unlock(1, 0), Ok(()));
    assert_eq!(crew.get(0), 0);
}

#[test]
fn what_is_lent_ends_with_the_hand_off_and_passes_to_the_new_owner() {
    let crew = Crew::new();
    crew.own(1, 0);
    crew.own(1, 1);
    for (number, priority) in [(2, 10), (3, 20), (4, 30)] {
        crew.set_priority(number, priority);
    }
    let (two, three, four) = (crew.wait_for(2, 0), crew.wait_for(3, 0), crew.wait_for(4, 1));
    assert_eq!(crew.lent(1), Some(10));
    crew.unlock(1, 0).unwrap();
    // Lent by the other lock's waiter still.
    assert_eq!((crew.lent(1), crew.lent(2)), (Some(30), Some(20)));
    crew.unlock(1, 1).unwrap();
    assert_eq!(crew.lent(1), None);
    crew.unlock(2, 0).unwrap();
    assert_eq!(crew.lent(2), None);
    assert_eq!([end(two), end(three), end(four)], [LockPi::Acquired; 3]);
}

#[test]
fn a_chain_of_owners_is_lent_and_undone() {
    let crew = Crew::new();
    (1..5).for_each(|number| crew.own(number, u64::from(number)));
    let chain: Vec<_> = (2..5).map(|number| crew.wait_for(number, u64::from(number) - 1)).collect();
    crew.set_priority(9, 5);
    let nine = crew.wait_for(9, 4);
    assert_eq!((1..5).map(|number| crew.lent(number)).collect::<Vec<_>>(), [Some(5); 4]);
    crew.end(9, End::Time);
    assert_eq!(end(nine), LockPi::TimedOut);
    assert_eq!((1..5).map(|number| crew.lent(number)).collect::<Vec<_>>(), [Some(100), Some(100), Some(100), None]);
    for (number, locking) in (2..5).zip(chain) {
        crew.unlock(number - 1, u64::from(number) - 1).unwrap();
        assert_eq!(end(locking), LockPi::Acquired);
    }
}

#[test]
fn a_lent_priority_counts_for_the_place_among_waiters() {
    let crew = Crew::new();
    crew.own(1, 0);
    crew.own(3, 1);
    let (two, three) = (crew.wait_for(2, 0), crew.wait_for(3, 0));
    crew.set_priority(9, 5);
    let nine = crew.wait_for(9, 1);
    crew.unlock(1, 0).unwrap();
    assert_eq!(end(three), LockPi::Acquired);
    assert!(crew.is_asleep(2));
    crew.unlock(3, 1).unwrap();
    crew.unlock(3, 0).unwrap();
    assert_eq!((end(nine), end(two)), (LockPi::Acquired, LockPi::Acquired));
}

#[test]
fn a_priority_that_changes_while_its_thread_waits() {
    let crew = Crew::new();
    crew.own(1, 0);
    let (two, three) = (crew.wait_for(2, 0), crew.wait_for(3, 0));
    crew.set_priority(3, 7);
    crew.engine.reprioritize(&crew.member(99), 1003);
    assert_eq!(crew.lent(1), Some(7));
    crew.unlock(1, 0).unwrap();
    assert_eq!(end(three), LockPi::Acquired);
    crew.unlock(3, 0).unwrap();
    assert_eq!(end(two), LockPi::Acquired);
}

#[test]
fn who_would_wait_for_itself_is_told() {
    let crew = Crew::new();
    (1..4).for_each(|number| crew.own(number, u64::from(number)));
    assert_eq!(crew.lock(1, 1), Err(Errno::EDEADLK));
    let (one, two) = (crew.wait_for(1, 2), crew.wait_for(2, 3));
    assert_eq!(crew.lock(3, 1), Err(Errno::EDEADLK));
    assert_eq!(crew.lock(3, 2), Err(Errno::EDEADLK));
    // A try does not wait.
    assert_eq!(crew.engine.try_lock_pi(&crew.member(3), word(1)), Ok(false));
    crew.unlock(3, 3).unwrap();
    assert_eq!(end(two), LockPi::Acquired);
    crew.unlock(2, 2).unwrap();
    assert_eq!(end(one), LockPi::Acquired);
}

#[test]
fn circles_of_a_thousand_are_found_and_longer_chains_refused() {
    let crew = Crew::new();
    let most = MOST_CHAIN as u32;
    (1..=most + 1).for_each(|number| crew.own(number, u64::from(number)));
    let mut chain = Vec::new();
    for number in 1..=most {
        chain.push(crew.wait_for(number, u64::from(number) + 1));
        if number == 1000 {
            assert_eq!(crew.lock(1001, 1), Err(Errno::EDEADLK));
            // No circle.
            assert_eq!(crew.lock(1500, 1), Ok(LockPi::TimedOut));
        }
    }
    assert_eq!(crew.lock(1500, 1), Err(Errno::EDEADLK));
    for (number, locking) in (1..most + 1).zip(chain).rev() {
        crew.unlock(number + 1, u64::from(number) + 1).unwrap();
        assert_eq!(end(locking), LockPi::Acquired);
    }
    assert_eq!(crew.waiters(), 0);
}

#[test]
fn who_timed_out_when_it_had_been_handed_the_lock_owns_it() {
    let crew = Crew::new();
    crew.own(1, 0);
    let two = crew.wait_for(2, 0);
    crew.end(2, End::HeldTime);
    crew.unlock(1, 0).unwrap();
    assert_eq!(crew.get(0), 2 | WAITERS);
    crew.let_go(2);
    assert_eq!(end(two), LockPi::Acquired);
    assert_eq!(crew.unlock(2, 0), Ok(()));
}

#[test]
fn starnix_who_timed_out_is_never_handed_the_lock() {
    let crew = Crew::new();
    crew.own(1, 0);
    let (two, three) = (crew.wait_for(2, 0), crew.wait_for(3, 0));
    crew.end(2, End::Time);
    assert_eq!(end(two), LockPi::TimedOut);
    crew.unlock(1, 0).unwrap();
    assert_eq!((crew.get(0), end(three)), (3 | WAITERS, LockPi::Acquired));
    crew.unlock(3, 0).unwrap();
    assert_eq!((crew.get(0), crew.waiters()), (0, 0));
}

#[test]
fn a_strangers_unlock_and_words_that_contradict() {
    let crew = Crew::new();
    crew.own(1, 0);
    assert_eq!(crew.unlock(2, 0), Err(Errno::EPERM));
    let two = crew.wait_for(2, 0);
    for value in [3, 3 | WAITERS, WAITERS, 0, DIED | 3] {
        crew.set(0, value);
        assert_eq!(crew.lock(4, 0), Err(Errno::EINVAL), "{value:#x}");
    }
    crew.set(0, 3 | WAITERS);
    assert_eq!(crew.unlock(3, 0), Err(Errno::EINVAL));
    crew.set(0, 1 | WAITERS);
    crew.unlock(1, 0).unwrap();
    assert_eq!(end(two), LockPi::Acquired);
    // The owners that words name.
    for (number, owner, errno) in [
        (2000, Owner::Nobody, Errno::ESRCH),
        (2000, Owner::Forbidden, Errno::EPERM),
        (2000, Owner::Outside(7), Errno::EPERM),
        (2000, Owner::Exiting, Errno::EAGAIN),
    ] {
        crew.set_owner(number, owner);
        crew.set(4, number);
        assert_eq!(crew.lock(1, 1), Err(errno));
        assert_eq!(crew.get(4), number | WAITERS);
    }
}

#[test]
fn other_operations_on_a_lock_that_threads_wait_for_are_refused() {
    let crew = Crew::new();
    crew.own(1, 0);
    let two = crew.wait_for(2, 0);
    let member = crew.member(9);
    let engine = &crew.engine;
    assert_eq!(engine.wake(&member, word(0), 1, u32::MAX), Err(Errno::EINVAL));
    assert_eq!(engine.wake(&member, word(0), 1, 1), Err(Errno::EINVAL));
    assert_eq!(engine.requeue(&member, word(0), word(1), 0, 1, None), Err(Errno::EINVAL));
    assert_eq!(engine.requeue(&member, word(0), word(1), 1, 0, None), Err(Errno::EINVAL));
    assert_eq!(crew.requeue(0, 1, 1), Err(Errno::EAGAIN).or(Ok(Requeue::Changed)));
    crew.unlock(1, 0).unwrap();
    assert_eq!(end(two), LockPi::Acquired);
    // A thread that waits otherwise keeps the word from being such a lock.
    let plain = crew.sleeper(3, |engine, member| engine.wait(member, word(5), 0, u32::MAX, LATER));
    crew.set(20, 1);
    assert_eq!(crew.lock(4, 5), Err(Errno::EINVAL));
    crew.set(20, 4);
    assert_eq!(crew.unlock(4, 5), Err(Errno::EINVAL));
    assert_eq!(engine.wake(&member, word(5), 1, u32::MAX), Ok(1));
    plain.join().unwrap().unwrap();
}

#[test]
fn the_locks_of_a_thread_that_exits_are_handed_on() {
    let crew = Crew::new();
    crew.own(1, 0);
    crew.own(1, 1);
    crew.own(1, 2);
    crew.set_priority(3, 10);
    let (two, three, four) = (crew.wait_for(2, 0), crew.wait_for(3, 0), crew.wait_for(4, 1));
    // Its robust list has marked the second.
    crew.set(4, DIED | WAITERS);
    assert_eq!(crew.exit(1), 2);
    assert_eq!((end(three), end(four)), (LockPi::Acquired, LockPi::Acquired));
    assert_eq!((crew.get(0), crew.get(4), crew.get(8)), (3 | WAITERS | DIED, 4 | WAITERS | DIED, 1));
    assert_eq!((crew.lent(1), crew.lent(3)), (None, Some(100)));
    assert_eq!(crew.unlock(3, 0), Ok(()));
    assert_eq!((end(two), crew.get(0)), (LockPi::Acquired, 2 | WAITERS));
    // A lock without waiters names a thread that is gone.
    assert_eq!(crew.lock(5, 2), Err(Errno::ESRCH));
}

#[test]
fn a_lock_whose_owner_exited_waits_for_its_new_owner_to_run() {
    let crew = Crew::new();
    crew.own(1, 0);
    let two = crew.wait_for(2, 0);
    crew.end(2, End::HeldTime);
    assert_eq!(crew.exit(1), 1);
    // The word still names the thread that is gone; the lock has an owner, for which other threads
    // may wait.
    assert_eq!(crew.get(0), 1 | WAITERS);
    let three = crew.wait_for(3, 0);
    assert_eq!(crew.lent(2), Some(100));
    assert_eq!(crew.engine.try_lock_pi(&crew.member(4), word(0)), Ok(false));
    crew.let_go(2);
    assert_eq!((end(two), crew.get(0)), (LockPi::Acquired, 2 | WAITERS | DIED));
    crew.unlock(2, 0).unwrap();
    assert_eq!((end(three), crew.get(0)), (LockPi::Acquired, 3 | WAITERS));
}

#[test]
fn an_assigned_waiter_that_cannot_write_the_word_leaves_the_lock_to_the_next() {
    let crew = Crew::new();
    crew.own(1, 0);
    crew.set_priority(2, 1);
    let two = crew.wait_for(2, 0);
    let three = crew.wait_for(3, 0);
    crew.take_away(0, true);
    assert_eq!(crew.exit(1), 1);
    assert_eq!(two.join().unwrap(), Err(Errno::EFAULT));
    assert_eq!(three.join().unwrap(), Err(Errno::EFAULT));
    assert_eq!((crew.waiters(), crew.lent(2), crew.lent(3)), (0, None, None));
}

#[test]
fn faults_are_served_with_no_lock_held() {
    let crew = Crew::new();
    crew.take_away(0, false);
    crew.own(1, 0);
    crew.take_away(0, false);
    let two = crew.wait_for(2, 0);
    crew.take_away(0, false);
    crew.unlock(1, 0).unwrap();
    assert_eq!(end(two), LockPi::Acquired);
    let three = crew.wait_for(3, 0);
    crew.take_away(0, false);
    assert_eq!(crew.exit(2), 1);
    assert_eq!(end(three), LockPi::Acquired);
    for address in [4, 20] {
        crew.take_away(address, false);
        let four = crew.wait_requeue(4, 1, 5);
        crew.take_away(address, false);
        assert_eq!(crew.requeue(1, 5, 0), Ok(Requeue::Done(1)));
        assert_eq!(four.join().unwrap(), Ok(WaitPi::Acquired));
        crew.unlock(4, 5).unwrap();
    }
    crew.take_away(24, true);
    assert_eq!(crew.lock(1, 6), Err(Errno::EFAULT));
    assert_eq!(crew.unlock(1, 6), Err(Errno::EFAULT));
    assert!(crew.is_missing(24));
}

#[test]
fn a_host_that_panics_leaves_nobody_behind() {
    let crew = Crew::new();
    crew.own(1, 0);
    for what in ["find", "priority", "lend", "park"] {
        crew.panic_in(what);
        let lock = || crew.lock(5, 0);
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(lock)).is_err(), "{what}");
        assert_eq!((crew.waiters(), crew.lent(1)), (0, None), "{what}");
    }
    // The new owner gets the lock all the same, by an unlock, an exit, a requeue.
    let two = crew.wait_for(2, 0);
    crew.panic_in("lend");
    let unlock = || crew.unlock(1, 0);
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(unlock)).is_err());
    assert_eq!(end(two), LockPi::Acquired);
    let three = crew.wait_for(3, 0);
    crew.panic_in("lend");
    let exit = || crew.exit(2);
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(exit)).is_err());
    assert_eq!(end(three), LockPi::Acquired);
    let four = crew.wait_requeue(4, 8, 1);
    crew.panic_in("lend");
    let requeue = || crew.requeue(8, 1, 0);
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(requeue)).is_err());
    assert_eq!(four.join().unwrap(), Ok(WaitPi::Acquired));
    assert_eq!(crew.waiters(), 0);
}
