//! The time of a grace period, and the rate of calls that are served, beside readers of several
//! kinds.

use std::time::{Duration, Instant};

use super::against;
use crate::figure::{Figure, Target, Title};
use crate::plan::Plan;
use crate::rcu::jobs::{Job, during};
use crate::rcu::roster::{AUTOMATIC, MEMB};
use crate::rcu::stage::Stage;

const BP: &str = "liburcu-bp";

pub fn figures(plan: &Plan) -> Vec<Figure> {
    let busy = "synchronize, one busy reader, empty sections";
    let idle = "synchronize, 512 idle readers";
    let mut figures = Vec::new();
    figures.extend(back_to_back(
        plan,
        Title::new("sync.busy", busy, "us", Some(MEMB), Target::RatioAtMost(0.6)),
        &[Job::Read],
    ));
    figures.extend(ten_microseconds(plan));
    figures.extend(back_to_back(
        plan,
        Title::new("sync.512-idle", idle, "us", Some(MEMB), Target::RatioAtMost(0.25)),
        &[Job::Rest; 512],
    ));
    figures.extend(sixteen_writers(plan));
    figures
}

/// Measures `synchronize`, called over and over beside `jobs`.
fn back_to_back(plan: &Plan, title: Title, jobs: &[Job]) -> Vec<Figure> {
    against(plan, plan.rounds, AUTOMATIC, vec![title], |row| {
        let stage = row.open()?;
        let mean = during(&*stage, jobs, |_| mean_synchronize(&*stage, plan.slice() / 2))?;
        Ok(vec![mean])
    })
}

fn ten_microseconds(plan: &Plan) -> Vec<Figure> {
    let what = "synchronize, automatic registration, 10 us sections";
    let title = Title::new("sync.10us", what, "us", Some(BP), Target::AtMost(100.0));
    let jobs = [Job::Dwell(Duration::from_micros(10))];
    against(plan, plan.rounds, AUTOMATIC, vec![title], |row| {
        let stage = row.open()?;
        let mean = during(&*stage, &jobs, |_| mean_now_and_then(|| stage.synchronize()))?;
        Ok(vec![mean])
    })
}

/// Measures the calls that are served, and the reader's sections meanwhile: a scheme that keeps the
/// reader off its processor serves more calls.
fn sixteen_writers(plan: &Plan) -> Vec<Figure> {
    let what = "16 writers, one reader with 100 us sections";
    let served = format!("{what}: grace periods served");
    let sections = format!("{what}: the reader's sections");
    let titles = vec![
        Title::new("sync.16-writers", served, "calls/s", Some(MEMB), Target::RatioAtLeast(1.0)),
        Title::new("sync.16-writers.sections", sections, "sections/s", Some(MEMB), Target::Open),
    ];
    let jobs = [vec![Job::Dwell(Duration::from_micros(100))], vec![Job::Synchronize; 16]].concat();
    against(plan, plan.rounds, AUTOMATIC, titles, |row| {
        let stage = row.open()?;
        let rates = during(&*stage, &jobs, |crew| crew.rates(plan.slice()))?;
        Ok(vec![rates[1..].iter().sum(), rates[0]])
    })
}

/// Returns the mean time of one `synchronize`, in microseconds, of three calls at least.
pub fn mean_synchronize(stage: &dyn Stage, time: Duration) -> f64 {
    stage.synchronize();
    let (began, mut calls) = (Instant::now(), 0);
    while calls < 3 || began.elapsed() < time {
        stage.synchronize();
        calls += 1;
    }
    began.elapsed().as_secs_f64() * 1e6 / f64::from(calls)
}

const TIMES: u32 = 20;

/// Returns the mean time of `what`, in microseconds, called now and then. Calls back to back would
/// measure something else beside a reader that is nearly always inside: where threads share a core,
/// the woken caller takes it from the reader that has just left, and then makes a thousand calls
/// beside no reader.
pub fn mean_now_and_then(mut what: impl FnMut()) -> f64 {
    let mut total = Duration::ZERO;
    for _ in 0..TIMES {
        std::thread::sleep(Duration::from_micros(200));
        let began = Instant::now();
        what();
        total += began.elapsed();
    }
    total.as_secs_f64() * 1e6 / f64::from(TIMES)
}
