//! Ordered maps: gets, and scans of 100 entries from a key on, while nothing is written and beside a
//! writer that changes one entry in twenty operations.

use std::collections::BTreeMap;
use std::sync::{PoisonError, RwLock};

use crossbeam_skiplist::SkipMap;
use leeward::collect::OrderedMap;
use leeward::rcu;

use super::keys::{Keys, Kind, Operation, sequence};
use super::size;
use crate::cli::Containers;
use crate::crew::{Post, Task, during};
use crate::error::Error;
use crate::figure::{Target, Title};
use crate::locks::contest::{Entrant, Outcome, contest};
use crate::plan::Plan;

/// The entries of a scan.
const SCAN: usize = 100;
const SKIPLIST: &str = "crossbeam-skiplist";
const ORDERED_MAP: &str = "leeward OrderedMap";
const ASYM: &str = "leeward asym::RwLock<BTreeMap>";

/// A concurrent map in the order of its keys, from `u64` to `u64`.
trait Ordered: Default + Send + Sync + 'static {
    fn insert(&self, key: u64, value: u64);
    fn remove(&self, key: u64);
    fn get(&self, key: u64) -> Option<u64>;
    /// Returns the sum of the values of at most `SCAN` entries from `key` on.
    fn scan(&self, key: u64) -> u64;
}

/// What readers do.
#[derive(Clone, Copy)]
enum Job {
    Get,
    Scan,
}

/// The loop over one map.
trait Loops: Send + Sync {
    fn run(&self, post: &Post<'_>, operations: &[Operation], job: Job);
}

#[repr(align(128))]
struct Apart<M>(M);

impl<M: Ordered> Loops for Apart<M> {
    fn run(&self, post: &Post<'_>, operations: &[Operation], job: Job) {
        let mut at = operations.iter().cycle();
        post.ready();
        post.until_stopped(|| {
            let Some(operation) = at.next() else { return };
            let key = operation.key();
            match (operation.kind(), job) {
                (Kind::Get, Job::Get) => drop(std::hint::black_box(self.0.get(key))),
                (Kind::Get, Job::Scan) => drop(std::hint::black_box(self.0.scan(key))),
                (Kind::Insert, _) => self.0.insert(key, key),
                (Kind::Remove, _) => self.0.remove(key),
            }
        });
    }
}

type Open = fn(usize) -> Box<dyn Loops>;

fn open<M: Ordered>(size: usize) -> Box<dyn Loops> {
    let map = M::default();
    (0..size as u64).map(super::keys::key).for_each(|key| map.insert(key, key));
    Box::new(Apart(map))
}

fn entrants() -> [Entrant<Open>; 4] {
    [
        Entrant::new(ORDERED_MAP, open::<OrderedMap<u64, u64>>),
        Entrant::new(ASYM, open::<leeward::asym::RwLock<BTreeMap<u64, u64>>>),
        Entrant::new(SKIPLIST, open::<SkipMap<u64, u64>>),
        Entrant::new("std RwLock<BTreeMap>", open::<RwLock<BTreeMap<u64, u64>>>),
    ]
}

pub fn outcome(plan: &Plan, options: &Containers) -> Outcome {
    let mut outcome = Outcome::default();
    for &size in options.sizes(plan.quick) {
        plan.now(&format!("ordered maps of {} entries are filled", size::text(size)));
        let maps: Vec<Entrant<Box<dyn Loops>>> =
            entrants().iter().map(|map| Entrant { name: map.name, open: map.open.map(|open| open(size)) }).collect();
        for (writes, threads) in [(0, 1), (0, 2), (5, 2)] {
            for job in [Job::Get, Job::Scan] {
                hold(plan, &mut outcome, &maps, (size, writes, threads, job));
            }
        }
    }
    outcome
}

/// Holds one contest, and adds its rows and figures.
fn hold(
    plan: &Plan,
    outcome: &mut Outcome,
    maps: &[Entrant<Box<dyn Loops>>],
    (size, writes, threads, job): (usize, u32, u64, Job),
) {
    let (words, short) = match job {
        Job::Get => ("get", "get"),
        Job::Scan => ("scan of 100", "scan"),
    };
    let work: Vec<_> = (1..=threads).map(|seed| sequence(Keys::Uniform, size, writes, seed)).collect();
    let name = size::text(size);
    let what = format!("ordered map, {name} entries, {threads} threads, {words}, {}/{writes}", 100 - writes);
    let what = what.replace(" 1 threads", " 1 thread");
    let unit = if threads == 1 { "ns" } else { "/s" };
    let boards = contest(plan, plan.rounds, &[(what.clone(), unit)], maps, |map| run(plan, &**map, &work, job));
    outcome.add(&boards[0]);
    let target = if threads == 1 { Target::RatioAtMost(0.6) } else { Target::RatioAtLeast(1.0 / 0.6) };
    let id = format!("ordered.{short}.{name}.{threads}.{writes}");
    for (ours, id, target) in [(ORDERED_MAP, id.clone(), target), (ASYM, format!("{id}.asym"), Target::Open)] {
        let title = Title::new(&id, format!("{ours}, {what}"), unit, Some(SKIPLIST), target);
        outcome.figures.push(boards[0].figure(ours, title));
    }
}

fn run(plan: &Plan, map: &dyn Loops, work: &[Vec<Operation>], job: Job) -> Result<Vec<f64>, Error> {
    let tasks: Vec<Task<'_>> = work.iter().map(|work| Task::counting(move |post| map.run(post, work, job))).collect();
    let rate: f64 = during(&tasks, |crew| crew.rates(plan.slice()))?.iter().sum();
    Ok(vec![if work.len() == 1 { 1e9 / rate } else { rate }])
}

impl Ordered for OrderedMap<u64, u64> {
    fn insert(&self, key: u64, value: u64) {
        OrderedMap::insert(self, key, value);
    }

