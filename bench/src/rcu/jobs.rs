//! The jobs that threads do on a stage, as tasks of a crew.

use std::thread;
use std::time::Duration;

pub use crate::crew::Crew;
use crate::crew::{self, Post, Task};
use crate::error::Error;
use crate::rcu::stage::Stage;

/// The job of one thread until it is told to stop.
#[derive(Clone, Copy)]
pub enum Job {
    /// Enters and leaves empty sections without pause.
    Read,
    /// Enters sections and spins in each for this long.
    Dwell(Duration),
    /// Writes without pause.
    Write,
    /// Retires without pause.
    Retire,
    /// Waits for one grace period after the other.
    Synchronize,
    /// Registers, and sleeps outside any section.
    Rest,
    /// Sleeps for this long within a section, once.
    Asleep(Duration),
}

/// Runs `body` while one thread for each of `jobs` is at work on `stage`.
pub fn during<R>(stage: &dyn Stage, jobs: &[Job], body: impl FnOnce(&Crew) -> R) -> Result<R, Error> {
    let tasks: Vec<Task<'_>> = jobs.iter().map(|&job| task(stage, job)).collect();
    crew::during(&tasks, body)
}

/// Returns the rates of `jobs`, per second, over `time`.
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
