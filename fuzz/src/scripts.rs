//! Sequences of waits (futures, of which one thread can have many), wakes, requeues, wake-ops and
//! drops, beside a model: the queue of each word as a list. Counts, the woken waiters, and what is
//! left must agree, while tables are made and grow.

use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use leeward_engine::{Arithmetic, Comparison, Config, Engine, Heap, Host, Requeue, Wait, WaitAsync, WakeOp, Word};

use crate::bytes::Bytes;
use crate::guest::{Guest, PAGE};

const PLACES: usize = 48;
const STEPS: u32 = 400;

/// A waiter of the script.
pub struct Waiting {
    pub place: usize,
    pub key: u64,
    pub bitset: u32,
}

/// The model: the waiters of each word.
#[derive(Default)]
pub struct Model {
    /// The waiters in the order in which they came or were moved.
    pub queue: Vec<Waiting>,
    /// The waiters that were woken and have not been polled since: the last word of each, and the
    /// bits of the wake.
    pub woken: Vec<(usize, u64, u32)>,
}

impl Model {
    pub fn wake(&mut self, key: u64, count: u32, bits: u32) -> u32 {
        let mut woken = 0;
        let mut at = 0;
        while at < self.queue.len() && woken < count {
            let this = &self.queue[at];
            if this.key == key && this.bitset & bits != 0 {
                let this = self.queue.remove(at);
                self.woken.push((this.place, key, bits));
                woken += 1;
            } else {
                at += 1;
            }
        }
        woken
    }

    pub fn requeue(&mut self, from: u64, to: u64, wake: u32, requeue: u32) -> u32 {
        let most = wake.saturating_add(requeue);
        let woken = self.wake(from, wake, u32::MAX);
        let waiting = self.queue.iter().filter(|this| this.key == from).count() as u32;
        let moved = waiting.min(most - woken);
        if from != to {
            for _ in 0..moved {
                let at = self.queue.iter().position(|this| this.key == from).expect("counted");
                let mut this = self.queue.remove(at);
                this.key = to;
                self.queue.push(this);
            }
        }
        woken + moved
    }

    fn drop(&mut self, place: usize) {
        self.queue.retain(|this| this.place != place);
        if let Some(at) = self.woken.iter().position(|this| this.0 == place) {
            let (_, key, bits) = self.woken.remove(at);
            // A dropped waiter passes its wake on.
            self.wake(key, 1, bits);
        }
    }
}

type Future<'a> = Pin<Box<WaitAsync<'a, Guest>>>;

pub fn run(data: &[u8]) {
    let bytes = &mut Bytes::of(data);
    let config = if bytes.byte() % 2 == 0 { Config::small(3) } else { Config::small(3).with_private_tables() };
    let (engine, guest) = (&Engine::new(config, Heap).expect("memory"), &Guest::default());
    let mut model = Model::default();
    let mut futures: [Option<Future<'_>>; PLACES] = [const { None }; PLACES];
    for _ in 0..STEPS {
        if !bytes.are_left() {
            break;
        }
        step(bytes, engine, guest, &mut model, &mut futures);
    }
    // A waiter is ready if and only if it was woken.
    for (place, future) in futures.iter_mut().enumerate().filter_map(|(place, future)| Some((place, future.as_mut()?)))
    {
        let woken = model.woken.iter().any(|this| this.0 == place);
        assert_eq!(is_ready(future), woken.then_some(Wait::Woken), "{place}");
    }
    let waiters = || guest.space().stats(guest).waiters + engine.stats(guest).waiters;
    assert_eq!(waiters(), model.queue.len() as u64);
    drop(futures);
    assert_eq!(waiters(), 0, "a waiter is left in a list");
}

fn step<'a>(
    bytes: &mut Bytes<'_>,
    engine: &'a Engine<Guest>,
    guest: &'a Guest,
    model: &mut Model,
    futures: &mut [Option<Future<'a>>; PLACES],
) {
    let (place, first, second) = (bytes.below(PLACES), word(bytes), word(bytes));
    let (count, more) = (count(bytes), count(bytes));
    match bytes.below(8) {
        0..=2 if futures[place].is_none() => {
            let bitset = [u32::MAX, 1, 2, 3][bytes.below(4)];
            let mut future = Box::pin(engine.wait_async(guest, first, value(guest, first).into(), bitset));
            assert_eq!(is_ready(&mut future), None, "the value is what it waits for");
            model.queue.push(Waiting { place, key: key(first), bitset });
            futures[place] = Some(future);
        }
        0..=2 => {
            let woken = model.woken.iter().position(|this| this.0 == place);
            let future = futures[place].as_mut().expect("there");
            assert_eq!(is_ready(future), woken.map(|_| Wait::Woken));
            if let Some(at) = woken {
                model.woken.remove(at);
                futures[place] = None;
            }
        }
        3 => {
            let bits = [u32::MAX, 1, 2, 4][bytes.below(4)];
            assert_eq!(engine.wake(guest, first, count, bits), Ok(model.wake(key(first), count, bits)));
        }
        4 => {
            let same = bytes.byte() % 4 != 0;
            let expected = value(guest, first) ^ u32::from(!same);
            let answer = engine.requeue(guest, first, second, count, more, Some(expected.into()));
            let done = same.then(|| Requeue::Done(model.requeue(key(first), key(second), count, more)));
            assert_eq!(answer, Ok(done.unwrap_or(Requeue::Changed)));
        }
        5 => {
            let (argument, against) = (u32::from(bytes.byte() % 4), i32::from(bytes.byte() % 4));
            let op = WakeOp { arithmetic: Arithmetic::Xor, argument, comparison: Some(Comparison::Less), against };
            let old = value(guest, second);
            let answer = engine.wake_op(guest, first, count, second, op, more);
            let woken = model.wake(key(first), count, u32::MAX);
            let also = if (old as i32) < against { model.wake(key(second), more, u32::MAX) } else { 0 };
            assert_eq!((answer, value(guest, second)), (Ok(woken + also), old ^ argument));
        }
        6 => {
            futures[place] = None;
            model.drop(place);
        }
        _ => {
            guest.threads.set(u32::from(bytes.byte()));
            engine.reserve(guest, guest.threads.get());
            guest.swap_out();
        }
    }
}

/// Returns a private word in one of two pages, one of which may not be present yet.
fn word(bytes: &mut Bytes<'_>) -> Word {
    let byte = bytes.byte();
    Word::private(if byte & 1 == 0 { 0 } else { 2 * PAGE } + 4 * u64::from(byte >> 1 & 3))
}

fn key(word: Word) -> u64 {
    word.address
}

fn value(guest: &Guest, word: Word) -> u32 {
    guest.cell(word.address).expect("mapped").get()
}

fn count(bytes: &mut Bytes<'_>) -> u32 {
    [0, 1, 2, 17, u32::MAX][bytes.below(5)]
}

fn is_ready(future: &mut Future<'_>) -> Option<Wait> {
    match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(answer) => Some(answer.expect("a private word that is mapped")),
        Poll::Pending => None,
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn random_scripts_agree_with_the_model() {
        for seed in 0..3_000 {
            super::run(&crate::bytes::random(seed, 3_000));
        }
    }
}
