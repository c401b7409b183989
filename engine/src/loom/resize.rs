//! Tables that grow while other threads wait, wake, move and leave; and the filter of a lock word,
//! under loom.

use crate::atomic::Ordering;
use crate::loom::host::{ANY, Case, FROM, SOON, TO, explore};
use crate::table::key::Key;
use crate::{Requeue, Wait, Word};

/// Explores a wait and a wake of `word` while the table that it is in becomes another.
fn a_wait_and_a_wake_while(word: Word, buckets: Option<usize>, grow: fn(&Case)) {
    explore(2, move || {
        let case = Case::new(1);
        if let Some(buckets) = buckets {
            case.host.space.fit(&*case.host, buckets);
        }
        let waiter = case.spawn(move |case| case.wait(word, None));
        let grower = case.spawn(grow);
        case.store(word);
        let woken = case.wake(word, 1);
        grower.join().unwrap();
        case.ends_as_told(waiter, woken, Wait::Changed);
    });
}

#[test]
fn a_wait_and_a_wake_while_the_table_grows() {
    a_wait_and_a_wake_while(Word::private(0), Some(1), |case| case.host.space.fit(&*case.host, 2));
}

#[test]
fn a_wait_and_a_wake_while_the_space_gets_its_table() {
    a_wait_and_a_wake_while(Word::private(0), None, |case| case.host.space.fit(&*case.host, 1));
}

#[test]
fn a_wait_and_a_wake_while_the_global_table_grows() {
    a_wait_and_a_wake_while(FROM, None, |case| {
        case.engine.enlarge(&case.host, case.engine.node(&Key::private(0, 0), 0), 2);
    });
}

#[test]
fn leaving_while_the_table_grows() {
    explore(3, || {
        let case = Case::new(1);
        case.host.space.fit(&*case.host, 1);
        let word = Word::private(0);
        let waiter = case.spawn(move |case| case.wait(word, SOON));
        case.host.space.fit(&*case.host, 2);
        let woken = case.wake(word, 1);
        case.ends_as_told(waiter, woken, Wait::TimedOut);
    });
}

#[test]
fn a_requeue_while_the_table_grows() {
    // Two preemptions would take a minute.
    explore(1, || {
        let case = Case::new(1);
        case.host.space.fit(&*case.host, 1);
        let (from, to) = (Word::private(0), Word::private(4));
        let waiter = case.spawn(move |case| case.wait(from, None));
        let grower = case.spawn(|case| case.host.space.fit(&*case.host, 2));
        case.store(from);
        let moved = case.engine.requeue(&case.host, from, to, 0, 1, Some(1)).unwrap();
        assert!(matches!(moved, Requeue::Done(0 | 1)));
        let woken = case.wake(from, 1) + case.wake(to, 1);
        grower.join().unwrap();
        case.ends_as_told(waiter, woken, Wait::Changed);
    });
}

/// One thread moves waiters and then reads the word that they are moved to; another changes that
/// word and wakes. One of both sees the other.
#[test]
fn a_requeue_and_then_a_check_of_the_word() {
    explore(2, || {
        let case = Case::new(2);
        let waiter = case.spawn(|case| case.wait(FROM, None));
        let other = case.spawn(|case| {
            case.store(TO);
            case.wake(TO, 1)
        });
        let moved = case.engine.requeue(&case.host, FROM, TO, 0, 1, Some(0)).unwrap();
        if moved == Requeue::Done(0) {
            case.store(FROM);
            case.wake(FROM, 1);
        // Relaxed: the requeue's fence orders it, which is what is tried.
        } else if case.host.words[1].load(Ordering::Relaxed) == 1 {
            case.wake(TO, 1);
        }
        other.join().unwrap();
        waiter.join().unwrap();
        assert!(case.is_empty());
    });
}

#[test]
fn a_wake_of_other_bits_hides_nobody() {
    explore(2, || {
        let case = Case::new(1);
        let waiter = case.spawn(|case| case.engine.wait(&case.host, FROM, 0, 1, None).unwrap());
        assert_eq!(case.engine.wake(&case.host, FROM, 1, 2), Ok(0));
        case.store(FROM);
        let woken = case.engine.wake(&case.host, FROM, 1, ANY).unwrap();
        case.ends_as_told(waiter, woken, Wait::Changed);
    });
}
