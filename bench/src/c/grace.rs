//! The time of `synchronize`, called over and over by one thread, beside readers that are asleep and
//! one that reads without pause.

use super::against;
use super::flavour::Flavour;
use super::programs::Programs;
use crate::figure::{Figure, Target, Title};
use crate::plan::Plan;

/// The cases: the program's figure, the number of readers, the end of the id, and the words.
const CASES: [(&str, u64, &str, &str); 4] = [
    ("synchronize-idle", 0, "0", "no reader"),
    ("synchronize-idle", 1, "1", "one idle reader"),
    ("synchronize-idle", 64, "64", "64 idle readers"),
    ("synchronize-busy", 1, "busy", "one busy reader"),
];

pub fn figures(plan: &Plan, programs: &Programs) -> Vec<Figure> {
    let each = |flavour| CASES.map(|case| figure(plan, programs, flavour, case));
    Flavour::ALL.into_iter().flat_map(each).flatten().collect()
}

fn figure(
    plan: &Plan,
    programs: &Programs,
    flavour: Flavour,
    (figure, readers, end, words): (&str, u64, &str, &str),
) -> Vec<Figure> {
    let limit = if flavour == Flavour::Qsbr { 1.0 } else { 0.6 };
    let id = format!("sync.{}.{end}", flavour.name());
    let what = format!("C, {}: synchronize, {words}", flavour.name());
    let title = Title::new(&id, what, "us", None, Target::RatioAtMost(limit));
    let milliseconds = (plan.slice() / 4).as_millis().max(5) as u64;
    against(plan, programs, flavour, plan.rounds, vec![title], |side| {
        programs.run(side, flavour, figure, &[readers, milliseconds])
    })
}
