//! Hazard pointers beside others: the time to protect, load and reset, and the memory beside a
//! reader that is stuck. hazarc counts references instead of retiring, and so has the first only.

use super::memory::{Case, in_child};
use super::{against, section};
use crate::figure::{Figure, Target, Title};
use crate::plan::Plan;
use crate::rcu::roster::HAZARD;

const PEER: &str = "haphazard";

pub fn figures(plan: &Plan) -> Vec<Figure> {
    let what = "protect + load + reset, one thread, HazardPointer";
    let title = |id, peer, limit| Title::new(id, what, "ns", Some(peer), Target::RatioAtMost(limit));
    let mut figures = section::take(plan, HAZARD, title("hazard.section.haphazard", PEER, 0.5));
    figures.extend(section::take(plan, HAZARD, title("hazard.section.hazarc", "hazarc", 1.0)));
    figures.extend(stuck(plan));
    figures
}

/// Measures the memory that two producers take beside a reader that is stuck.
fn stuck(plan: &Plan) -> Vec<Figure> {
    let (seconds, rounds) = if plan.quick { (0.25, 1) } else { (1.0, plan.rounds) };
    let what = format!("memory: two producers retiring, one reader stuck for {seconds} s, growth");
    let title = Title::new("hazard.memory.stuck", what, "MB", Some(PEER), Target::RatioAtMost(1.0));
    against(plan, rounds, HAZARD, vec![title], |row| Ok(vec![in_child(row.name, Case::Stuck, seconds)?]))
}
