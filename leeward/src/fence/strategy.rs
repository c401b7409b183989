//! Which strategy serves the heavy fences of this process: chosen once, lazily, and never silently wrong.

use core::sync::atomic::{AtomicU8, AtomicU64};

use rustix::io::Errno;

use super::request::{Request, requested};
use super::{Counters, Error, Strategy, membarrier, probe, signal};
use crate::atomic::{Ordering, compiler_fence};

pub(super) const ALL: &[Strategy] = &[Strategy::MembarrierPrivate, Strategy::MembarrierGlobal, Strategy::Signal];

/// 0 = not chosen yet, else an index into `ALL` plus one. A plain word: whoever races to choose finds the same.
static CHOSEN: AtomicU8 = AtomicU8::new(0);

static PRIVATE: AtomicU64 = AtomicU64::new(0);
static GLOBAL: AtomicU64 = AtomicU64::new(0);
static SIGNAL: AtomicU64 = AtomicU64::new(0);
static RETRIES: AtomicU64 = AtomicU64::new(0);
static PROCESSES: AtomicU64 = AtomicU64::new(0);

#[inline(always)]
pub(super) fn light() {
    // SeqCst: the compiler may move nothing across; the processor's half is executed by the heavy fence.
    compiler_fence(Ordering::SeqCst);
}

pub(super) fn chosen() -> Option<Strategy> {
    // Relaxed: every strategy serves every light fence, so nothing depends on which is seen.
    ALL.get(usize::from(CHOSEN.load(Ordering::Relaxed)).wrapping_sub(1)).copied()
}

fn choose(strategy: Strategy) {
    let index = ALL.iter().position(|known| *known == strategy).map_or(0, |i| i + 1);
    // Relaxed: as in `chosen`.
    CHOSEN.store(index as u8, Ordering::Relaxed);
}

pub(super) fn count_retry() {
    // Relaxed: a count.
    RETRIES.fetch_add(1, Ordering::Relaxed);
}

#[cfg(target_pointer_width = "64")]
pub(super) fn count_processes() {
    // Relaxed: a count.
    PROCESSES.fetch_add(1, Ordering::Relaxed);
}

pub(super) fn counters() -> Counters {
    // Relaxed, all: counts.
    let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
    Counters {
        membarrier_private: read(&PRIVATE),
        membarrier_global: read(&GLOBAL),
        signal: read(&SIGNAL),
        visits: signal::visits(),
        retries: read(&RETRIES),
        processes: read(&PROCESSES),
        ..Counters::default()
    }
}

/// One heavy fence by the strategy in use, or by the first behind it that works.
pub(super) fn run() -> Result<(), Error> {
    let first = match chosen() {
        Some(strategy) => strategy,
        None => automatic()?,
    };
    issue(first).or_else(|errno| fall_back(first, errno))
}

/// One heavy fence by exactly this strategy, counted.
fn issue(strategy: Strategy) -> Result<(), Errno> {
    let (outcome, count) = match strategy {
        Strategy::MembarrierPrivate => (membarrier::private(), &PRIVATE),
        Strategy::MembarrierGlobal => (membarrier::global(), &GLOBAL),
        Strategy::Signal => (signal::interrupt_all(), &SIGNAL),
        Strategy::Symmetric => (Err(Errno::NOSYS), &RETRIES),
    };
    if outcome.is_ok() {
        // Relaxed: a count.
        count.fetch_add(1, Ordering::Relaxed);
    }
    outcome
}

/// `first` was refused: this fence is served by another. The others go on as they are unless the refusal is a lasting
/// one.
#[cold]
#[inline(never)]
fn fall_back(first: Strategy, errno: Errno) -> Result<(), Error> {
    for &next in ALL.iter().filter(|&&other| other != first) {
        count_retry();
        if works(next) && issue(next).is_ok() {
            if errno != Errno::NOMEM {
                choose(next);
            }
            return Ok(());
        }
    }
    Err(Error::NoStrategy)
}

/// Whether the strategy may be tried at all: the kernel names it in its query, and no sandbox kills for asking.
fn works(strategy: Strategy) -> bool {
    match strategy {
        Strategy::MembarrierPrivate => probe::asking_is_survived() && membarrier::has_private(),
        Strategy::MembarrierGlobal => probe::asking_is_survived() && membarrier::has_global(),
        // A process of one thread signals nobody, and would not learn it.
        Strategy::Signal => signal::is_allowed(),
        Strategy::Symmetric => false,
    }
}

pub(super) fn init() -> Result<Strategy, Error> {
    let in_use = match chosen() {
        Some(strategy) => strategy,
        None => automatic()?,
    };
    match requested() {
        Request::Unknown => Err(Error::UnknownName),
        _ => Ok(in_use),
    }
}

pub(super) fn force(strategy: Strategy) -> Result<(), Error> {
    if works(strategy) && issue(strategy).is_ok() {
        choose(strategy);
        return Ok(());
    }
    Err(Error::Refused(strategy))
}

/// What `LEEWARD_FENCE` asks for, else the first that works.
#[cold]
#[inline(never)]
fn automatic() -> Result<Strategy, Error> {
    if let Request::Named(strategy) = requested() {
        if force(strategy).is_ok() {
            return Ok(strategy);
        }
    }
    ALL.iter().copied().find(|&strategy| force(strategy).is_ok()).ok_or(Error::NoStrategy)
}
