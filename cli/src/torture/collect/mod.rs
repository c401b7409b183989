//! The torture of containers: readers, some of which are stuck; writers of the same keys; a thread
//! that lets the maps grow and shrink all the time; threads that come and go; guards that were
//! leaked by threads which ended; and forks beside them, whose children use everything.
//!
//! Values poison themselves in their destructor, and are counted: at the end of a round each must
//! have been dropped once.

mod containers;
mod value;

use std::fmt;
use std::ops::AddAssign;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use leeward::rcu::{Domain, Guard};

use super::random::Random;
use super::violation::{self, Kind, report};
use super::{storm, verdict};
use crate::args::Storm;
use crate::sys::{self, Ended};
use containers::Containers;
use value::{DROPPED, FORGOTTEN, IS_CHILD, MADE, Value};

leeward::rcu_domain! {
    /// The domain of the containers of each round.
    struct Stormy;
    /// The domain in which a guard was leaked.
    struct Leaky;
}

/// The seconds after which a round that should have ended hangs.
const PATIENCE: u32 = 60;
/// The seconds that a child may take.
const CHILD_PATIENCE: u32 = 60;

/// What the torture counts.
#[derive(Default)]
struct Tally {
    rounds: u64,
    checked: u64,
    forks: u64,
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Tally) {
        self.rounds += other.rounds;
        self.checked += other.checked;
        self.forks += other.forks;
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Relaxed: the threads have been joined.
        let dropped = DROPPED.load(Ordering::Relaxed);
        let Tally { rounds, checked, forks } = self;
        write!(f, "{rounds} rounds, {checked} look-ups, {forks} forks, {dropped} values freed")
    }
}

/// Values that a leaked guard protects.
struct Leaked {
    containers: &'static Containers<Leaky>,
    found: Vec<(u64, &'static Value)>,
}

impl Leaked {
    /// Starts a thread that leaks its guard and what it found, and waits for its end.
    fn new() -> Leaked {
        let containers: &'static Containers<Leaky> = Box::leak(Box::new(Containers::new()));
        for key in 0..64 {
            drop(containers.map.insert(key, Value::new(key)));
            drop(containers.ordered.insert(key, Value::new(key)));
        }
        let find = move || {
            let guard: &'static Guard<'static, Leaky> = Box::leak(Box::new(Leaky::read()));
            let found = containers.map.iter(guard).chain(containers.ordered.iter(guard));
            found.map(|(key, value)| (*key, value)).collect()
        };
        let found = thread::spawn(find).join().unwrap_or_default();
        Leaked { containers, found }
    }

