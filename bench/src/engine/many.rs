//! Many live futexes: the cost of a call beside 64 of them and beside 65,536, in one process and in
//! 64. The waiters are futures, which makes so large a number possible. Words are visited in a
//! scattered order, so that caches miss as in a program.

use std::pin::Pin;
use std::sync::atomic::AtomicU32;
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use leeward_engine::abi::FUTEX_BITSET_MATCH_ANY as ANY;
use leeward_engine::parking::Process;
use leeward_engine::{Config, Engine, Heap, WaitAsync, Word};

use super::many_kernel;
use super::parker::{ENGINE, KERNEL};
use crate::error::Error;
use crate::figure::{Target, Title};
use crate::groups;
use crate::locks::contest::{Entrant, Outcome, contest};
use crate::plan::Plan;

/// The number of visits in one round.
const VISITS: usize = 1 << 17;
const FEW: usize = 64;
const MOST: usize = 65_536;

pub fn outcome(plan: &Plan) -> Outcome {
    let mut outcome = Outcome::default();
    for spaces in [1, 64] {
        let places = if spaces == 1 { "one process".to_string() } else { format!("{spaces} spaces") };
        for live in [FEW, 1_024, 16_384, MOST] {
            let beside = format!("beside {live} live futexes in {places}");
            let jobs = [
                (format!("WAKE of one and its next WAIT, {beside}"), "ns"),
                (format!("WAKE, without waiters, {beside}"), "ns"),
            ];
            let boards = contest(plan, plan.rounds, &jobs, &[Entrant::new(ENGINE, ())], |()| times(live, spaces));
            boards.iter().for_each(|board| outcome.add(board));
            if spaces == 1 {
                let job = [(format!("WAKE, without waiters, {beside}, waited for by threads with 128 each"), "ns")];
                let kernel = [Entrant::new(KERNEL, ())];
                contest(plan, plan.rounds, &job, &kernel, |()| many_kernel::nobody(live))
                    .iter()
                    .for_each(|board| outcome.add(board));
            }
        }
        let title = |id: &str, what: &str| {
            let what = format!("{what}: beside {MOST} live futexes to beside {FEW}, in {places}");
            Title::new(&format!("{id}.{spaces}"), what, "times", None, Target::AtMost(2.0))
        };
        let titles =
            vec![title("live.both", "WAKE of one and its next WAIT"), title("live.nobody", "WAKE, without waiters")];
        outcome.figures.extend(groups::alone(plan, plan.rounds, titles, || {
            let (few, most) = (times(FEW, spaces)?, times(MOST, spaces)?);
            Ok(few.iter().zip(most).map(|(few, most)| most / few).collect())
        }));
    }
    outcome
}

/// Returns the time of waking one waiter and of its next wait, and the time of a wake at a word
/// without waiters, in nanoseconds.
fn times(live: usize, spaces: usize) -> Result<Vec<f64>, Error> {
    let engine = Engine::new(Config::for_processors(2, 7), Heap).map_err(|error| Error::new(error.to_string()))?;
    // SAFETY: the words are borrowed for as long as anything waits at them.
    let hosts: Vec<Process> = (0..spaces).map(|_| unsafe { Process::new(4, 9) }).collect();
    hosts.iter().for_each(|host| engine.reserve(host, 4));
    // Live words and words at which nothing waits alternate.
    let words: Vec<AtomicU32> = (0..2 * live).map(|_| AtomicU32::new(0)).collect();
    let word = |place: usize| Word::private(words[place].as_ptr().expose_provenance() as u64);
    let host = |number: usize| &hosts[number % spaces];
    let wait = |number: usize| engine.wait_async(host(number), word(2 * number), 0, ANY);
    let mut context = Context::from_waker(Waker::noop());
    let mut waiters: Vec<Pin<Box<WaitAsync<'_, Process>>>> = (0..live).map(|number| Box::pin(wait(number))).collect();
    for waiter in &mut waiters {
        if waiter.as_mut().poll(&mut context).is_ready() {
            return Err(Error::new("a waiter did not wait"));
        }
    }
    let order = |visit: usize| visit.wrapping_mul(0x9e37_79b9) % live;
    let began = Instant::now();
    for visit in 0..VISITS {
        let number = order(visit);
        let woken = engine.wake(host(number), word(2 * number), 1, ANY);
        let waiter = &mut waiters[number];
        let ended = matches!(waiter.as_mut().poll(&mut context), Poll::Ready(Ok(leeward_engine::Wait::Woken)));
        waiter.as_mut().set(wait(number));
        if woken != Ok(1) || !ended || waiter.as_mut().poll(&mut context).is_ready() {
            return Err(Error::new("a wake did not wake its waiter"));
        }
    }
    let both = began.elapsed();
    let began = Instant::now();
    for visit in 0..VISITS {
        let number = order(visit);
        if engine.wake(host(number), word(2 * number + 1), 1, ANY) != Ok(0) {
            return Err(Error::new("a wake found a waiter at a word that has none"));
        }
    }
    let nobody = began.elapsed();
    Ok([both, nobody].map(|time| time.as_nanos() as f64 / VISITS as f64).to_vec())
}
