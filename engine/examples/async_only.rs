//! Futexes where no thread ever blocks: an executor, locks as futures, time-outs that drop them.
//!
//! All waits are `Engine::wait_async`. The host has no thread to park, so `park` answers
//! `Interrupted` (`async_parts/host.rs` says why), and `task` and `unpark` have nothing to do. A
//! time-out is a timer that is polled beside the wait (`async_parts/executor.rs`); the wait is
//! dropped then, and passes on a wake that had chosen it. The locks are in `async_parts/locks.rs`;
//! `tests/ports/async_only.rs` drops each of their futures at each poll.

#[path = "async_parts/executor.rs"]
mod executor;
#[path = "async_parts/host.rs"]
mod host;
#[path = "async_parts/locks.rs"]
mod locks;

use std::cell::{Cell, RefCell};

use executor::{Executor, Stuck, Timers, yield_now};
use host::Futexes;
use leeward_engine::Wait;
use locks::{Condition, Lock, Semaphore};

/// Has tasks pass items through a queue of three places; returns in which order items came out.
fn bounded_queue(futexes: &Futexes, timers: &Timers) -> Result<Vec<u32>, Stuck> {
    let (lock, places, filled) = (Lock::new(futexes), Semaphore::new(futexes, 3), Condition::new(futexes));
    let (items, out) = (RefCell::new(Vec::new()), RefCell::new(Vec::new()));
    let executor = Executor::default();
    for producer in 0..4 {
        let (lock, places, filled, items) = (&lock, &places, &filled, &items);
        executor.spawn(async move {
            for item in 0..100 {
                places.acquire().await;
                let guard = lock.lock().await;
                items.borrow_mut().push(100 * producer + item);
                // Held while others run: they wait as futures.
                yield_now().await;
                drop(guard);
                filled.notify_one();
            }
        });
    }
    executor.spawn(async {
        while out.borrow().len() < 400 {
            let mut guard = lock.lock().await;
            while items.borrow().is_empty() {
                guard = filled.wait(guard).await;
            }
            assert!(items.borrow().len() <= 3);
            let item = items.borrow_mut().remove(0);
            drop(guard);
            places.release();
            out.borrow_mut().push(item);
        }
    });
    executor.run(timers)?;
    drop(executor);
    Ok(out.into_inner())
}

/// Has a task give up after 5 ticks on a lock that is held for 20; returns when each had its
/// answer.
fn give_up(futexes: &Futexes, timers: &Timers) -> Result<[u64; 2], Stuck> {
    let lock = Lock::new(futexes);
    let (gave_up, got) = (Cell::new(0), Cell::new(0));
    let begin = timers.now();
    let executor = Executor::default();
    executor.spawn(async {
        let _guard = lock.lock().await;
        timers.sleep_until(begin + 20).await;
    });
    executor.spawn(async {
        assert!(timers.until(begin + 5, lock.lock()).await.is_none());
        gave_up.set(timers.now() - begin);
    });
    executor.spawn(async {
        assert!(timers.until(begin + 30, lock.lock()).await.is_some());
        got.set(timers.now() - begin);
    });
    executor.run(timers)?;
    Ok([gave_up.get(), got.get()])
}

fn main() -> Result<(), Stuck> {
    let (futexes, timers) = (Futexes::new(), Timers::default());

    let mut out = bounded_queue(&futexes, &timers)?;
    out.sort_unstable();
    assert!(out.into_iter().eq(0..400));
    println!("400 items went through a queue of three places");

    let [gave_up, got] = give_up(&futexes, &timers)?;
    println!("one task gave up after {gave_up} ticks, the other had the lock after {got}");
    assert_eq!([gave_up, got], [5, 20]);

    println!("threads parked: {}; futures that still wait: {}", futexes.parks(), futexes.waiting());
    assert_eq!((futexes.parks(), futexes.waiting()), (0, 0));

    let word = std::sync::atomic::AtomicU32::new(0);
    let end = futexes.wait_blocking(&word, 0);
    println!("a wait that would block is answered at once: {end:?}");
    assert_eq!(end, Wait::Interrupted);
    Ok(())
}
