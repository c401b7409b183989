//! Signals beside the kernel: a thread waits, and gets signals, wakes and requeues; whether its
//! wait ends with EINTR, is made again where it was made first, or goes on. And a signal that comes
//! at any time of a wait, before the thread sleeps too, whose handler changes the word and wakes
//! no thread: the wait ends.
//!
//! A host serves the engine's EINTR by its own signals' rules; that it can do as Linux does, with
//! [`Numbers::restarts`], is shown here. `differential.rs` says how many scripts there are.
//! What is not compared, since Linux leaves it open:
//! - a signal and a wake at once: either may come first. Each of them has settled before the next.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![allow(missing_docs)]

#[path = "../common/differential.rs"]
mod differential;
#[path = "../common/guest.rs"]
mod guest;

use std::ops::Range;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use differential::{Random, Steps, Waiter, agree, difference, seeds, summary};
use guest::{Guest, Page, put, put_waitv, system};
use leeward_engine::abi::Numbers;
use leeward_engine::parking::now;
use leeward_engine::{Clock, Config, Engine, Heap};

const FUTEX: u64 = 202;
const WAITV: u64 = 449;
const WAIT2: u64 = 455;
const EINTR: i64 = -(libc::EINTR as i64);
/// Where the time is in the writable page.
const TIME_AT: u64 = 512;
const ARRAY_AT: u64 = 1024;

#[derive(Clone, Copy, PartialEq, Debug)]
enum How {
    Wait,
    WaitBitset,
    Wait2,
    Waitv,
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Event {
    Signal,
    /// Wakes by the first word, or by the word to which waiters are moved.
    Wake(u64),
    WakeOtherBits,
    Change,
    Requeue,
}

#[derive(Clone, Debug)]
struct Signals {
    how: How,
    deadline: bool,
    realtime: bool,
    /// True if the handler was installed with `SA_RESTART`.
    restart: bool,
    shared: bool,
    events: Vec<Event>,
}

impl Steps for Signals {
    fn count(&self) -> usize {
        self.events.len()
    }

    fn without(&self, places: Range<usize>) -> Signals {
        Signals { events: self.events.without(places), ..self.clone() }
    }
}

fn script(random: &mut Random) -> Signals {
    use Event::{Change, Requeue, Signal, Wake, WakeOtherBits};
    let how = random.pick(&[How::Wait, How::WaitBitset, How::Wait2, How::Waitv]);
    let events = [Signal, Signal, Signal, Wake(0), Wake(1), WakeOtherBits, Change, Requeue];
    Signals {
        how,
        deadline: random.below(2) == 0,
        realtime: how != How::Wait && random.below(2) == 0,
        restart: random.below(3) != 0,
        shared: random.below(2) == 0,
        events: (0..1 + random.below(4)).map(|_| random.pick(&events)).collect(),
    }
}

static HANDLED: AtomicU32 = AtomicU32::new(0);

extern "C" fn handler(_: libc::c_int) {
    HANDLED.fetch_add(1, Ordering::SeqCst);
}

/// The address of the word that a handler changes.
static CHANGED: AtomicU64 = AtomicU64::new(0);

extern "C" fn changer(signal: libc::c_int) {
    let word = std::ptr::with_exposed_provenance_mut(CHANGED.load(Ordering::SeqCst) as usize);
    // SAFETY: a word of the guest's, whose thread this runs on.
    unsafe { AtomicU32::from_ptr(word) }.store(1, Ordering::SeqCst);
    handler(signal);
}

fn install(signal: libc::c_int, flags: libc::c_int) {
    install_handler(signal, handler, flags);
}

fn install_handler(signal: libc::c_int, handler: extern "C" fn(libc::c_int), flags: libc::c_int) {
    // SAFETY: zeroes are one.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = handler as *const () as usize;
    action.sa_flags = flags;
    // SAFETY: a handler that may be called at any time.
    assert_eq!(unsafe { libc::sigaction(signal, &action, std::ptr::null_mut()) }, 0);
}

/// Keeps other tests from running: the count of handled signals is the program's.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Signals {
    fn address(&self, guest: &Guest, word: u64) -> u64 {
        guest.address(if self.shared { Page::Object } else { Page::Writable }) + 4 * word
    }

