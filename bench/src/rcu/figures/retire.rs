//! What it costs to hand a value over that is freed when its readers have left: producers without
//! pause, each of which allocates a node of 64 bytes, puts it into a cell of its own and hands the old
//! one over. The processor time counts whichever thread frees it.

use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use leeward::rcu::{RcuCell, epoch};

use super::conclude;
use crate::crew::{self, Post, Task};
use crate::error::Error;
use crate::figure::{Figure, Target, Title};
use crate::interleave::interleave_all;
use crate::plan::Plan;
use crate::processor::processor_time;
use crate::rcu::scheme::Node;
use crate::rounds::Rounds;

/// A way to hand over, as what a producer does until it is told to stop.
#[derive(Clone, Copy)]
struct Way {
    name: &'static str,
    produce: fn(&Post<'_>),
}

const OURS: Way = Way { name: "leeward epoch", produce: epochs };
const WORKER: Way = Way { name: "leeward Retired", produce: worker };
const PEERS: [Way; 4] = [
    Way { name: "crossbeam-epoch", produce: crossbeam },
    Way { name: "seize", produce: seize },
    Way { name: "haphazard", produce: haphazard },
    Way { name: "hazarc", produce: hazarc },
];

pub fn figures(plan: &Plan) -> Vec<Figure> {
    [1, 2].into_iter().flat_map(|producers| take(plan, producers)).collect()
}

/// Measures all ways by turns. Each peer is beside ours, and ours by the worker beside the first.
fn take(plan: &Plan, producers: usize) -> Vec<Figure> {
    plan.now(&format!("{producers} threads hand values over"));
    let ways: Vec<Way> = [OURS, WORKER].into_iter().chain(PEERS).collect();
    let mut taken = interleave_all(plan.rounds, &ways, |way| cost(way, producers, plan.slice())).into_iter();
    let ours = taken.next().unwrap_or(Ok(Vec::new()));
    let worker = taken.next().unwrap_or(Ok(Vec::new()));
    let peers: Vec<_> = PEERS.iter().zip(taken).collect();
    let against =
        |id: &str, ours: &Result<Vec<Vec<f64>>, Error>, (peer, theirs): &(&Way, Result<Vec<Vec<f64>>, _>), target| {
            let what = |time| format!("handing a value over, {producers} producers, {id}: {time}");
            let id = |time| format!("retire.{id}.{}.{producers}{time}", peer.name);
            let titles = vec![
                Title::new(&id(""), what("processor time"), "ns", Some(peer.name), target),
                Title::new(&id(".wall"), what("time"), "ns", Some(peer.name), Target::Open),
            ];
            let both = ours.clone().and_then(|ours| Ok((ours, theirs.clone()?)));
            let rounds = |(ours, theirs): (Vec<Vec<f64>>, Vec<Vec<f64>>)| {
                ours.into_iter().zip(theirs).map(|(ours, theirs)| Rounds { ours, theirs }).collect()
            };
            conclude(titles, both.map(rounds))
        };
    let mut figures: Vec<Figure> =
        peers.iter().flat_map(|peer| against("epoch", &ours, peer, Target::RatioAtMost(1.0))).collect();
    figures.extend(against("worker", &worker, &peers[0], Target::Open));
    figures
}

/// Returns the processor time and the time of a producer, in nanoseconds, for each value.
fn cost(way: Way, producers: usize, time: Duration) -> Result<Vec<f64>, Error> {
    let tasks: Vec<Task<'_>> = (0..producers).map(|_| Task::counting(way.produce)).collect();
    crew::during(&tasks, |crew| {
        let before = (processor_time()?, crew.counts());
        let rates: f64 = crew.rates(time).iter().sum();
        let after = (processor_time()?, crew.counts());
        let values: u64 = before.1.iter().zip(&after.1).map(|(before, after)| after - before).sum();
        Ok(vec![(after.0 - before.0) * 1e9 / values as f64, producers as f64 * 1e9 / rates])
    })?
}

/// Calls `hand_over` without pause.
fn produce(post: &Post<'_>, hand_over: impl FnMut()) {
    post.ready();
    post.until_stopped(hand_over);
}

fn epochs(post: &Post<'_>) {
    static COLLECTOR: LazyLock<epoch::Collector> = LazyLock::new(epoch::Collector::new);
    let (handle, cell) = (COLLECTOR.register(), epoch::Atomic::new(Node::new()));
    produce(post, || {
        let guard = handle.pin();
        let old = cell.swap(epoch::Owned::new(Node::new()), Ordering::AcqRel, &guard);
        // SAFETY: unlinked by the exchange, and retired once, in the one collector.
        unsafe { guard.defer_destroy(old) };
    });
    // SAFETY: the cell is this thread's own, and not empty.
    drop(unsafe { cell.into_owned() });
}

fn worker(post: &Post<'_>) {
    let cell: RcuCell<Node> = RcuCell::new(Node::new());
    produce(post, || cell.replace(Node::new()).defer());
}

fn crossbeam(post: &Post<'_>) {
    static COLLECTOR: LazyLock<crossbeam_epoch::Collector> = LazyLock::new(crossbeam_epoch::Collector::new);
    let (handle, cell) = (COLLECTOR.register(), crossbeam_epoch::Atomic::new(Node::new()));
    produce(post, || {
        let guard = handle.pin();
        let old = cell.swap(crossbeam_epoch::Owned::new(Node::new()), Ordering::AcqRel, &guard);
        // SAFETY: unlinked by the exchange, and retired once, in the one collector.
        unsafe { guard.defer_destroy(old) };
    });
    // SAFETY: the cell is this thread's own, and not empty.
    drop(unsafe { cell.into_owned() });
}

fn seize(post: &Post<'_>) {
    static COLLECTOR: LazyLock<seize::Collector> = LazyLock::new(seize::Collector::new);
    let mut cell = AtomicPtr::new(Box::into_raw(Box::new(Node::new())));
    produce(post, || {
        let old = cell.swap(Box::into_raw(Box::new(Node::new())), Ordering::AcqRel);
        // SAFETY: unlinked by the exchange, from a box, and retired once.
        unsafe { COLLECTOR.retire(old, seize::reclaim::boxed) };
    });
    // SAFETY: the cell is this thread's own; it came from a box.
    drop(unsafe { Box::from_raw(*cell.get_mut()) });
}

fn haphazard(post: &Post<'_>) {
    let cell: haphazard::AtomicPtr<Node> = Box::new(Node::new()).into();
    produce(post, || {
        if let Some(old) = cell.swap(Box::new(Node::new())) {
            // SAFETY: unlinked by the exchange, and retired once.
            unsafe { old.retire() };
        }
    });
    // SAFETY: the cell is this thread's own.
    unsafe { cell.retire() };
}

fn hazarc(post: &Post<'_>) {
    let cell: hazarc::AtomicArc<Node> = hazarc::AtomicArc::new(Arc::new(Node::new()));
    produce(post, || cell.store(Arc::new(Node::new())));
}
