//! Sections, nested pairs and quiescent states of one thread: in a program, and in a shared library
//! that a program loads. A round takes little time, so there are more rounds than elsewhere.

use super::against;
use super::flavour::Flavour;
use super::programs::{Programs, Side};
use crate::error::Error;
use crate::figure::{Figure, Target, Title};
use crate::plan::Plan;

/// The number of steps in one round, at all alignments together.
const STEPS: u64 = 4 * 1024 * 1024;
/// The same for full fences, of which each takes some nanoseconds.
const FENCED_STEPS: u64 = 512 * 1024;
/// The grace periods of one round that each wait for a quiescent state.
const GRACE_PERIODS: u64 = 2000;
/// The most milliseconds that they may take.
const MOST_MS: u64 = 100;

pub fn figures(plan: &Plan, programs: &Programs) -> Vec<Figure> {
    let mut figures = Vec::new();
    for flavour in Flavour::WITH_SECTIONS {
        let name = flavour.name();
        let what = format!("C, {name}: lock + dereference + unlock");
        let (program, library) = (Target::RatioAtMost(1.0), Target::RatioAtMost(0.3));
        figures.extend(in_program(plan, programs, flavour, "section", &format!("section.{name}"), &what, program));
        figures.extend(in_library(plan, programs, flavour, "section", &format!("library.{name}"), &what, library));
        let nested = format!("C, {name}: lock + unlock within a section");
        let target = Target::RatioAtMost(1.3);
        figures.extend(in_program(plan, programs, flavour, "nested", &format!("nested.{name}"), &nested, target));
    }
    figures.extend(quiescent_states(plan, programs));
    figures
}

fn quiescent_states(plan: &Plan, programs: &Programs) -> Vec<Figure> {
    let (qsbr, open) = (Flavour::Qsbr, Target::Open);
    let state = "C, qsbr: a quiescent state";
    let section = "C, qsbr: lock + dereference + unlock";
    let (program, library) = (Target::RatioAtMost(1.0), Target::RatioAtMost(0.3));
    [
        in_program(plan, programs, qsbr, "quiescent", "quiescent", state, program),
        in_library(plan, programs, qsbr, "quiescent", "library.quiescent", state, library),
        in_program(plan, programs, qsbr, "section", "section.qsbr", section, open),
        in_library(plan, programs, qsbr, "section", "library.qsbr", section, open),
        begun(plan, programs),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn steps(flavour: Flavour) -> u64 {
    if flavour == Flavour::Mb { FENCED_STEPS } else { STEPS }
}

fn in_program(
    plan: &Plan,
    programs: &Programs,
    flavour: Flavour,
    figure: &str,
    id: &str,
    what: &str,
    target: Target,
) -> Vec<Figure> {
    let title = Title::new(id, format!("{what}, in a program"), "ns", None, target);
    take(plan, programs, flavour, title, |side| programs.run_alone(side, flavour, figure, &[steps(flavour)]))
}

fn in_library(
    plan: &Plan,
    programs: &Programs,
    flavour: Flavour,
    figure: &str,
    id: &str,
    what: &str,
    target: Target,
) -> Vec<Figure> {
    let title = Title::new(id, format!("{what}, in a shared library"), "ns", None, target);
    take(plan, programs, flavour, title, |side| programs.run_library(side, flavour, figure, steps(flavour)))
}

/// Measures the mean over all alignments; the best rounds are those of the best alignment.
fn take(
    plan: &Plan,
    programs: &Programs,
    flavour: Flavour,
    title: Title,
    measure: impl Fn(Side) -> Result<Vec<f64>, Error>,
) -> Vec<Figure> {
    let mut best = [None::<f64>; 2];
    let mut figures = against(plan, programs, flavour, 3 * plan.rounds, vec![title], |side| {
        let times = measure(side)?;
        let best = &mut best[usize::from(side == Side::Theirs)];
        *best = Some(best.map_or(times[1], |best| best.min(times[1])));
        Ok(vec![times[0]])
    });
    figures.iter_mut().for_each(|figure| figure.best = (best[0], best[1]));
    figures
}

/// A quiescent state that ends a grace period.
fn begun(plan: &Plan, programs: &Programs) -> Vec<Figure> {
    let what = "C, qsbr: a quiescent state when a grace period has begun";
    let title = Title::new("quiescent.begun", what, "ns", None, Target::Open);
    against(plan, programs, Flavour::Qsbr, plan.rounds, vec![title], |side| {
        programs.run(side, Flavour::Qsbr, "begun", &[GRACE_PERIODS, MOST_MS])
    })
}
