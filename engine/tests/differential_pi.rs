//! Priority inheritance beside the kernel: the same calls, made from a seed by the same threads, must answer the same, leave the same words, and hand the locks
//! to the same threads.
//!
//! Linux 6.18's answers. An older kernel may differ where a private word names another process's thread (here `EPERM`).
//!
//! `LEEWARD_SEQUENCES=N` runs N sequences (default 1,000 of one thread, 80 of several), `LEEWARD_SEED=N` begins at another.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![allow(missing_docs)]

#[path = "common/differential.rs"]
mod differential;
#[path = "common/guest.rs"]
mod guest;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use differential::{Random, Sleep, seeds, sleep_in_a_wait, summary};
use guest::{Guest, Page, gettid, kernel};
use leeward_engine::abi::{FUTEX_OWNER_DIED, FUTEX_TID_MASK, FUTEX_WAITERS, Numbers};
use leeward_engine::{Config, Engine, Heap};

const LOCK: u64 = 6;
const UNLOCK: u64 = 7;
const TRYLOCK: u64 = 8;
const WAIT_REQUEUE: u64 = 11;
const CMP_REQUEUE: u64 = 12;
const LOCK2: u64 = 13;
const PRIVATE: u64 = 128;

fn new_engine() -> Engine<Guest> {
    Engine::new(Config::for_processors(1, 11), Heap).unwrap()
}

fn ask(engine: &Engine<Guest>, guest: &Guest, call: [u64; 6]) -> i64 {
    engine.syscall(guest, &Numbers::X86_64, Numbers::X86_64.futex, call).unwrap()
}

const TIMES: [(i64, i64); 5] = [(0, 0), (1, 0), (0, 999_999_999), (-1, 0), (0, 1_000_000_000)];
const TIMES_AT: u64 = 2048;

fn time(guest: &Guest, i: usize) -> u64 {
    guest.address(Page::Writable) + TIMES_AT + 16 * i as u64
}

fn prepare(guest: &Guest, words: &[u32]) {
    for (i, (seconds, nanos)) in TIMES.into_iter().enumerate() {
        guest::put(guest, time(guest, i), seconds as u64);
        guest::put(guest, time(guest, i) + 8, nanos as u64);
    }
    for page in [Page::Writable, Page::Object] {
        for (i, value) in words.iter().enumerate() {
            guest.store(guest.address(page) + 4 * i as u64, *value);
        }
    }
}

/// A thread that is gone altogether.
fn dead() -> u32 {
    let number = std::thread::spawn(gettid).join().unwrap();
    while std::fs::exists(format!("/proc/self/task/{number}")).unwrap() {
        std::thread::yield_now();
    }
    number
}

/// Calls of one thread, none of which blocks: garbage in words and arguments.
fn call(random: &mut Random, guest: &Guest) -> [u64; 6] {
    let command =
        random.pick(&[LOCK, LOCK, UNLOCK, UNLOCK, TRYLOCK, TRYLOCK, LOCK2, WAIT_REQUEUE, CMP_REQUEUE, 1, 3, 4]);
    let flags = random.pick(&[0, PRIVATE, PRIVATE, PRIVATE, 256, 384]);
    let mut address = || {
        let word = 4 * (random.next() % 8);
        match random.next() % 16 {
            0..9 => guest.address(Page::Writable) + word,
            9..11 => guest.address(Page::Object) + word,
            11 => guest.address(Page::Alias) + word,
            12 => guest.address(Page::ReadOnly) + word,
            13 => guest.address(Page::Missing) + word,
            14 => guest.address(Page::Writable) + word + random.next() % 4,
            _ => random.pick(&[0, 4, 0xffff_8000_0000_0000, u64::MAX - 3, u64::MAX]),
        }
    };
    let (word, second) = (address(), address());
    let waits = [LOCK, LOCK2, WAIT_REQUEUE].contains(&command);
    let value = match command {
        1 => 1,
        WAIT_REQUEUE => random.next() & 1,
        CMP_REQUEUE => random.pick(&[1, 1, 1, 0, 2, u64::MAX]),
        _ => random.next() & 3,
    };
    let fourth = if waits {
        match random.next() % 8 {
            0 => random.pick(&[8, guest.address(Page::Missing), u64::MAX]),
            1 => time(guest, 3 + random.next() as usize % 2),
            _ => time(guest, random.next() as usize % 3),
        }
    } else {
        random.pick(&[0, 1, 5, 0x8000_0000, u64::MAX])
    };
    [word, command | flags, value, fourth, second, random.next() & 1]
}

#[test]
fn one_thread_gets_the_kernels_answers() {
    // Not the program's first one, which is to be another.
    std::thread::spawn(one_thread).join().unwrap();
}

