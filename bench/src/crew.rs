//! Threads at work while something is measured, and the rate at which each of them got on. What a thread does is a `Task`.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::error::Error;

/// What one thread does until it is told to stop. It says `ready`, and counts in its post's tally.
pub struct Task<'a> {
    work: Box<dyn Fn(&Post<'_>) + Send + Sync + 'a>,
    /// Whether nothing may be measured before it has counted: else a grace period might be measured beside nobody.
    must_count: bool,
}

impl<'a> Task<'a> {
    /// One that is at work from its first count.
    pub fn counting(work: impl Fn(&Post<'_>) + Send + Sync + 'a) -> Task<'a> {
        Task { work: Box::new(work), must_count: true }
    }

    /// One that is at work when it says so.
    pub fn new(work: impl Fn(&Post<'_>) + Send + Sync + 'a) -> Task<'a> {
        Task { work: Box::new(work), must_count: false }
    }
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

/// A thread's place in the crew.
pub struct Post<'a> {
    crew: &'a Crew,
    pub tally: &'a AtomicU64,
}

/// Enough for any loop here, and small enough for thousands of threads.
const STACK: usize = 128 * 1024;

/// Runs `body` while one thread for each of `tasks` is at work.
pub fn during<R>(tasks: &[Task<'_>], body: impl FnOnce(&Crew) -> R) -> Result<R, Error> {
    let crew = Crew::new(tasks.len());
    thread::scope(|scope| {
        for (task, tally) in tasks.iter().zip(&crew.tallies) {
            let post = Post { crew: &crew, tally: &tally.0 };
            let thread = thread::Builder::new().stack_size(STACK);
            if let Err(error) = thread.spawn_scoped(scope, move || (task.work)(&post)) {
                crew.dismiss();
                return Err(Error::new(format!("{} threads could not be started: {error}", tasks.len())));
            }
        }
        crew.wait_until_at_work(tasks);
        let result = body(&crew);
        crew.dismiss();
        Ok(result)
    })
}

impl Post<'_> {
    /// The thread is at work from here on.
    pub fn ready(&self) {
        self.crew.at_work.fetch_add(1, Ordering::Release);
    }

    /// Set when the work is over.
    pub fn stop(&self) -> &AtomicBool {
        &self.crew.stop
    }

    pub fn stopped(&self) -> bool {
        self.crew.stop.load(Ordering::Relaxed)
    }

    /// `step` until told to stop, counting each.
    #[inline(always)]
    pub fn until_stopped(&self, mut step: impl FnMut()) {
        let mut done = 0;
        while !self.stopped() {
            step();
            done += 1;
            self.tally.store(done, Ordering::Relaxed);
        }
    }

    pub fn sleep_until_dismissed(&self) {
        let dismissed = self.crew.dismissed.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.crew.bell.wait_while(dismissed, |dismissed| !*dismissed).unwrap_or_else(PoisonError::into_inner));
    }
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

    /// Waits until every thread has started and has counted where it must, on a busy machine too.
    fn wait_until_at_work(&self, tasks: &[Task<'_>]) {
        let idles = |(task, count): (&Task<'_>, u64)| task.must_count && count == 0;
        while self.at_work.load(Ordering::Acquire) < tasks.len() || tasks.iter().zip(self.counts()).any(idles) {
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

    /// Tells the threads to stop; `during` does so at its end. For tasks that have to be woken afterwards.
    pub fn dismiss(&self) {
        self.stop.store(true, Ordering::Relaxed);
        *self.dismissed.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.bell.notify_all();
    }
}
