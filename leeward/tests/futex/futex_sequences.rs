//! The place to sleep against the kernel: random sequences of sleeps, wakes, moves and WAKE_OPs
//! over a few words, beside a model that knows how many sleep on each word, and on which words each
//! thread may be.
//!
//! The test does not ask which of several sleepers is woken or moved first: two words whose hash
//! puts them into one of the kernel's queues keep the order of arrival where others have the order
//! of moves, and a process has as few as 16 queues.

#![cfg(all(target_os = "linux", not(leeward_symmetric)))]
#![allow(missing_docs)]

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/sequences.rs"]
mod sequences;

use common::*;

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use leeward::futex::{ALL, Argument, Changed, Comparison, Futex, Operation, Private, Shared, Timeout, Wait, WakeOp};
use sequences::{Choices, check};

#[derive(Clone, Copy, Debug)]
enum Step {
    Sleep(usize),
    Wake(usize, u32),
    Move(usize, u32, usize, u32, bool),
    WakeOp(usize, u32, usize, u32, bool),
}

const WORDS: usize = 3;
const THREADS: usize = 5;

fn step(choices: &mut Choices) -> Step {
    let word = |choices: &mut Choices| choices.below(WORDS as u64) as usize;
    let count = |choices: &mut Choices| choices.below(4) as u32;
    let either = |choices: &mut Choices| choices.below(2) == 1;
    choices.one_of(&[
        (4, &|choices| Step::Sleep(word(choices))),
        (2, &|choices| Step::Wake(word(choices), count(choices))),
        (2, &|choices| Step::Move(word(choices), count(choices), word(choices), count(choices), either(choices))),
        (1, &|choices| Step::WakeOp(word(choices), count(choices), word(choices), count(choices), either(choices))),
    ])
}

/// A set of words, a bit each.
type Places = u8;

/// Which threads sleep where, as far as that is certain.
#[derive(Default)]
struct Model {
    /// How many sleep on each word.
    counts: [u32; WORDS],
    /// On which words each thread may sleep; none: it is awake.
    places: [Places; THREADS],
}

impl Model {
    fn lie_down(&mut self, thread: usize, word: usize) {
        self.places[thread] = 1 << word;
        self.counts[word] += 1;
    }

    /// Takes up to `count` sleepers out of the queue of `word`; returns how many.
    fn take(&mut self, word: usize, count: u32) -> u32 {
        let taken = self.counts[word].min(count);
        self.counts[word] -= taken;
        taken
    }

    /// Moves up to `count` sleepers, any of those that may be there; returns how many.
    fn move_some(&mut self, from: usize, to: usize, count: u32) -> u32 {
        let moved = self.take(from, count);
        self.counts[to] += moved;
        if moved > 0 {
            self.places.iter_mut().filter(|places| **places & 1 << from != 0).for_each(|places| *places |= 1 << to);
        }
        moved
    }

    /// Notes that these threads woke up, the given numbers of them through each of the words.
    /// Returns true if that is possible.
    fn woke(&mut self, threads: &[usize], through: &[(usize, u32)]) -> bool {
        let all: u32 = through.iter().map(|(_, count)| count).sum();
        let set = |word: usize| 1 << word;
        let words: Places = through.iter().fold(0, |words, (word, _)| words | set(*word));
        let only = |word: usize| threads.iter().filter(|&&thread| self.places[thread] & words == set(word)).count();
        let fits = all as usize == threads.len()
            && threads.iter().all(|&thread| self.places[thread] & words != 0)
            && through.iter().all(|&(word, count)| only(word) <= count as usize);
        threads.iter().for_each(|&thread| self.places[thread] = 0);
        for word in (0..WORDS).filter(|&word| self.counts[word] == 0) {
            self.places.iter_mut().for_each(|places| *places &= !set(word));
        }
        fits
    }
}

/// Threads each of which sleeps where it is told to, and reports that it was woken.
struct Crew {
    orders: Vec<std::sync::mpsc::Sender<usize>>,
    ids: Vec<libc::pid_t>,
    woken: Arc<[AtomicBool; THREADS]>,
    words: Arc<[AtomicU32; WORDS]>,
}

impl Crew {
    fn new<F: Futex>() -> Crew {
        let woken: Arc<[AtomicBool; THREADS]> = Arc::default();
        let words: Arc<[AtomicU32; WORDS]> = Arc::default();
        let (tell, told) = std::sync::mpsc::channel();
        let (mut orders, mut ids) = (Vec::new(), Vec::new());
        for me in 0..THREADS {
            let (order, ordered) = std::sync::mpsc::channel();
            let (woken, words, tell) = (woken.clone(), words.clone(), tell.clone());
            std::thread::spawn(move || {
                // SAFETY: has no precondition.
                tell.send(unsafe { libc::gettid() }).unwrap();
                for word in ordered {
                    let word: &AtomicU32 = &words[word];
                    assert_eq!(F::wait(word, 0, Timeout::Never), Wait::Woken);
                    woken[me].store(true, Ordering::Release);
                }
            });
            ids.push(told.recv().unwrap());
            orders.push(order);
        }
        Crew { orders, ids, woken, words }
    }

