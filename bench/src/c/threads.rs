//! Threads that come and go: registering and unregistering, and whole threads that read once.

use super::against;
use super::flavour::Flavour;
use super::programs::Programs;
use crate::figure::{Figure, Target, Title};
use crate::plan::Plan;

/// The pairs in one round.
const PAIRS: u64 = 100_000;
/// The threads in one round.
const THREADS: u64 = 500;

pub fn figures(plan: &Plan, programs: &Programs) -> Vec<Figure> {
    // liburcu's bp unregisters threads at their exit alone.
    let explicit = [Flavour::Memb, Flavour::Mb, Flavour::Qsbr];
    let cases = explicit.into_iter().flat_map(|flavour| [(flavour, 1), (flavour, 0)]);
    let pairs = cases.flat_map(|(flavour, others)| register(plan, programs, flavour, others));
    let churns = [(Flavour::Memb, true), (Flavour::Bp, false)].into_iter();
    pairs.chain(churns.flat_map(|(flavour, registers)| churn(plan, programs, flavour, registers))).collect()
}

/// Beside another thread, as programs with readers are; and alone, where the C library's locks, which
/// liburcu takes, need no locked instruction.
fn register(plan: &Plan, programs: &Programs, flavour: Flavour, others: u64) -> Vec<Figure> {
    let (end, words) =
        if others == 0 { (".alone", "in a process of one thread") } else { ("", "beside another thread") };
    let what = format!("C, {}: register + unregister, {words}", flavour.name());
    let id = format!("register.{}{end}", flavour.name());
    let title = Title::new(&id, what, "ns", None, Target::RatioAtMost(1.5));
    against(plan, programs, flavour, 3 * plan.rounds, vec![title], |side| {
        programs.run_alone(side, flavour, "register", &[PAIRS, others])
    })
}

fn churn(plan: &Plan, programs: &Programs, flavour: Flavour, registers: bool) -> Vec<Figure> {
    let words = if registers { "registers, reads once, unregisters" } else { "reads once" };
    let what = format!("C, {}: a thread that starts, {words}, exits and is joined", flavour.name());
    let title = Title::new(&format!("churn.{}", flavour.name()), what, "us", None, Target::RatioAtMost(1.5));
    against(plan, programs, flavour, plan.rounds, vec![title], |side| {
        programs.run(side, flavour, "churn", &[THREADS, registers.into()])
    })
}
