//! Which strategy serves the heavy fences of this process: chosen once, lazily, and never silently wrong.

use core::sync::atomic::AtomicU8;

use rustix::io::Errno;

use super::super::strategy::{Error, Strategy};
use super::counts::{GLOBAL, PRIVATE, RETRIES, SIGNAL, count};
use super::request::{Request, requested};
use super::{membarrier, probe, signal};
use crate::atomic::{Ordering, compiler_fence};

/// 0 = not chosen yet, else an index into `Strategy::ALL` plus one. A plain word: whoever races to choose finds the same.
static CHOSEN: AtomicU8 = AtomicU8::new(0);

#[inline(always)]
pub(in super::super) fn light() {
    // SeqCst: the compiler may move nothing across; the processor's half is executed by the heavy fence.
    compiler_fence(Ordering::SeqCst);
}

pub(in super::super) fn chosen() -> Option<Strategy> {
    // Relaxed: every strategy serves every light fence, so nothing depends on which is seen.
    Strategy::ALL.get(usize::from(CHOSEN.load(Ordering::Relaxed)).wrapping_sub(1)).copied()
}

fn choose(strategy: Strategy) {
    let index = Strategy::ALL.iter().position(|known| *known == strategy).map_or(0, |i| i + 1);
    // Relaxed: as in `chosen`.
    CHOSEN.store(index as u8, Ordering::Relaxed);
}

/// One heavy fence by the strategy in use, or by the first behind it that works.
pub(in super::super) fn run() -> Result<(), Error> {
    let first = match chosen() {
        Some(strategy) => strategy,
        None => automatic()?,
    };
    issue(first).or_else(|errno| fall_back(first, errno))
}

/// One heavy fence by exactly this strategy, counted.
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

/// `first` was refused: this fence is served by another. The others go on as they are unless the refusal is a lasting
/// one.
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

pub(in super::super) fn init() -> Result<Strategy, Error> {
    let in_use = match chosen() {
        Some(strategy) => strategy,
        None => automatic()?,
    };
    match requested() {
        Request::Unknown => Err(Error::UnknownName),
        _ => Ok(in_use),
    }
}

pub(in super::super) fn force(strategy: Strategy) -> Result<(), Error> {
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
    Strategy::ALL.iter().copied().find(|&strategy| force(strategy).is_ok()).ok_or(Error::NoStrategy)
}
