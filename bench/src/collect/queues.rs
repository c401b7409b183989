//! Queues: producers hand items to consumers as fast as they can. A consumer that finds the queue
//! empty, or a producer that finds it full, yields. Where there is one consumer, two queues also
//! stand with what belongs to it alone: our `Consumer`, std's `Receiver`.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, mpsc};
use std::time::Instant;

use crossbeam_queue::{ArrayQueue, SegQueue};
use leeward::collect;

use crate::crew::{Post, Task, during};
use crate::error::Error;
use crate::figure::{Target, Title};
use crate::locks::contest::{Entrant, Outcome, contest};
use crate::plan::Plan;

/// The items of a batch, which every number of producers divides. An unbounded queue never holds
/// more.
const BATCH: u64 = 200_000;
/// The items after which a consumer adds its own to the common count.
const COUNTED: u64 = 64;
/// The slots of a bounded queue.
const SLOTS: usize = 1024;
const QUEUE: &str = "leeward Queue";
const CONSUMER: &str = "leeward Queue, its Consumer kept";
const MPSC: &str = "std mpsc, its receiver in a Mutex";
const RECEIVER: &str = "std mpsc, its Receiver kept";

/// A queue of many producers and many consumers.
trait Queue: Sync + Send {
    /// What a consumer keeps: the queue itself, or a handle.
    type Taker<'q>
    where
        Self: 'q;

    fn open() -> Self;
    /// Adds an item; returns false if the queue is full.
    fn push(&self, item: u64) -> bool;
    fn taker(&self) -> Self::Taker<'_>;
    fn pop(taker: &mut Self::Taker<'_>) -> Option<u64>;
}

type Open = fn() -> Box<dyn Rounds>;

/// Batches of items through one queue.
trait Rounds {
    /// Returns the items a second of batches until the time is up.
    fn rate(&self, plan: &Plan, producers: u64, consumers: u64) -> Result<f64, Error>;
}

#[repr(align(128))]
struct Apart<Q>(Q);

fn open<Q: Queue + 'static>() -> Box<dyn Rounds> {
    Box::new(Apart(Q::open()))
}

fn entrants(consumers: u64) -> Vec<Entrant<Open>> {
    let mut entrants = vec![
        Entrant::new(QUEUE, open::<collect::Queue<u64>> as Open),
        Entrant::new("crossbeam SegQueue", open::<SegQueue<u64>>),
        Entrant::new("crossbeam ArrayQueue, 1024", open::<ArrayQueue<u64>>),
        Entrant::new(MPSC, open::<Mpsc>),
    ];
    if consumers == 1 {
        entrants.insert(1, Entrant::new(CONSUMER, open::<Kept<collect::Queue<u64>>>));
        entrants.push(Entrant::new(RECEIVER, open::<Kept<Mpsc>>));
    }
    entrants
}

pub fn outcome(plan: &Plan) -> Outcome {
    let mut outcome = Outcome::default();
    for (producers, consumers) in [(1, 1), (4, 1), (4, 4)] {
        let what = format!("queue, {producers} + {consumers}: items");
        let boards = contest(plan, plan.rounds, &[(what.clone(), "/s")], &entrants(consumers), |open| {
            Ok(vec![open().rate(plan, producers, consumers)?])
        });
        let board = &boards[0];
        outcome.add(board);
        let id = format!("queue.{producers}+{consumers}");
        let title = |ours: &str, id: &str, peer| {
            Title::new(id, format!("{ours}, {what}"), "/s", peer, Target::RatioAtLeast(1.0))
        };
        // The best of those that consume as ours does.
        let peer = board.best_of(|name| !name.starts_with("leeward") && name != RECEIVER);
        outcome.figures.push(board.figure(QUEUE, title(QUEUE, &id, peer)));
        if consumers == 1 {
            outcome.figures.push(board.figure(CONSUMER, title(CONSUMER, &format!("{id}.consumer"), None)));
        }
    }
    outcome
}

impl<Q: Queue> Rounds for Apart<Q> {
    fn rate(&self, plan: &Plan, producers: u64, consumers: u64) -> Result<f64, Error> {
        let (began, mut items, mut time) = (Instant::now(), 0, 0.0);
        while items == 0 || began.elapsed() < plan.slice() {
            time += self.batch(producers, consumers)?;
            items += BATCH;
        }
        Ok(items as f64 / time)
    }
}

/// What the threads of one batch have in common.
struct Batch {
    /// Zero once all threads may begin.
    waiting: AtomicU64,
    left: AtomicU64,
    sum: AtomicU64,
    /// The earliest beginning and the latest end.
    span: Mutex<Option<(Instant, Instant)>>,
}

