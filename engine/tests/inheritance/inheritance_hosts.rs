//! Locks that inherit priorities with hosts that break a rule, or panic: two spaces have one
//! number, one space has two engines. Waits may break; but no waiter's memory is touched after its
//! wait has returned, and a thread that waits for a lock of an exiting thread gets it.

#![cfg(target_os = "linux")]
#![allow(missing_docs)]

#[path = "../common/crew.rs"]
mod crew;

use crew::{Crew, End, LATER};
use leeward_engine::{Errno, LockPi, Owner, WaitPi, Word};

const WORD: Word = Word::private(0);

/// Two spaces with one number, each with a table of its own: the oldest waiter of an owner is in
/// the other space's table.
#[test]
fn two_spaces_with_one_number() {
    let one = Crew::new();
    let two = one.with_another_space();
    assert_eq!(one.at_once(1, |engine, member| engine.lock_pi(member, WORD, LATER)), Ok(LockPi::Acquired));
    two.set(0, 1);
    let first = one.sleeper(2, |engine, member| engine.lock_pi(member, WORD, LATER));
    let second = two.sleeper(3, |engine, member| engine.lock_pi(member, WORD, LATER));
    assert_eq!(two.engine.unlock_pi(&two.member(1), WORD), Err(Errno::EINVAL));
    assert_eq!((one.own_waiters(), two.own_waiters()), (1, 1));
    one.end(2, End::Time);
    two.end(3, End::Time);
    assert_eq!(first.join().unwrap(), Ok(LockPi::TimedOut));
    assert_eq!(second.join().unwrap(), Ok(LockPi::TimedOut));
    assert_eq!((one.own_waiters(), two.own_waiters()), (0, 0));
}

/// One space with two engines, each with its own graph under its own lock.
#[test]
fn one_space_with_two_engines() {
    const LOCK: Word = Word::private(4);
    let one = Crew::new();
    let two = one.with_another_engine();
    one.set(0, 1);
    let first = one.sleeper(2, |engine, member| engine.lock_pi(member, WORD, LATER));
    let lock = two.at_once(3, |engine, member| engine.lock_pi(member, WORD, LATER));
    assert_eq!(lock, Err(Errno::EINVAL));
    assert_eq!(two.engine.unlock_pi(&two.member(1), WORD), Err(Errno::EINVAL));
    assert_eq!(one.engine.unlock_pi(&one.member(1), WORD), Ok(()));
    assert_eq!(first.join().unwrap(), Ok(LockPi::Acquired));

    let moved = one.sleeper(2, |engine, member| engine.wait_requeue_pi(member, Word::private(8), 0, LATER, LOCK));
    let requeue = two.engine.requeue_pi(&two.member(3), Word::private(8), LOCK, 1, 0);
    assert_eq!(requeue, Err(Errno::EINVAL));
    one.end(2, End::Time);
    assert_eq!(moved.join().unwrap(), Ok(WaitPi::TimedOut));
    assert_eq!(one.own_waiters(), 0);
}

#[test]
fn a_callback_panics_at_a_threads_exit() {
    const WORDS: [Word; 3] = [WORD, Word::private(4), Word::private(8)];
    let crew = Crew::new();
    for word in WORDS {
        crew.set(word.address, 1);
    }
    let waiting: Vec<_> = (2..5)
        .zip(WORDS)
        .map(|(number, word)| crew.sleeper(number, move |engine, member| engine.lock_pi(member, word, LATER)))
        .collect();
    crew.set_owner(1, Owner::Exiting);
    crew.panic_in("lend");
    let exit = || crew.engine.exit_pi(&crew.member(1));
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(exit)).is_err());
    crew.set_owner(1, Owner::Nobody);
    // Else the time is up.
    (2..5).for_each(|number| crew.end(number, End::Time));
    for waiter in waiting {
        assert_eq!(waiter.join().unwrap(), Ok(LockPi::Acquired));
    }
    assert_eq!(crew.waiters(), 0);
}
