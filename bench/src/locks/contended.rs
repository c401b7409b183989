//! A mutex that several threads want all the time: how often they get it, and how evenly they are
//! served.

use std::sync::atomic::{AtomicU64, Ordering};

use super::alone::{LIGHT, OURS, Open, PARKING_LOT, entrant, peers};
use super::contest::{Entrant, Outcome, contest};
use super::mutexes::{MutexLoops, steps_for};
use super::processors;
use crate::crew::{Task, during};
use crate::error::Error;
use crate::figure::{FAIRNESS, Target, Title};
use crate::plan::Plan;
use crate::rounds::{max, min};

/// The number of processors. Where there are more threads, the scheduler is measured too.
const PROCESSORS: usize = 2;

pub fn outcome(plan: &Plan) -> Outcome {
    let ours = [entrant::<leeward::sync::Mutex<u64>>(OURS), entrant::<leeward::sync::LightMutex<u64>>(LIGHT)];
    let entrants: Vec<Entrant<Open>> = ours.into_iter().chain(peers()).collect();
    let ten = steps_for(10.0);
    let mut outcome = Outcome::default();
    for (threads, steps, section) in [(2, 0, "empty"), (2, ten, "10 ns"), (8, 0, "empty"), (8, ten, "10 ns")] {
        let what = format!("Mutex, {threads} threads on {PROCESSORS} processors, {section} sections");
        let boards =
            contest(plan, plan.rounds, &quantities(&what), &entrants, |open| round(plan, &*open(), threads, steps));
        boards.iter().for_each(|board| outcome.add(board));
        let id = format!(".{threads}t.{}", section.replace(' ', ""));
        for (ours, kind) in [(OURS, ""), (LIGHT, "Light")] {
            let (id, what) =
                (format!("{}{id}", if kind.is_empty() { "mutex" } else { "light" }), format!("{kind}{what}"));
            let title =
                |id: &str, what: String, unit| Title::new(id, what, unit, Some(PARKING_LOT), Target::RatioAtLeast(1.0));
            outcome.figures.push(boards[0].figure(ours, title(&id, what.clone(), "/s")));
            let fairness = title(&format!("{id}.fairness"), format!("{what}: fairness"), FAIRNESS);
            outcome.figures.push(boards[1].figure(ours, fairness));
        }
    }
    outcome
}

pub fn quantities(what: &str) -> [(String, &'static str); 2] {
    [(what.to_string(), "/s"), (format!("{what}: fairness"), FAIRNESS)]
}

/// Returns the rate of all threads' locks, per second, and the least of their rates divided by the
/// greatest.
pub fn round(plan: &Plan, loops: &dyn MutexLoops, threads: usize, steps: u32) -> Result<Vec<f64>, Error> {
    let entered = AtomicU64::new(0);
    let work = || {
        Task::new(|post| {
            loops.contend(post, steps);
            entered.fetch_add(post.tally.load(Ordering::Relaxed), Ordering::Relaxed);
        })
    };
    let tasks: Vec<Task<'_>> = (0..threads).map(|_| work()).collect();
    let rates = processors::on(PROCESSORS, || during(&tasks, |crew| crew.rates(plan.slice())))??;
    if loops.entered() != entered.load(Ordering::Relaxed) {
        return Err(Error::new("two threads held the lock at once"));
    }
    let fairness = min(&rates).unwrap_or(0.0) / max(&rates).filter(|&most| most > 0.0).unwrap_or(1.0);
    Ok(vec![rates.iter().sum(), fairness])
}
