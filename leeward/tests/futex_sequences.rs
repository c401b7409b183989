//! The place to sleep against the kernel: random sequences of sleeps, wakes, moves and WAKE_OPs over a few words, beside a
//! model of the queues.

#![cfg(all(target_os = "linux", not(leeward_symmetric), not(leeward_loom)))]
#![allow(missing_docs)]

mod common;

use common::*;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use leeward::futex::{ALL, Argument, Changed, Comparison, Futex, Operation, Private, Shared, Wait, WakeOp};
use proptest::prelude::*;

#[derive(Clone, Copy, Debug)]
enum Step {
    Sleep(usize),
    Wake(usize, u32),
    Move(usize, u32, usize, u32, bool),
    WakeOp(usize, u32, usize, u32, bool),
}

const WORDS: usize = 3;
const THREADS: usize = 5;

fn step() -> impl Strategy<Value = Step> {
    let (word, count) = (0..WORDS, 0..4u32);
    prop_oneof![
        4 => word.clone().prop_map(Step::Sleep),
        2 => (word.clone(), count.clone()).prop_map(|(word, count)| Step::Wake(word, count)),
        2 => (word.clone(), count.clone(), word.clone(), count.clone(), any::<bool>())
            .prop_map(|(from, wake, to, moved, same)| Step::Move(from, wake, to, moved, same)),
        1 => (word.clone(), count.clone(), word, count, any::<bool>())
            .prop_map(|(word, wake, on, wake_on, holds)| Step::WakeOp(word, wake, on, wake_on, holds)),
    ]
}

/// The threads that sleep on each word, as a model has it: the order is the order of arrival.
#[derive(Default)]
struct Queues([Vec<usize>; WORDS]);

impl Queues {
    fn take(&mut self, word: usize, count: u32) -> Vec<usize> {
        let count = self.0[word].len().min(count as usize);
        self.0[word].drain(..count).collect()
    }
}

/// A crew of threads, each of which sleeps when told where, and says when it was woken.
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
                    assert_eq!(F::wait(word, 0, None), Wait::Woken);
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
        // It leaves its channel's sleep, which takes a switch, and comes to rest again.
        eventually("the thread sleeps", || switches(self.ids[thread]) > before && is_asleep(self.ids[thread]));
    }

    /// Exactly these were woken.
    fn were_woken(&self, woken: &[usize], queues: &Queues) {
        for &thread in woken {
            eventually("the thread is woken", || self.woken[thread].load(Ordering::Acquire));
        }
        for &thread in queues.0.iter().flatten() {
            assert!(!self.woken[thread].load(Ordering::Acquire), "thread {thread} was woken, and was not meant");
        }
    }
}

/// How often a thread has gone to sleep.
fn switches(id: libc::pid_t) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/self/task/{id}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
    line.and_then(|count| count.trim().parse().ok()).unwrap_or_default()
}

fn run<F: Futex>(crew: &Crew, steps: &[Step]) -> Result<(), TestCaseError> {
    let mut queues = Queues::default();
    let mut free: Vec<usize> = (0..THREADS).collect();
    let words = &crew.words;
    for &step in steps {
        let (returned, woken, moved) = match step {
            Step::Sleep(word) => {
                if let Some(thread) = free.pop() {
                    crew.sleep(thread, word);
                    queues.0[word].push(thread);
                }
                (0, Vec::new(), 0)
            }
            Step::Wake(word, count) => (F::wake(&words[word], count), queues.take(word, count), 0),
            // Nobody is moved to where he is.
            Step::Move(from, _, to, ..) if from == to => (0, Vec::new(), 0),
            Step::Move(from, wake, to, count, true) => {
                // SAFETY: words of ours.
                let returned = unsafe { F::requeue(&words[from], 0, wake, &words[to], count) };
                let woken = queues.take(from, wake);
                let moved = queues.take(from, count);
                let number = moved.len() as u32;
                queues.0[to].extend(moved);
                (returned.unwrap(), woken, number)
            }
            Step::Move(from, wake, to, count, false) => {
                // SAFETY: words of ours.
                let refused = unsafe { F::requeue(&words[from], 1, wake, &words[to], count) };
                prop_assert_eq!(refused, Err(Changed));
                (0, Vec::new(), 0)
            }
            Step::WakeOp(word, _, on, ..) if word == on => (0, Vec::new(), 0),
            Step::WakeOp(word, wake, on, wake_on, holds) => {
                let against = if holds { 0 } else { 1 };
                let op = WakeOp::new(Operation::Or, Argument::Value(0), Comparison::Equal, against).unwrap();
                // SAFETY: words of ours.
                let returned = unsafe { F::wake_op(&words[word], wake, &words[on], op, wake_on) };
                let mut woken = queues.take(word, wake);
                if holds {
                    woken.extend(queues.take(on, wake_on));
                }
                (returned, woken, 0)
            }
        };
        prop_assert_eq!(returned, woken.len() as u32 + moved, "{:?}", step);
        crew.were_woken(&woken, &queues);
        free.extend(woken);
    }
    for word in 0..WORDS {
        let woken = queues.take(word, ALL);
        prop_assert_eq!(F::wake(&words[word], ALL), woken.len() as u32);
        crew.were_woken(&woken, &queues);
    }
    Ok(())
}

/// Who is woken, who is moved and what the calls return is what the model says, thread by thread.
fn sequences<F: Futex>() {
    let _dog = Watchdog::within("sequences", 10 * patience());
    let crew = Crew::new::<F>();
    let config = ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() };
    let mut runner = proptest::test_runner::TestRunner::new(config);
    runner.run(&proptest::collection::vec(step(), 1..24), |steps| run::<F>(&crew, &steps)).unwrap();
}

#[test]
fn private() {
    sequences::<Private>();
}

#[test]
fn shared() {
    sequences::<Shared>();
}