    fn flag(&self) -> u64 {
        if self.shared { 0 } else { 128 }
    }

    /// Returns the waiting call, with its time and its array.
    fn call(&self, guest: &Guest) -> (u64, [u64; 6]) {
        let clock = if self.realtime { Clock::Realtime } else { Clock::Monotonic };
        // Far enough not to come.
        let begin = if self.how == How::Wait { 0 } else { now(clock) / 1_000_000_000 };
        let time = guest.address(Page::Writable) + TIME_AT;
        put(guest, time, begin + 1000);
        put(guest, time + 8, 0);
        let time = if self.deadline { time } else { 0 };
        let (word, clock) = (self.address(guest, 0), u64::from(!self.realtime));
        match self.how {
            How::Wait => (FUTEX, [word, self.flag(), 0, time, 0, 0]),
            How::WaitBitset => (FUTEX, [word, 9 | self.flag() | if self.realtime { 256 } else { 0 }, 0, time, 0, 1]),
            How::Wait2 => (WAIT2, [word, 0, 1, 2 | self.flag(), time, clock]),
            How::Waitv => {
                let array = guest.address(Page::Writable) + ARRAY_AT;
                let flag = 2 | self.flag() as u32;
                put_waitv(guest, array, &[(0, self.address(guest, 2), flag, 0), (0, word, flag, 0)]);
                (WAITV, [array, 2, 0, time, clock, 0])
            }
        }
    }

    /// Runs the script; returns what must be the same, line by line.
    fn run(&self, guest: &Guest, ask: impl Fn(u64, [u64; 6]) -> i64 + Sync) -> Vec<String> {
        let word = |word| self.address(guest, word);
        (0..4).for_each(|at| guest.store(word(at), 0));
        let (number, arguments) = self.call(guest);
        let wake = |at, bits| ask(FUTEX, [word(at), 10 | self.flag(), 1, 0, 0, bits]);
        let (waiter, mut lines) = (Waiter::default(), Vec::new());
        std::thread::scope(|threads| {
            threads.spawn(|| waiter.run(|| ask(number, arguments)));
            assert_eq!(waiter.settled(), None, "it does not go to sleep");
            for event in &self.events {
                let answer = match *event {
                    Event::Signal => self.signal(&waiter),
                    Event::Wake(at) => wake(at, u64::from(u32::MAX)),
                    Event::WakeOtherBits => wake(0, 2),
                    Event::Change => {
                        guest.store(word(0), 1);
                        0
                    }
                    Event::Requeue => ask(FUTEX, [word(0), 3 | self.flag(), 0, 9, word(1), 0]),
                };
                lines.push(format!("{event:?}: {answer}, {:?}", waiter.settled()));
            }
            for at in 0..3 {
                lines.push(format!("at last {}, {:?}", wake(at, u64::from(u32::MAX)), waiter.settled()));
            }
        });
        lines
    }

    /// Runs a wait in which a signal comes after this many nanoseconds, whose handler changes the
    /// last of the words that are waited for. Returns true if the wait ended.
    fn run_beside_a_handler(
        &self,
        guest: &Guest,
        after: u64,
        ask: impl Fn(u64, [u64; 6]) -> i64 + Sync,
    ) -> Vec<String> {
        (0..4).for_each(|at| guest.store(self.address(guest, at), 0));
        CHANGED.store(self.address(guest, 0), Ordering::SeqCst);
        let (number, arguments) = self.call(guest);
        let waiter = Waiter::default();
        std::thread::scope(|threads| {
            threads.spawn(|| waiter.run(|| ask(number, arguments)));
            while waiter.thread() == 0 {
                std::hint::spin_loop();
            }
            let start = Instant::now();
            while start.elapsed() < Duration::from_nanos(after) {
                std::hint::spin_loop();
            }
            self.send(&waiter, if self.restart { libc::SIGALRM } else { libc::SIGURG });
            let ended = waiter.settled().is_some();
            ask(FUTEX, [self.address(guest, 0), 1 | self.flag(), 9, 0, 0, 0]);
            vec![format!("a handler changes the word: it {}", if ended { "ended" } else { "sleeps" })]
        })
    }

