//! A round: the litmus programs, the storm, and the check, of one flavour by one strategy.

use std::fmt;
use std::ops::AddAssign;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use leeward::rcu::qsbr;
use leeward::rcu::{Domain, Limit, Policy, Reader};

use super::crew::{self, Hired, Member};
use super::fixture::{Auto, Flavour, Handle, Leak, Mb, Qsbr, ROOTS, WRITERS};
use super::litmus::{self, OwnSlot, Way};
use super::plan::Combination;
use super::random::Random;
use super::violation::{Kind, found, remember_stall, report};
use super::{forker, quiescent, reader, short_lived, signals, watchdog, writer};
use crate::args::Flavours;

/// The work that was done, in numbers.
#[derive(Default)]
pub struct Tally {
    rounds: u64,
    grace_periods: u64,
    sleeps: u64,
    callbacks: u64,
    freed: u64,
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Tally) {
        self.rounds += other.rounds;
        self.grace_periods += other.grace_periods;
        self.sleeps += other.sleeps;
        self.callbacks += other.callbacks;
        self.freed += other.freed;
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} rounds, {} grace periods, {} of their sleeps, ", self.rounds, self.grace_periods, self.sleeps)?;
        write!(f, "{} callbacks, {} objects freed", self.callbacks, self.freed)
    }
}

