//! Waits, wakes, requeues and leaving, under loom.

use std::rc::Rc;

use loom::thread;

use crate::abi::FUTEX_WAITERS;
use crate::atomic::{Ordering, Tracked};
use crate::loom::host::{ANY, Case, FROM, SOON, TO, explore};
use crate::{Access, Host, Requeue, Size, Wait, Word};

#[test]
fn the_two_words_have_two_buckets() {
    explore(0, || {
        let case = Case::new(2);
        let bucket = |word| {
            let call = crate::ops::call::Call::new(&*case.engine, &*case.host);
            let key = call.key(word, Access::Read).unwrap();
            core::ptr::from_ref(call.bucket_ref(None, &key).bucket)
        };
        assert_ne!(bucket(FROM), bucket(TO));
    });
}

/// Explores a thread that waits and one that stores and wakes: it ends.
fn no_wake_is_lost(word: Word, spins: usize) {
    explore(3, move || {
        let case = Case::that_spins(1, spins);
        let waiter = case.spawn(move |case| case.wait(word, None));
        case.store(word);
        let woken = case.wake(word, 1);
        case.ends_as_told(waiter, woken, Wait::Changed);
    });
}

#[test]
fn a_wait_and_a_wake() {
    no_wake_is_lost(FROM, 0);
}

#[test]
fn a_wait_for_a_byte_and_a_wake_of_its_word() {
    explore(3, || {
        let case = Case::new(1);
        let waiter = case.spawn(|case| case.wait(FROM.sized(Size::U8), None));
        case.store(FROM);
        let woken = case.wake(FROM, 1);
        case.ends_as_told(waiter, woken, Wait::Changed);
    });
}

/// Two threads come to wait for a lock that is unlocked in one call meanwhile. Where the word says
/// that one of them may wait still, another wake follows, as by the next owner's unlock. Both waits
/// end.
#[test]
fn a_waiter_beyond_the_one_that_an_unlock_wakes_is_told_by_the_word() {
    explore(2, || {
        let case = Case::new(1);
        // Relaxed: before the threads.
        case.host.words[0].store(1 | FUTEX_WAITERS, Ordering::Relaxed);
        let locked = u64::from(1 | FUTEX_WAITERS);
        let wait = move |case: &Case| case.engine.wait(&case.host, FROM, locked, ANY, None).unwrap();
        let waiters = [case.spawn(wait), case.spawn(wait)];
        let mut woken = case.engine.robust_unlock(&case.host, FROM, 1, ANY, 8, Size::U32).unwrap();
        match case.host.load(0).unwrap() {
            0 => {}
            FUTEX_WAITERS => woken += case.wake(FROM, 1),
            word => panic!("{word:#x}"),
        }
        let ends = waiters.map(|waiter| waiter.join().unwrap());
        assert_eq!(ends.iter().filter(|end| **end == Wait::Woken).count() as u32, woken);
        assert!(case.is_empty());
    });
}

#[test]
fn a_wait_that_spins_and_a_wake() {
    no_wake_is_lost(FROM, 1);
}

#[test]
fn a_wait_that_spins_and_is_moved_meanwhile() {
    explore(2, || {
        let case = Case::that_spins(2, 1);
        let waiter = case.spawn(|case| case.wait(FROM, None));
        case.store(FROM);
        let moved = case.engine.requeue(&case.host, FROM, TO, 0, 1, Some(1)).unwrap();
        assert!(matches!(moved, Requeue::Done(0 | 1)));
        let woken = case.wake(FROM, 1) + case.wake(TO, 1);
        case.ends_as_told(waiter, woken, Wait::Changed);
    });
}

#[test]
fn a_wait_that_spins_and_whose_time_is_up() {
    explore(3, || {
        let case = Case::that_spins(1, 1);
        let timed = case.spawn(|case| case.wait(FROM, SOON));
        let woken = case.wake(FROM, 1);
        case.ends_as_told(timed, woken, Wait::TimedOut);
    });
}

#[test]
fn a_private_wait_and_a_wake_without_a_table() {
    no_wake_is_lost(Word::private(0), 0);
}

