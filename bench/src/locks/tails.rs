//! The tails of taking a lock: of a mutex that two threads hand to and fro, and of a reader-writer
//! lock that is written beside a reader without pause.

use std::sync::{Mutex, PoisonError};

use super::alone::{self, LIGHT, OURS, PARKING_LOT};
use super::contest::{Entrant, Outcome, contest};
use super::mutexes::{MutexLoops, steps_for};
use super::readers::{self, ASYM};
use super::rwlocks::RwLockLoops;
use crate::crew::{Task, during};
use crate::error::Error;
use crate::figure::{Target, Title};
use crate::plan::Plan;
use crate::tails::{QUANTILES, Tails};

pub fn outcome(plan: &Plan) -> Outcome {
    let ours =
        [alone::entrant::<leeward::sync::Mutex<u64>>(OURS), alone::entrant::<leeward::sync::LightMutex<u64>>(LIGHT)];
    let mutexes: Vec<Entrant<alone::Open>> = ours.into_iter().chain(alone::peers()).collect();
    let steps = steps_for(1000.0);
    let mut outcome = Outcome::default();
    let what = "Mutex, 2 threads, held for 1 µs and left for as long: the time to lock";
    hold(plan, &mut outcome, ("hand_over", what, OURS), &mutexes, |open| hand_over(plan, &*open(), steps));
    let what = "RwLock, 1 reader without pause: the time to lock for writing";
    hold(plan, &mut outcome, ("write", what, ASYM), &readers::locks(), |open| written(plan, &*open()?));
    outcome
}

/// Holds a contest, and adds its rows and figures.
fn hold<T>(
    plan: &Plan,
    outcome: &mut Outcome,
    (id, what, ours): (&str, &str, &'static str),
    entrants: &[Entrant<T>],
    measure: impl FnMut(&T) -> Result<Vec<f64>, Error>,
) {
    let quantities = QUANTILES.map(|(_, words, _)| (format!("{what}, {words}"), "us"));
    let boards = contest(plan, plan.rounds, &quantities, entrants, measure);
    for ((board, (what, unit)), (quantile, ..)) in boards.iter().zip(quantities).zip(QUANTILES) {
        outcome.add(board);
        let title = Title::new(&format!("tail.{id}.{quantile}"), what, unit, Some(PARKING_LOT), Target::Open);
        outcome.figures.push(board.figure(ours, title));
    }
}

/// Returns the quantiles of both threads' locks.
fn hand_over(plan: &Plan, loops: &dyn MutexLoops, steps: u32) -> Result<Vec<f64>, Error> {
    let times = Mutex::new(Tails::new());
    let work = || {
        Task::new(|post| {
            let own = loops.contend_timed(post, steps);
            times.lock().unwrap_or_else(PoisonError::into_inner).add(&own);
        })
    };
    during(&[work(), work()], |crew| crew.rates(plan.slice()))?;
    Ok(times.into_inner().unwrap_or_else(PoisonError::into_inner).microseconds())
}

/// Returns the quantiles of the writer's locks.
fn written(plan: &Plan, loops: &dyn RwLockLoops) -> Result<Vec<f64>, Error> {
    let times = Mutex::new(Tails::new());
    let write = Task::new(|post| {
        let own = loops.write_timed(post);
        times.lock().unwrap_or_else(PoisonError::into_inner).add(&own);
    });
    during(&[Task::new(|post| loops.read(post)), write], |crew| crew.rates(plan.slice()))?;
    Ok(times.into_inner().unwrap_or_else(PoisonError::into_inner).microseconds())
}
