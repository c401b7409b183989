//! Intrusive queues and stacks, `<leeward/queue.h>` and `<leeward/stack.h>` beside wfcqueue and
//! lfstack: a push and a pop of one thread, and producers beside one consumer. Neither needs RCU
//! here, so one flavour's programs do.

use super::against;
use super::flavour::Flavour;
use super::programs::Programs;
use crate::figure::{Figure, Target, Title};
use crate::plan::Plan;

/// The pairs in one round.
const PAIRS: u64 = 1_000_000;
/// The nodes of all producers together.
const NODES: u64 = 200_000;

pub fn figures(plan: &Plan, programs: &Programs) -> Vec<Figure> {
    let alone = [false, true].into_iter().flat_map(|stack| alone(plan, programs, stack));
    let beside = [(1, false), (4, false), (1, true), (4, true)].into_iter();
    alone.chain(beside.flat_map(|(producers, stack)| pass(plan, programs, producers, stack))).collect()
}

/// Returns the container's id and its words.
fn words(stack: bool) -> (&'static str, &'static str) {
    if stack { ("stack", "stack (lfstack)") } else { ("queue", "queue (wfcqueue)") }
}

fn alone(plan: &Plan, programs: &Programs, stack: bool) -> Vec<Figure> {
    let (id, words) = words(stack);
    let what = format!("C, {words}: a push and a pop by one thread");
    let title = Title::new(&format!("{id}.alone"), what, "ns", None, Target::RatioAtMost(1.0));
    against(plan, programs, Flavour::Memb, plan.rounds, vec![title], |side| {
        programs.run_alone(side, Flavour::Memb, "alone", &[PAIRS, stack.into()])
    })
}

fn pass(plan: &Plan, programs: &Programs, producers: u64, stack: bool) -> Vec<Figure> {
    let (id, words) = words(stack);
    let taken = if stack { ", all taken at once" } else { "" };
    let what = format!("C, {words}, {producers} + 1 threads{taken}: nodes");
    let title = Title::new(&format!("{id}.{producers}+1"), what, "/s", None, Target::RatioAtLeast(1.0));
    against(plan, programs, Flavour::Memb, plan.rounds, vec![title], |side| {
        programs.run(side, Flavour::Memb, "pass", &[producers, NODES / producers, stack.into()])
    })
}
