//! What threads do on a stage, as tasks of a crew.

use std::thread;
use std::time::Duration;

pub use crate::crew::Crew;
use crate::crew::{self, Post, Task};
use crate::error::Error;
use crate::rcu::stage::Stage;

/// What one thread does until it is told to stop.
#[derive(Clone, Copy)]
pub enum Job {
    /// Empty sections, flat out.
    Read,
    /// Sections that hold on so long, spinning.
    Dwell(Duration),
    /// Writes, flat out.
    Write,
    /// Retirements, flat out.
    Retire,
    /// Grace periods, one after the other.
    Synchronize,
    /// Registered, asleep outside any section.
    Rest,
    /// Asleep within one section for so long, once.
    Asleep(Duration),
}

/// Runs `body` while one thread for each of `jobs` is at work on `stage`.
pub fn during<R>(stage: &dyn Stage, jobs: &[Job], body: impl FnOnce(&Crew) -> R) -> Result<R, Error> {
    let tasks: Vec<Task<'_>> = jobs.iter().map(|&job| task(stage, job)).collect();
    crew::during(&tasks, body)
}

/// The rates of `jobs`, per second, over `time`.
pub fn rates(stage: &dyn Stage, jobs: &[Job], time: Duration) -> Result<Vec<f64>, Error> {
    during(stage, jobs, |crew| crew.rates(time))
}

fn task(stage: &dyn Stage, job: Job) -> Task<'_> {
    match job {
        Job::Read | Job::Dwell(_) => Task::counting(move |post| work(stage, job, post)),
        _ => Task::new(move |post| work(stage, job, post)),
    }
}

fn work(stage: &dyn Stage, job: Job, post: &Post<'_>) {
    match job {
        Job::Rest => stage.rest(&mut || {
            post.ready();
            post.sleep_until_dismissed();
        }),
        Job::Asleep(time) => stage.hold(&mut || {
            post.ready();
            thread::sleep(time);
        }),
        _ => {
            post.ready();
            work_flat_out(stage, job, post);
        }
    }
}

fn work_flat_out(stage: &dyn Stage, job: Job, post: &Post<'_>) {
    match job {
        Job::Read => stage.read(post.stop(), post.tally),
        Job::Dwell(inside) => stage.dwell(post.stop(), post.tally, inside),
        Job::Write => stage.write(post.stop(), post.tally),
        Job::Retire => stage.retire(post.stop(), post.tally),
        Job::Synchronize => post.until_stopped(|| stage.synchronize()),
        Job::Rest | Job::Asleep(_) => unreachable!("handled by `work`"),
    }
}
