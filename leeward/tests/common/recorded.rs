//! Histories that some threads record at once, for the checker of `linearize.rs`.

#![allow(dead_code, missing_docs)]

use std::sync::Barrier;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::Instant;

use crate::common::{Raise, Rng, Watchdog, duration};
use crate::linearize::*;

/// How many histories of an object must be decided.
const LEAST: usize = 50;

/// Returns the history of `threads` threads, which make `calls` calls each that `choose` chooses, by
/// a generator and a number that no other call gets.
pub fn history<S: Spec>(
    seed: u64,
    [threads, calls]: [usize; 2],
    choose: impl Fn(&mut Rng, u32) -> S::Call + Sync,
    make: impl Fn(S::Call) -> S::Answer + Sync,
) -> History<S>
where
    S::Call: Send,
    S::Answer: Send,
{
    history_beside::<S>(seed, [threads, calls], choose, make, |_| ())
}

/// As [`history`], while one more thread does something until its flag is raised.
pub fn history_beside<S: Spec>(
    seed: u64,
    [threads, calls]: [usize; 2],
    choose: impl Fn(&mut Rng, u32) -> S::Call + Sync,
    make: impl Fn(S::Call) -> S::Answer + Sync,
    beside: impl Fn(&AtomicBool) + Sync,
) -> History<S>
where
    S::Call: Send,
    S::Answer: Send,
{
    let (recorder, start, end) = (Recorder::default(), Barrier::new(threads), AtomicBool::new(false));
    let work = |thread: usize| {
        let mut rng = Rng::new(seed * threads as u64 + thread as u64);
        let mut log = recorder.log::<S::Call, S::Answer>(thread);
        start.wait();
        for turn in 0..calls {
            let call = choose(&mut rng, (thread * 100 + turn) as u32);
            log.call(call.clone(), || make(call));
        }
        log.events
    };
    thread::scope(|scope| {
        let (_ends, work) = (Raise(&end), &work);
        scope.spawn(|| beside(&end));
        let threads: Vec<_> = (0..threads).map(|thread| scope.spawn(move || work(thread))).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    })
}

/// Asks for the verdict on one history after another, each of a seed of its own.
#[track_caller]
pub fn check_histories(what: &'static str, verdict: impl Fn(u64) -> Verdict) {
    let watchdog = Watchdog::new(what);
    let mut tally = Tally::default();
    let end = Instant::now() + duration(1.5);
    let mut seed = 0;
    while Instant::now() < end || tally.decided < LEAST {
        seed += 1;
        let decided = tally.decided;
        tally.add(verdict(seed));
        if tally.decided != decided {
            watchdog.goes_on();
        }
    }
    println!("{what}");
    tally.assert_decided(LEAST);
}
