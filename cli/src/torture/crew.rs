//! The torture's threads, and what each does, where the watchdog can see it.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use super::violation::{Kind, found, report};

/// The room for threads: more than the command line allows.
const ROOM: usize = 512;

/// Set when a phase is over.
static STOP: AtomicBool = AtomicBool::new(false);

/// A thread of the crew. Its entry stays as it was when the thread ended, until the crew is
/// dismissed.
#[repr(align(128))]
pub struct Member {
    /// The thread's number; 0 if the entry is free, `u32::MAX` until the number is known.
    thread: AtomicU32,
    /// Odd while the thread is inside a section, is about to enter one or has just left. Changes
    /// with each section.
    sections: AtomicU64,
    /// The number of sections that the thread's signal handler went through.
    pub handled: AtomicU64,
    /// Odd while the thread is in a call that waits for grace periods.
    calls: AtomicU64,
    /// 1 if the thread wants signals.
    signalled: AtomicU32,
    /// Written by the watchdog: the value that it last saw, and for how many checks it has been the
    /// same.
    pub seen_quiet: (AtomicU64, AtomicU32),
    pub seen_call: (AtomicU64, AtomicU32),
}

static CREW: [Member; ROOM] = [const {
    Member {
        thread: AtomicU32::new(0),
        sections: AtomicU64::new(0),
        handled: AtomicU64::new(0),
        calls: AtomicU64::new(0),
        signalled: AtomicU32::new(0),
        seen_quiet: (AtomicU64::new(0), AtomicU32::new(0)),
        seen_call: (AtomicU64::new(0), AtomicU32::new(0)),
    }
}; ROOM];

thread_local! {
    static ME: Cell<Option<&'static Member>> = const { Cell::new(None) };
}

/// Returns the calling thread's entry, if it is one of the crew.
pub fn me() -> Option<&'static Member> {
    ME.with(Cell::get)
}

/// All orders here are relaxed: the watchdog and the report read the words after milliseconds.
impl Member {
    pub fn enters(&self) {
        self.bump(&self.sections, 1);
    }

    pub fn left(&self) {
        self.bump(&self.sections, 0);
    }

    /// Makes a call that waits for grace periods.
    pub fn waits<R>(&self, call: impl FnOnce() -> R) -> R {
        self.bump(&self.calls, 1);
        let result = call();
        self.bump(&self.calls, 0);
        result
    }

    /// Stores the next number of that parity by plain moves, which give readers no fence.
    #[inline(always)]
    fn bump(&self, word: &AtomicU64, parity: u64) {
        let now = word.load(Ordering::Relaxed);
        word.store(now + 1 + ((now + 1 + parity) & 1), Ordering::Relaxed);
    }

    pub fn wants_signals(&self, wants: bool) {
        self.signalled.store(u32::from(wants), Ordering::Relaxed);
    }

    pub fn is_signalled(&self) -> bool {
        self.signalled.load(Ordering::Relaxed) != 0
    }

    pub fn thread(&self) -> u32 {
        self.thread.load(Ordering::Relaxed)
    }

    /// Returns a number that changes with every section, and true while the thread is inside one.
    pub fn activity(&self) -> (u64, bool) {
        let sections = self.sections.load(Ordering::Relaxed);
        (sections.wrapping_add(self.handled.load(Ordering::Relaxed) << 32), sections & 1 == 1)
    }

    /// Returns a number that changes with every call, and true while the thread is in one.
    pub fn call(&self) -> (u64, bool) {
        let calls = self.calls.load(Ordering::Relaxed);
        (calls, calls & 1 == 1)
    }
}

/// Returns the entries of all threads that are hired.
pub fn members() -> impl Iterator<Item = &'static Member> {
    CREW.iter().filter(|member| member.thread() != 0)
}

/// The handle of a hired thread.
pub struct Hired {
    handle: JoinHandle<()>,
    member: &'static Member,
}

impl Hired {
    pub fn is_finished(&self) -> bool {
        self.handle.is_finished()
    }
}

/// Starts a thread. Returns none if the system has no more threads, or the crew no more room.
pub fn hire(work: impl FnOnce(&'static Member) + Send + 'static) -> Option<Hired> {
    let taken =
        |member: &&Member| member.thread.compare_exchange(0, u32::MAX, Ordering::Relaxed, Ordering::Relaxed).is_ok();
    let member = CREW.iter().find(taken)?;
    for word in [&member.sections, &member.calls, &member.handled] {
        word.store(0, Ordering::Relaxed);
    }
    let started = std::thread::Builder::new().stack_size(256 << 10).spawn(move || {
        member.thread.store(rustix::thread::gettid().as_raw_nonzero().get() as u32, Ordering::Relaxed);
        ME.with(|me| me.set(Some(member)));
        work(member);
        member.wants_signals(false);
    });
    match started {
        Ok(handle) => Some(Hired { handle, member }),
        Err(_) => {
            member.thread.store(0, Ordering::Relaxed);
            None
        }
    }
}

/// Waits for all threads, then frees their entries. Gives up once a violation is found, because
/// some may never end.
pub fn dismiss(crew: Vec<Hired>) {
    while !crew.iter().all(Hired::is_finished) {
        if found().is_some() {
            return;
        }
        crate::sys::sleep(Duration::from_micros(200));
    }
    for hired in crew {
        if hired.handle.join().is_err() {
            report(Kind::Panicked, [0, 0]);
        }
        hired.member.thread.store(0, Ordering::Relaxed);
    }
}

/// Returns true if the phase is over, or a violation was found.
#[inline(always)]
pub fn is_over() -> bool {
    STOP.load(Ordering::Relaxed)
}

pub fn stop(whether: bool) {
    STOP.store(whether, Ordering::Relaxed);
}

/// Keeps the calling thread on one processor, by its number among those that it may use.
pub fn pin(number: usize) {
    let Ok(allowed) = rustix::thread::sched_getaffinity(None) else { return };
    let cpus: Vec<_> = (0..rustix::thread::CpuSet::MAX_CPU).filter(|&cpu| allowed.is_set(cpu)).collect();
    let mut only = rustix::thread::CpuSet::new();
    only.set(cpus[number % cpus.len().max(1)]);
    // If that is refused, the thread runs on any processor.
    let _ = rustix::thread::sched_setaffinity(None, &only);
}
