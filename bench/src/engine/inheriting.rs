//! Locks with priority inheritance, taken and released by calls: free ones (programs take these
//! without a call), one that two threads hand to each other, and one for which many threads wait.
//! No thread is real-time, so no priority is lent.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use leeward_engine::abi::FUTEX_WAITERS;
use leeward_engine::parking::ParkingLot;

use super::parker::{self, ENGINE, KERNEL};
use crate::crew::{Post, Task, during};
use crate::error::Error;
use crate::figure::{Target, Title};
use crate::locks::contest::{Entrant, Outcome, contest};
use crate::locks::processors;
use crate::locks::syscalls::system_call;
use crate::plan::Plan;
use crate::rounds::median;

/// The number of pairs of calls in one round.
const PAIRS: u32 = 100_000;
/// The number of unlocks with a crowd of waiters in one round, of which the median is taken.
const TURNS: u64 = 5;

/// An implementation of the two calls.
trait Calls: Sync {
    fn lock(&self, word: &AtomicU32);
    fn unlock(&self, word: &AtomicU32);
}

impl Calls for ParkingLot {
    fn lock(&self, word: &AtomicU32) {
        while self.lock_pi(word, None).is_err() {}
    }

    fn unlock(&self, word: &AtomicU32) {
        while self.unlock_pi(word).is_err() {}
    }
}

struct Kernel;

impl Calls for Kernel {
    fn lock(&self, word: &AtomicU32) {
        futex(word, libc::FUTEX_LOCK_PI);
    }

    fn unlock(&self, word: &AtomicU32) {
        futex(word, libc::FUTEX_UNLOCK_PI);
    }
}

/// Makes the call until it succeeds: it fails if the word changes meanwhile.
fn futex(word: &AtomicU32, operation: i32) {
    let operation = (operation | libc::FUTEX_PRIVATE_FLAG) as usize;
    while system_call(libc::SYS_futex, [word.as_ptr() as usize, operation, 0, 0]) != 0 {}
}

type Open = fn() -> Result<Box<dyn Calls>, Error>;

const ENTRANTS: [Entrant<Open>; 2] =
    [Entrant::new(ENGINE, || Ok(Box::new(parker::lot()?))), Entrant::new(KERNEL, || Ok(Box::new(Kernel)))];