    fn sleep(&self, thread: usize, word: usize) {
        self.woken[thread].store(false, Ordering::Relaxed);
        let before = switches(self.ids[thread]);
        self.orders[thread].send(word).unwrap();
        // It leaves its channel's sleep, which takes a context switch, and comes to rest again.
        eventually("the thread sleeps", || switches(self.ids[thread]) > before && is_asleep(self.ids[thread]));
    }

    /// Returns the threads that woke up since they were told to sleep; asserts that they are
    /// `count`.
    fn woke(&self, model: &Model, count: u32) -> Vec<usize> {
        let woke = || {
            let sleepers = (0..THREADS).filter(|&thread| model.places[thread] != 0);
            sleepers.filter(|&thread| self.woken[thread].load(Ordering::Acquire)).collect::<Vec<_>>()
        };
        eventually("as many are woken as the call says", || woke().len() >= count as usize);
        woke()
    }
}

/// Returns how often a thread has gone to sleep.
fn switches(id: libc::pid_t) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/self/task/{id}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
    line.and_then(|count| count.trim().parse().ok()).unwrap_or_default()
}

fn run<F: Futex>(crew: &Crew, steps: &[Step]) {
    let mut model = Model::default();
    for &step in steps {
        let (returned, through, moved) = take_step::<F>(crew, &mut model, step);
        let woken: u32 = through.iter().map(|(_, count)| count).sum();
        assert_eq!(returned, woken + moved, "{:?}", step);
        let woke = crew.woke(&model, woken);
        assert!(model.woke(&woke, &through), "{:?} woke {:?}, through {:?}", step, woke, through);
    }
    for word in 0..WORDS {
        let left = model.take(word, ALL);
        assert_eq!(F::wake(&crew.words[word], ALL), left);
        let woke = crew.woke(&model, left);
        assert!(model.woke(&woke, &[(word, left)]), "at the end {:?} woke through {}", woke, word);
    }
}

/// What the call returned; how many it should have woken through each word; how many it moved.
type Outcome = (u32, Vec<(usize, u32)>, u32);

fn take_step<F: Futex>(crew: &Crew, model: &mut Model, step: Step) -> Outcome {
    let words = &crew.words;
    match step {
        Step::Sleep(word) => {
            if let Some(thread) = model.places.iter().position(|&places| places == 0) {
                crew.sleep(thread, word);
                model.lie_down(thread, word);
            }
            (0, vec![], 0)
        }
        Step::Wake(word, count) => (F::wake(&words[word], count), vec![(word, model.take(word, count))], 0),
        // No thread is moved to where it is.
        Step::Move(from, _, to, ..) if from == to => (0, vec![], 0),
        Step::Move(from, wake, to, count, true) => {
            // SAFETY: words of ours.
            let returned = unsafe { F::requeue(&words[from], 0, wake, &words[to], count) };
            let woken = model.take(from, wake);
            (returned.unwrap(), vec![(from, woken)], model.move_some(from, to, count))
        }
        Step::Move(from, wake, to, count, false) => {
            // SAFETY: words of ours.
            let refused = unsafe { F::requeue(&words[from], 1, wake, &words[to], count) };
            assert_eq!(refused, Err(Changed));
            (0, vec![], 0)
        }
        Step::WakeOp(word, _, on, ..) if word == on => (0, vec![], 0),
        Step::WakeOp(word, wake, on, wake_on, holds) => {
            let against = if holds { 0 } else { 1 };
            let op = WakeOp::new(Operation::Or, Argument::Value(0), Comparison::Equal, against).unwrap();
            // SAFETY: words of ours.
            let returned = unsafe { F::wake_op(&words[word], wake, &words[on], op, wake_on) };
            let woken_on = if holds { model.take(on, wake_on) } else { 0 };
            (returned, vec![(word, model.take(word, wake)), (on, woken_on)], 0)
        }
    }
}

/// Which threads are woken, how many are moved and what the calls return is what the model says.
fn agree<F: Futex>() {
    let _dog = Watchdog::within("sequences", 10 * patience());
    let idle = Cell::new(None);
    check(600, 1..24, step, |steps| {
        // A sequence that fails leaves sleepers: its crew is not used again.
        let crew = idle.take().unwrap_or_else(Crew::new::<F>);
        run::<F>(&crew, steps);
        idle.set(Some(crew));
    });
}

#[test]
fn private() {
    agree::<Private>();
}

#[test]
fn shared() {
    agree::<Shared>();
}
