//! Deferred callbacks of memb: one or two producers that hand over without pause, and one that does
//! so now and then, when the worker is asleep.

use super::against;
use super::flavour::Flavour;
use super::programs::Programs;
use crate::figure::{Figure, Target, Title};
use crate::plan::Plan;

/// The number of objects of each producer, and how often it hands all of them over.
const OBJECTS: u64 = 100_000;
const TIMES: u64 = 4;
/// The callbacks that come now and then: their number, and the microseconds between two.
const SPARSE: u64 = 500;
const BETWEEN: u64 = 50;

pub fn figures(plan: &Plan, programs: &Programs) -> Vec<Figure> {
    let mut figures: Vec<Figure> = [1, 2].into_iter().flat_map(|producers| flood(plan, programs, producers)).collect();
    figures.extend(sparse(plan, programs));
    figures
}

fn flood(plan: &Plan, programs: &Programs, producers: u64) -> Vec<Figure> {
    let words = if producers == 1 { "one producer" } else { "two producers" };
    let what = |of: &str| format!("C, call_rcu, {words} without pause: {of}");
    let id = format!("defer.{producers}");
    let titles = vec![
        Title::new(&id, what("to hand one over"), "ns", None, Target::RatioAtMost(1.0)),
        Title::new(&format!("{id}.cpu"), what("processor time of one in all"), "ns", None, Target::Open),
        Title::new(&format!("{id}.run"), what("run, from the first to the last"), "callbacks/s", None, Target::Open),
    ];
    against(plan, programs, Flavour::Memb, plan.rounds, titles, |side| {
        programs.run(side, Flavour::Memb, "defer", &[producers, OBJECTS, TIMES])
    })
}

fn sparse(plan: &Plan, programs: &Programs) -> Vec<Figure> {
    let what = |of: &str| format!("C, call_rcu, one every {BETWEEN} us: {of}");
    let titles = vec![
        Title::new("defer.sparse", what("to hand one over"), "ns", None, Target::Open),
        Title::new("defer.sparse.cpu", what("processor time of one in all"), "ns", None, Target::Open),
    ];
    against(plan, programs, Flavour::Memb, plan.rounds, titles, |side| {
        programs.run(side, Flavour::Memb, "sparse", &[SPARSE, BETWEEN])
    })
}