fn one_thread() {
    let guest = Guest::new();
    let seeds = seeds(1000);
    let count = seeds.end - seeds.start;
    let (me, dead) = (gettid(), dead());
    // The test program's first thread waits for this one.
    let other = std::process::id();
    assert_ne!(me, other);
    let mut answers = BTreeMap::<i64, u64>::new();
    for seed in seeds {
        let mut random = Random(seed);
        let owners = [0, 0, me, me, dead, other, 1, 2, 0x3fff_ffff];
        let flags = [0, 0, FUTEX_WAITERS, FUTEX_OWNER_DIED, FUTEX_WAITERS | FUTEX_OWNER_DIED];
        let words: Vec<_> = (0..8).map(|_| random.pick(&owners) | random.pick(&flags)).collect();
        let calls: Vec<_> = (0..10).map(|_| call(&mut random, &guest)).collect();
        prepare(&guest, &words);
        let theirs: Vec<_> = calls.iter().map(|call| (kernel(*call), guest.contents())).collect();
        prepare(&guest, &words);
        let engine = new_engine();
        for (i, (call, (answer, contents))) in calls.iter().zip(theirs).enumerate() {
            let ours = ask(&engine, &guest, *call);
            let now = guest.contents();
            let differs = (0..now.len()).find(|&at| now[at] != contents[at]);
            assert!(
                ours == answer && differs.is_none(),
                "seed {seed}, call {i}: {call:x?}: the kernel answers {answer}, the engine {ours}; word {differs:?}: {:x?} and {:x?}\n\
                 words {words:x?}, me {me:x}, calls {:x?}, page {:x}",
                differs.map(|at| contents[at]),
                differs.map(|at| now[at]),
                &calls[..=i],
                guest.address(Page::Writable)
            );
            *answers.entry(ours).or_default() += 1;
        }
        assert_eq!(engine.stats(&guest).waiters, 0);
    }
    summary(&format!(
        "priority inheritance, one thread: {count} sequences, {} calls agree; answers: {answers:?}",
        10 * count
    ));
    let all = [
        0,
        -libc::EPERM,
        -libc::ESRCH,
        -libc::EAGAIN,
        -libc::EFAULT,
        -libc::EINVAL,
        -libc::EDEADLK,
        -libc::ENOSYS,
        -libc::ETIMEDOUT,
    ];
    assert!(count < 1000 || all.iter().all(|answer| answers.contains_key(&i64::from(*answer))), "{answers:?}");
}

/// Words 0 to 2 are locks, 3 and 4 are waited on.
const WORDS: u64 = 5;
const WORKERS: usize = 4;
const BUSY: i64 = i64::MIN;
/// In place of an operation: the thread's robust list.
const SET_LIST: u64 = u64::MAX;

#[derive(Clone, Copy, Debug)]
enum Step {
    Lock {
        word: u64,
        command: u64,
    },
    /// With a time that is past.
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
    /// Not a call: a value by the worker's (or a dead thread's, or nobody's) number and these bits.
    Store {
        word: u64,
        owner: u8,
        bits: u32,
    },
    Exit,
    /// With the lock in its robust list.
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

/// A thread that makes calls when it is told to.
struct Worker {
    number: u32,
    calls: Option<Sender<[u64; 6]>>,
    state: Arc<State>,
    thread: Option<std::thread::JoinHandle<()>>,
}

struct State {
    /// Has taken its call, which may block.
    started: AtomicBool,
    answer: AtomicI64,
}

/// What a worker was found at that does not run.
#[derive(PartialEq)]
enum Rest {
    Idle,
    /// Or at its end, having got its answer meanwhile, which the next look shows.
    Asleep(Sleep),
}

type Asker = Arc<dyn Fn([u64; 6]) -> i64 + Send + Sync>;

impl Worker {
    fn new(guest: Arc<Guest>, ask: Asker, at_exit: Arc<dyn Fn() + Send + Sync>) -> Worker {
        let (calls, inbox) = channel::<[u64; 6]>();
        let (tell, number) = channel();
        let state = Arc::new(State { started: AtomicBool::new(false), answer: AtomicI64::new(0) });
        let there = state.clone();
        let thread = std::thread::spawn(move || {
            guest.begins();
            tell.send(gettid()).unwrap();
            for call in inbox {
                there.started.store(true, Ordering::SeqCst);
                let answer = ask(call);
                // The signal that cleans up interrupts no others.
                assert!(answer != -i64::from(libc::EINTR) || call[1] & !PRIVATE == 0, "{call:x?}");
                there.answer.store(answer, Ordering::SeqCst);
            }
            at_exit();
        });
        Worker { number: number.recv().unwrap(), calls: Some(calls), state, thread: Some(thread) }
    }

    fn is_idle(&self) -> bool {
        self.state.answer.load(Ordering::SeqCst) != BUSY
    }

    fn start(&self, call: [u64; 6]) {
        self.state.started.store(false, Ordering::SeqCst);
        self.state.answer.store(BUSY, Ordering::SeqCst);
        self.calls.as_ref().unwrap().send(call).unwrap();
    }

    /// It has its answer, or sleeps in its call; else nothing.
    fn rest(&self) -> Option<Rest> {
        if self.is_idle() {
            return Some(Rest::Idle);
        }
        if !self.state.started.load(Ordering::SeqCst) {
            return None;
        }
        sleep_in_a_wait(self.number as i32).map(Rest::Asleep)
    }

