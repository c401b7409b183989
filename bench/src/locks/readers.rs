//! Readers of reader-writer locks: one alone, and six beside two writers that write once a
//! millisecond.

use std::time::Duration;

use super::alone::figure;
use super::contest::{Entrant, Outcome, contest};
use super::pthread;
use super::rwlocks::{RwLock, RwLockLoops, rwlock_loops};
use crate::alignment::nanoseconds;
use crate::crew::{Post, Task, during};
use crate::error::Error;
use crate::figure::{Target, Title};
use crate::plan::Plan;
use crate::rcu::roster::{self, MEMB};
use crate::rcu::stage::Stage;
use crate::tails::Tails;

/// The number of reads in one round: a whole number of batches at each alignment.
pub const READS: u64 = 512 * 1024;

pub const STD: &str = "std";
pub const ASYM: &str = "leeward asym::RwLock";

/// A function that opens a reader-writer lock.
pub type Open = fn() -> Result<Box<dyn RwLockLoops>, Error>;

/// Returns the entrant of one kind of lock.
pub const fn entrant<L: RwLock>(name: &'static str) -> Entrant<Open> {
    Entrant::new(name, || Ok(rwlock_loops::<L>()))
}

/// Returns the locks that take part.
pub fn locks() -> Vec<Entrant<Open>> {
    vec![
        entrant::<leeward::sync::RwLock<u64>>("leeward RwLock"),
        entrant::<leeward::asym::RwLock<u64>>(ASYM),
        entrant::<std::sync::RwLock<u64>>(STD),
        entrant::<parking_lot::RwLock<u64>>("parking_lot"),
        entrant::<usync::RwLock<u64>>("usync"),
        entrant::<pthread::RwLock>("pthread"),
    ]
}

/// liburcu's read side, which shows what a reader pays that takes no lock.
fn urcu() -> Entrant<Open> {
    let absent = roster::get(MEMB).ok().and_then(|row| row.absent());
    let open: Open = || Ok(Box::new(Urcu(roster::get(MEMB)?.open()?)));
    Entrant { name: "liburcu-memb section", open: absent.map_or(Ok(open), Err) }
}

struct Urcu(Box<dyn Stage>);

impl RwLockLoops for Urcu {
    fn alone(&self, n: u64, alignment: u32) -> Duration {
        self.0.section(n, alignment)
    }

    fn read(&self, post: &Post<'_>) {
        post.ready();
        self.0.read(post.stop(), post.tally);
    }

    fn write(&self, _: &Post<'_>) {
        unreachable!("liburcu's section takes part where there is no writer");
    }

    fn write_timed(&self, _: &Post<'_>) -> Tails {
        unreachable!("liburcu's section takes part where there is no writer");
    }

    fn mix(&self, _: &Post<'_>, _: u32, _: u64) {
        unreachable!("liburcu's section takes part where there is no writer");
    }
}

pub fn outcome(plan: &Plan) -> Outcome {
    let mut outcome = Outcome::default();
    let entrants: Vec<Entrant<Open>> = locks().into_iter().chain([urcu()]).collect();
    let one = "RwLock, one read, uncontended";
    let quantities = [(one.to_string(), "ns"), (format!("{one}, the best alignment"), "ns")];
    let boards = contest(plan, 3 * plan.rounds, &quantities, &entrants, |open| {
        let loops = open()?;
        let times = nanoseconds(READS, |n, alignment| loops.alone(n, alignment));
        Ok(vec![times.mean, times.cheapest])
    });
    outcome.add(&boards[0]);
    let title = Title::new("asym_rwlock.alone", format!("asym::{one}"), "ns", Some(STD), Target::RatioAtMost(0.15));
    outcome.figures.push(figure(&boards, ASYM, title));
    let many = "RwLock, 6 readers + 2 writers, each one write a ms: reads".to_string();
    let title =
        Title::new("asym_rwlock.flat", format!("asym::{many}"), "reads/s", Some(STD), Target::RatioAtLeast(10.0));
    let boards = contest(plan, plan.rounds, &[(many, "reads/s")], &locks(), |open| flat(plan, &*open()?));
    outcome.add(&boards[0]);
    outcome.figures.push(boards[0].figure(ASYM, title));
    outcome
}

/// Measures reads a second by six threads beside two that write once a millisecond.
pub fn flat(plan: &Plan, loops: &dyn RwLockLoops) -> Result<Vec<f64>, Error> {
    let readers = (0..6).map(|_| Task::new(|post| loops.read(post)));
    let writers = (0..2).map(|_| Task::new(|post| loops.write(post)));
    let tasks: Vec<Task<'_>> = readers.chain(writers).collect();
    let rates = during(&tasks, |crew| crew.rates(plan.slice()))?;
    Ok(vec![rates[..6].iter().sum()])
}
