//! A bounded channel as it is often written, with a mutex and two condition variables: its rate of
//! items, and the processor time of an item.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use leeward::raw::Requeue;

use super::contest::{Entrant, Outcome, contest};
use super::monitors::{FIRST, Monitor, Ours, ParkingLot, SECOND, State, Std};
use super::processors;
use crate::crew::{Post, Task, during};
use crate::error::Error;
use crate::figure::{Target, Title};
use crate::plan::Plan;
use crate::processor::processor_time;

/// The capacities of the channels, in items.
const CAPACITIES: [usize; 3] = [1, 16, 1024];
/// The numbers of threads on each side of a channel.
const SIDES: [usize; 3] = [1, 2, 4];
/// The number of spinning threads that keep the processors busy.
const SPINNERS: usize = 4;
/// The number of processors.
const PROCESSORS: usize = 2;

/// The condition variables of senders and of receivers: there is room, there is an item.
const ROOM: usize = FIRST;
const ITEM: usize = SECOND;

/// The parameters of one line of the table.
#[derive(Clone, Copy)]
struct Setting {
    capacity: usize,
    /// The number of threads on each side.
    side: usize,
    spinners: usize,
}

/// Returns every capacity with every number of threads, then every capacity on busy processors.
fn settings() -> impl Iterator<Item = Setting> {
    let quiet = CAPACITIES.into_iter().flat_map(|capacity| SIDES.map(|side| Setting { capacity, side, spinners: 0 }));
    quiet.chain(CAPACITIES.map(|capacity| Setting { capacity, side: 2, spinners: SPINNERS }))
}

/// A function that measures the rate of items, per second, and the processor time of an item, in
/// microseconds.
type Job = fn(&Plan, Setting) -> Result<Vec<f64>, Error>;

const OURS: &str = "leeward Mutex + Condvar";

pub fn outcome(plan: &Plan) -> Outcome {
    let entrants: [Entrant<Job>; 3] = [
        Entrant::new(OURS, pass::<Ours<Requeue>>),
        Entrant::new("std", pass::<Std>),
        Entrant::new("parking_lot", pass::<ParkingLot>),
    ];
    let mut outcome = Outcome::default();
    for setting in settings() {
        let Setting { capacity, side, spinners } = setting;
        let beside = if spinners == 0 { String::new() } else { format!(" beside {spinners} spinning threads") };
        let what =
            format!("channel of {capacity} from a mutex and two condition variables, {side} + {side} threads{beside}");
        let each = format!("{what}: processor time of an item");
        let quantities = [(what.clone(), "items/s"), (each.clone(), "us")];
        let boards = contest(plan, plan.rounds, &quantities, &entrants, |job| job(plan, setting));
        boards.iter().take(if spinners == 0 { 2 } else { 1 }).for_each(|board| outcome.add(board));
        let id = format!("channel.{capacity}.{side}+{side}{}", if spinners == 0 { "" } else { ".busy" });
        let rate = Title::new(&id, what, "items/s", None, Target::RatioAtLeast(1.0 / 1.1));
        outcome.figures.push(boards[0].figure(OURS, rate));
        if spinners != 0 {
            // The processor time would be that of the spinning threads.
            continue;
        }
        let time = Title::new(&format!("{id}.cpu"), each, "us", None, Target::RatioAtMost(1.1));
        outcome.figures.push(boards[1].figure(OURS, time));
    }
    outcome
}

fn pass<M: Monitor>(plan: &Plan, setting: Setting) -> Result<Vec<f64>, Error> {
    let Setting { capacity, side, spinners } = setting;
    let monitor = M::open();
    monitor.lock().items = Some(vec![0; capacity].into());
    let (sent, received) = (AtomicU64::new(0), AtomicU64::new(0));
    let senders = (0..side).map(|_| Task::new(|post| send_all(&monitor, post, &sent)));
    let receivers = (0..side).map(|_| Task::new(|post| receive_all(&monitor, post, &received)));
    let spinners = (0..spinners).map(|_| Task::new(spin));
    let tasks: Vec<Task<'_>> = senders.chain(receivers).chain(spinners).collect();
    let measured = processors::on(PROCESSORS, || {
        during(&tasks, |crew| {
            let (began, before) = (Instant::now(), processor_time());
            let rates = crew.rates(plan.slice());
            let spent = (processor_time()? - before?) / began.elapsed().as_secs_f64();
            close(&monitor);
            Ok::<_, Error>((rates[side..2 * side].iter().sum::<f64>(), spent))
        })
    })??;
    let (rate, spent) = measured?;
    let left: u64 = std::iter::from_fn(|| monitor.lock().take()).sum();
    if sent.load(Ordering::Relaxed) != received.load(Ordering::Relaxed).wrapping_add(left) {
        return Err(Error::new("the channel lost an item, or gave one twice"));
    }
    Ok(vec![rate, spent / rate * 1e6])
}

fn spin(post: &Post<'_>) {
    post.ready();
    while !post.stopped() {
        std::hint::spin_loop();
    }
}

/// Sends numbers until the channel is closed.
fn send_all<M: Monitor>(monitor: &M, post: &Post<'_>, sum: &AtomicU64) {
    post.ready();
    for item in 1.. {
        let mut state = monitor.lock();
        while state.is_full() && !state.over {
            state = monitor.wait(ROOM, state);
        }
        if state.over {
            return;
        }
        state.put(item);
        monitor.notify_one(ITEM);
        drop(state);
        sum.fetch_add(item, Ordering::Relaxed);
    }
}

/// Receives until the channel is closed.
fn receive_all<M: Monitor>(monitor: &M, post: &Post<'_>, sum: &AtomicU64) {
    post.ready();
    for received in 1.. {
        let mut state = monitor.lock();
        let item = loop {
            if state.over {
                return;
            }
            match state.take() {
                Some(item) => break item,
                None => state = monitor.wait(ITEM, state),
            }
        };
        monitor.notify_one(ROOM);
        drop(state);
        sum.fetch_add(item, Ordering::Relaxed);
        post.tally.store(received, Ordering::Relaxed);
    }
}

fn close<M: Monitor>(monitor: &M) {
    let mut state = monitor.lock();
    state.over = true;
    monitor.notify_all(ROOM);
    monitor.notify_all(ITEM);
}

/// The state of a channel: `turn` counts the items taken, `arrived` those that are in it.
impl State {
    fn capacity(&self) -> u64 {
        self.items.as_ref().map_or(0, |items| items.len() as u64)
    }

    fn is_full(&self) -> bool {
        self.arrived == self.capacity()
    }

    /// Returns the slot of an item, whose number counts from the beginning.
    fn at(&mut self, place: u64) -> &mut u64 {
        let place = (place % self.capacity()) as usize;
        &mut self.items.as_mut().expect("the channel is open")[place]
    }

    fn put(&mut self, item: u64) {
        *self.at(self.turn + self.arrived) = item;
        self.arrived += 1;
    }

    fn take(&mut self) -> Option<u64> {
        self.arrived = self.arrived.checked_sub(1)?;
        self.turn += 1;
        Some(*self.at(self.turn - 1))
    }
}
