//! One reader asleep within its section beside a busy one: how much the busy one loses while a
//! writer waits for the sleeper, and how many heavy fences and wakes that grace period takes.

use std::time::{Duration, Instant};

use leeward::fence;
use leeward::rcu;

use super::{against, alone};
use crate::error::Error;
use crate::figure::{Figure, Target, Title};
use crate::plan::Plan;
use crate::rcu::jobs::{Crew, Job, during};
use crate::rcu::roster::{self, AUTOMATIC, Contender, MEMB};
use crate::rcu::stage::Stage;

/// The time that the reader sleeps: the 10 ms of the table, and the time until the writer has come.
const ASLEEP: Duration = Duration::from_millis(13);

pub fn figures(plan: &Plan) -> Vec<Figure> {
    let cycles = if plan.quick { 4 } else { 10 };
    let what =
        "one reader asleep 10 ms inside: a second, busy one's read rate, before the grace period divided by during it";
    let busy = Title::new("asleep.busy", what, "times", Some(MEMB), Target::AtMost(1.1));
    let mut figures = against(plan, plan.rounds, AUTOMATIC, vec![busy], |row| Ok(vec![slowdown(row, cycles)?]));
    let titles = vec![
        Title::new(
            "asleep.heavy",
            "one reader asleep 10 ms inside: heavy fences of that grace period, at most",
            "fences",
            None,
            Target::AtMost(3.0),
        ),
        Title::new(
            "asleep.wakes",
            "one reader asleep 10 ms inside: sleeps of that grace period, each ended by one wake, at most",
            "wakes",
            None,
            Target::AtMost(1.0),
        ),
    ];
    figures.extend(alone(plan, plan.rounds, titles, || counted(cycles)));
    figures
}

/// Returns the busy reader's rate while the other sleeps, without a writer divided by with one
/// waiting.
fn slowdown(row: &Contender, cycles: usize) -> Result<f64, Error> {
    let stage = row.open()?;
    during(&*stage, &[Job::Read], |crew| {
        let (mut quiet, mut disturbed) = (0.0, 0.0);
        let mut done = 0;
        // On a busy machine the reader may get no processor in some of the cycles: then more of them.
        while done < cycles || disturbed == 0.0 && done < 50 * cycles {
            quiet += rate_while(&*stage, crew, || std::thread::sleep(ASLEEP / 2))?;
            disturbed += rate_while(&*stage, crew, || stage.synchronize())?;
            done += 1;
        }
        if disturbed > 0.0 { Ok(quiet / disturbed) } else { Err(Error::new("the busy reader made no progress")) }
    })?
}

/// Returns the busy reader's rate during `wait`, while another reader sleeps within its section.
fn rate_while(stage: &dyn Stage, crew: &Crew, wait: impl FnOnce()) -> Result<f64, Error> {
    during(stage, &[Job::Asleep(ASLEEP)], |_| {
        let (before, began) = (crew.counts()[0], Instant::now());
        wait();
        (crew.counts()[0] - before) as f64 / began.elapsed().as_secs_f64()
    })
}

/// Returns the most heavy fences and the most wakes of any such grace period.
fn counted(cycles: usize) -> Result<Vec<f64>, Error> {
    let stage = roster::get(AUTOMATIC)?.open()?;
    during(&*stage, &[Job::Read], |_| {
        let mut most = vec![0.0, 0.0];
        for _ in 0..cycles {
            let counts = during(&*stage, &[Job::Asleep(ASLEEP)], |_| {
                let before = (fence::counters().total(), rcu::stats().sleeps);
                stage.synchronize();
                [fence::counters().total() - before.0, rcu::stats().sleeps - before.1]
            })?;
            most.iter_mut().zip(counts).for_each(|(most, count)| *most = f64::max(*most, count as f64));
        }
        Ok(most)
    })?
}
