//! Which table serves which word, as the counters show, and how tables are resized.

use core::pin::pin;
use core::task::{Context, Poll, Waker};
use std::boxed::Box;
use std::future::Future;
use std::vec::Vec;

use crate::tests::host::{Nowhere, Rationed};
use crate::{Config, Engine, Errno, Host, NoEngine, ParkEnd, Wait, Word};

const ANY: u32 = u32::MAX;

fn engine(config: Config) -> Engine<Nowhere> {
    Engine::new(config, Rationed::new(1000)).unwrap()
}

fn usual() -> Engine<Nowhere> {
    engine(Config::for_processors(1, 3))
}

fn host(threads: u32, blocks: i64) -> Nowhere {
    let host = Nowhere::new(64, Rationed::new(blocks));
    host.threads.set(threads);
    host
}

/// Returns how many waits the global table served, and the space's private table.
fn served(engine: &Engine<Nowhere>, host: &Nowhere) -> (u64, u64) {
    (engine.stats(host).queued, host.space().stats(host).queued)
}

#[test]
fn a_second_thread_gets_the_space_a_table_of_its_own() {
    let (engine, host) = (usual(), host(1, 10));
    assert_eq!(engine.wait(&host, Word::private(0), 0, ANY, None), Ok(Wait::TimedOut));
    assert_eq!(served(&engine, &host), (1, 0));
    host.threads.set(2);
    assert_eq!(engine.wait(&host, Word::private(0), 0, ANY, None), Ok(Wait::TimedOut));
    assert_eq!(served(&engine, &host), (1, 1));
    assert_eq!(host.space().stats(&host).buckets, 16);
    host.threads.set(9);
    assert_eq!(engine.wait(&host, Word::private(0), 0, ANY, None), Ok(Wait::TimedOut));
    assert_eq!(host.space().stats(&host).buckets, 64);
    // Shared words are never in the private table.
    host.end.set(ParkEnd::Interrupted);
    assert_eq!(engine.wait(&host, Word::shared(0), 0, ANY, None), Ok(Wait::Interrupted));
    assert_eq!(served(&engine, &host), (2, 2));
}

#[test]
fn private_operations_touch_no_lock_of_the_global_table() {
    let (engine, host) = (usual(), host(2, 10));
    engine.reserve(&host, 2);
    let mut waiting = pin!(engine.wait_async(&host, Word::private(8), 0, ANY));
    assert!(waiting.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    assert_eq!(engine.requeue(&host, Word::private(8), Word::private(12), 0, 1, Some(0)).map(|_| ()), Ok(()));
    assert_eq!(engine.wake(&host, Word::private(12), 1, ANY), Ok(1));
    assert_eq!(engine.stats(&host).locked, 0);
    assert!(host.space().stats(&host).locked >= 3);
}

#[test]
fn without_memory_the_global_table_serves() {
    let (engine, host) = (usual(), host(2, 0));
    assert_eq!(engine.wait(&host, Word::private(0), 0, ANY, None), Ok(Wait::TimedOut));
    assert_eq!(served(&engine, &host), (1, 0));
    assert_eq!(host.space().stats(&host).refused, 1);
    // Where there is memory again, the space gets its table, having passed over one wait.
    host.space().memory().0.store(1, std::sync::atomic::Ordering::Relaxed);
    for served_by in [(2, 0), (2, 1)] {
        assert_eq!(engine.wait(&host, Word::private(0), 0, ANY, None), Ok(Wait::TimedOut));
        assert_eq!(served(&engine, &host), served_by);
    }
}

#[test]
fn memory_that_is_not_there_is_asked_for_less_and_less_often() {
    let (engine, host) = (usual(), host(2, 0));
    for _ in 0..10_000 {
        assert_eq!(engine.wait(&host, Word::private(0), 0, ANY, None), Ok(Wait::TimedOut));
    }
    // At the waits 1, 3, 7 and so on, and after the tenth at every 1,024th.
    assert_eq!(host.space().stats(&host).refused, 18);
}

/// Returns a waiting future for each of the words.
fn crowd<'a>(
    engine: &'a Engine<Nowhere>,
    host: &'a Nowhere,
    words: core::ops::Range<u64>,
    scope: crate::Scope,
) -> Vec<std::pin::Pin<Box<crate::WaitAsync<'a, Nowhere>>>> {
    let wait = |word| {
        let mut future = Box::pin(engine.wait_async(host, Word { scope, ..Word::private(4 * word) }, 0, ANY));
        assert!(future.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        future
    };
    words.map(wait).collect()
}

