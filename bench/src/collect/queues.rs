//! Queues: producers hand items to consumers as fast as they can. A consumer that finds the queue
//! empty, or a producer that finds it full, yields. `leeward::collect::Queue` becomes one more
//! implementation of [`Queue`].

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError, mpsc};
use std::time::Instant;

use crossbeam_queue::{ArrayQueue, SegQueue};

use crate::crew::Post;
use crate::crew::{Task, during};
use crate::error::Error;
use crate::locks::contest::{Entrant, Outcome, contest};
use crate::plan::Plan;

/// The items of a batch. An unbounded queue never holds more.
const BATCH: u64 = 200_000;
/// The slots of a bounded queue.
const SLOTS: usize = 1024;

/// A queue of many producers and many consumers.
trait Queue: Sync + Send {
    fn open() -> Self
    where
        Self: Sized;
    /// Adds an item; returns false if the queue is full.
    fn push(&self, item: u64) -> bool;
    fn pop(&self) -> Option<u64>;
}

type Open = fn() -> Box<dyn Rounds>;

/// A batch of items through one queue.
trait Rounds {
    /// Returns the items a second of batches until the time is up.
    fn rate(&self, plan: &Plan, sides: u64) -> Result<f64, Error>;
}

#[repr(align(128))]
struct Apart<Q>(Q);

fn open<Q: Queue + 'static>() -> Box<dyn Rounds> {
    Box::new(Apart(Q::open()))
}

fn entrants() -> [Entrant<Open>; 3] {
    [
        Entrant::new("crossbeam SegQueue", open::<SegQueue<u64>>),
        Entrant::new("crossbeam ArrayQueue, 1024", open::<ArrayQueue<u64>>),
        Entrant::new("std mpsc, its receiver in a Mutex", open::<Mpsc>),
    ]
}

pub fn outcome(plan: &Plan) -> Outcome {
    let mut outcome = Outcome::default();
    for sides in [1, 4] {
        let what = format!("queue, {sides} + {sides}: items");
        let boards =
            contest(plan, plan.rounds, &[(what, "/s")], &entrants(), |open| Ok(vec![open().rate(plan, sides)?]));
        outcome.add(&boards[0]);
    }
    outcome
}

impl<Q: Queue> Rounds for Apart<Q> {
    fn rate(&self, plan: &Plan, sides: u64) -> Result<f64, Error> {
        let (began, mut items, mut time) = (Instant::now(), 0, 0.0);
        while items == 0 || began.elapsed() < plan.slice() {
            time += self.batch(sides)?;
            items += BATCH;
        }
        Ok(items as f64 / time)
    }
}

impl<Q: Queue> Apart<Q> {
    /// Returns the seconds that one batch takes.
    fn batch(&self, sides: u64) -> Result<f64, Error> {
        let (taken, sum, waiting) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(2 * sides));
        let produce = |first: u64| {
            let waiting = &waiting;
            Task::new(move |post| {
                begin(post, waiting);
                for item in (first..BATCH).step_by(sides as usize) {
                    while !self.0.push(item) {
                        std::thread::yield_now();
                    }
                }
            })
        };
        let consume = || {
            Task::new(|post| {
                begin(post, &waiting);
                while taken.load(Ordering::Relaxed) < BATCH {
                    match self.0.pop() {
                        Some(item) => {
                            sum.fetch_add(item, Ordering::Relaxed);
                            taken.fetch_add(1, Ordering::Relaxed);
                        }
                        None => std::thread::yield_now(),
                    }
                }
            })
        };
        let tasks: Vec<Task<'_>> = (0..sides).map(produce).chain((0..sides).map(|_| consume())).collect();
        let seconds = during(&tasks, |_| {
            let began = Instant::now();
            waiting.store(0, Ordering::Release);
            while taken.load(Ordering::Relaxed) < BATCH {
                std::thread::sleep(std::time::Duration::from_micros(200));
            }
            began.elapsed().as_secs_f64()
        })?;
        let sent = BATCH * (BATCH - 1) / 2;
        if sum.load(Ordering::Relaxed) == sent {
            Ok(seconds)
        } else {
            Err(Error::new("the queue lost or doubled items"))
        }
    }
}

/// Says that the thread is there, and waits for the start.
fn begin(post: &Post<'_>, waiting: &AtomicU64) {
    post.ready();
    while waiting.load(Ordering::Acquire) != 0 {
        std::thread::yield_now();
    }
}

impl Queue for SegQueue<u64> {
    fn open() -> Self {
        SegQueue::new()
    }

    fn push(&self, item: u64) -> bool {
        SegQueue::push(self, item);
        true
    }

    fn pop(&self) -> Option<u64> {
        SegQueue::pop(self)
    }
}

impl Queue for ArrayQueue<u64> {
    fn open() -> Self {
        ArrayQueue::new(SLOTS)
    }

    fn push(&self, item: u64) -> bool {
        ArrayQueue::push(self, item).is_ok()
    }

    fn pop(&self) -> Option<u64> {
        ArrayQueue::pop(self)
    }
}

struct Mpsc(mpsc::Sender<u64>, Mutex<mpsc::Receiver<u64>>);

impl Queue for Mpsc {
    fn open() -> Self {
        let (sender, receiver) = mpsc::channel();
        Mpsc(sender, Mutex::new(receiver))
    }

    fn push(&self, item: u64) -> bool {
        self.0.send(item).is_ok()
    }

    fn pop(&self) -> Option<u64> {
        self.1.lock().unwrap_or_else(PoisonError::into_inner).try_recv().ok()
    }
}
