//! A consumer that sleeps: the time from before a push until the blocked pop has returned, where the
//! consumer was asleep. Queues whose consumers cannot sleep have no line here.

use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use leeward::collect;

use crate::error::Error;
use crate::figure::{Target, Title};
use crate::locks::contest::{Entrant, Outcome, contest};
use crate::plan::Plan;
use crate::rounds::median;

const POP: &str = "leeward Queue, pop";
const CONSUMER: &str = "leeward Queue, its Consumer kept";
/// The time between two pushes, in which the consumer goes to sleep.
const BETWEEN: Duration = Duration::from_micros(300);
/// The pushes before those that count.
const WARM_UP: usize = 8;

/// Returns the microseconds of a delivery, the median of those in the time.
type Delivery = fn(&Plan) -> Result<f64, Error>;

/// Delivers the time of each push by `push` to a thread that takes it by `pop`.
fn deliver(plan: &Plan, push: impl Fn(Instant), pop: impl FnMut() -> Option<Instant> + Send) -> Result<f64, Error> {
    let count = WARM_UP + (plan.slice().as_micros() / (BETWEEN.as_micros() * 3 / 2)).max(9) as usize;
    let took = thread::scope(|scope| {
        let consumer = scope.spawn(|| times(count, pop));
        for _ in 0..count {
            thread::sleep(BETWEEN);
            push(Instant::now());
        }
        consumer.join()
    });
    let took = took.map_err(|_| Error::new("a consumer panicked"))?;
    median(&took).ok_or_else(|| Error::new("nothing was delivered"))
}

/// Takes `count` items, and returns how long ago each but the first ones was pushed.
fn times(count: usize, mut pop: impl FnMut() -> Option<Instant>) -> Vec<f64> {
    let since = |pushed: Instant| pushed.elapsed().as_secs_f64() * 1e6;
    std::iter::from_fn(|| pop().map(since)).take(count).skip(WARM_UP).collect()
}

fn by_pop(plan: &Plan) -> Result<f64, Error> {
    let queue = <collect::Queue<Instant>>::new();
    deliver(plan, |now| queue.push(now), || queue.pop())
}

fn by_consumer(plan: &Plan) -> Result<f64, Error> {
    let queue = <collect::Queue<Instant>>::new();
    let mut consumer = None;
    deliver(plan, |now| queue.push(now), || consumer.get_or_insert_with(|| queue.consumer()).pop())
}

fn by_mpsc(plan: &Plan) -> Result<f64, Error> {
    let (sender, receiver) = mpsc::channel();
    deliver(plan, |now| sender.send(now).unwrap_or_default(), move || receiver.recv().ok())
}

fn by_channel(plan: &Plan) -> Result<f64, Error> {
    let (sender, receiver) = crossbeam_channel::unbounded();
    deliver(plan, |now| sender.send(now).unwrap_or_default(), move || receiver.recv().ok())
}

pub fn outcome(plan: &Plan) -> Outcome {
    let entrants: [Entrant<Delivery>; 4] = [
        Entrant::new(POP, by_pop),
        Entrant::new(CONSUMER, by_consumer),
        Entrant::new("std mpsc, recv", by_mpsc),
        Entrant::new("crossbeam-channel, recv", by_channel),
    ];
    let what = "queue, a consumer that sleeps: from a push until its pop has returned";
    let boards = contest(plan, plan.rounds, &[(what.to_string(), "us")], &entrants, |deliver| Ok(vec![deliver(plan)?]));
    let mut outcome = Outcome::default();
    outcome.add(&boards[0]);
    for (ours, id) in [(POP, "queue.sleeping"), (CONSUMER, "queue.sleeping.consumer")] {
        let title = Title::new(id, format!("{ours}, {what}"), "us", boards[0].best_peer(), Target::RatioAtMost(1.0));
        outcome.figures.push(boards[0].figure(ours, title));
    }
    outcome
}