    /// Replaces the values, and frees what may be freed; what was found must stay.
    fn check(&self) {
        for key in 0..64 {
            drop(self.containers.map.insert(key, Value::new(key)));
            drop(self.containers.ordered.remove(&key));
        }
        self.containers.map.reclaim();
        self.found.iter().for_each(|(key, value)| value.check(*key));
    }
}

/// Forks until the time is up or a violation is found. Returns how often.
fn fork_until(end: Instant, containers: &Containers<Stormy>, random: &mut Random) -> u64 {
    let mut forks = 0;
    while Instant::now() < end && violation::found().is_none() {
        let random = random.split();
        let child = move || {
            // Relaxed: the child has one thread.
            IS_CHILD.store(true, Ordering::Relaxed);
            sys::die_in(CHILD_PATIENCE);
            let work = || containers.live_on(random);
            let is_fine = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
            is_fine.map_or(2, |is_fine| u8::from(!is_fine))
        };
        // SAFETY: the child takes no lock of this program's; the library takes care of its own.
        if let Ok(number) = unsafe { sys::fork(child) } {
            forks += 1;
            match sys::wait_for(number) {
                Ok(Ended::Exited(0)) | Err(_) => {}
                Ok(Ended::Exited(code)) => report(Kind::ChildFailed, [code as u64, 0]),
                Ok(Ended::Killed(signal)) => report(Kind::ChildStuck, [signal as u64, 0]),
            }
        }
        sys::sleep(Duration::from_millis(5));
    }
    forks
}

/// Runs all threads for about so long; then drops the containers, and counts.
fn round(args: &Storm, random: &mut Random, time: Duration) -> Tally {
    let (containers, stop, end) = (Containers::<Stormy>::new(), AtomicBool::new(false), Instant::now() + time);
    let mut tally = Tally { rounds: 1, ..Tally::default() };
    containers.write_some(random.split(), 200);
    thread::scope(|scope| {
        let (containers, stop) = (&containers, &stop);
        let mut readers = Vec::new();
        for _ in 0..args.readers {
            let random = random.split();
            readers.push(scope.spawn(move || containers.read(random, stop)));
        }
        let mut others = vec![scope.spawn(|| containers.stay(stop))];
        for _ in 0..args.writers {
            let random = random.split();
            others.push(scope.spawn(move || containers.write(random, stop)));
        }
        let [first, second] = [random.split(), random.split()];
        others.push(scope.spawn(move || containers.resize(first, stop)));
        others.push(scope.spawn(move || containers.come_and_go(second, stop)));
        tally.forks = fork_until(end, containers, random);
        // Relaxed: the flag orders nothing.
        stop.store(true, Ordering::Relaxed);
        let joined = readers.into_iter().map(|reader| reader.join().map_err(drop));
        tally.checked = joined.map(|checked| checked.unwrap_or_else(|()| panicked())).sum();
        let outcomes = others.into_iter().map(|other| other.join());
        outcomes.filter(Result::is_err).for_each(|_| _ = panicked());
    });
    drop(containers);
    tally
}

fn panicked() -> u64 {
    report(Kind::Panicked, [0, 0]);
    0
}

/// Reports a violation if not every value was dropped once, of those made since the counts were
/// `before`.
fn check_counts(before: u64) {
    let now = in_use();
    if now != before && violation::found().is_none() {
        report(Kind::NotFreed, [now, before]);
    }
}

/// Returns the number of values that were neither dropped nor forgotten. No thread makes any.
fn in_use() -> u64 {
    // Relaxed: the threads have been joined.
    let [made, dropped, forgotten] = [&MADE, &DROPPED, &FORGOTTEN].map(|count| count.load(Ordering::Relaxed));
    made.wrapping_sub(dropped).wrapping_sub(forgotten)
}

/// The number of rounds that have ended.
static ENDED: AtomicU32 = AtomicU32::new(0);

/// Ends the process if no round ends for long: rounds take two seconds at most.
fn watch(seed: u64) {
    let (mut before, mut looks) = (0, 0);
    loop {
        sys::sleep(Duration::from_secs(1));
        // Relaxed: a count.
        let now = ENDED.load(Ordering::Relaxed);
        looks = if now == before { looks + 1 } else { 0 };
        before = now;
        if looks > PATIENCE {
            report(Kind::Hangs, [PATIENCE.into(), 0]);
            let _ = verdict(&Tally { rounds: now.into(), ..Tally::default() }, seed);
            std::process::exit(1);
        }
    }
}

/// Runs the torture. An error is a sentence on what was asked for.
pub fn run(args: &Storm) -> Result<ExitCode, String> {
    let seed = args.seed.unwrap_or_else(Random::any_seed);
    let started = thread::Builder::new().name("watchdog".into()).spawn(move || watch(seed));
    started.map_err(|error| format!("no thread can be started: {error}"))?;
    let leaked = Leaked::new();
    storm("collect", &Storm { seed: Some(seed), ..*args }, |args, random, time| {
        let before = in_use();
        let tally = round(args, random, time);
        check_counts(before);
        leaked.check();
        // Relaxed: a count.
        ENDED.fetch_add(1, Ordering::Relaxed);
        tally
    })
}
