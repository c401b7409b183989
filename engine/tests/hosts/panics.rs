//! A host that panics, in each callback and at each of its calls in turn: the panic passes through,
//! and afterwards no waiter is in a list, no lock is held, and preemption is as it was.

#![allow(missing_docs)]

#[path = "../common/panicky.rs"]
mod panicky;

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Wake, Waker};

use leeward_engine::{Arithmetic, Comparison, WaitEntry, WakeOp, Word};

use panicky::{ALL, ANY, Callback, Case, quietly};

/// Runs `scenario` with a panic at each call of each callback; returns how many panics there were.
fn at_each_call(private_tables: bool, name: &str, scenario: impl Fn(&Case)) -> u32 {
    let mut panics = 0;
    for callback in ALL {
        for call in 1.. {
            let case = Case::new(private_tables);
            case.host.fuse.light(callback, call);
            let end = catch_unwind(AssertUnwindSafe(|| scenario(&case)));
            let unburnt = case.host.fuse.put_out();
            case.nobody_is_left(&format!("{name}, {callback:?} {call}"));
            if unburnt {
                assert!(end.is_ok(), "{name}: {callback:?} {call}");
                break;
            }
            panics += u32::from(end.is_err());
        }
    }
    panics
}

/// Runs `scenario` with words of each kind: shared, private in the global table, private in the
/// space's own table.
fn each_kind(name: &str, least: u32, scenario: impl Fn(&Case, &dyn Fn(u64) -> Word)) {
    let panics = at_each_call(false, name, |case| scenario(case, &Word::shared))
        + at_each_call(false, name, |case| scenario(case, &Word::private))
        + at_each_call(true, name, |case| {
            case.host.threads.set(64);
            scenario(case, &Word::private);
        });
    assert!(panics >= least, "{name}: {panics}");
}

#[test]
fn a_wait_that_times_out() {
    quietly(|| {
        each_kind("wait", 20, |case, word| {
            case.host.missing.set(true);
            _ = case.engine.wait(&case.host, word(8), 0, ANY, None);
            case.host.words[3].set(1);
            _ = case.engine.wait(&case.host, word(12), 0, ANY, None);
        });
    });
}

#[test]
fn a_wait_that_is_woken_or_moved() {
    quietly(|| {
        for moved in [false, true] {
            each_kind("wait and wake", 20, |case, word| {
                let (case_at, from, to) = (core::ptr::from_ref(case).addr(), word(8), word(12));
                *case.host.meanwhile.borrow_mut() = Some(Box::new(move || {
                    let case = core::ptr::with_exposed_provenance::<Case>(case_at);
                    // SAFETY: called in the wait below, which borrows it.
                    let case = unsafe { &*case };
                    if moved {
                        _ = case.engine.requeue(&case.host, from, to, 0, 1, None);
                    } else {
                        _ = case.engine.wake(&case.host, from, 1, ANY);
                    }
                }));
                _ = core::ptr::from_ref(case).expose_provenance();
                _ = case.engine.wait(&case.host, from, 0, ANY, None);
            });
        }
    });
}

#[test]
fn a_wait_on_several_words() {
    quietly(|| {
        each_kind("waitv", 40, |case, word| {
            let mut entries = Box::new([8, 12, 16].map(|address| WaitEntry::new(word(address), 0)));
            case.host.missing.set(true);
            _ = case.engine.waitv(&case.host, &mut *entries, None);
            // The second word is not as expected: the first one's waiter is taken out.
            case.host.words[3].set(1);
            _ = case.engine.waitv(&case.host, &mut *entries, None);
        });
    });
}

#[test]
fn futures_that_are_dropped() {
    quietly(|| {
        each_kind("drop", 20, |case, word| {
            drop(case.many(word(8), 3));
            // The wake of a future that is dropped goes to the next one.
            let mut two = case.many(word(8), 2);
            _ = case.engine.wake(&case.host, word(8), 1, ANY);
            drop(two.swap_remove(0));
        });
    });
}

#[test]
fn a_future_that_is_polled_again() {
    quietly(|| {
        each_kind("poll", 10, |case, word| {
            let mut future = case.waiting(word(8));
            _ = future.as_mut().poll(&mut Context::from_waker(Waker::noop()));
            _ = case.engine.wake(&case.host, word(8), 1, ANY);
            _ = future.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        });
    });
}

#[test]
fn wakes_and_moves() {
    quietly(|| {
        each_kind("wake", 40, |case, word| {
            let waiting = case.many(word(8), 20);
            _ = case.engine.wake(&case.host, word(8), 18, ANY);
            drop(waiting);
            let waiting = case.many(word(8), 20);
            _ = case.engine.requeue(&case.host, word(8), word(12), 17, 9, Some(0));
            let op =
                WakeOp { arithmetic: Arithmetic::Add, argument: 1, comparison: Some(Comparison::Equal), against: 0 };
            _ = case.engine.wake_op(&case.host, word(8), 1, word(16), op, 1);
            drop(waiting);
        });
    });
}

#[test]
fn a_table_that_grows() {
    quietly(|| {
        let panics = at_each_call(true, "resize", |case| {
            case.host.threads.set(2);
            let waiting: Vec<_> = (0..30).map(|i| case.waiting(Word::private(4 * (i % 8)))).collect();
            case.engine.reserve(&case.host, 9);
            // After a panic, the next call goes on with the resize.
            case.engine.reserve(&case.host, 20);
            for i in 0..8 {
                _ = case.engine.wake(&case.host, Word::private(4 * i), 2, ANY);
            }
            drop(waiting);
        });
        assert!(panics >= 100, "{panics}");
    });
}

