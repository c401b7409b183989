//! The operations of what several processes share: robust locks and regions.

use std::time::Duration;

use leeward::robust::{self, ByExchange, ByStore, Unlock};
use leeward::shared::{AnyBytes, Condvar, Mutex, Region, RwLock};

use super::super::case::Beside;
use super::Operation;

operations! {
    "processes";
    robust: || robust_lock(&BY_EXCHANGE);
    robust_tried: || drop(BY_EXCHANGE.try_lock().unwrap());
    robust_awaited: || robust_lock(&BY_EXCHANGE) => beside(|beside| holds(&BY_EXCHANGE, beside));
    robust_light: || robust_lock(&BY_STORE);
    robust_light_awaited: || robust_lock(&BY_STORE) => beside(|beside| holds(&BY_STORE, beside));
    robust_timed: || drop(BY_STORE.try_lock_for(SHORT)) => beside(|beside| holds(&BY_STORE, beside));
    robust_read: || assert_eq!(READ.read().unwrap().get(), 0);
    robust_written: || WRITTEN.write().unwrap().with(|count| *count += 1);
    robust_read_awaited: || drop(READ.read().unwrap()) => beside(|beside| {
        let guard = READ.write().unwrap();
        beside.until_it_sleeps();
        drop(guard);
    });
    robust_written_awaited: || WRITTEN.write().unwrap().set(1) => beside(|beside| {
        let guard = WRITTEN.read().unwrap();
        beside.until_it_sleeps();
        drop(guard);
    });
    end_of_a_robust_reader: || drop(READ.read().unwrap()) => until_the_thread_ends();
    end_of_a_robust_locker: || robust_lock(&BY_EXCHANGE) => until_the_thread_ends();
    region: || drop(Region::<Locks>::create(1, |_| ()).unwrap());
    shared_locks: || {
        let region = Region::<Locks>::create(1, |_| ()).unwrap();
        *region.mutex.lock() += 1;
        *region.rwlock.write() += 1;
        drop(region.rwlock.read());
        region.condvar.wait_for(&mut region.mutex.lock(), SHORT);
        region.condvar.notify_all();
    };
}

const SHORT: Duration = Duration::from_millis(2);

static BY_EXCHANGE: robust::Mutex<[u32; 2], ByExchange> = robust::Mutex::with_unlock([0; 2]);
static BY_STORE: robust::Mutex<[u32; 2], ByStore> = robust::Mutex::with_unlock([0; 2]);
static READ: robust::RwLock<u32> = robust::RwLock::new(0);
static WRITTEN: robust::RwLock<u32> = robust::RwLock::new(0);

#[repr(C)]
struct Locks {
    mutex: Mutex<u32>,
    rwlock: RwLock<u32>,
    condvar: Condvar,
}

// SAFETY: any bytes are locks and numbers.
unsafe impl AnyBytes for Locks {}

fn robust_lock<U: Unlock>(mutex: &'static robust::Mutex<[u32; 2], U>) {
    mutex.lock().unwrap().with(|[first, _]| *first += 1);
}

fn holds<U: Unlock>(mutex: &'static robust::Mutex<[u32; 2], U>, beside: &Beside<'_>) {
    let guard = mutex.lock().unwrap();
    beside.until_it_sleeps();
    drop(guard);
}
