//! Tasks that are told, one or all, of what was done before.

use super::*;
use crate::atomic::{AtomicU32, Ordering};

#[test]
fn one_is_told() {
    fn told(notify: &Notify, value: &Value) {
        block_on(notify.notified());
        assert_eq!(value.get(), 1);
    }
    fn tells(notify: &Notify, value: &Value) {
        value.add();
        notify.notify_one();
    }
    explore(3, || assert_eq!(beside(Notify::new(), &[told, tells]), 1));
}

/// A `Notify`, and what is true when all were told.
type Condition = (Notify, AtomicU32);

fn condition() -> Condition {
    (Notify::new(), AtomicU32::new(0))
}

/// Waits until it is true. Relaxed, as are the stores: the order is the `Notify`'s.
fn until(condition: &Condition, _: &Value) {
    loop {
        let told = condition.0.notified();
        if condition.1.load(Ordering::Relaxed) != 0 {
            return;
        }
        block_on(told);
    }
}

fn makes_true_for_one(condition: &Condition, _: &Value) {
    condition.1.store(1, Ordering::Relaxed);
    condition.0.notify_one();
}

fn makes_true_for_all(condition: &Condition, _: &Value) {
    condition.1.store(1, Ordering::Relaxed);
    condition.0.notify_waiters();
}

/// A call finds a notification that is kept: the task that takes it sees what was done before both calls.
#[test]
fn two_are_kept_as_one() {
    explore(3, || {
        let condition = condition();
        condition.0.notify_one();
        beside(condition, &[makes_true_for_one, until]);
    });
}

/// A future that is made before all are told is told, and one that counts the call sees what was done.
#[test]
fn all_are_told() {
    explore(3, || {
        beside(condition(), &[until, makes_true_for_all]);
    });
    explore(2, || {
        beside(condition(), &[until, until, makes_true_for_all]);
    });
}

/// What one was told that gives up goes to the other.
#[test]
fn one_that_gives_up_tells_the_next() {
    fn told(notify: &Notify, _: &Value) {
        block_on(notify.notified());
    }
    fn told_or_given_up(notify: &Notify, _: &Value) {
        if glance(notify.notified()).is_some() {
            notify.notify_one();
        }
    }
    explore(2, || {
        beside(Notify::new(), &[told, told_or_given_up, |notify, _| notify.notify_one()]);
    });
}

/// All are told while one is queued, which another thread tells.
#[test]
fn one_beside_all() {
    fn told_all(notify: &Notify, _: &Value) {
        notify.notify_waiters();
        notify.notify_one();
    }
    fn told(notify: &Notify, _: &Value) {
        block_on(notify.notified());
    }
    explore(3, || {
        beside(Notify::new(), &[told, told_all]);
    });
}
