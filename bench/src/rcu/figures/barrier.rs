//! `barrier()` with nothing queued and with one callback queued, and the time until a poll cookie
//! turns ready: in microseconds, and in grace periods, which is the time divided by that of a
//! `synchronize` in the same round beside the same reader.

use std::time::Duration;

use leeward::rcu;

use super::against;
use super::grace::mean_now_and_then;
use crate::error::Error;
use crate::figure::{Figure, Target, Title};
use crate::plan::Plan;
use crate::rcu::jobs::{Job, during};
use crate::rcu::roster::{AUTOMATIC, Contender, MEMB};
use crate::rcu::stage::Stage;

pub fn figures(plan: &Plan) -> Vec<Figure> {
    let idle = "barrier(), nothing queued, one reader with 100 us sections";
    let one = "one defer, then barrier(), one reader with 100 us sections";
    let poll = "a poll cookie turning ready, one reader with 100 us sections (liburcu: call_rcu, then rcu_barrier)";
    let titles = [pair("barrier.idle", idle), pair("barrier.one", one), pair("poll.ready", poll)].concat();
    against(plan, plan.rounds, AUTOMATIC, titles, measure)
}

fn pair(id: &str, what: &str) -> [Title; 2] {
    [
        Title::new(id, what, "grace periods", Some(MEMB), Target::AtMost(3.0)),
        Title::new(&format!("{id}.us"), what, "us", Some(MEMB), Target::Open),
    ]
}

fn measure(row: &Contender) -> Result<Vec<f64>, Error> {
    let stage = row.open()?;
    let busy = [Job::Dwell(Duration::from_micros(100))];
    during(&*stage, &busy, |_| {
        // The worker thread starts with the first callback.
        retire_and_wait(&*stage);
        let grace = mean_now_and_then(|| stage.synchronize());
        let idle = mean_now_and_then(|| stage.barrier());
        let one = mean_now_and_then(|| retire_and_wait(&*stage));
        let ready = if row.ours { mean_now_and_then(wait_for_cookie) } else { one };
        vec![idle / grace, idle, one / grace, one, ready / grace, ready]
    })
}

fn retire_and_wait(stage: &dyn Stage) {
    stage.retire_one();
    stage.barrier();
}

fn wait_for_cookie() {
    let cookie = rcu::start_poll();
    while !rcu::poll_state(&cookie) {
        std::thread::yield_now();
    }
}
