//! Priority inheritance beside the kernel: the same calls, made from a seed by several threads,
//! must answer the same, leave the same words, and hand the locks to the same threads.
//!
//! Linux 6.18's answers. An older kernel may differ where a private word names another process's
//! thread (here `EPERM`).
//!
//! `LEEWARD_SEQUENCES=N` runs N scripts (default 80), `LEEWARD_SEED=N` begins at another.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![allow(missing_docs)]

#[path = "../common/calls.rs"]
mod calls;
#[path = "../common/differential.rs"]
mod differential;
#[path = "../common/guest.rs"]
mod guest;
#[path = "../common/pi_calls.rs"]
mod pi_calls;
#[path = "../common/pi_worker.rs"]
mod pi_worker;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use calls::{PRIVATE, prepare, time};
use differential::{Random, agree_always, difference, seeds, summary};
use guest::{Guest, Page, kernel};
use leeward_engine::abi::{FUTEX_OWNER_DIED, FUTEX_TID_MASK, FUTEX_WAITERS, Numbers};
use leeward_engine::{Config, Engine, Heap};
use pi_calls::*;
use pi_worker::{Asker, BUSY, Worker};

/// Words 0 to 2 are locks; words 3 and 4 are waited on.
const WORDS: u64 = 5;
const WORKERS: usize = 4;
/// Sets the thread's robust list, in place of an operation.
const SET_LIST: u64 = u64::MAX;

#[derive(Clone, Copy, Debug)]
enum Step {
    Lock {
        word: u64,
        command: u64,
    },
    /// Locks with a time that is past.
    LockPast {
        word: u64,
    },
    TryLock {
        word: u64,
    },
    Unlock {
        word: u64,
    },
    WaitRequeue {
        word: u64,
        lock: u64,
        past: bool,
    },
    Requeue {
        word: u64,
        lock: u64,
        requeue: u64,
        expected: u64,
    },
    PlainWait {
        word: u64,
    },
    Wake {
        word: u64,
    },
    PlainRequeue {
        word: u64,
        to: u64,
    },
    /// Stores a value instead of making a call: the number of the worker (or of a dead thread, or
    /// of none) and these bits.
    Store {
        word: u64,
        owner: u8,
        bits: u32,
    },
    Exit,
    /// Exits with the lock in its robust list.
    ExitRobust {
        word: u64,
    },
}

fn steps(random: &mut Random) -> Vec<(usize, Step)> {
    let step = |random: &mut Random| {
        let (lock, wait) = (random.next() % 3, 3 + random.next() % 2);
        match random.next() % 32 {
            0..10 => Step::Lock { word: lock, command: random.pick(&[LOCK, LOCK2]) },
            10..12 => Step::LockPast { word: lock },
            12..14 => Step::TryLock { word: lock },
            14..20 => Step::Unlock { word: lock },
            20..23 => Step::WaitRequeue { word: wait, lock, past: random.next() % 4 == 0 },
            23..26 => Step::Requeue {
                word: wait,
                lock,
                requeue: random.next() % 3,
                expected: u64::from(random.next() % 8 == 0),
            },
            26 => Step::Wake { word: random.next() % WORDS },
            27 => Step::PlainRequeue { word: random.next() % WORDS, to: random.next() % WORDS },
            28 if random.next() % 2 == 0 => Step::PlainWait { word: random.next() % WORDS },
            29 => Step::Store {
                word: lock,
                owner: (random.next() % 3) as u8,
                bits: random.pick(&[0, FUTEX_WAITERS, FUTEX_OWNER_DIED]),
            },
            30 if random.next() % 2 == 0 => Step::Exit,
            28 | 30 => Step::ExitRobust { word: lock },
            _ => Step::Unlock { word: lock },
        }
    };
    (0..16).map(|_| (random.next() as usize % WORKERS, step(random))).collect()
}

struct Run {
    guest: Arc<Guest>,
    workers: Vec<Worker>,
    ask: Asker,
    at_exit: Arc<dyn Fn() + Send + Sync>,
    /// The numbers that threads had, in the order in which they began.
    names: Vec<u32>,
    shared: bool,
}

impl Run {
    fn address(&self, word: u64) -> u64 {
        self.guest.address(if self.shared { Page::Object } else { Page::Writable }) + 4 * word
    }