    fn end(&mut self) {
        self.calls = None;
        self.thread.take().unwrap().join().unwrap();
        while std::fs::exists(format!("/proc/self/task/{}", self.number)).unwrap() {
            std::thread::yield_now();
        }
    }
}

struct Run {
    guest: Arc<Guest>,
    workers: Vec<Worker>,
    ask: Asker,
    at_exit: Arc<dyn Fn() + Send + Sync>,
    /// Numbers that threads had, in the order of their births.
    names: Vec<u32>,
    shared: bool,
}

impl Run {
    fn address(&self, word: u64) -> u64 {
        self.guest.address(if self.shared { Page::Object } else { Page::Writable }) + 4 * word
    }

    /// Waits until nobody runs: found asleep one after the other, and then all once more, none having run meanwhile. (A thread that is found asleep may be
    /// woken by one that is looked at later, and is at rest by then.)
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

    /// A list with a lock that inherits priorities; where it begins.
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

    /// What can be seen: the answers, who sleeps, the words, in names that are the same in each run.
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

    /// Ends every sleep: by a signal, after which a call begins again and finds other values.
    fn clean_up(&self) {
        let start = Instant::now();
        while !self.workers.iter().all(Worker::is_idle) {
            (0..WORDS).for_each(|word| self.guest.store(self.address(word), if word < 3 { 0 } else { 77 }));
            for worker in self.workers.iter().filter(|worker| !worker.is_idle()) {
                let process = std::process::id();
                // SAFETY: a thread of ours, which is there until `end`.
                unsafe { libc::syscall(libc::SYS_tgkill, process, worker.number, libc::SIGUSR1) };
            }
            assert!(start.elapsed() < Duration::from_secs(20), "{}", self.see("threads sleep for ever"));
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

extern "C" fn nothing(_: libc::c_int) {}

/// A signal that ends sleeps.
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

/// The engine as a system that begins interrupted calls again.
fn ask_again(engine: &Engine<Guest>, guest: &Guest, call: [u64; 6]) -> i64 {
    if call[1] == SET_LIST {
        let set = Numbers::X86_64.set_robust_list;
        return engine.robust_syscall(guest, &Numbers::X86_64, set, [call[0], 24, 0, 0, 0, 0]).unwrap();
    }
    loop {
        let answer = ask(engine, guest, call);
        let again = Numbers::X86_64.restarts_always(Numbers::X86_64.futex, call);
        if answer != -i64::from(libc::EINTR) || !again {
            return answer;
        }
    }
}

/// Runs a script; what is to be the same, line by line.
fn run(
    guest: &Arc<Guest>,
    script: &[(usize, Step)],
    shared: bool,
    dead: u32,
    ask: Asker,
    at_exit: Arc<dyn Fn() + Send + Sync>,
) -> Vec<String> {
    prepare(guest, &[0; WORDS as usize]);
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
    let answers = Mutex::new(BTreeMap::<i64, u64>::new());
    for seed in seeds {
        let mut script = steps(&mut Random(seed));
        // Numbers come round again.
        let dead = dead();
        let compare = |script: &[(usize, Step)]| {
            let shared = seed % 2 == 0;
            let theirs = run(&guest, script, shared, dead, Arc::new(kernel_or_list), Arc::new(|| ()));
            let engine = Arc::new(new_engine());
            let (e, g) = (engine.clone(), guest.clone());
            let at_exit = Arc::new(move || {
                g.exits();
                e.exit_robust(&*g, 2048);
                _ = e.exit_pi(&*g);
            });
            let (e, g) = (engine.clone(), guest.clone());
            let ours = run(&guest, script, shared, dead, Arc::new(move |call| ask_again(&e, &g, call)), at_exit);
            assert_eq!(engine.stats(&*guest).waiters, 0);
            (theirs, ours)
        };
        let (theirs, ours) = compare(&script);
        for line in &ours {
            let (_, states) = line.split_once(": [").unwrap();
            let first = states.split('"').nth(1).unwrap();
            *answers.lock().unwrap().entry(first.parse().unwrap_or(1)).or_default() += 1;
        }
        if theirs == ours {
            continue;
        }
        let first = format!("the kernel:\n{}\nthe engine:\n{}", theirs.join("\n"), ours.join("\n"));
        for i in (0..script.len()).rev() {
            let mut fewer = script.clone();
            fewer.remove(i);
            let (theirs, ours) = compare(&fewer);
            if theirs != ours {
                script = fewer;
            }
        }
        let (theirs, ours) = compare(&script);
        panic!(
            "seed {seed}: at first\n{first}\nby a script that is as short as it gets:\nthe kernel:\n{}\nthe engine:\n{}",
            theirs.join("\n"),
            ours.join("\n")
        );
    }
    summary(&format!(
        "priority inheritance, {WORKERS} threads: {count} scripts agree; answers: {:?} (1: it slept)",
        answers.lock().unwrap()
    ));
}
