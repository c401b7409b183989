//! Sequences of waits (futures, of which one thread can have many), wakes, requeues, wake-ops and
//! drops, beside a model: the queue of each word as a list. Counts, the woken waiters, and what is
//! left must agree, while tables are made and grow. Some waiters are urgent. Some wait again within
//! the call that wakes them, which is not to wake them twice.

use std::cell::{Cell, RefCell};
use std::pin::Pin;
use std::task::{Context, Poll, RawWaker, RawWakerVTable, Waker};

use leeward_engine::{Arithmetic, Comparison, Config, Engine, Heap, Host, Priority, Wait, WaitAsync, WakeOp, Word};

use crate::action::Action;
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
        wait: Waited,
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

/// What a waiter waits for.
#[derive(Clone, Copy, Debug)]
struct Waited {
    word: Word,
    bitset: u32,
    priority: Priority,
    /// True if a wake has it wait again, for the same.
    returns: bool,
}

pub fn run(input: &[u8]) {
    check_input(input, STEPS, tables, step, play);
}

fn tables(choices: &mut Choices) -> Tables {
    Tables { are_private: choices.chance(50) }
}

fn step(choices: &mut Choices) -> Step {
    choices.one_of(&[
        (10, &|choices| Step::Wait { place: place(choices), wait: waited(choices) }),
        (2, &|choices| Step::Act(Action::Wake { word: word(choices), count: count(choices), bits: bits(choices) })),
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

fn waited(choices: &mut Choices) -> Waited {
    Waited {
        word: word(choices),
        bitset: bits(choices),
        priority: choices.pick(&[Priority::NORMAL, Priority::NORMAL, Priority::NORMAL, Priority(2), Priority(1)]),
        returns: choices.chance(20),
    }
}

fn place(choices: &mut Choices) -> usize {
    choices.below(PLACES as u64) as usize
}

/// Returns for how many waiters a call is: mostly for few, so that many come to wait for one word.
fn count(choices: &mut Choices) -> u32 {
    choices.pick(&[0, 1, 1, 1, 2, 2, 3, 5, 17, u32::MAX])
}

/// Returns a private word in one of two pages, one of which may not be present yet: mostly the same.
fn word(choices: &mut Choices) -> Word {
    let word = choices.pick(&[0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7]);
    Word::private(if word < 4 { 0 } else { 2 * PAGE } + 4 * (word % 4))
}

fn bits(choices: &mut Choices) -> u32 {
    choices.pick(&[u32::MAX, u32::MAX, u32::MAX, 1, 2, 3, 4])
}

fn play(tables: &Tables, steps: &[Step]) {
    let config = if tables.are_private { Config::small(3).with_private_tables() } else { Config::small(3) };
    let (engine, guest) = (&Engine::new(config, Heap).expect("memory"), &Guest::default());
    let (mut model, returning) = (Model::default(), &Cell::new(false));
    let place = || Place { engine, guest, returning, waits: Cell::new(None), future: RefCell::new(None) };
    let places: [Place<'_>; PLACES] = std::array::from_fn(|_| place());
    steps.iter().for_each(|step| step.play(engine, guest, &mut model, &places));
    // A waiter is ready if and only if it was woken.
    for (at, place) in places.iter().enumerate().filter(|(_, place)| place.is_taken()) {
        let woken = model.woken.iter().any(|this| this.0 == at);
        assert_eq!(place.poll(), woken.then_some(Wait::Woken), "{at}");
    }
    let waiters = || guest.space().stats(guest).waiters + engine.stats(guest).waiters;
    assert_eq!(waiters(), model.waiters() as u64);
    places.iter().for_each(Place::clear);
    assert_eq!(waiters(), 0, "a waiter is left in a list");
}

/// A place for a waiter.
struct Place<'a> {
    engine: &'a Engine<Guest>,
    guest: &'a Guest,
    /// True if those that are woken now and return, do so.
    returning: &'a Cell<bool>,
    waits: Cell<Option<Waited>>,
    future: RefCell<Option<Pin<Box<WaitAsync<'a, Guest>>>>>,
}

impl Place<'_> {
    fn is_taken(&self) -> bool {
        self.future.borrow().is_some()
    }

    /// Begins a wait.
    fn wait(&self, waited: Waited) {
        let Waited { word, bitset, priority, .. } = waited;
        self.guest.priority.set(priority);
        let value = self.guest.held(word).expect("mapped");
        *self.future.borrow_mut() = Some(Box::pin(self.engine.wait_async(self.guest, word, value, bitset)));
        self.waits.set(Some(waited));
        assert_eq!(self.poll(), None, "the value is what it waits for");
    }

    fn poll(&self) -> Option<Wait> {
        let data = (&raw const *self).cast();
        // SAFETY: the table's functions take a place, which outlives the futures that have the waker: it
        // holds its own one, and all of them are on one thread.
        let waker = unsafe { Waker::new(data, &WAKER) };
        let mut future = self.future.borrow_mut();
        match future.as_mut().expect("taken").as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(answer) => Some(answer.expect("a private word that is mapped")),
            Poll::Pending => None,
        }
    }

    /// Drops the future, which passes its wake on if it was woken.
    fn clear(&self) {
        let future = self.future.take();
        drop(future);
    }
}

static WAKER: RawWakerVTable = RawWakerVTable::new(|place| RawWaker::new(place, &WAKER), wake, wake, |_| ());

/// Has the waiter of a place return, if it is one that does.
///
/// # Safety
/// The place is there.
unsafe fn wake(place: *const ()) {
    // SAFETY: the caller's promise.
    let place = unsafe { &*place.cast::<Place<'_>>() };
    let Some(waited) = place.waits.get().filter(|waited| waited.returns && place.returning.get()) else { return };
    assert_eq!(place.poll(), Some(Wait::Woken));
    place.wait(waited);
}

impl Step {
    fn play(&self, engine: &Engine<Guest>, guest: &Guest, model: &mut Model, places: &[Place<'_>; PLACES]) {
        let value = |word: Word| guest.held(word).expect("mapped");
        let key = |word| name(word).expect("aligned");
        match *self {
            Step::Wait { place: at, wait } => {
                let place = &places[at];
                if !place.is_taken() {
                    place.wait(wait);
                    model.wait(wait.at(at));
                } else {
                    let woken = model.polled(at);
                    assert_eq!(place.poll(), woken.map(|_| Wait::Woken));
                    if woken.is_some() {
                        place.clear();
                    }
                }
            }
            Step::Act(ref action @ Action::Wake { .. }) => {
                with_returns(model, places, |model| action.act(engine, guest, model));
            }
            // How many are woken at once decides whether one that returns comes before those that
            // are moved.
            Step::Act(ref action) => action.act(engine, guest, model),
            Step::WakeOp { word, count, on, more, argument, against } => {
                let op = WakeOp { arithmetic: Arithmetic::Xor, argument, comparison: Some(Comparison::Less), against };
                let old = value(on) as u32;
                with_returns(model, places, |model| {
                    let answer = engine.wake_op(guest, word, count, on, op, more);
                    let woken = model.wake(key(word), count, u32::MAX);
                    let also = if (old as i32) < against { model.wake(key(on), more, u32::MAX) } else { 0 };
                    assert_eq!((answer, value(on) as u32), (Ok(woken + also), old ^ argument));
                });
            }
            Step::Drop { place } => {
                places[place].clear();
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

impl Waited {
    /// Returns the waiter at this place.
    fn at(self, place: usize) -> Waiting {
        let Waited { word, bitset, priority, .. } = self;
        Waiting { place, key: name(word).expect("aligned"), bitset, priority }
    }
}

/// Does a call, within which waiters return. In the model they do so after it: the call is not to
/// find them.
fn with_returns(model: &mut Model, places: &[Place<'_>; PLACES], call: impl FnOnce(&mut Model)) {
    let (before, returning) = (model.woken.len(), places[0].returning);
    returning.set(true);
    call(model);
    returning.set(false);
    let woken = model.woken.split_off(before);
    for this in woken {
        match places[this.0].waits.get().filter(|waited| waited.returns) {
            Some(waited) => model.wait(waited.at(this.0)),
            None => model.woken.push(this),
        }
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
