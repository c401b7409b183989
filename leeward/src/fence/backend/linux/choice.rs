//! The choice of the strategy that serves the heavy fences of this process: made once, lazily, and
//! never silently wrong.

use core::sync::atomic::{AtomicBool, AtomicU8};

use rustix::io::Errno;

use super::super::combine::Combiner;
use super::super::strategy::{Error, Strategy};
use super::counts::{GLOBAL, PRIVATE, RETRIES, SIGNAL, count};
use super::request::{Request, requested};
use super::{membarrier, probe, signal};
use crate::atomic::{Ordering, compiler_fence, fence};
use crate::process;

/// The strategy in use: 0 = not chosen yet, else an index into `Strategy::ALL` plus one. Threads
/// that race to choose find the same.
static CHOSEN: AtomicU8 = AtomicU8::new(0);

/// Executes a compiler fence.
#[inline(always)]
pub(in crate::fence) fn light() {
    // SeqCst: the compiler may move nothing across. The heavy fence executes the processor's half.
    compiler_fence(Ordering::SeqCst);
}

/// Returns the strategy in use, if one was chosen.
pub(in crate::fence) fn chosen() -> Option<Strategy> {
    // Relaxed: every strategy serves every light fence, so nothing depends on which one is seen.
    Strategy::ALL.get(usize::from(CHOSEN.load(Ordering::Relaxed)).wrapping_sub(1)).copied()
}

/// Makes `strategy` the one in use.
fn choose(strategy: Strategy) {
    let index = Strategy::ALL.iter().position(|known| *known == strategy).map_or(0, |i| i + 1);
    // Relaxed: as in `chosen`.
    CHOSEN.store(index as u8, Ordering::Relaxed);
}

/// The callers of heavy fences, who share them.
static CALLERS: Combiner = Combiner::new();

/// Has one heavy fence executed by the strategy in use, or by the first other one that works: for
/// the caller alone, or for all who call meanwhile. The caller executes full fences before and after
/// it; in any case one, also if no heavy fence is possible.
pub(in crate::fence) fn run() -> Result<(), Error> {
    let first = match chosen() {
        Some(strategy) => strategy,
        None => {
            // SeqCst: the caller's own half, also where no strategy is found.
            fence(Ordering::SeqCst);
            unasked()?
        }
    };
    CALLERS.run(|| issue(first).or_else(|errno| fall_back(first, errno)))
}

/// Issues one heavy fence by exactly this strategy, and counts it.
fn issue(strategy: Strategy) -> Result<(), Errno> {
    let (outcome, served) = match strategy {
        Strategy::MembarrierPrivate => (membarrier::private(), &PRIVATE),
        Strategy::MembarrierGlobal => (membarrier::global(), &GLOBAL),
        Strategy::Signal => (signal::interrupt_all(), &SIGNAL),
        Strategy::Symmetric => (Err(Errno::NOSYS), &RETRIES),
    };
    if outcome.is_ok() {
        count(served);
    }
    outcome
}

/// Issues one heavy fence by another strategy than `first`, which was refused. Later fences go on
/// with `first` if there was no memory, and else with the strategy that served.
#[cold]
#[inline(never)]
fn fall_back(first: Strategy, errno: Errno) -> Result<(), Error> {
    for &next in Strategy::ALL.iter().filter(|&&other| other != first) {
        count(&RETRIES);
        if works(next) && issue(next).is_ok() {
            if errno != Errno::NOMEM {
                choose(next);
            }
            return Ok(());
        }
    }
    Err(Error::NoStrategy)
}

/// Returns true if the strategy may be tried at all: the kernel names it in its query, and no
/// sandbox kills for asking.
fn works(strategy: Strategy) -> bool {
    match strategy {
        Strategy::MembarrierPrivate => probe::asking_is_survived() && membarrier::has_private(),
        Strategy::MembarrierGlobal => probe::asking_is_survived() && membarrier::has_global(),
        // A process of one thread signals no other, and would not learn of a refusal.
        Strategy::Signal => signal::is_allowed(),
        Strategy::Symmetric => false,
    }
}

/// Chooses a strategy unless one is chosen, and returns the one in use.
pub(in crate::fence) fn init() -> Result<Strategy, Error> {
    let in_use = match chosen() {
        Some(strategy) => strategy,
        None => automatic()?,
    };
    match requested() {
        Request::Unknown => Err(Error::UnknownName),
        _ => Ok(in_use),
    }
}

/// Returns true if a strategy is in use, or one that works could be chosen just now.
pub(in crate::fence) fn is_possible() -> bool {
    chosen().is_some() || unasked().is_ok()
}

/// True if an unknown name was reported.
static IS_REPORTED: AtomicBool = AtomicBool::new(false);

/// Chooses for a caller that hands no [`Error::UnknownName`] on: a name that is none is reported on
/// standard error, once. The variable is set by the one who runs the program, who has no other way to
/// learn that it has no effect.
#[cold]
#[inline(never)]
fn unasked() -> Result<Strategy, Error> {
    let strategy = automatic()?;
    // Relaxed: threads that choose together agree who reports, and nothing else depends on it.
    if requested() == Request::Unknown && !IS_REPORTED.swap(true, Ordering::Relaxed) {
        process::print_error(format_args!("leeward: {}; `{strategy}` is used\n", Error::UnknownName));
    }
    Ok(strategy)
}

/// Makes `strategy` the one in use, after issuing one heavy fence by it.
pub(in crate::fence) fn force(strategy: Strategy) -> Result<(), Error> {
    if works(strategy) && issue(strategy).is_ok() {
        choose(strategy);
        return Ok(());
    }
    Err(Error::Refused(strategy))
}

/// Chooses the strategy that `LEEWARD_FENCE` asks for, else the first that works.
#[cold]
#[inline(never)]
fn automatic() -> Result<Strategy, Error> {
    if let Request::Named(strategy) = requested() {
        if force(strategy).is_ok() {
            return Ok(strategy);
        }
    }
    Strategy::ALL.iter().copied().find(|&strategy| force(strategy).is_ok()).ok_or(Error::NoStrategy)
}
