//! The tails of `synchronize` and of deferring, beside a reader without pause.

use std::time::{Duration, Instant};

use super::against;
use crate::figure::{Figure, Target, Title};
use crate::plan::Plan;
use crate::rcu::jobs::{Job, during};
use crate::rcu::roster::{AUTOMATIC, MEMB};
use crate::rcu::stage::Stage;
use crate::tails::{QUANTILES, Tails};

/// The time from one call to the next that is deferred: so few that no limit is met.
const PAUSE: Duration = Duration::from_micros(10);

pub fn figures(plan: &Plan) -> Vec<Figure> {
    let synchronize = tails(plan, "synchronize", "synchronize, one busy reader", |stage| stage.synchronize());
    let defer = tails(plan, "defer", "defer, one each 10 us, one busy reader", |stage| {
        stage.retire_one();
    });
    [synchronize, defer].into_iter().flatten().collect()
}

fn tails(plan: &Plan, id: &str, what: &str, call: impl Fn(&dyn Stage)) -> Vec<Figure> {
    let title = |(quantile, words, _): &(&str, &str, f64)| {
        Title::new(&format!("tail.{id}.{quantile}"), format!("{what}: {words}"), "us", Some(MEMB), Target::Open)
    };
    against(plan, plan.rounds, AUTOMATIC, QUANTILES.iter().map(title).collect(), |row| {
        let stage = row.open()?;
        let times = during(&*stage, &[Job::Read], |_| {
            let (mut tails, end) = (Tails::new(), Instant::now() + plan.slice());
            while Instant::now() < end {
                tails.time(|| call(&*stage));
                let next = Instant::now() + PAUSE;
                while Instant::now() < next {
                    std::hint::spin_loop();
                }
            }
            tails
        })?;
        Ok(times.microseconds())
    })
}