#[test]
fn a_table_grows_with_the_words_that_are_waited_for() {
    for scope in [crate::Scope::Private, crate::Scope::Shared] {
        let engine = engine(Config { nodes: 2, buckets: 16, ..Config::for_processors(1, 9) });
        let host = Nowhere::new(8192, Rationed::new(100));
        host.threads.set(2);
        engine.reserve(&host, 2);
        let mut waiting = Vec::new();
        for most in [100_u64, 1000, 8192] {
            waiting.extend(crowd(&engine, &host, waiting.len() as u64..most, scope));
            let stats = if scope == crate::Scope::Private { host.space().stats(&host) } else { engine.stats(&host) };
            assert_eq!(stats.waiters, most);
            // There are two buckets for each waiter as a rule; fewer than four, whichever words a
            // program chooses.
            assert!((most..4 * most).contains(&(stats.buckets as u64)), "{stats:?}");
            // The tables that were replaced are counted, too, and have as many buckets together: 64
            // and 4 bytes a bucket, 128 where they are few.
            assert!(stats.bytes as u64 <= most * 4 * 2 * 68 + 16 * 1024, "{stats:?}");
        }
        for (word, future) in waiting.iter_mut().enumerate() {
            assert_eq!(engine.wake(&host, Word { scope, ..Word::private(4 * word as u64) }, 1, ANY), Ok(1));
            assert!(future.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready());
        }
    }
}

#[test]
fn a_crowd_at_one_word_makes_no_table_larger() {
    let (engine, host) = (usual(), host(2, 10));
    let _waiting: Vec<_> =
        (0..1000).map(|_| crowd(&engine, &host, 3..4, crate::Scope::Private).pop().unwrap()).collect();
    assert_eq!(host.space().stats(&host).buckets, 16);
}

#[test]
fn a_wake_with_nobody_there_takes_a_lock_once_at_most_beside_waiters_of_other_words() {
    let (engine, host) = (engine(Config::small(3)), host(1, 10));
    let waiting = crowd(&engine, &host, 0..32, crate::Scope::Shared);
    let mut gone = crowd(&engine, &host, 32..64, crate::Scope::Shared);
    let wake_each = || -> u64 {
        let before = engine.stats(&host).locked;
        for word in 32..64 {
            assert_eq!(engine.wake(&host, Word::shared(4 * word), 1, ANY), Ok(0));
        }
        engine.stats(&host).locked - before
    };
    gone.clear();
    // Filter bits of waiters that are gone are still there; a wake that looks under the lock clears
    // them, except those that other words' waiters have.
    wake_each();
    let rest = wake_each();
    assert!(rest <= 8, "{rest} of 32 words have a filter_bit of other waiters in their bucket");
    assert_eq!(waiting.len() as u64, engine.stats(&host).waiters);
    for word in 0..32 {
        assert_eq!(engine.wake(&host, Word::shared(4 * word), 1, ANY), Ok(1));
    }
    let before = engine.stats(&host).locked;
    wake_each();
    assert_eq!(engine.stats(&host).locked, before);
}

#[test]
fn without_memory_for_a_larger_table_the_old_one_serves() {
    let (engine, host) = (usual(), host(2, 1));
    engine.reserve(&host, 2);
    engine.reserve(&host, 1000);
    let stats = host.space().stats(&host);
    assert_eq!((stats.buckets, stats.refused), (16, 1));
    assert_eq!(engine.wait(&host, Word::private(0), 0, ANY, None), Ok(Wait::TimedOut));
    assert_eq!(served(&engine, &host), (0, 1));
}

#[test]
fn a_waiter_in_the_global_table_keeps_the_space_there_until_it_is_gone() {
    let (engine, host) = (usual(), host(1, 10));
    let mut context = Context::from_waker(Waker::noop());
    for round in 0..2 {
        let mut early = pin!(engine.wait_async(&host, Word::private(4), 0, ANY));
        assert!(early.as_mut().poll(&mut context).is_pending());
        host.threads.set(2);
        engine.reserve(&host, 2);
        let mut late = pin!(engine.wait_async(&host, Word::private(4), 0, ANY));
        assert!(late.as_mut().poll(&mut context).is_pending());
        assert_eq!(served(&engine, &host), if round == 0 { (2, 0) } else { (2, 2) });
        assert_eq!(engine.wake(&host, Word::private(4), 1, ANY), Ok(1));
        assert_eq!(early.as_mut().poll(&mut context), Poll::Ready(Ok(Wait::Woken)));
        assert_eq!(engine.wake(&host, Word::private(4), 9, ANY), Ok(1));
        assert_eq!(late.as_mut().poll(&mut context), Poll::Ready(Ok(Wait::Woken)));
        engine.reserve(&host, 2);
    }
}