    fn remove(&self, key: u64) {
        OrderedMap::remove(self, &key);
    }

    #[inline(always)]
    fn get(&self, key: u64) -> Option<u64> {
        OrderedMap::get(self, &key, &rcu::read()).copied()
    }

    #[inline(always)]
    fn scan(&self, key: u64) -> u64 {
        self.range(key.., &rcu::read()).take(SCAN).fold(0, |sum, (_, value)| sum ^ value)
    }
}

impl Ordered for SkipMap<u64, u64> {
    fn insert(&self, key: u64, value: u64) {
        SkipMap::insert(self, key, value);
    }

    fn remove(&self, key: u64) {
        SkipMap::remove(self, &key);
    }

    #[inline(always)]
    fn get(&self, key: u64) -> Option<u64> {
        SkipMap::get(self, &key).map(|entry| *entry.value())
    }

    #[inline(always)]
    fn scan(&self, key: u64) -> u64 {
        self.range(key..).take(SCAN).fold(0, |sum, entry| sum ^ entry.value())
    }
}

macro_rules! locked {
    ($($lock:ty { $open:expr })*) => {$(
        impl Ordered for $lock {
            fn insert(&self, key: u64, value: u64) {
                $open(self.write()).insert(key, value);
            }

            fn remove(&self, key: u64) {
                $open(self.write()).remove(&key);
            }

            #[inline(always)]
            fn get(&self, key: u64) -> Option<u64> {
                $open(self.read()).get(&key).copied()
            }

            #[inline(always)]
            fn scan(&self, key: u64) -> u64 {
                $open(self.read()).range(key..).take(SCAN).fold(0, |sum, (_, value)| sum ^ value)
            }
        }
    )*};
}

locked! {
    leeward::asym::RwLock<BTreeMap<u64, u64>> { std::convert::identity }
    RwLock<BTreeMap<u64, u64>> { std_guard }
}

/// Returns std's guard, of a poisoned lock as well.
fn std_guard<G>(guard: Result<G, PoisonError<G>>) -> G {
    guard.unwrap_or_else(PoisonError::into_inner)
}