    /// Waits until no worker runs: all were found asleep one after the other, and then all once
    /// more, and none ran meanwhile. (A thread that was found asleep may be woken by one that is
    /// checked later, and is at rest by then.)
    fn settle(&self) {
        let start = Instant::now();
        let mut before = None;
        loop {
            let now: Option<Vec<_>> = self.workers.iter().map(Worker::rest).collect();
            if now.is_some() && now == before {
                return;
            }
            before = now;
            assert!(start.elapsed() < Duration::from_secs(20), "the threads do not settle");
            std::thread::yield_now();
        }
    }

    fn arguments(&self, step: Step) -> [u64; 6] {
        let flag = if self.shared { 0 } else { PRIVATE };
        let at = |word| self.address(word);
        let past = time(&self.guest, 0);
        match step {
            Step::Lock { word, command } => [at(word), command | flag, 0, 0, 0, 0],
            Step::LockPast { word } => [at(word), LOCK | flag, 0, past, 0, 0],
            Step::TryLock { word } => [at(word), TRYLOCK | flag, 0, 0, 0, 0],
            Step::Unlock { word } => [at(word), UNLOCK | flag, 0, 0, 0, 0],
            Step::WaitRequeue { word, lock, past: is_past } => {
                [at(word), WAIT_REQUEUE | flag, 0, if is_past { past } else { 0 }, at(lock), 0]
            }
            Step::Requeue { word, lock, requeue, expected } => {
                [at(word), CMP_REQUEUE | flag, 1, requeue, at(lock), expected]
            }
            Step::PlainWait { word } => [at(word), flag, u64::from(self.guest.value(at(word))), 0, 0, 0],
            Step::Wake { word } => [at(word), 1 | flag, 1, 0, 0, 0],
            Step::PlainRequeue { word, to } => [at(word), 3 | flag, 1, 2, at(to), 0],
            Step::Store { .. } | Step::Exit | Step::ExitRobust { .. } => unreachable!(),
        }
    }

    fn born(&mut self) -> Worker {
        let worker = Worker::new(self.guest.clone(), self.ask.clone(), self.at_exit.clone());
        self.names.push(worker.number);
        worker
    }

    /// Writes a robust list with a lock that inherits priorities; returns where it begins.
    fn robust_list(&self, who: usize, word: u64) -> u64 {
        let head = self.guest.address(Page::Writable) + 3072 + 64 * who as u64;
        let entry = head + 32;
        guest::put(&self.guest, head, entry | 1);
        guest::put(&self.guest, head + 8, self.address(word).wrapping_sub(entry));
        guest::put(&self.guest, head + 16, 0);
        guest::put(&self.guest, entry, head);
        head
    }

    fn step(&mut self, who: usize, step: Step, dead: u32) {
        if !self.workers[who].is_idle() {
            return;
        }
        match step {
            Step::Store { word, owner, bits } => {
                let owner = [0, self.workers[who].number, dead][owner as usize];
                self.guest.store(self.address(word), owner | bits);
            }
            Step::ExitRobust { word } => {
                let head = self.robust_list(who, word);
                self.workers[who].start([head, SET_LIST, 0, 0, 0, 0]);
                self.settle();
                self.step(who, Step::Exit, dead);
            }
            Step::Exit => {
                self.workers[who].end();
                self.workers[who] = self.born();
            }
            step => self.workers[who].start(self.arguments(step)),
        }
        self.settle();
    }

    /// Returns what can be seen: the answers, which threads sleep, and the words, in names that are
    /// the same in each run.
    fn see(&self, what: &str) -> String {
        let words: Vec<_> = (0..WORDS)
            .map(|word| {
                let value = self.guest.value(self.address(word));
                let (flags, number) = (value >> 30, value & FUTEX_TID_MASK);
                let name = self.names.iter().rposition(|name| *name == number);
                name.map_or(format!("{flags}:{number}"), |name| format!("{flags}:T{name}"))
            })
            .collect();
        let states: Vec<_> = self
            .workers
            .iter()
            .map(|worker| match worker.state.answer.load(Ordering::SeqCst) {
                BUSY => "sleeps".to_string(),
                answer => answer.to_string(),
            })
            .collect();
        format!("{what}: {states:?} {words:?}")
    }

