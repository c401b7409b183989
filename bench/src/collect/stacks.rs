//! Stacks: threads that each push an item and pop one, as a free list is used. No published crate
//! has a lock-free stack with more than a few users, so the peers are a `Vec` behind a mutex and,
//! since a free list does not ask for an order, crossbeam's queue.

use std::sync::{Mutex, PoisonError};

use crossbeam_queue::SegQueue;
use leeward::collect;

use crate::crew::{Task, during};
use crate::error::Error;
use crate::figure::{Target, Title};
use crate::locks::contest::{Entrant, Outcome, contest};
use crate::plan::Plan;

const STACK: &str = "leeward Stack";
/// The items that are in the stack before anything is measured.
const ITEMS: u64 = 1024;
/// The pairs between two looks at the end of the time.
const PAIRS: u64 = 64;

trait Stack: Sync + Default {
    fn push(&self, item: u64);
    fn pop(&self) -> Option<u64>;
}

/// Returns the pairs of a push and a pop that the threads do in a second.
type Rate = fn(&Plan, usize) -> Result<f64, Error>;

#[repr(align(128))]
#[derive(Default)]
struct Apart<S>(S);

fn rate<S: Stack>(plan: &Plan, threads: usize) -> Result<f64, Error> {
    let stack = Apart::<S>::default();
    (0..ITEMS).for_each(|item| stack.0.push(item));
    let work = |_| {
        Task::counting(|post| {
            post.ready();
            post.until_stopped(|| {
                for _ in 0..PAIRS {
                    stack.0.pop().into_iter().for_each(|item| stack.0.push(item));
                }
            });
        })
    };
    let tasks: Vec<Task<'_>> = (0..threads).map(work).collect();
    let rate: f64 = during(&tasks, |crew| crew.rates(plan.slice()))?.iter().sum();
    drop(tasks);
    let left = std::iter::from_fn(|| stack.0.pop()).sum::<u64>();
    if left != ITEMS * (ITEMS - 1) / 2 {
        return Err(Error::new("the stack lost or doubled items"));
    }
    Ok(rate * PAIRS as f64)
}

pub fn outcome(plan: &Plan) -> Outcome {
    let entrants: [Entrant<Rate>; 4] = [
        Entrant::new(STACK, rate::<collect::Stack<u64>>),
        Entrant::new("std Mutex<Vec>", rate::<Mutex<Vec<u64>>>),
        Entrant::new("parking_lot Mutex<Vec>", rate::<parking_lot::Mutex<Vec<u64>>>),
        Entrant::new("crossbeam SegQueue", rate::<SegQueue<u64>>),
    ];
    let mut outcome = Outcome::default();
    for threads in [1, 2, 4] {
        let words = if threads == 1 { "1 thread".to_string() } else { format!("{threads} threads") };
        let what = format!("stack, {words}: pairs of a pop and a push");
        let boards =
            contest(plan, plan.rounds, &[(what.clone(), "/s")], &entrants, |rate| Ok(vec![rate(plan, threads)?]));
        outcome.add(&boards[0]);
        let title =
            Title::new(&format!("stack.{threads}"), what, "/s", boards[0].best_peer(), Target::RatioAtLeast(1.0));
        outcome.figures.push(boards[0].figure(STACK, title));
    }
    outcome
}

impl Stack for collect::Stack<u64> {
    fn push(&self, item: u64) {
        collect::Stack::push(self, item);
    }

    fn pop(&self) -> Option<u64> {
        collect::Stack::pop(self)
    }
}

impl Stack for Mutex<Vec<u64>> {
    fn push(&self, item: u64) {
        self.lock().unwrap_or_else(PoisonError::into_inner).push(item);
    }

    fn pop(&self) -> Option<u64> {
        self.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }
}

impl Stack for parking_lot::Mutex<Vec<u64>> {
    fn push(&self, item: u64) {
        self.lock().push(item);
    }

    fn pop(&self) -> Option<u64> {
        self.lock().pop()
    }
}

impl Stack for SegQueue<u64> {
    fn push(&self, item: u64) {
        SegQueue::push(self, item);
    }

    fn pop(&self) -> Option<u64> {
        SegQueue::pop(self)
    }
}
