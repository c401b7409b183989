//! Threads at work on a stage while something is measured, and the rate at which each of them got on.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::stage::Stage;
use crate::trouble::Trouble;

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

/// A thread's count, alone on its cache lines: its owner stores to it all the time.
#[repr(align(128))]
#[derive(Default)]
struct Tally(AtomicU64);

/// The threads, as the measuring thread sees them.
pub struct Crew {
    tallies: Vec<Tally>,
    stop: AtomicBool,
    at_work: AtomicUsize,
    dismissed: Mutex<bool>,
    bell: Condvar,
}

/// Enough for any loop here, and small enough for thousands of threads.
const STACK: usize = 128 * 1024;

/// Runs `body` while one thread for each of `jobs` is at work on `stage`.
pub fn during<R>(stage: &dyn Stage, jobs: &[Job], body: impl FnOnce(&Crew) -> R) -> Result<R, Trouble> {
    let crew = Crew::new(jobs.len());
    thread::scope(|scope| {
        for (job, tally) in jobs.iter().zip(&crew.tallies) {
            let crew = &crew;
            let thread = thread::Builder::new().stack_size(STACK);
            if let Err(error) = thread.spawn_scoped(scope, move || crew.work(stage, *job, &tally.0)) {
                crew.dismiss();
                return Err(Trouble::new(format!("{} threads could not be started: {error}", jobs.len())));
            }
        }
        crew.wait_until_at_work(jobs);
        let result = body(&crew);
        crew.dismiss();
        Ok(result)
    })
}

/// The rates of `jobs`, per second, over `time`.
pub fn rates(stage: &dyn Stage, jobs: &[Job], time: Duration) -> Result<Vec<f64>, Trouble> {
    during(stage, jobs, |crew| crew.rates(time))
}

impl Crew {
    fn new(threads: usize) -> Crew {
        Crew {
            tallies: (0..threads).map(|_| Tally::default()).collect(),
            stop: AtomicBool::new(false),
            at_work: AtomicUsize::new(0),
            dismissed: Mutex::new(false),
            bell: Condvar::new(),
        }
    }

    /// Waits until every thread has started and every reader has read, on a busy machine too: else a grace period might be
    /// measured beside nobody.
    fn wait_until_at_work(&self, jobs: &[Job]) {
        let reads = |job: &Job| matches!(job, Job::Read | Job::Dwell(_));
        let idles = |(job, count): (&Job, u64)| reads(job) && count == 0;
        while self.at_work.load(Ordering::Acquire) < jobs.len() || jobs.iter().zip(self.counts()).any(idles) {
            thread::sleep(Duration::from_millis(1));
        }
        thread::sleep(Duration::from_millis(2));
    }

    /// What each thread has done so far.
    pub fn counts(&self) -> Vec<u64> {
        self.tallies.iter().map(|tally| tally.0.load(Ordering::Relaxed)).collect()
    }

    /// What each thread does a second, over `time` from now.
    pub fn rates(&self, time: Duration) -> Vec<f64> {
        let (before, began) = (self.counts(), Instant::now());
        thread::sleep(time);
        let (after, took) = (self.counts(), began.elapsed().as_secs_f64());
        before.iter().zip(after).map(|(before, after)| (after - before) as f64 / took).collect()
    }

    fn work(&self, stage: &dyn Stage, job: Job, tally: &AtomicU64) {
        let ready = || {
            self.at_work.fetch_add(1, Ordering::Release);
        };
        match job {
            Job::Rest => stage.rest(&mut || {
                ready();
                self.sleep_until_dismissed();
            }),
            Job::Asleep(time) => stage.hold(&mut || {
                ready();
                thread::sleep(time);
            }),
            _ => {
                ready();
                self.work_flat_out(stage, job, tally);
            }
        }
    }

    fn work_flat_out(&self, stage: &dyn Stage, job: Job, tally: &AtomicU64) {
        match job {
            Job::Read => stage.read(&self.stop, tally),
            Job::Dwell(inside) => stage.dwell(&self.stop, tally, inside),
            Job::Write => stage.write(&self.stop, tally),
            Job::Retire => stage.retire(&self.stop, tally),
            Job::Synchronize => {
                let mut done = 0;
                while !self.stop.load(Ordering::Relaxed) {
                    stage.synchronize();
                    done += 1;
                    tally.store(done, Ordering::Relaxed);
                }
            }
            Job::Rest | Job::Asleep(_) => unreachable!("handled by `work`"),
        }
    }

    fn sleep_until_dismissed(&self) {
        let dismissed = self.dismissed.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.bell.wait_while(dismissed, |dismissed| !*dismissed).unwrap_or_else(PoisonError::into_inner));
    }

    fn dismiss(&self) {
        self.stop.store(true, Ordering::Relaxed);
        *self.dismissed.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.bell.notify_all();
    }
}
