//! Locks whose use is mixed: two threads that each read and write one reader-writer lock, by the
//! share of writes; and a mutex that one thread takes flat out and another visits, by how often.

use std::time::Duration;

use super::alone::{self, OURS};
use super::contest::{Board, Entrant, Outcome, contest};
use super::mutexes::MutexLoops;
use super::readers::{self, ASYM};
use super::rwlocks::RwLockLoops;
use crate::crew::{Task, during};
use crate::error::Error;
use crate::figure::{Target, Title};
use crate::plan::Plan;

/// The shares of writes: the name, one write in how many locks (0: none), and what is wanted of ours
/// beside the best of the others.
const SHARES: [(&str, u32, f64); 6] = [
    ("no", 0, 4.0),
    ("0.01 %", 10_000, 2.7),
    ("0.1 %", 1_000, 1.5),
    ("1 %", 100, 0.95),
    ("10 %", 10, 0.95),
    ("50 %", 2, 0.95),
];

/// How often the other thread comes to the mutex, and what is wanted of ours.
const VISITS: [(&str, Duration, f64); 5] = [
    ("1 µs", Duration::from_micros(1), 0.9),
    ("10 µs", Duration::from_micros(10), 0.9),
    ("100 µs", Duration::from_micros(100), 0.9),
    ("1 ms", Duration::from_millis(1), 0.9),
    ("10 ms", Duration::from_millis(10), 0.9),
];

const BIASED: &str = "leeward asym::Mutex";

pub fn outcome(plan: &Plan) -> Outcome {
    let mut outcome = Outcome::default();
    for (share, one_in, wanted) in SHARES {
        let what = format!("RwLock, 2 threads mixing, {share} writes");
        let locks = readers::locks();
        let boards = contest(plan, plan.rounds, &[(what.clone(), "/s")], &locks, |open| mixed(plan, &*open()?, one_in));
        let id = format!("asym_rwlock.mixed.{}", share.replace([' ', '%'], ""));
        figure(&mut outcome, &boards[0], ASYM, id, what, wanted);
    }
    let ours = [alone::entrant::<leeward::sync::Mutex<u64>>(OURS), biased()];
    let entrants: Vec<Entrant<alone::Open>> = ours.into_iter().chain(alone::peers()).collect();
    for (every, time, wanted) in VISITS {
        let what = format!("Mutex, 1 thread flat out, another each {every}: the first");
        let boards =
            contest(plan, plan.rounds, &[(what.clone(), "/s")], &entrants, |open| visited(plan, &*open(), time));
        let id = format!("asym_mutex.visited.{}", every.replace([' ', 'µ'], ""));
        figure(&mut outcome, &boards[0], BIASED, id, what, wanted);
    }
    outcome
}

const fn biased() -> Entrant<alone::Open> {
    alone::entrant::<leeward::asym::Mutex<u64>>(BIASED)
}

/// Adds a board's rows, and the figure of ours against the best of the others.
fn figure(outcome: &mut Outcome, board: &Board, ours: &'static str, id: String, what: String, wanted: f64) {
    outcome.add(board);
    let title = Title::new(&id, format!("asym::{what}"), "/s", board.best_but(ours), Target::RatioAtLeast(wanted));
    outcome.figures.push(board.figure(ours, title));
}

/// Returns the rate of both threads' locks.
fn mixed(plan: &Plan, loops: &dyn RwLockLoops, one_in: u32) -> Result<Vec<f64>, Error> {
    let tasks: Vec<Task<'_>> = (1..=2).map(|seed| Task::new(move |post| loops.mix(post, one_in, seed))).collect();
    let rates = during(&tasks, |crew| crew.rates(plan.slice()))?;
    Ok(vec![rates.iter().sum()])
}

/// Returns the rate of the thread that locks flat out.
fn visited(plan: &Plan, loops: &dyn MutexLoops, every: Duration) -> Result<Vec<f64>, Error> {
    let tasks = [Task::new(|post| loops.contend(post, 0)), Task::new(|post| loops.visit(post, every))];
    let rates = during(&tasks, |crew| crew.rates(plan.slice()))?;
    Ok(vec![rates[0]])
}
