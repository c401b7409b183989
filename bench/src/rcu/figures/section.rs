//! Enter, load and leave in a single thread. A round takes little time, so there are more rounds
//! than elsewhere, and the cheapest one is the least disturbed.

use super::against;
use crate::alignment::{self, Times};
use crate::error::Error;
use crate::figure::{Figure, Target, Title};
use crate::plan::Plan;
use crate::rcu::roster::{AUTOMATIC, Contender, HANDLE, MEMB};

/// The number of sections in one round, which take some milliseconds: a whole number of batches.
pub const SECTIONS: u64 = 4096 * 1024;

pub fn figures(plan: &Plan) -> Vec<Figure> {
    let guard = "enter + load + leave, one thread, rcu::read()";
    let handle = "enter + load + leave, one thread, Reader handle";
    let title = |id, what, peer, limit| Title::new(id, what, "ns", Some(peer), Target::RatioAtMost(limit));
    [
        take(plan, AUTOMATIC, title("section.guard.memb", guard, MEMB, 0.6)),
        take(plan, AUTOMATIC, title("section.guard.crossbeam", guard, "crossbeam-epoch", 0.15)),
        take(plan, HANDLE, title("section.handle", handle, MEMB, 0.5)),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Measures the sections of our row `ours` and of the title's peer.
pub(super) fn take(plan: &Plan, ours: &'static str, title: Title) -> Vec<Figure> {
    let cheapest = |cheapest: Option<f64>, ns: f64| Some(cheapest.map_or(ns, |cheapest| cheapest.min(ns)));
    let mut best = (None, None);
    let mut figures = against(plan, 3 * plan.rounds, ours, vec![title], |row| {
        let times = nanoseconds(row, SECTIONS)?;
        if row.ours {
            best.0 = cheapest(best.0, times.cheapest);
        } else {
            best.1 = cheapest(best.1, times.cheapest);
        }
        Ok(vec![times.mean])
    });
    figures.iter_mut().for_each(|figure| figure.best = best);
    figures
}

/// Returns the time of one section, measured over about `n` of them.
pub fn nanoseconds(row: &Contender, n: u64) -> Result<Times, Error> {
    let stage = row.open()?;
    Ok(alignment::nanoseconds(n, |each, alignment| stage.section(each, alignment)))
}