impl<Q: Queue> Apart<Q> {
    /// Returns the seconds that one batch takes.
    fn batch(&self, producers: u64, consumers: u64) -> Result<f64, Error> {
        let batch = Batch {
            waiting: AtomicU64::new(1),
            left: AtomicU64::new(BATCH),
            sum: AtomicU64::new(0),
            span: Mutex::new(None),
        };
        let produce = |first| {
            let batch = &batch;
            Task::new(move |post| batch.timed(post, || self.produce(first, producers)))
        };
        let consume = |_| Task::new(|post| batch.timed(post, || self.consume(&batch)));
        let tasks: Vec<Task<'_>> = (0..producers).map(produce).chain((0..consumers).map(consume)).collect();
        during(&tasks, |_| batch.waiting.store(0, Ordering::Release))?;
        drop(tasks);
        if batch.sum.into_inner() != BATCH * (BATCH - 1) / 2 {
            return Err(Error::new("the queue lost or doubled items"));
        }
        let span = batch.span.into_inner().unwrap_or_else(PoisonError::into_inner);
        span.map(|(first, last)| (last - first).as_secs_f64()).ok_or_else(|| Error::new("no thread has run"))
    }

    fn produce(&self, first: u64, producers: u64) {
        for item in (first..BATCH).step_by(producers as usize) {
            while !self.0.push(item) {
                std::thread::yield_now();
            }
        }
    }

    fn consume(&self, batch: &Batch) {
        let mut taker = self.0.taker();
        let (mut taken, mut sum) = (0, 0);
        while taken != 0 || batch.left.load(Ordering::Relaxed) != 0 {
            let item = Q::pop(&mut taker);
            if let Some(item) = item {
                sum += item;
                taken += 1;
            }
            if taken == COUNTED || (item.is_none() && taken != 0) {
                batch.left.fetch_sub(taken, Ordering::Relaxed);
                taken = 0;
            }
            if item.is_none() {
                std::thread::yield_now();
            }
        }
        batch.sum.fetch_add(sum, Ordering::Relaxed);
    }
}

impl Batch {
    /// Says that the thread is there, waits for the start, works, and notes when it did.
    fn timed(&self, post: &Post<'_>, work: impl FnOnce()) {
        post.ready();
        while self.waiting.load(Ordering::Acquire) != 0 {
            std::thread::yield_now();
        }
        let began = Instant::now();
        work();
        let ended = Instant::now();
        let mut span = self.span.lock().unwrap_or_else(PoisonError::into_inner);
        let (first, last) = span.unwrap_or((began, ended));
        *span = Some((first.min(began), last.max(ended)));
    }
}

/// A queue whose only consumer keeps what belongs to it.
struct Kept<Q>(Q);

impl Queue for collect::Queue<u64> {
    type Taker<'q> = &'q Self;

    fn open() -> Self {
        collect::Queue::new()
    }

    fn push(&self, item: u64) -> bool {
        collect::Queue::push(self, item);
        true
    }

    fn taker(&self) -> &Self {
        self
    }

    fn pop(queue: &mut &Self) -> Option<u64> {
        queue.try_pop().value()
    }
}

impl Queue for Kept<collect::Queue<u64>> {
    type Taker<'q> = collect::Consumer<'q, u64>;

    fn open() -> Self {
        Kept(collect::Queue::new())
    }

    fn push(&self, item: u64) -> bool {
        self.0.push(item);
        true
    }

    fn taker(&self) -> collect::Consumer<'_, u64> {
        self.0.consumer()
    }

    fn pop(consumer: &mut collect::Consumer<'_, u64>) -> Option<u64> {
        consumer.try_pop().value()
    }
}

impl Queue for SegQueue<u64> {
    type Taker<'q> = &'q Self;

    fn open() -> Self {
        SegQueue::new()
    }

    fn push(&self, item: u64) -> bool {
        SegQueue::push(self, item);
        true
    }

    fn taker(&self) -> &Self {
        self
    }

    fn pop(queue: &mut &Self) -> Option<u64> {
        SegQueue::pop(queue)
    }
}

impl Queue for ArrayQueue<u64> {
    type Taker<'q> = &'q Self;

    fn open() -> Self {
        ArrayQueue::new(SLOTS)
    }

    fn push(&self, item: u64) -> bool {
        ArrayQueue::push(self, item).is_ok()
    }

    fn taker(&self) -> &Self {
        self
    }

    fn pop(queue: &mut &Self) -> Option<u64> {
        ArrayQueue::pop(queue)
    }
}

struct Mpsc(mpsc::Sender<u64>, Mutex<mpsc::Receiver<u64>>);

impl Mpsc {
    fn receiver(&self) -> MutexGuard<'_, mpsc::Receiver<u64>> {
        self.1.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Queue for Mpsc {
    type Taker<'q> = &'q Self;

    fn open() -> Self {
        let (sender, receiver) = mpsc::channel();
        Mpsc(sender, Mutex::new(receiver))
    }

    fn push(&self, item: u64) -> bool {
        self.0.send(item).is_ok()
    }

    fn taker(&self) -> &Self {
        self
    }

    fn pop(queue: &mut &Self) -> Option<u64> {
        queue.receiver().try_recv().ok()
    }
}

impl Queue for Kept<Mpsc> {
    type Taker<'q> = MutexGuard<'q, mpsc::Receiver<u64>>;

    fn open() -> Self {
        Kept(Mpsc::open())
    }

    fn push(&self, item: u64) -> bool {
        self.0.push(item)
    }

    fn taker(&self) -> MutexGuard<'_, mpsc::Receiver<u64>> {
        self.0.receiver()
    }

    fn pop(receiver: &mut MutexGuard<'_, mpsc::Receiver<u64>>) -> Option<u64> {
        receiver.try_recv().ok()
    }
}