    /// Sends a signal to a thread that sleeps, whose handler runs.
    fn signal(&self, waiter: &Waiter) -> i64 {
        if waiter.answer().is_some() {
            return 0;
        }
        self.send(waiter, if self.restart { libc::SIGUSR2 } else { libc::SIGUSR1 })
    }

    /// Sends a signal to a thread that is not joined yet, and waits until its handler has run.
    fn send(&self, waiter: &Waiter, signal: libc::c_int) -> i64 {
        let before = HANDLED.load(Ordering::SeqCst);
        let process = std::process::id();
        // SAFETY: no memory is passed.
        if unsafe { libc::syscall(libc::SYS_tgkill, process, waiter.thread(), signal) } != 0 {
            // The thread has ended.
            return 0;
        }
        let start = Instant::now();
        while HANDLED.load(Ordering::SeqCst) == before && waiter.answer().is_none() {
            assert!(start.elapsed() < Duration::from_secs(20), "a signal does not arrive");
            std::thread::yield_now();
        }
        1
    }
}

#[test]
fn signals_end_waits_or_have_them_made_again_as_by_the_kernel() {
    if [WAIT2, WAITV].iter().any(|number| system(*number, [0; 6]) == -i64::from(libc::ENOSYS)) {
        summary("nothing: the system has no futex2 calls");
        return;
    }
    let _alone = alone();
    install(libc::SIGUSR1, 0);
    install(libc::SIGUSR2, libc::SA_RESTART);
    let (guest, seeds) = (Guest::new(), seeds(200));
    let (interrupted, mut signals) = (std::cell::Cell::new(0), 0);
    for seed in seeds.clone() {
        let script = script(&mut Random(seed));
        agree(seed, &script, |script| {
            let engine: Engine<Guest> = Engine::new(Config::for_processors(1, 5), Heap).unwrap();
            let ours = |number, arguments| {
                let ask = || engine.syscall(&guest, &Numbers::X86_64, number, arguments).unwrap();
                restarting(script.restart, number, arguments, ask)
            };
            let (theirs, ours) = (script.run(&guest, system), script.run(&guest, ours));
            let ended = theirs.last().is_some_and(|line| line.contains(&EINTR.to_string()));
            interrupted.set(interrupted.get() + u32::from(ended));
            difference(&theirs, &ours)
        });
        signals += script.events.iter().filter(|event| **event == Event::Signal).count();
    }
    let count = seeds.end - seeds.start;
    summary(&format!("{count} scripts with {signals} signals agree; {} waits ended with EINTR", interrupted.get()));
    assert!(count < 100 || interrupted.get() > 0);
}

/// Does what a host does with the engine's answers when the handler has returned.
fn restarting(restarts: bool, number: u64, arguments: [u64; 6], ask: impl Fn() -> i64) -> i64 {
    loop {
        let answer = ask();
        if answer != EINTR || !restarts || !Numbers::X86_64.restarts(number, arguments) {
            return answer;
        }
    }
}

#[test]
fn handlers_that_change_the_word_end_waits_whenever_they_come() {
    if [WAIT2, WAITV].iter().any(|number| system(*number, [0; 6]) == -i64::from(libc::ENOSYS)) {
        summary("nothing: the system has no futex2 calls");
        return;
    }
    let _alone = alone();
    install_handler(libc::SIGURG, changer, 0);
    install_handler(libc::SIGALRM, changer, libc::SA_RESTART);
    let (guest, seeds) = (Guest::new(), seeds(1000));
    for seed in seeds.clone() {
        let mut random = Random(seed);
        let script = Signals { events: Vec::new(), ..script(&mut random) };
        let after = random.below(30_000);
        agree(seed, &script, |script| {
            let engine: Engine<Guest> = Engine::new(Config::for_processors(1, 5), Heap).unwrap();
            let ours = |number, arguments| {
                let ask = || engine.syscall(&guest, &Numbers::X86_64, number, arguments).unwrap();
                restarting(script.restart, number, arguments, ask)
            };
            let theirs = script.run_beside_a_handler(&guest, after, system);
            difference(&theirs, &script.run_beside_a_handler(&guest, after, ours))
        });
    }
    summary(&format!("{} waits end whose word a handler changes", seeds.end - seeds.start));
}