pub fn outcome(plan: &Plan) -> Outcome {
    let mut outcome = Outcome::default();
    let mut add = |rounds, quantities: &[(String, String, &'static str)], measure: &dyn Fn(Open) -> _| {
        let jobs: Vec<_> = quantities.iter().map(|(_, job, unit)| (job.clone(), *unit)).collect();
        for (board, (id, job, unit)) in
            contest(plan, rounds, &jobs, &ENTRANTS, |open| measure(*open)).iter().zip(quantities)
        {
            outcome.add(board);
            let title = Title::new(&format!("pi.{id}"), job.clone(), unit, Some(KERNEL), Target::Open);
            outcome.figures.push(board.figure(ENGINE, title));
        }
    };
    let alone = ("alone".to_string(), "LOCK_PI and UNLOCK_PI of a free lock, both calls".to_string(), "ns");
    add(3 * plan.rounds, &[alone], &|open| Ok(vec![alone_time(open()?.as_ref())]));
    for (count, id, on) in [(1, "hand.1p", "one processor"), (2, "hand.2p", "two processors")] {
        let job = format!("LOCK_PI: two threads hand a lock to each other, {on}");
        add(plan.rounds, &[(id.to_string(), job, "/s")], &|open| Ok(vec![rate(plan, open()?.as_ref(), count)?]));
    }
    for waiters in [10, 100] {
        let quantities = [
            (format!("unlock.{waiters}"), format!("UNLOCK_PI, {waiters} waiters, the call"), "ns"),
            (format!("through.{waiters}"), format!("LOCK_PI, {waiters} waiters, until all had it, a waiter"), "ns"),
        ];
        add(plan.rounds, &quantities, &|open| times(open()?.as_ref(), waiters));
    }
    outcome
}

/// Returns the mean time of a pair of calls, in nanoseconds.
fn alone_time(calls: &dyn Calls) -> f64 {
    let word = AtomicU32::new(0);
    let began = Instant::now();
    for _ in 0..PAIRS {
        calls.lock(&word);
        calls.unlock(&word);
    }
    began.elapsed().as_nanos() as f64 / f64::from(PAIRS)
}

/// Returns the rate of hand-overs, per second.
fn rate(plan: &Plan, calls: &dyn Calls, processors: usize) -> Result<f64, Error> {
    // `turn` is the thread that owns the lock: the other one may come to wait for it.
    let (word, turn) = (AtomicU32::new(0), AtomicU32::new(1));
    let tasks: Vec<Task<'_>> = [0, 1]
        .map(|me| {
            Task::counting({
                let (word, turn) = (&word, &turn);
                move |post| play(calls, word, turn, me, post)
            })
        })
        .into();
    let rates = processors::on(processors, || during(&tasks, |crew| crew.rates(plan.slice())))??;
    Ok(rates.iter().sum())
}

fn play(calls: &dyn Calls, word: &AtomicU32, turn: &AtomicU32, me: u32, post: &Post<'_>) {
    post.ready();
    let wait_while = |what: &dyn Fn() -> bool| {
        while what() && !post.stopped() {
            thread::yield_now();
        }
    };
    // Acquire: partner of the release below: the bit was cleared before.
    wait_while(&|| turn.load(Ordering::Acquire) == me);
    post.until_stopped(|| {
        calls.lock(word);
        // A hand-over leaves the waiters bit set. The other thread waits for its turn before it
        // locks, so the bit is not its.
        word.fetch_and(!FUTEX_WAITERS, Ordering::Relaxed);
        // Release: partner of the acquire loads of `turn`.
        turn.store(me, Ordering::Release);
        wait_while(&|| word.load(Ordering::Relaxed) & FUTEX_WAITERS == 0);
        calls.unlock(word);
        wait_while(&|| turn.load(Ordering::Acquire) == me);
    });
}

/// Returns the time of an unlock's call, and the time from then on until all waiters have had the
/// lock, a waiter, in nanoseconds.
fn times(calls: &dyn Calls, waiters: u64) -> Result<Vec<f64>, Error> {
    let (word, over) = (AtomicU32::new(0), AtomicBool::new(false));
    let [going, come, called] = [const { AtomicU64::new(0) }; 3];
    let begin = Barrier::new(waiters as usize + 1);
    let wait_in_turns = |post: &Post<'_>| {
        post.ready();
        for turn in 1.. {
            begin.wait();
            if over.load(Ordering::Relaxed) {
                return;
            }
            going.fetch_add(1, Ordering::Relaxed);
            calls.lock(&word);
            // The first call's time is taken before a waiter makes the second call.
            while called.load(Ordering::Relaxed) < turn {
                thread::yield_now();
            }
            calls.unlock(&word);
            // Release: partner of the measuring thread's acquire.
            come.fetch_add(1, Ordering::Release);
        }
    };
    let tasks: Vec<Task<'_>> = (0..waiters).map(|_| Task::new(wait_in_turns)).collect();
    let mut taken = [const { Vec::new() }; 2];
    during(&tasks, |_| {
        for turn in 1..=TURNS {
            calls.lock(&word);
            begin.wait();
            while going.load(Ordering::Relaxed) < waiters * turn {
                thread::sleep(Duration::from_micros(200));
            }
            // The waiters fall asleep meanwhile.
            thread::sleep(Duration::from_millis(5));
            let began = Instant::now();
            calls.unlock(&word);
            taken[0].push(began.elapsed().as_nanos() as f64);
            let began = Instant::now();
            called.store(turn, Ordering::Relaxed);
            // Acquire: partner of the waiters' release above.
            while come.load(Ordering::Acquire) < waiters * turn {
                thread::yield_now();
            }
            taken[1].push(began.elapsed().as_nanos() as f64 / waiters as f64);
        }
        over.store(true, Ordering::Relaxed);
        begin.wait();
    })?;
    taken.iter().map(|times| median(times).ok_or_else(|| Error::new("nothing was measured"))).collect()
}