/// Half of the waiters are in the larger table when the host panics; all are found, in their order,
/// before and after the rest was moved.
#[test]
fn a_table_that_stopped_growing() {
    quietly(|| {
        for (callback, calls) in [(Callback::Off, 1..80), (Callback::On, 1..80), (Callback::Allocate, 1..2)] {
            for call in calls {
                let case = Case::new(true);
                case.host.threads.set(2);
                let words: Vec<_> = (0..8).map(|i| Word::private(4 * i)).collect();
                let waiting: Vec<_> = words.iter().map(|&word| case.many(word, 4)).collect();
                case.host.fuse.light(callback, call);
                let end = catch_unwind(AssertUnwindSafe(|| case.engine.reserve(&case.host, 16)));
                case.host.fuse.put_out();
                let wake = |count| {
                    for &word in &words {
                        assert_eq!(case.engine.wake(&case.host, word, count, ANY), Ok(count), "{callback:?} {call}");
                    }
                };
                wake(1);
                case.engine.reserve(&case.host, 16);
                assert_eq!(case.host.space.stats(&case.host).buckets, 64, "{callback:?} {call}: {end:?}");
                wake(2);
                drop(waiting);
                case.nobody_is_left("resize");
            }
        }
    });
}

/// The global table grows when one more waiter comes to wait: the resize goes on with another one.
#[test]
fn a_global_table_that_stopped_growing() {
    const WORDS: usize = 24;
    let word = |i: usize| Word::shared(4 * (i % WORDS) as u64);
    let buckets = |case: &Case| case.engine.stats(&case.host).buckets;
    quietly(|| {
        let case = Case::growing();
        let mut waiting: Vec<_> = Vec::new();
        while buckets(&case) == 4 {
            waiting.push(case.waiting(word(waiting.len())));
        }
        let enough = waiting.len() - 1;
        let mut panics = 0;
        for (callback, calls) in [(Callback::Off, 1..30), (Callback::On, 1..30), (Callback::Allocate, 1..2)] {
            for call in calls {
                let case = Case::growing();
                let mut counts = [0; WORDS];
                let mut waiting: Vec<_> = (0..enough).map(|i| case.waiting(word(i))).collect();
                case.host.fuse.light(callback, call);
                let last = catch_unwind(AssertUnwindSafe(|| case.waiting(word(enough))));
                case.host.fuse.put_out();
                panics += u32::from(last.is_err());
                waiting.extend(last);
                (0..waiting.len()).for_each(|i| counts[i % WORDS] += 1);
                for (i, count) in counts.iter_mut().enumerate().filter(|(_, count)| **count != 0) {
                    assert_eq!(case.engine.wake(&case.host, word(i), 1, ANY), Ok(1), "{callback:?} {call}");
                    *count -= 1;
                }
                for i in 0..100 {
                    waiting.push(case.waiting(word(i)));
                    counts[i % WORDS] += 1;
                }
                assert!(buckets(&case) > 4, "{callback:?} {call}");
                for (i, count) in counts.into_iter().enumerate() {
                    assert_eq!(case.engine.wake(&case.host, word(i), 99, ANY), Ok(count), "{callback:?} {call}");
                }
                drop(waiting);
                case.nobody_is_left("global resize");
            }
        }
        assert!(panics >= 20, "{panics}");
    });
}

#[test]
fn those_behind_one_whose_waker_panics_are_told() {
    quietly(|| {
        for count in [2, 16, 20] {
            let case = Case::new(false);
            let told = Arc::new(Told(AtomicU32::new(0)));
            let waker = Waker::from(told.clone());
            let mut waiting: Vec<_> =
                (0..count).map(|_| Box::pin(case.engine.wait_async(&case.host, Word::shared(8), 0, ANY))).collect();
            for future in &mut waiting {
                assert!(future.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
            }
            let end = catch_unwind(AssertUnwindSafe(|| case.engine.wake(&case.host, Word::shared(8), count, ANY)));
            assert!(end.is_err());
            // The waiters that were chosen with it.
            assert_eq!(told.0.load(Ordering::Relaxed), count.min(16));
            drop(waiting);
            case.nobody_is_left("waker");
        }
    });
}

#[test]
fn who_was_chosen_is_told_where_giving_the_lock_up_panics() {
    quietly(|| {
        for count in [1, 2, 16] {
            let case = Case::new(false);
            // It is not the first: it does not panic.
            let told = Arc::new(Told(AtomicU32::new(1)));
            let waker = Waker::from(told.clone());
            let mut waiting: Vec<_> =
                (0..count).map(|_| Box::pin(case.engine.wait_async(&case.host, Word::shared(8), 0, ANY))).collect();
            for future in &mut waiting {
                assert!(future.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
            }
            case.host.fuse.light(Callback::On, 1);
            let end = catch_unwind(AssertUnwindSafe(|| case.engine.wake(&case.host, Word::shared(8), count, ANY)));
            assert!(end.is_err());
            assert_eq!(told.0.load(Ordering::Relaxed) - 1, count);
            drop(waiting);
            case.nobody_is_left("waker");
        }
    });
}

/// A waker that counts; the first one panics.
struct Told(AtomicU32);
impl Wake for Told {
    fn wake(self: Arc<Self>) {
        let before = self.0.fetch_add(1, Ordering::Relaxed);
        assert!(before != 0, "host: Wake");
    }
}
