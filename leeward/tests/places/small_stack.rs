//! Calls on the smallest stack that a thread may have: 16 KiB, and what the C library adds for itself.
//! Fibres and C programs have such ones.

#![cfg(all(target_os = "linux", not(leeward_symmetric)))]
#![allow(missing_docs)]

use std::thread;

use leeward::collect::{Bounded, HashMap, List, OrderedMap, Queue, Stack};
use leeward::hazard;
use leeward::rcu::{self, Domain, Global, RcuCell, epoch, qsbr};
use leeward::sync::{Condvar, Event, Mutex, RwLock, Semaphore};
use leeward::{asym, fence};

/// Calls `act` on a thread with so little stack. One that needs more ends the process.
fn on_a_small_stack(act: impl FnOnce() + Send) {
    thread::scope(|scope| {
        let thread = thread::Builder::new().stack_size(16 * 1024).spawn_scoped(scope, act);
        thread.unwrap().join().unwrap();
    });
}

#[test]
fn fences_and_grace_periods() {
    on_a_small_stack(fence::heavy);
    on_a_small_stack(|| {
        drop(rcu::read());
        Global::synchronize();
    });
    on_a_small_stack(|| {
        Global::defer(|| ());
        Global::barrier();
    });
    on_a_small_stack(|| {
        let mut reader = qsbr::Reader::register();
        reader.quiescent();
        drop(reader);
        let cookie = Global::start_poll();
        let _ = Global::poll_state(&cookie);
    });
    on_a_small_stack(|| {
        let cell = RcuCell::new(1);
        cell.store(2);
        assert_eq!(*cell.load(&rcu::read()), 2);
    });
}

#[test]
fn other_ways_to_free() {
    on_a_small_stack(|| {
        let guard = epoch::pin();
        guard.defer(|| ());
        guard.flush();
    });
    on_a_small_stack(|| {
        let cell = hazard::Cell::new(1);
        let mut pointer = hazard::HazardPointer::new();
        assert_eq!(pointer.protect(&cell), Some(&1));
    });
}

#[test]
fn locks() {
    on_a_small_stack(|| {
        *Mutex::new(1).lock() += 1;
        *RwLock::new(1).write() += 1;
        assert_eq!(*RwLock::new(1).read(), 1);
        let semaphore = Semaphore::new(1);
        semaphore.acquire();
        let event = Event::new();
        event.set();
        event.wait();
        Condvar::new().notify_all();
    });
    on_a_small_stack(|| {
        let lock = asym::RwLock::new(1);
        assert_eq!(*lock.read(), 1);
        *lock.write() += 1;
        *asym::Mutex::new(1).lock() += 1;
    });
}

#[test]
fn containers() {
    on_a_small_stack(|| {
        let map = HashMap::new();
        (0..2000).for_each(|key| drop(map.insert(key % 100, key)));
        assert_eq!(map.len(), 100);
        map.reclaim();
    });
    on_a_small_stack(|| {
        let map = OrderedMap::new();
        (0..2000).for_each(|key| drop(map.insert(key % 100, key)));
        assert_eq!(map.len(), 100);
    });
    on_a_small_stack(|| {
        let queue = <Queue<u32>>::new();
        (0..2000).for_each(|value| queue.push(value));
        assert_eq!(queue.pop_all().count(), 2000);
        let queue = Bounded::with_capacity(2000);
        (0..2000).for_each(|value| queue.push(value).unwrap());
        assert_eq!((queue.force_push(2000), queue.into_iter().count()), (Some(0), 2000));
        let stack = <Stack<u32>>::new();
        stack.push(1);
        assert_eq!(stack.pop(), Some(1));
    });
    on_a_small_stack(|| {
        let list = <List<u32>>::new();
        list.push_back(1);
        assert!(!list.is_empty());
    });
}
