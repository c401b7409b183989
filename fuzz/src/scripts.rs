//! Sequences of waits (futures, of which one thread can have many), wakes, requeues, wake-ops and
//! drops, beside a model: the queue of each word as a list. Counts, the woken waiters, and what is
//! left must agree, while tables are made and grow.

use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use leeward_engine::{Arithmetic, Comparison, Config, Engine, Heap, Host, Wait, WaitAsync, WakeOp, Word};

use crate::action::{Action, count};
use crate::guest::{Guest, PAGE};
use crate::model::{Model, Waiting, name};
use crate::sequences::{Choices, check_input};

const PLACES: usize = 48;
const STEPS: usize = 400;

/// The engine of a script.
#[derive(Debug)]
struct Tables {
    are_private: bool,
}

#[derive(Debug)]
enum Step {
    /// Begins a wait at a place; polls the one that is there.
    Wait {
        place: usize,
        word: Word,
        bitset: u32,
    },
    Act(Action),
    WakeOp {
        word: Word,
        count: u32,
        on: Word,
        more: u32,
        argument: u32,
        against: i32,
    },
    Drop {
        place: usize,
    },
    /// Reserves room for this many threads; a page is not present any more.
    Grow {
        threads: u32,
    },
}

type Future<'a> = Pin<Box<WaitAsync<'a, Guest>>>;

pub fn run(input: &[u8]) {
    check_input(input, STEPS, tables, step, play);
}

fn tables(choices: &mut Choices) -> Tables {
    Tables { are_private: choices.chance(50) }
}

fn step(choices: &mut Choices) -> Step {
    choices.one_of(&[
        (3, &|choices| Step::Wait { place: place(choices), word: word(choices), bitset: bits(choices) }),
        (1, &|choices| Step::Act(Action::Wake { word: word(choices), count: count(choices), bits: bits(choices) })),
        (1, &|choices| {
            let (from, to) = (word(choices), word(choices));
            let compares = Some(!choices.chance(25));
            Step::Act(Action::Requeue { from, to, wake: count(choices), requeue: count(choices), compares })
        }),
        (1, &|choices| Step::WakeOp {
            word: word(choices),
            count: count(choices),
            on: word(choices),
            more: count(choices),
            argument: choices.below(4) as u32,
            against: choices.below(4) as i32,
        }),
        (1, &|choices| Step::Drop { place: place(choices) }),
        (1, &|choices| Step::Grow { threads: choices.below(256) as u32 }),
    ])
}

fn place(choices: &mut Choices) -> usize {
    choices.below(PLACES as u64) as usize
}

/// Returns a private word in one of two pages, one of which may not be present yet.
fn word(choices: &mut Choices) -> Word {
    let word = choices.below(8);
    Word::private(if word < 4 { 0 } else { 2 * PAGE } + 4 * (word % 4))
}

fn bits(choices: &mut Choices) -> u32 {
    choices.pick(&[u32::MAX, 1, 2, 3, 4])
}

fn play(tables: &Tables, steps: &[Step]) {
    let config = if tables.are_private { Config::small(3).with_private_tables() } else { Config::small(3) };
    let (engine, guest) = (&Engine::new(config, Heap).expect("memory"), &Guest::default());
    let mut model = Model::default();
    let mut futures: [Option<Future<'_>>; PLACES] = [const { None }; PLACES];
    steps.iter().for_each(|step| step.play(engine, guest, &mut model, &mut futures));
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

impl Step {
    fn play<'a>(
        &self,
        engine: &'a Engine<Guest>,
        guest: &'a Guest,
        model: &mut Model,
        futures: &mut [Option<Future<'a>>; PLACES],
    ) {
        let value = |word: Word| guest.held(word).expect("mapped");
        let key = |word| name(word).expect("aligned");
        match *self {
            Step::Wait { place, word, bitset } => match &mut futures[place] {
                None => {
                    let mut future = Box::pin(engine.wait_async(guest, word, value(word), bitset));
                    assert_eq!(is_ready(&mut future), None, "the value is what it waits for");
                    model.queue.push(Waiting { place, key: key(word), bitset });
                    futures[place] = Some(future);
                }
                Some(future) => {
                    let woken = model.polled(place);
                    assert_eq!(is_ready(future), woken.map(|_| Wait::Woken));
                    if woken.is_some() {
                        futures[place] = None;
                    }
                }
            },
            Step::Act(ref action) => action.act(engine, guest, model),
            Step::WakeOp { word, count, on, more, argument, against } => {
                let op = WakeOp { arithmetic: Arithmetic::Xor, argument, comparison: Some(Comparison::Less), against };
                let old = value(on) as u32;
                let answer = engine.wake_op(guest, word, count, on, op, more);
                let woken = model.wake(key(word), count, u32::MAX);
                let also = if (old as i32) < against { model.wake(key(on), more, u32::MAX) } else { 0 };
                assert_eq!((answer, value(on) as u32), (Ok(woken + also), old ^ argument));
            }
            Step::Drop { place } => {
                futures[place] = None;
                model.drop(place);
            }
            Step::Grow { threads } => {
                guest.threads.set(threads);
                engine.reserve(guest, threads);
                guest.swap_out();
            }
        }
    }
}

fn is_ready(future: &mut Future<'_>) -> Option<Wait> {
    match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(answer) => Some(answer.expect("a private word that is mapped")),
        Poll::Pending => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{play, step, tables};

    #[test]
    fn random_scripts_agree_with_the_model() {
        crate::sequences::check_headed(3_000, 1..400, tables, step, play);
    }
}