#[test]
fn waiters_move_to_a_larger_table_in_their_order() {
    let (engine, host) = (usual(), host(2, 10));
    let mut context = Context::from_waker(Waker::noop());
    let mut futures: Vec<_> = (0..48)
        .map(|i| {
            let mut future = Box::pin(engine.wait_async(&host, Word::private(4 * (i % 8)), 0, ANY));
            assert!(future.as_mut().poll(&mut context).is_pending());
            future
        })
        .collect();
    for threads in [64, 200, 5000] {
        engine.reserve(&host, threads);
    }
    assert_eq!(host.space().stats(&host).buckets, 32768);
    for (i, future) in futures.iter_mut().enumerate() {
        assert!(future.as_mut().poll(&mut context).is_pending());
        assert_eq!(engine.wake(&host, Word::private(4 * (i as u64 % 8)), 1, ANY), Ok(1));
        assert_eq!(future.as_mut().poll(&mut context), Poll::Ready(Ok(Wait::Woken)), "waiter {i}");
    }
    assert_eq!(host.space().stats(&host).waiters, 0);
}

#[test]
fn the_small_configuration_has_one_table_for_all() {
    let (engine, host) = (engine(Config::small(1)), host(100, 10));
    assert_eq!(engine.wait(&host, Word::private(0), 0, ANY, None), Ok(Wait::TimedOut));
    assert_eq!(served(&engine, &host), (1, 0));
    let stats = engine.stats(&host);
    assert_eq!((stats.buckets, host.space().stats(&host).bytes), (16, 0));
    assert!(stats.bytes <= 16 * 128 + 128, "{stats:?}");
}

#[test]
fn the_global_table_is_split_by_nodes() {
    let (engine, host) = (engine(Config { nodes: 3, ..Config::for_processors(1, 9) }), host(1, 10));
    for word in 0..64 {
        assert_eq!(engine.wait(&host, Word::shared(4 * word), 0, ANY, None), Ok(Wait::TimedOut));
    }
    let stats = engine.stats(&host);
    assert_eq!((stats.queued, stats.waiters, stats.buckets), (64, 0, 3 * 256));
}

#[test]
fn configurations_that_cannot_be_are_refused() {
    let with = |nodes, buckets, blocks| {
        let config = Config { nodes, buckets, most_buckets: buckets, private_tables: true, seed: 0 };
        Engine::<Nowhere>::new(config, Rationed::new(blocks)).err()
    };
    for (nodes, buckets) in [(0, 16), (65, 16), (1, 0), (1, 17), (1, 1 << 19)] {
        assert_eq!(with(nodes, buckets, 100), Some(NoEngine::Config), "{nodes} {buckets}");
    }
    assert_eq!(with(4, 16, 3), Some(NoEngine::Memory));
    assert_eq!(with(4, 16, 4), None);
}

#[test]
fn a_fault_that_cannot_be_served_leaves_nothing_behind() {
    let (engine, host) = (usual(), host(2, 10));
    let (gone, kernel) = (Word::private(4 * 64), Word::private(1 << 63));
    assert_eq!(engine.wait(&host, gone, 0, ANY, None), Err(Errno::EFAULT));
    assert_eq!(engine.requeue(&host, gone, Word::private(0), 1, 1, Some(0)), Err(Errno::EFAULT));
    assert_eq!(engine.wake(&host, gone, 1, ANY), Ok(0));
    assert_eq!(engine.wake(&host, kernel, 1, ANY), Err(Errno::EFAULT));
    assert_eq!(engine.wait(&host, Word::private(2), 0, ANY, None), Err(Errno::EINVAL));
    assert_eq!(engine.wait(&host, Word::private(0), 0, 0, None), Err(Errno::EINVAL));
    assert_eq!(host.space().stats(&host).waiters + engine.stats(&host).waiters, 0);
}

#[test]
fn urgent_waiters_come_first_and_equals_in_their_order_also_when_moved() {
    let (engine, host) = (usual(), host(2, 10));
    let mut context = Context::from_waker(Waker::noop());
    let mut waiters: Vec<_> = [5, 9, 5, 1, 9]
        .into_iter()
        .map(|priority| {
            host.priority.set(priority);
            let mut waiter = Box::pin(engine.wait_async(&host, Word::private(0), 0, ANY));
            assert!(waiter.as_mut().poll(&mut context).is_pending());
            waiter
        })
        .collect();
    assert!(engine.requeue(&host, Word::private(0), Word::private(4), 1, 9, Some(0)).is_ok());
    assert_eq!(waiters[3].as_mut().poll(&mut context), Poll::Ready(Ok(Wait::Woken)));
    for i in [0, 2, 1, 4] {
        assert!(waiters[i].as_mut().poll(&mut context).is_pending());
        assert_eq!(engine.wake(&host, Word::private(4), 1, ANY), Ok(1));
        assert_eq!(waiters[i].as_mut().poll(&mut context), Poll::Ready(Ok(Wait::Woken)), "waiter {i}");
    }
}
