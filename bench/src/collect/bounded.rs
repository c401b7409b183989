//! Bounded queues: producers that wait for room, and consumers that wait for values, hand items over as fast as
//! they can. Then the same where neither end sleeps in the queue: one that finds it full or empty yields.

use std::sync::Barrier;
use std::thread;
use std::time::Instant;

use crossbeam_queue::ArrayQueue;
use leeward::collect;

use crate::error::Error;
use crate::figure::{Target, Title};
use crate::locks::contest::{Entrant, Outcome, contest};
use crate::plan::Plan;

/// The items of a batch, which every number of producers divides.
const BATCH: u64 = 200_000;
/// The slots of a queue.
const SLOTS: usize = 1024;
/// The slots of a queue whose ends sleep often.
const FEW: usize = 8;
/// The item that ends a consumer.
const END: u64 = u64::MAX;
const OURS: &str = "leeward Bounded";

/// A bounded queue, by the calls of its own that wait or by those that do not.
trait Bounded: Sync + Sized {
    fn open(slots: usize) -> Self;
    fn push(&self, item: u64);
    fn pop(&self) -> u64;
}

/// Returns the items a second of batches until the time is up.
type Rate = fn(&Plan, usize, u64, u64) -> Result<f64, Error>;

fn rate<Q: Bounded>(plan: &Plan, slots: usize, producers: u64, consumers: u64) -> Result<f64, Error> {
    let (began, mut items, mut time) = (Instant::now(), 0, 0.0);
    while items == 0 || began.elapsed() < plan.slice() {
        time += batch::<Q>(slots, producers, consumers)?;
        items += BATCH;
    }
    Ok(items as f64 / time)
}

/// Returns the seconds that one batch takes.
fn batch<Q: Bounded>(slots: usize, producers: u64, consumers: u64) -> Result<f64, Error> {
    let (queue, start) = (Q::open(slots), Barrier::new((producers + consumers + 1) as usize));
    let (queue, start) = (&queue, &start);
    thread::scope(|scope| {
        let producing: Vec<_> = (0..producers)
            .map(|first| {
                scope.spawn(move || {
                    start.wait();
                    (first..BATCH).step_by(producers as usize).for_each(|item| queue.push(item));
                })
            })
            .collect();
        let consuming: Vec<_> = (0..consumers)
            .map(|_| {
                scope.spawn(move || {
                    start.wait();
                    std::iter::from_fn(|| Some(queue.pop()).filter(|item| *item != END)).sum::<u64>()
                })
            })
            .collect();
        start.wait();
        let began = Instant::now();
        let are_done = producing.into_iter().all(|producer| producer.join().is_ok());
        (0..consumers).for_each(|_| queue.push(END));
        let sum: Option<u64> = consuming.into_iter().map(|consumer| consumer.join().ok()).sum();
        let time = began.elapsed().as_secs_f64();
        let is_whole = are_done && sum == Some(BATCH * (BATCH - 1) / 2);
        if is_whole { Ok(time) } else { Err(Error::new("the queue lost or doubled items")) }
    })
}

/// A queue by its calls that do not wait: the caller yields.
struct Yields<Q>(Q);

fn pushed(mut push: impl FnMut() -> bool) {
    while !push() {
        thread::yield_now();
    }
}

fn popped(mut pop: impl FnMut() -> Option<u64>) -> u64 {
    loop {
        match pop() {
            Some(item) => return item,
            None => thread::yield_now(),
        }
    }
}

impl Bounded for collect::Bounded<u64> {
    fn open(slots: usize) -> Self {
        collect::Bounded::with_capacity(slots)
    }

    fn push(&self, item: u64) {
        let _ = collect::Bounded::push(self, item);
    }

    fn pop(&self) -> u64 {
        collect::Bounded::pop(self).unwrap_or(END)
    }
}

impl Bounded for Yields<collect::Bounded<u64>> {
    fn open(slots: usize) -> Self {
        Yields(collect::Bounded::with_capacity(slots))
    }

    fn push(&self, item: u64) {
        pushed(|| self.0.try_push(item).is_ok());
    }

    fn pop(&self) -> u64 {
        popped(|| self.0.try_pop().value())
    }
}

impl Bounded for Yields<ArrayQueue<u64>> {
    fn open(slots: usize) -> Self {
        Yields(ArrayQueue::new(slots))
    }

    fn push(&self, item: u64) {
        pushed(|| self.0.push(item).is_ok());
    }

    fn pop(&self) -> u64 {
        popped(|| self.0.pop())
    }
}

/// Makes the two forms of a channel's queue.
macro_rules! channel {
    ($($krate:ident),+) => {$(
        mod $krate {
            use super::{Bounded, END, Yields, popped, pushed};

            pub struct Channel($krate::Sender<u64>, $krate::Receiver<u64>);

            impl Bounded for Channel {
                fn open(slots: usize) -> Self {
                    let (sender, receiver) = $krate::bounded(slots);
                    Channel(sender, receiver)
                }

                fn push(&self, item: u64) {
                    let _ = self.0.send(item);
                }

                fn pop(&self) -> u64 {
                    self.1.recv().unwrap_or(END)
                }
            }

            impl Bounded for Yields<Channel> {
                fn open(slots: usize) -> Self {
                    Yields(Channel::open(slots))
                }

                fn push(&self, item: u64) {
                    pushed(|| self.0.0.try_send(item).is_ok());
                }

                fn pop(&self) -> u64 {
                    popped(|| self.0.1.try_recv().ok())
                }
            }
        }
    )+};
}
channel! { flume, crossbeam_channel }

fn waiting() -> Vec<Entrant<Rate>> {
    vec![
        Entrant::new(OURS, rate::<collect::Bounded<u64>> as Rate),
        Entrant::new("flume, bounded", rate::<flume::Channel>),
        Entrant::new("crossbeam-channel, bounded", rate::<crossbeam_channel::Channel>),
    ]
}

fn yielding() -> Vec<Entrant<Rate>> {
    vec![
        Entrant::new(OURS, rate::<Yields<collect::Bounded<u64>>> as Rate),
        Entrant::new("crossbeam ArrayQueue", rate::<Yields<ArrayQueue<u64>>>),
        Entrant::new("flume, bounded", rate::<Yields<flume::Channel>>),
        Entrant::new("crossbeam-channel, bounded", rate::<Yields<crossbeam_channel::Channel>>),
    ]
}

pub fn outcome(plan: &Plan) -> Outcome {
    let mut outcome = Outcome::default();
    let groups = [
        ("bounded", "bounded queue", SLOTS, waiting()),
        ("bounded.few", "bounded queue of few slots", FEW, waiting()),
        ("bounded.tried", "bounded queue, ends that yield", SLOTS, yielding()),
    ];
    for (id, kind, slots, entrants) in groups {
        for (producers, consumers) in [(1, 1), (4, 1), (4, 4)] {
            let what = format!("{kind}, {slots} slots, {producers} + {consumers}: items");
            let boards = contest(plan, plan.rounds, &[(what.clone(), "/s")], &entrants, |rate| {
                Ok(vec![rate(plan, slots, producers, consumers)?])
            });
            let board = &boards[0];
            outcome.add(board);
            let id = format!("{id}.{producers}+{consumers}");
            let title = Title::new(&id, format!("{OURS}, {what}"), "/s", board.best_peer(), Target::RatioAtLeast(1.0));
            outcome.figures.push(board.figure(OURS, title));
        }
    }
    outcome
}
