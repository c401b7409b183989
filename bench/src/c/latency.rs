//! The time until a callback, a barrier or a cookie is done, beside a reader with sections of 100 µs:
//! in grace periods, which is the time divided by that of a `synchronize` in the same process, and
//! in microseconds.

use super::against;
use super::flavour::Flavour;
use super::programs::Programs;
use crate::figure::{Figure, Target, Title};
use crate::plan::Plan;

/// How often each is measured in one round.
const TIMES: u64 = 20;

pub fn figures(plan: &Plan, programs: &Programs) -> Vec<Figure> {
    let reader = "one reader with 100 us sections";
    let polled = if programs.polls() { "" } else { " (liburcu: a callback that raises a flag)" };
    let titles = [
        pair("latency.callback", &format!("C, a callback, {reader}")),
        pair("latency.barrier", &format!("C, a callback and a barrier, {reader}")),
        pair("latency.poll", &format!("C, a cookie turning ready, {reader}{polled}")),
    ]
    .concat();
    against(plan, programs, Flavour::Memb, plan.rounds, titles, |side| {
        let times = programs.run(side, Flavour::Memb, "latency", &[TIMES])?;
        Ok(times[1..].iter().flat_map(|time| [time / times[0], *time]).collect())
    })
}

fn pair(id: &str, what: &str) -> [Title; 2] {
    [
        Title::new(id, what, "grace periods", None, Target::AtMost(3.0)),
        Title::new(&format!("{id}.us"), what, "us", None, Target::Open),
    ]
}
