//! Threads that work while something is measured, and the rate of each. What a thread does is a
//! `Task`.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::error::Error;

/// The work of one thread until it is told to stop. It calls `Post::ready` and counts in its post's
/// tally.
pub struct Task<'a> {
    work: Box<dyn Fn(&Post<'_>) + Send + Sync + 'a>,
    /// True if the measurement begins only after the first count. Otherwise a grace period might be
    /// measured beside no reader.
    must_count: bool,
}

impl<'a> Task<'a> {
    /// Returns a task that is at work from its first count on.
    pub fn counting(work: impl Fn(&Post<'_>) + Send + Sync + 'a) -> Task<'a> {
        Task { work: Box::new(work), must_count: true }
    }

    /// Returns a task that is at work from its call of `Post::ready` on.
    pub fn new(work: impl Fn(&Post<'_>) + Send + Sync + 'a) -> Task<'a> {
        Task { work: Box::new(work), must_count: false }
    }
}

/// A thread's count. It shares its cache lines with nothing, because its owner stores to it all the
/// time.
#[repr(align(128))]
#[derive(Default)]
struct Tally(AtomicU64);

/// The working threads, as the measuring thread sees them.
pub struct Crew {
    tallies: Vec<Tally>,
    stop: AtomicBool,
    at_work: AtomicUsize,
    dismissed: Mutex<bool>,
    bell: Condvar,
}

/// A thread's access to its crew and to its own count.
pub struct Post<'a> {
    crew: &'a Crew,
    pub tally: &'a AtomicU64,
}

/// The size of a thread's stack: enough for any loop here, and small enough for thousands of
/// threads.
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
    /// Says that the thread is at work from now on.
    pub fn ready(&self) {
        self.crew.at_work.fetch_add(1, Ordering::Release);
    }

    /// Returns the flag that is set when the work is over.
    pub fn stop(&self) -> &AtomicBool {
        &self.crew.stop
    }

    pub fn stopped(&self) -> bool {
        self.crew.stop.load(Ordering::Relaxed)
    }

    /// Calls `step` until told to stop, and counts the calls.
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

    /// Waits until every thread is at work, however busy the machine is.
    fn wait_until_at_work(&self, tasks: &[Task<'_>]) {
        let idles = |(task, count): (&Task<'_>, u64)| task.must_count && count == 0;
        while self.at_work.load(Ordering::Acquire) < tasks.len() || tasks.iter().zip(self.counts()).any(idles) {
            thread::sleep(Duration::from_millis(1));
        }
        thread::sleep(Duration::from_millis(2));
    }

    /// Returns each thread's count so far.
    pub fn counts(&self) -> Vec<u64> {
        self.tallies.iter().map(|tally| tally.0.load(Ordering::Relaxed)).collect()
    }

    /// Returns each thread's rate, per second, over `time` from now.
    pub fn rates(&self, time: Duration) -> Vec<f64> {
        let (before, began) = (self.counts(), Instant::now());
        thread::sleep(time);
        let (after, took) = (self.counts(), began.elapsed().as_secs_f64());
        before.iter().zip(after).map(|(before, after)| (after - before) as f64 / took).collect()
    }

    /// Tells the threads to stop. `during` does so at its end; callers do so where tasks have to be
    /// woken afterwards.
    pub fn dismiss(&self) {
        self.stop.store(true, Ordering::Relaxed);
        *self.dismissed.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.bell.notify_all();
    }
}
