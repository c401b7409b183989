//! Lists: walks of 1,000 nodes, alone, on two threads, and beside a writer that takes the first value
//! out and appends one, again and again.

use std::collections::LinkedList;
use std::hint::black_box;
use std::sync::{PoisonError, RwLock};

use leeward::collect::List;
use leeward::{asym, rcu};

use super::held;
use crate::crew::{Post, Task, during};
use crate::error::Error;
use crate::figure::{Target, Title};
use crate::locks::contest::{Entrant, Outcome, contest};
use crate::plan::Plan;

/// The nodes of a list.
const NODES: u64 = 1000;
const LIST: &str = "leeward List";
/// What no thread may change while another walks it.
const PLAIN: &str = "std LinkedList, no lock";
const LOCKED: &str = "std RwLock<LinkedList>";

/// A list of numbers that several threads walk.
trait Walked: Default + Send + Sync + 'static {
    /// Appends a number.
    fn push(&self, number: u64);
    /// Takes the first number out.
    fn pop(&self);
    /// Returns the sum of the numbers.
    fn walk(&self) -> u64;
}

/// The loops over one list.
trait Loops: Send + Sync {
    fn read(&self, post: &Post<'_>);
    fn write(&self, post: &Post<'_>);
}

#[repr(align(128))]
struct Apart<L>(L);

impl<L: Walked> Loops for Apart<L> {
    fn read(&self, post: &Post<'_>) {
        post.ready();
        post.until_stopped(|| {
            black_box(self.0.walk());
        });
    }

    fn write(&self, post: &Post<'_>) {
        post.ready();
        post.until_stopped(|| {
            self.0.push(1);
            self.0.pop();
        });
    }
}

/// Each round opens a list of its own: where its nodes come to lie is chance, and is not the same chance
/// in all rounds.
type Open = fn() -> Box<dyn Loops>;

fn open<L: Walked>() -> Box<dyn Loops> {
    let list = L::default();
    (0..NODES).for_each(|number| list.push(number));
    Box::new(Apart(list))
}

/// What is done at a time.
#[derive(Clone, Copy)]
struct Setting {
    readers: usize,
    writers: usize,
}

pub fn outcome(plan: &Plan) -> Outcome {
    let mut outcome = Outcome::default();
    for (readers, writers) in [(1, 0), (2, 0), (1, 1)] {
        hold(plan, &mut outcome, Setting { readers, writers });
    }
    outcome
}

/// Holds one contest, and adds its rows and figures.
fn hold(plan: &Plan, outcome: &mut Outcome, setting: Setting) {
    let Setting { readers, writers } = setting;
    let what = match (readers, writers) {
        (1, 0) => "list of 1,000 nodes, a walk".to_string(),
        (1, _) => "list of 1,000 nodes, walks beside a writer".to_string(),
        _ => format!("list of 1,000 nodes, walks on {readers} threads"),
    };
    let unit = if readers + writers == 1 { "ns" } else { "/s" };
    let mut entrants = vec![
        Entrant::new(LIST, open::<List<u64>> as Open),
        Entrant::new("leeward asym::RwLock<LinkedList>", open::<asym::RwLock<LinkedList<u64>>>),
        Entrant::new(LOCKED, open::<RwLock<LinkedList<u64>>>),
    ];
    if writers == 0 {
        entrants.push(Entrant::new(PLAIN, open::<Unlocked>));
    }
    let quantities =
        [(what.clone(), unit), (format!("{what}: its changes"), "/s"), (format!("{what}: held back"), "bytes")];
    let quantities = if writers == 0 { &quantities[..1] } else { &quantities[..] };
    let boards = contest(plan, plan.rounds, quantities, &entrants, |open| run(plan, &*open(), setting));
    boards.iter().for_each(|board| outcome.add(board));
    let (peer, target) = match (readers, writers) {
        (1, 0) => (PLAIN, Target::RatioAtMost(1.1)),
        (_, 0) => (PLAIN, Target::RatioAtLeast(1.0 / 1.1)),
        _ => (LOCKED, Target::Open),
    };
    let title = Title::new(&format!("list.{readers}.{writers}"), format!("{LIST}, {what}"), unit, Some(peer), target);
    outcome.figures.push(boards[0].figure(LIST, title));
}

/// Returns the readers' walks a second (of one thread alone: the time of a walk), the writers' changes
/// a second, and the growth of what malloc has given out.
fn run(plan: &Plan, list: &dyn Loops, setting: Setting) -> Result<Vec<f64>, Error> {
    let readers = (0..setting.readers).map(|_| Task::counting(move |post| list.read(post)));
    let writers = (0..setting.writers).map(|_| Task::counting(move |post| list.write(post)));
    let tasks: Vec<Task<'_>> = readers.chain(writers).collect();
    let before = held::bytes();
    let (rates, grown) = during(&tasks, |crew| (crew.rates(plan.slice()), held::bytes() - before))?;
    let (walks, changes) = rates.split_at(setting.readers);
    let (rate, changes): (f64, f64) = (walks.iter().sum(), changes.iter().sum());
    let value = if tasks.len() == 1 { 1e9 / rate } else { rate };
    Ok(if setting.writers == 0 { vec![value] } else { vec![value, changes, grown.max(0.0)] })
}

impl Walked for List<u64> {
    fn push(&self, number: u64) {
        self.push_back(number);
    }

    fn pop(&self) {
        drop(self.pop_front());
    }

    #[inline(always)]
    fn walk(&self) -> u64 {
        self.iter(&rcu::read()).fold(0, |sum, number| sum ^ number)
    }
}

/// A list that is filled before others see it.
#[derive(Default)]
struct Unlocked(std::cell::UnsafeCell<LinkedList<u64>>);

// SAFETY: nothing is pushed while it is walked.
unsafe impl Sync for Unlocked {}

impl Walked for Unlocked {
    fn push(&self, number: u64) {
        // SAFETY: the list is being filled, and has one owner.
        unsafe { &mut *self.0.get() }.push_back(number);
    }

    fn pop(&self) {
        unreachable!("no writer is beside it");
    }

    #[inline(always)]
    fn walk(&self) -> u64 {
        // SAFETY: no writer is beside it.
        unsafe { &*self.0.get() }.iter().fold(0, |sum, number| sum ^ number)
    }
}

macro_rules! locked {
    ($($lock:ty { $open:expr })*) => {$(
        impl Walked for $lock {
            fn push(&self, number: u64) {
                $open(self.write()).push_back(number);
            }

            fn pop(&self) {
                $open(self.write()).pop_front();
            }

            #[inline(always)]
            fn walk(&self) -> u64 {
                $open(self.read()).iter().fold(0, |sum, number| sum ^ number)
            }
        }
    )*};
}

locked! {
    asym::RwLock<LinkedList<u64>> { std::convert::identity }
    RwLock<LinkedList<u64>> { std_guard }
}

/// Returns std's guard, of a poisoned lock as well.
fn std_guard<G>(guard: Result<G, PoisonError<G>>) -> G {
    guard.unwrap_or_else(PoisonError::into_inner)
}