#[test]
fn a_wait_and_a_wake_of_each_of_several_keys() {
    explore(3, || {
        let case = Case::new(1);
        let waiter = case.spawn(|case| case.wait(FROM, None));
        case.store(FROM);
        let call = crate::ops::call::Call::new(&*case.engine, &*case.host);
        let keys = [TO, FROM].map(|word| call.key(word, Access::Read).unwrap());
        let woken = call.wake_each(&keys, &mut 0);
        case.ends_as_told(waiter, woken, Wait::Changed);
    });
}

#[test]
fn what_was_done_before_the_wake_is_seen_after_the_wait() {
    explore(3, || {
        let case = Case::new(1);
        let data = Rc::new(Tracked::new());
        let written = data.clone();
        let waker = case.spawn(move |case| {
            written.touch();
            case.store(FROM);
            case.wake(FROM, 1)
        });
        if case.wait(FROM, None) == Wait::Woken {
            data.touch();
        }
        waker.join().unwrap();
    });
}

#[test]
fn a_wait_that_times_out_eats_no_wake() {
    explore(2, || {
        let case = Case::new(1);
        let timed = case.spawn(|case| case.wait(FROM, SOON));
        let waiter = case.spawn(|case| case.wait(FROM, None));
        let one = case.wake(FROM, 1);
        case.store(FROM);
        let rest = case.wake(FROM, ANY);
        let ends = [timed.join().unwrap(), waiter.join().unwrap()];
        let woken = ends.iter().filter(|end| **end == Wait::Woken).count();
        assert_eq!(one + rest, woken as u32);
        assert!(case.is_empty());
    });
}

#[test]
fn leaving_while_being_requeued_and_woken() {
    explore(2, || {
        let case = Case::new(2);
        let timed = case.spawn(|case| case.wait(FROM, SOON));
        let waker = case.spawn(|case| case.wake(TO, 1));
        let moved = case.engine.requeue(&case.host, FROM, TO, 0, 1, Some(0)).unwrap();
        assert!(matches!(moved, Requeue::Done(0 | 1)));
        let woken = waker.join().unwrap() == 1;
        assert_eq!(timed.join().unwrap(), if woken { Wait::Woken } else { Wait::TimedOut });
        assert!(case.is_empty());
    });
}

#[test]
fn a_requeue_and_its_wake() {
    explore(2, || {
        let case = Case::new(2);
        let waiter = case.spawn(|case| case.wait(FROM, None));
        let back = case.spawn(|case| {
            // The other way round: two threads want the two locks in two orders.
            case.engine.requeue(&case.host, TO, FROM, 0, 1, None).unwrap()
        });
        case.store(FROM);
        let moved = case.engine.requeue(&case.host, FROM, TO, 0, 1, Some(1)).unwrap();
        assert!(matches!(moved, Requeue::Done(0 | 1)));
        back.join().unwrap();
        let woken = case.wake(FROM, 1) + case.wake(TO, 1);
        case.ends_as_told(waiter, woken, Wait::Changed);
    });
}

#[test]
fn a_requeue_that_compares_leaves_no_waiter_of_the_old_value() {
    explore(2, || {
        let case = Case::new(2);
        let waiter = case.spawn(|case| case.wait(FROM, None));
        let changer = case.spawn(|case| case.store(FROM));
        // When the word has changed, every waiter came before, and is moved.
        let moved = case.engine.requeue(&case.host, FROM, TO, 0, 1, Some(1)).unwrap();
        changer.join().unwrap();
        let left = case.wake(FROM, 1);
        assert!(left == 0 || moved == Requeue::Changed, "{left} was left behind by {moved:?}");
        let woken = left + case.wake(TO, 1);
        assert_eq!(waiter.join().unwrap(), if woken == 1 { Wait::Woken } else { Wait::Changed });
    });
}

#[test]
fn a_requeue_that_compares_moves_no_waiter_of_another_value() {
    explore(2, || {
        let case = Case::new(2);
        let waiter = case.spawn(|case| {
            case.store(FROM);
            case.engine.wait(&case.host, FROM, 1, ANY, None).unwrap()
        });
        let moved = case.engine.requeue(&case.host, FROM, TO, 0, 1, Some(0)).unwrap();
        assert!(matches!(moved, Requeue::Done(0) | Requeue::Changed), "{moved:?}");
        while case.wake(FROM, 1) == 0 {
            thread::yield_now();
        }
        assert_eq!(waiter.join().unwrap(), Wait::Woken);
    });
}
