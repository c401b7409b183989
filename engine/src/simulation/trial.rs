//! Tries a kernel's switch path under one memory model: all cases, every schedule. The example
//! `kernel_membarrier` and tests call it; it explores the cases of `shapes`.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::vec::Vec;

use super::{Case, Cut, Found, Model, Situation, SwitchPath, cases};

/// What a switch path showed under one memory model.
///
/// [`SwitchPath`] has an example.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Trial {
    /// The number of cases that were tried: litmus shapes in situations.
    pub cases: usize,
    /// The number of states that were met.
    pub states: usize,
    /// The number of schedules that were followed to their ends; see
    /// [`Report::schedules`](super::Report::schedules).
    pub schedules: u128,
    /// The names of the barriers that some schedule passed, in order.
    pub barriers: Vec<&'static str>,
    /// The first case that goes wrong, with a shortest schedule: a result that program order
    /// forbids, or (a thread's result is `None`) a machine that stands still.
    pub found: Option<(Case, Found)>,
}

/// Returns true if a case is tried: all shapes in the situations of one switch, up to
/// [`Model::Pso`] those in which a thread moves between processors, too. In the weakest model the
/// case of three processors is tried in one shape.
fn is_tried(case: &Case) -> bool {
    let weak = case.model == Model::Weak;
    let large = case.situation() == Situation::Second && case.shape() != "store buffering";
    !(weak && (large || case.situation().moves()))
}

/// Tries every schedule of each case of a switch path and its membarrier under a memory model,
/// without the barriers of the name `left_out`, until one goes wrong. In the weakest model the cases
/// in which a thread moves to another processor are left out, and of those with three processors all
/// but one: they have too many states. Takes seconds, and some tens of megabytes.
///
/// # Panics
/// If the path panics, or has more than four million states in a case.
pub fn try_path(path: &Arc<dyn SwitchPath>, model: Model, left_out: Option<&'static str>) -> Trial {
    let mut trial = Trial { cases: 0, states: 0, schedules: 0, barriers: Vec::new(), found: None };
    let mut barriers = BTreeSet::new();
    for mut case in cases("own", model).into_iter().filter(is_tried) {
        case.cuts.extend(left_out.map(Cut::Barrier));
        let report = case.explore_on(path);
        trial.cases += 1;
        trial.states += report.states;
        trial.schedules = trial.schedules.saturating_add(report.schedules);
        barriers.extend(report.barriers);
        if let Some(found) = report.found {
            trial.found = Some((case, found));
            break;
        }
    }
    trial.barriers = barriers.into_iter().collect();
    trial
}