/// The function of a reader of the storm, or of a thread that lives for a few sections.
pub type Read = fn(&'static Member, Random);
/// The function of a writer: the one of that number, of so many.
pub type Write = fn(&'static Member, Random, usize, usize);

/// The functions of the storm's threads, each of which is taken in turn.
pub struct Cast<'a> {
    pub reads: &'a [Read],
    pub writes: &'a [Write],
    pub lives: &'a [Read],
}

/// The number of threads that read and write.
#[derive(Clone, Copy)]
pub struct Size {
    pub readers: usize,
    pub writers: usize,
}

/// Runs a round for about `slice`.
pub fn run(what: &Combination<Flavours>, size: Size, random: &mut Random, slice: Duration, tick: &dyn Fn()) -> Tally {
    match what.flavour {
        Flavours::Handle => {
            in_rust::<Handle, Reader<Handle>>(&[reader::with_handle::<Handle>], size, random, slice, tick)
        }
        Flavours::Qsbr => in_rust::<Qsbr, qsbr::Reader<Qsbr>>(&[quiescent::read::<Qsbr>], size, random, slice, tick),
        Flavours::Mb => {
            let all: [Read; 3] = [reader::automatic::<Mb>, reader::with_handle::<Mb>, quiescent::read::<Mb>];
            in_rust::<Mb, OwnSlot<Mb>>(&all, size, random, slice, tick)
        }
        Flavours::Auto | Flavours::All => {
            in_rust::<Auto, OwnSlot<Auto>>(&[reader::automatic::<Auto>], size, random, slice, tick)
        }
    }
}

fn in_rust<D: Flavour, W: Way<D>>(
    reads: &[Read],
    size: Size,
    random: &mut Random,
    slice: Duration,
    tick: &dyn Fn(),
) -> Tally {
    let cast = Cast { reads, writes: &[writer::write::<D>], lives: &[short_lived::live::<D>] };
    of::<D, W>(&cast, size, random, slice, tick)
}

/// Runs a round in one domain, with the litmus programs reading by `W`.
pub fn of<D: Flavour, W: Way<D>>(
    cast: &Cast,
    size: Size,
    random: &mut Random,
    slice: Duration,
    tick: &dyn Fn(),
) -> Tally {
    let policy = match random.below(3) {
        0 => Policy::DEFAULT,
        1 => Policy::WaitForever,
        _ => Policy::Expedite(Duration::from_millis(1)),
    };
    D::set_limit(Limit { callbacks: writer::LIMIT, policy, ..Limit::default() });
    let before = (D::stats(), freed::<D>());
    phase(slice / 5, tick, |_| litmus::store_buffer::<D, W>(random));
    // There is no stall limit: a sleep that ends to report a stall would repair a lost wake-up.
    D::set_stall_limit(None, None);
    phase(slice * 3 / 10, tick, |_| litmus::wake::<D, W>(random));
    let bursts = Instant::now();
    while bursts.elapsed() < slice / 10 && found().is_none() {
        phase(slice / 10, tick, |over| {
            *over = true;
            litmus::crowd::<D>(random)
        });
    }
    D::set_stall_limit(Some(watchdog::STALL_LIMIT), Some(remember_stall));
    phase(slice * 2 / 5, tick, |_| storm::<D>(cast, size, random));
    check::<D>();
    let after = D::stats();
    Tally {
        rounds: 1,
        grace_periods: after.grace_periods - before.0.grace_periods,
        sleeps: after.sleeps - before.0.sleeps,
        callbacks: after.callbacks_run - before.0.callbacks_run,
        freed: freed::<D>() - before.1,
    }
}

fn freed<D: Flavour>() -> u64 {
    // Relaxed: the word is a count.
    D::fixture().arena.freed.load(Ordering::Relaxed)
}

/// Runs a crew for `time`, or until it has ended if `hire` says that its threads end by themselves
/// and that is sooner.
fn phase(time: Duration, tick: &dyn Fn(), hire: impl FnOnce(&mut bool) -> Vec<Hired>) {
    if found().is_some() {
        return;
    }
    let start = Instant::now();
    crew::stop(false);
    let mut ends_by_itself = false;
    let crew = hire(&mut ends_by_itself);
    while start.elapsed() < time && found().is_none() && !(ends_by_itself && crew.iter().all(Hired::is_finished)) {
        crate::sys::sleep(Duration::from_millis(if ends_by_itself { 1 } else { 5 }));
        tick();
    }
    crew::stop(true);
    crew::dismiss(crew);
}

fn storm<D: Flavour>(cast: &Cast, size: Size, random: &mut Random) -> Vec<Hired> {
    let mut hired = Vec::new();
    for read in cast.reads.iter().copied().cycle().take(size.readers) {
        let own = random.split();
        hired.push(crew::hire(move |me| read(me, own)));
    }
    let writers = size.writers;
    for (number, write) in cast.writes.iter().copied().cycle().take(writers).enumerate() {
        let own = random.split();
        hired.push(crew::hire(move |me| write(me, own, number, writers)));
    }
    let [signal_seed, arrivals, fork_seed] = [0; 3].map(|_: u32| random.split());
    hired.push(crew::hire(move |_| signals::send(signal_seed)));
    let lives = cast.lives.to_vec();
    hired.push(crew::hire(move |_| short_lived::start(arrivals, lives)));
    hired.push(crew::hire(move |me| forker::fork::<D>(me, fork_seed)));
    hired.into_iter().flatten().collect()
}

/// Checks, when all threads have ended, that everything came back exactly once.
fn check<D: Flavour>() {
    if found().is_some() {
        return;
    }
    let fixture = D::fixture();
    D::barrier();
    let stats = D::stats();
    // Relaxed, all: every thread that wrote was joined, and callbacks ran before the barrier.
    let read = |count: &std::sync::atomic::AtomicU64| count.load(Ordering::Relaxed);
    let (retired, freed) = (read(&fixture.arena.retired), read(&fixture.arena.freed));
    let sum = |counts: &[super::fixture::Line]| counts[..WRITERS].iter().map(|count| read(&count.0)).sum::<u64>();
    let (deferred, came_back) = (sum(&fixture.deferred), sum(&fixture.came_back));
    let migrating = fixture.migrating.lock().map_or(0, |handles| handles.len() as u64);
    if stats.callbacks_queued != 0 || stats.bytes_queued != 0 {
        report(Kind::NotDrained, [stats.callbacks_queued, 0]);
    }
    if retired != freed {
        report(Kind::NotFreed, [retired, freed]);
    }
    if deferred != came_back {
        report(Kind::BarrierEarly, [deferred, came_back]);
    }
    if stats.leaked != 0 {
        report(Kind::Leaked, [stats.leaked, 0]);
    }
    if stats.readers < migrating || stats.readers > migrating + D::WORKERS {
        report(Kind::SlotLost, [stats.readers, migrating]);
    }
    if stats.callback_panics != read(&fixture.panics) {
        report(Kind::Panicked, [stats.callback_panics, read(&fixture.panics)]);
    }
    (0..ROOTS).all(|root| fixture.check(fixture.look(root)));
}

/// Checks that a leaked guard keeps what it protects forever, also after its thread's exit: a
/// reference may be anywhere.
pub fn leak_a_guard() {
    Leak::set_stall_limit(None, None);
    let fixture = Leak::fixture();
    let leaker = std::thread::spawn(|| {
        let guard = Leak::read();
        let name = fixture.look(0);
        std::mem::forget(guard);
        name
    });
    let (Ok(held), Some(new)) = (leaker.join(), fixture.arena.take()) else { return };
    fixture.publish(0, new, false);
    let cookie = Leak::start_poll();
    crate::sys::sleep(Duration::from_millis(20));
    if Leak::poll_state(&cookie) || Leak::stats().leaked != 1 || !fixture.check(held) {
        report(Kind::LeakForgotten, [0, 0]);
    }
}
