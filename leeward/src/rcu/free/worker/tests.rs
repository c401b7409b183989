//! Tests of what ends a worker's nap.

use std::sync::atomic::AtomicBool;
use std::thread;

use super::*;

/// Naps for an hour, until `end` is called.
fn nap_until(end: impl FnOnce(&Worker, &AtomicBool)) {
    let worker = Worker::new();
    let has_ended = AtomicBool::new(false);
    worker.look_again();
    thread::scope(|scope| {
        scope.spawn(|| {
            assert!(!worker.nap(Duration::from_secs(3600)));
            has_ended.store(true, Ordering::SeqCst);
        });
        end(&worker, &has_ended);
    });
    // It has taken back what was announced.
    assert_eq!(worker.work.load(Ordering::SeqCst), AWAKE);
}

#[test]
fn a_thread_that_waits_ends_a_nap() {
    nap_until(|worker, _| worker.call());
    nap_until(|worker, _| {
        thread::sleep(Duration::from_millis(10));
        worker.call();
    });
}

#[test]
fn a_worker_that_begins_looks_before_it_sleeps() {
    let worker = Worker::new();
    // The one before was told, took that back, and ended without doing it.
    worker.tell();
    worker.look_again();
    worker.begin();
    // Else this sleeps for ever.
    worker.sleep();
    assert_eq!(worker.work.load(Ordering::SeqCst), AWAKE);
}

#[test]
fn two_calls_end_one_nap() {
    let worker = Worker::new();
    worker.look_again();
    worker.call();
    worker.call();
    assert!(!worker.nap(Duration::from_secs(3600)));
    assert_eq!(worker.work.load(Ordering::SeqCst), AWAKE);
    assert!(worker.nap(Duration::from_millis(1)));
}

#[test]
fn a_thread_that_queues_does_not_end_a_nap() {
    nap_until(|worker, has_ended| {
        for _ in 0..10 {
            worker.tell();
            thread::sleep(Duration::from_millis(1));
        }
        assert!(!has_ended.load(Ordering::SeqCst));
        // Nor does it hide that another waits.
        worker.call();
    });
}

#[test]
fn a_nap_ends_by_itself() {
    let worker = Worker::new();
    worker.look_again();
    worker.tell();
    assert!(worker.nap(Duration::from_millis(1)));
}

/// What is announced while the worker works keeps it from sleeping.
#[test]
fn what_was_announced_is_looked_at() {
    let worker = Worker::new();
    for announce in [Worker::tell, Worker::call] {
        worker.look_again();
        announce(&worker);
        worker.sleep();
        worker.look_again();
        announce(&worker);
        worker.tell();
        worker.sleep();
    }
}

/// Sleeps between two naps: none after one that gathered callbacks, and more after each that did not.
#[test]
fn needless_naps_become_rare() {
    let naps = Naps::new();
    let sleeps = || (0..).take_while(|_| !naps.may_begin()).count();
    assert_eq!(sleeps(), 0);
    for expected in [1, 2, 4, 8, 16, 32, 64, 64] {
        naps.learn(false);
        assert_eq!(sleeps(), expected);
    }
    naps.learn(true);
    assert_eq!(sleeps(), 0);
    naps.learn(false);
    assert_eq!(sleeps(), 1);
}
