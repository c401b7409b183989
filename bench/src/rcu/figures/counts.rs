//! Heavy fences in one grace period, as the library counts them.

use leeward::{fence, rcu};

use super::alone;
use crate::error::Error;
use crate::figure::{Figure, Target, Title};
use crate::plan::Plan;
use crate::rcu::jobs::{Job, during};
use crate::rcu::roster::{self, AUTOMATIC};

const GRACE_PERIODS: u32 = 200;

pub fn figures(plan: &Plan) -> Vec<Figure> {
    let awake = "heavy fences in one grace period that did not sleep, at most, one busy reader";
    let asleep = "heavy fences in one grace period that slept, at most, one busy reader (0: none slept)";
    let titles = vec![
        Title::new("heavy.awake", awake, "fences", None, Target::AtMost(1.0)),
        Title::new("heavy.slept", asleep, "fences", None, Target::AtMost(3.0)),
    ];
    alone(plan, plan.rounds, titles, most)
}

/// Returns the most heavy fences of any grace period that did not sleep, and of any that did.
fn most() -> Result<Vec<f64>, Error> {
    let stage = roster::get(AUTOMATIC)?.open()?;
    during(&*stage, &[Job::Read], |_| {
        let mut most = [0, 0];
        for _ in 0..GRACE_PERIODS {
            let before = (fence::counters().total(), rcu::stats().sleeps);
            stage.synchronize();
            let slept = usize::from(rcu::stats().sleeps > before.1);
            most[slept] = most[slept].max(fence::counters().total() - before.0);
        }
        most.map(|fences| fences as f64).to_vec()
    })
}