    /// Ends every sleep by a signal, after which a call is restarted and finds other values.
    fn clean_up(&self) {
        let start = Instant::now();
        while !self.workers.iter().all(Worker::is_idle) {
            (0..WORDS).for_each(|word| self.guest.store(self.address(word), if word < 3 { 0 } else { 77 }));
            for worker in self.workers.iter().filter(|worker| !worker.is_idle()) {
                let process = std::process::id();
                // SAFETY: a thread of ours, which is there until `end`.
                unsafe { libc::syscall(libc::SYS_tgkill, process, worker.number, libc::SIGUSR1) };
            }
            assert!(start.elapsed() < Duration::from_secs(20), "{}", self.see("threads sleep forever"));
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

extern "C" fn nothing(_: libc::c_int) {}

/// Installs a handler for the signal that ends sleeps.
fn handle_signals() {
    // SAFETY: zeroes are a value of it.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = nothing as *const () as usize;
    // SAFETY: a handler that does nothing.
    assert_eq!(unsafe { libc::sigaction(libc::SIGUSR1, &action, std::ptr::null_mut()) }, 0);
}

fn kernel_or_list(call: [u64; 6]) -> i64 {
    if call[1] == SET_LIST {
        return guest::system(Numbers::X86_64.set_robust_list, [call[0], 24, 0, 0, 0, 0]);
    }
    kernel(call)
}

/// Calls the engine as a system that restarts interrupted calls.
fn ask_again(engine: &Engine<Guest>, guest: &Guest, call: [u64; 6]) -> i64 {
    if call[1] == SET_LIST {
        let set = Numbers::X86_64.set_robust_list;
        return engine.robust_syscall(guest, &Numbers::X86_64, set, [call[0], 24, 0, 0, 0, 0]).unwrap();
    }
    loop {
        let answer = engine.syscall(guest, &Numbers::X86_64, Numbers::X86_64.futex, call).unwrap();
        let again = Numbers::X86_64.restarts_always(Numbers::X86_64.futex, call);
        if answer != -i64::from(libc::EINTR) || !again {
            return answer;
        }
    }
}

/// Runs a script; returns what must be the same, line by line.
fn run(
    guest: &Arc<Guest>,
    script: &[(usize, Step)],
    shared: bool,
    dead: u32,
    ask: Asker,
    at_exit: Arc<dyn Fn() + Send + Sync>,
) -> Vec<String> {
    prepare(guest);
    for page in [Page::Writable, Page::Object] {
        (0..WORDS).for_each(|word| guest.store(guest.address(page) + 4 * word, 0));
    }
    let mut run = Run { guest: guest.clone(), workers: vec![], ask, at_exit, names: vec![], shared };
    for _ in 0..WORKERS {
        let worker = run.born();
        run.workers.push(worker);
    }
    let mut lines = Vec::new();
    for (who, step) in script {
        run.step(*who, *step, dead);
        lines.push(run.see(&format!("{who} {step:?}")));
    }
    run.clean_up();
    run.workers.iter_mut().for_each(Worker::end);
    lines
}

#[test]
fn threads_get_the_kernels_locks() {
    let seeds = seeds(80);
    let count = seeds.end - seeds.start;
    handle_signals();
    let guest = Arc::new(Guest::new());
    let answers = RefCell::new(BTreeMap::<i64, u64>::new());
    for seed in seeds {
        // Numbers are reused.
        let (shared, dead) = (seed % 2 == 0, dead());
        agree_always(seed, &steps(&mut Random(seed)), |script| {
            let theirs = run(&guest, script, shared, dead, Arc::new(kernel_or_list), Arc::new(|| ()));
            let engine: Arc<Engine<Guest>> = Arc::new(Engine::new(Config::for_processors(1, 11), Heap).unwrap());
            let (e, g) = (engine.clone(), guest.clone());
            let at_exit = Arc::new(move || {
                g.exits();
                e.exit_robust(&*g, 2048);
                _ = e.exit_pi(&*g);
            });
            let (e, g) = (engine.clone(), guest.clone());
            let ours = run(&guest, script, shared, dead, Arc::new(move |call| ask_again(&e, &g, call)), at_exit);
            assert_eq!(engine.stats(&*guest).waiters, 0);
            for line in &ours {
                let (_, states) = line.split_once(": [").unwrap();
                let first = states.split('"').nth(1).unwrap();
                *answers.borrow_mut().entry(first.parse().unwrap_or(1)).or_default() += 1;
            }
            difference(&theirs, &ours)
        });
    }
    summary(&format!(
        "priority inheritance, {WORKERS} threads: {count} scripts agree; answers: {:?} (1: it slept)",
        answers.borrow()
    ));
}
