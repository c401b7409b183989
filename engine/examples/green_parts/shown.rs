//! What the example `green_threads` shows.

mod host;
mod lock;
mod scheduler;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

use self::host::{Runtime, Scheduler};
use self::lock::Lock;
use self::scheduler::Stuck;
use leeward_engine::Wait;

/// Makes a green thread of a function that keeps nothing of its carrier.
fn spawn(scheduler: &Scheduler, function: impl FnOnce(&Runtime) + Send + 'static) {
    // SAFETY: the functions of this example keep words, locks and counts, none of them a carrier's.
    unsafe { scheduler.spawn(function) };
}

/// Has two green threads pass a turn on; returns how often the only carrier slept meanwhile.
fn ping_pong() -> Result<usize, Stuck> {
    let scheduler = Scheduler::new();
    let turn = Arc::new(AtomicU32::new(0));
    for me in 0..2 {
        let turn = Arc::clone(&turn);
        spawn(&scheduler, move |runtime| {
            for round in 0..1_000 {
                let mine = 2 * round + me;
                loop {
                    let now = turn.load(SeqCst);
                    if now == mine {
                        break;
                    }
                    runtime.wait(&turn, now, None);
                }
                turn.store(mine + 1, SeqCst);
                runtime.wake(&turn, 1);
            }
        });
    }
    Ok(scheduler.run(1)?.sleeps)
}

/// Has a thousand green threads count under one lock, on two carriers; returns the count.
fn count() -> Result<u32, Stuck> {
    let scheduler = Scheduler::new();
    let shared = Arc::new((Lock::default(), AtomicU32::new(0)));
    for _ in 0..1_000 {
        let shared = Arc::clone(&shared);
        spawn(&scheduler, move |runtime| {
            let (lock, count) = &*shared;
            for _ in 0..10 {
                let _guard = lock.lock(runtime);
                let before = count.load(SeqCst);
                // Held while others run: they park.
                runtime.yield_now();
                count.store(before + 1, SeqCst);
            }
        });
    }
    scheduler.run(2)?;
    Ok(shared.1.load(SeqCst))
}

/// Has a thread wait, and cancels it; returns how many were cancelled.
fn cancel() -> Result<usize, Stuck> {
    let scheduler = Scheduler::new();
    // SAFETY: as in `spawn`.
    let waits = unsafe { scheduler.spawn(|runtime| _ = runtime.wait(&AtomicU32::new(0), 0, None)) };
    spawn(&scheduler, move |runtime| runtime.cancel(waits));
    Ok(scheduler.run(1)?.cancelled)
}

/// Runs all of it.
///
/// # Errors
/// [`Stuck`] if a scheduler finds that its threads wait for ever, which one is made for.
pub fn show() -> Result<(), Stuck> {
    let sleeps = ping_pong()?;
    println!("two green threads passed a turn on 2000 times; their carrier slept {sleeps} times");
    assert_eq!(sleeps, 0);

    let count = count()?;
    println!("1000 green threads on two carriers counted to {count}");
    assert_eq!(count, 10_000);

    println!("threads that were cancelled while they waited: {}", cancel()?);

    let scheduler = Scheduler::new();
    spawn(&scheduler, |runtime| {
        let end = runtime.wait(&AtomicU32::new(0), 0, Some(1_000));
        println!("a wait of 1000 ns ended at {} ns: {end:?}", runtime.now());
        assert_eq!((end, runtime.now()), (Wait::TimedOut, 1_000));
    });
    scheduler.run(2)?;

    spawn(&scheduler, |runtime| _ = runtime.wait(&AtomicU32::new(0), 0, None));
    let answer = scheduler.run(2);
    let left = scheduler.runtime().waiting();
    println!("a thread that nothing wakes: {answer:?}, and {left} waiters are left");
    assert_eq!((answer, left), (Err(Stuck(1)), 0));
    Ok(())
}
