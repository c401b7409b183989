//! What the tests share: a seeded generator, processors, patience, and a watchdog that turns a hang
//! into a failure.

#![allow(dead_code, missing_docs)]

use std::hint::black_box;
use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use leeward::rcu::Domain;

/// A generator of random numbers: xorshift64*, the same sequence for the same seed.
pub struct Rng(u64);

impl Rng {
    pub fn new(seed: u64) -> Rng {
        Rng(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    pub fn below(&mut self, end: u64) -> u64 {
        (self.next() >> 33) % end
    }
}

/// Computes without touching memory, about a nanosecond a turn.
#[inline(never)]
pub fn compute(turns: u64) -> u64 {
    let mut x = turns;
    for i in 0..turns {
        x = black_box(x.wrapping_mul(31).wrapping_add(i));
    }
    x
}

/// Returns the processors that the calling thread may use.
pub fn processors() -> Vec<usize> {
    // SAFETY: zeroed is an empty set.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: the set is ours and of the size that is said.
    let outcome = unsafe { libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut set) };
    assert_eq!(outcome, 0, "sched_getaffinity");
    (0..libc::CPU_SETSIZE as usize).filter(|&cpu| is_set(cpu, &set)).collect()
}

fn is_set(cpu: usize, set: &libc::cpu_set_t) -> bool {
    // SAFETY: `cpu` is below CPU_SETSIZE.
    unsafe { libc::CPU_ISSET(cpu, set) }
}

/// Ties the calling thread to one processor.
pub fn pin(cpu: usize) {
    // SAFETY: zeroed is an empty set.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: `cpu` came from `processors`.
    unsafe { libc::CPU_SET(cpu, &mut set) };
    // SAFETY: the set is ours and of the size that is said.
    let outcome = unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set) };
    assert_eq!(outcome, 0, "sched_setaffinity to {cpu}");
}

/// Returns two processors, or prints a reason why there is nothing to test.
pub fn two_processors() -> Option<(usize, usize)> {
    match processors()[..] {
        [first, second, ..] => Some((first, second)),
        _ => {
            println!("skipped: it takes two processors to see a store buffer, and this process may use one only");
            None
        }
    }
}

/// Returns how long a stress runs: `LEEWARD_TEST_SECONDS`, else what the test says.
pub fn duration(default: f64) -> Duration {
    let seconds = std::env::var("LEEWARD_TEST_SECONDS").ok().and_then(|text| text.parse().ok());
    Duration::from_secs_f64(seconds.unwrap_or(default))
}

/// Returns how long something that must happen may take, on a machine that has other things to do
/// as well: `LEEWARD_TEST_PATIENCE` seconds.
pub fn patience() -> Duration {
    let seconds = std::env::var("LEEWARD_TEST_PATIENCE").ok().and_then(|text| text.parse().ok());
    Duration::from_secs(seconds.unwrap_or(20))
}

/// How long something that must not happen is given to happen, at least.
pub const GLANCE: Duration = Duration::from_millis(5);

leeward::rcu_domain! {
    /// A domain without readers: it shows how long a grace period takes with nothing in its way.
    struct Unhindered;
}

/// Waits until `is_so` returns true.
#[track_caller]
pub fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let (start, patience) = (Instant::now(), patience());
    while !is_so() {
        assert!(start.elapsed() < patience, "it never came to pass that {what}");
        std::thread::sleep(Duration::from_micros(50));
    }
}

/// Asserts that `is_so` stays false for a while: for 5 ms, and while two grace periods of another
/// domain pass, since a heavy fence takes microseconds on one machine and milliseconds on another.
#[track_caller]
pub fn never(what: &str, is_so: impl Fn() -> bool) {
    let start = Instant::now();
    let mut passed = 0;
    let mut cookie = Unhindered::start_poll();
    while start.elapsed() < GLANCE || passed < 2 {
        assert!(!is_so(), "{what}");
        if Unhindered::poll_state(&cookie) {
            passed += 1;
            cookie = Unhindered::start_poll();
        }
        std::thread::sleep(Duration::from_micros(50));
    }
    assert!(!is_so(), "{what}");
}

/// Ends the test program with a sentence if it is neither dropped in time nor told that the test
/// [goes on](Watchdog::goes_on): a hang is a failure, not a wait.
pub struct Watchdog(Arc<Watched>);

/// What a watchdog sees of its test.
#[derive(Default)]
struct Watched {
    has_ended: AtomicBool,
    /// How often the test said that it goes on.
    steps: AtomicUsize,
}

impl Watchdog {
    pub fn new(what: &'static str) -> Watchdog {
        Watchdog::within(what, 2 * patience())
    }

    pub fn within(what: &'static str, limit: Duration) -> Watchdog {
        let watched = Arc::<Watched>::default();
        let seen = Arc::clone(&watched);
        std::thread::spawn(move || {
            let (mut since, mut steps) = (Instant::now(), 0);
            while since.elapsed() < limit {
                std::thread::sleep(Duration::from_millis(20));
                if seen.has_ended.load(Ordering::Relaxed) {
                    return;
                }
                let now = seen.steps.load(Ordering::Relaxed);
                if now != steps {
                    (since, steps) = (Instant::now(), now);
                }
            }
            // Not by a macro: the test harness would keep it.
            let _ = writeln!(std::io::stderr(), "test {what} FAILED: it hangs");
            std::process::exit(101);
        });
        Watchdog(watched)
    }

    /// Says that the test has made a step: the time begins anew. For tests of thousands of steps, each of
    /// which takes a turn of the scheduler's, which are long on a busy machine.
    pub fn goes_on(&self) {
        self.0.steps.fetch_add(1, Ordering::Relaxed);
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.0.has_ended.store(true, Ordering::Relaxed);
    }
}

/// Raises a flag when it is dropped, so that a failure ends the threads that a scope waits for as
/// well.
pub struct Raise<'a>(pub &'a AtomicBool);

impl Drop for Raise<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Takes a lock for tests of one program that must not run beside each other; a failed test does
/// not make the others fail.
pub fn alone(lock: &'static Mutex<()>) -> MutexGuard<'static, ()> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the message with which `work` panics.
#[track_caller]
pub fn panic_of(work: impl FnOnce()) -> String {
    let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).expect_err("it must panic");
    match panic.downcast::<String>() {
        Ok(text) => *text,
        Err(other) => other.downcast_ref::<&str>().map(|text| (*text).to_owned()).unwrap_or_default(),
    }
}

/// Returns true if a thread of this process sleeps in the kernel.
pub fn is_asleep(id: libc::pid_t) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/self/task/{id}/stat")).unwrap_or_default();
    stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('S'))
}
