//! Threads that contend for a mutex of any kind.

#![allow(dead_code, missing_docs)]

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use lock_api::RawMutex;

use super::common::{Rng, Watchdog, compute, duration};

/// Runs threads that add to a number that no atomic guards, some of which give up now and then.
pub fn exclusion<R: lock_api::RawMutexTimed<Duration = Duration, Instant = Instant> + Sync>(threads: u64)
where
    R::GuardMarker: Sync,
{
    let _dog = Watchdog::new("exclusion");
    let mutex = lock_api::Mutex::<R, u64>::new(0);
    let added = AtomicU64::new(0);
    let end = Instant::now() + duration(0.3);
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let (mutex, added) = (&mutex, &added);
            scope.spawn(move || {
                let mut rng = Rng::new(thread);
                let mut mine = 0;
                while Instant::now() < end {
                    let guard = match rng.below(4) {
                        0 => mutex.try_lock(),
                        1 => mutex.try_lock_for(Duration::from_micros(rng.below(50))),
                        _ => Some(mutex.lock()),
                    };
                    if let Some(mut guard) = guard {
                        let value = *guard;
                        compute(rng.below(200));
                        *guard = value + 1;
                        mine += 1;
                    }
                    compute(rng.below(200));
                }
                added.fetch_add(mine, Ordering::Relaxed);
            });
        }
    });
    assert_eq!(mutex.into_inner(), added.into_inner());
}

/// Runs threads that sleep in every round: a lost wake-up is a hang.
pub fn hand_to_hand<R: RawMutex + Sync>(turns: u64)
where
    R::GuardMarker: Sync,
{
    let dog = Watchdog::new("hand_to_hand");
    let mutex = lock_api::Mutex::<R, u64>::new(0);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..turns {
                    let mut guard = mutex.lock();
                    *guard += 1;
                    dog.goes_on();
                    // The other threads go to sleep meanwhile.
                    std::thread::yield_now();
                    if *guard % 16 == 0 {
                        std::thread::sleep(Duration::from_micros(50));
                    }
                }
            });
        }
    });
    assert_eq!(mutex.into_inner(), 4 * turns);
}
