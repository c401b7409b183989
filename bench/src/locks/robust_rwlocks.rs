//! Readers-writer locks in shared memory: ours, which survives the death of its readers and writers,
//! beside pthread's, which does not: it has no robust one, and a reader or writer that dies there
//! leaves the lock held forever.

use std::cell::UnsafeCell;
use std::mem::MaybeUninit;

use leeward::robust::{RwLock as Lock, RwLockError};

use super::alone::figure;
use super::contest::{Entrant, Outcome, contest};
use super::mapped::Mapped;
use super::pthread::sure;
use super::readers::{Open, READS, entrant, flat};
use super::rwlocks::RwLock;
use crate::alignment::nanoseconds;
use crate::figure::{Target, Title};
use crate::plan::Plan;

const OURS: &str = "leeward robust RwLock, shared";
const PTHREAD: &str = "pthread rwlock, shared, not robust";

/// Our robust lock, in a mapping that is never unmapped, as its references require.
struct Robust(&'static Lock<u64>);

impl RwLock for Robust {
    fn open() -> Self {
        // SAFETY: zeroes are an unlocked robust readers-writer lock around 0.
        Robust(Mapped::forever(unsafe { Mapped::zeroed() }))
    }

    #[inline(always)]
    fn read<R>(&self, section: impl FnOnce(&u64) -> R) -> R {
        match self.0.read() {
            Ok(guard) => guard.with(section),
            Err(error) => unusable(&error),
        }
    }

    #[inline(always)]
    fn write<R>(&self, section: impl FnOnce(&mut u64) -> R) -> R {
        match self.0.write() {
            Ok(mut guard) => guard.with(section),
            Err(error) => unusable(&error),
        }
    }
}

#[cold]
#[inline(never)]
fn unusable(error: &RwLockError<u64>) -> ! {
    panic!("compare: a robust readers-writer lock of ours could not be taken: {error}")
}

/// A lock of the installed libc and what it guards, in a shared mapping.
struct Cell {
    lock: UnsafeCell<libc::pthread_rwlock_t>,
    value: UnsafeCell<u64>,
}

// SAFETY: the value is reached only under the lock.
unsafe impl Sync for Cell {}
// SAFETY: the cell is never moved once it is made.
unsafe impl Send for Cell {}

struct Pthread(Mapped<Cell>);

impl RwLock for Pthread {
    fn open() -> Self {
        // SAFETY: zeroes are memory for a lock, which is initialised below, and a number.
        let cell = unsafe { Mapped::<Cell>::zeroed() };
        let mut attributes = MaybeUninit::uninit();
        let attributes = attributes.as_mut_ptr();
        // SAFETY: the attributes are ours and not yet initialised.
        sure(unsafe { libc::pthread_rwlockattr_init(attributes) });
        // SAFETY: the attributes are initialised above.
        sure(unsafe { libc::pthread_rwlockattr_setpshared(attributes, libc::PTHREAD_PROCESS_SHARED) });
        // SAFETY: the memory is fresh and nothing else uses it.
        sure(unsafe { libc::pthread_rwlock_init(cell.lock.get(), attributes) });
        Pthread(cell)
    }

    #[inline(always)]
    fn read<R>(&self, section: impl FnOnce(&u64) -> R) -> R {
        // SAFETY: `open` has initialised the lock.
        unsafe { libc::pthread_rwlock_rdlock(self.0.lock.get()) };
        // SAFETY: the lock is held for reading.
        let result = section(unsafe { &*self.0.value.get() });
        // SAFETY: this thread holds the lock.
        unsafe { libc::pthread_rwlock_unlock(self.0.lock.get()) };
        result
    }

    #[inline(always)]
    fn write<R>(&self, section: impl FnOnce(&mut u64) -> R) -> R {
        // SAFETY: `open` has initialised the lock.
        unsafe { libc::pthread_rwlock_wrlock(self.0.lock.get()) };
        // SAFETY: the lock is held for writing.
        let result = section(unsafe { &mut *self.0.value.get() });
        // SAFETY: this thread holds the lock.
        unsafe { libc::pthread_rwlock_unlock(self.0.lock.get()) };
        result
    }
}

pub fn outcome(plan: &Plan) -> Outcome {
    let entrants: [Entrant<Open>; 2] = [entrant::<Robust>(OURS), entrant::<Pthread>(PTHREAD)];
    let mut outcome = Outcome::default();
    let one = "robust RwLock, shared: one read, uncontended";
    let quantities = [(one.to_string(), "ns"), (format!("{one}, the best alignment"), "ns")];
    let boards = contest(plan, 3 * plan.rounds, &quantities, &entrants, |open| {
        let loops = open()?;
        let times = nanoseconds(READS, |n, alignment| loops.alone(n, alignment));
        Ok(vec![times.mean, times.cheapest])
    });
    outcome.add(&boards[0]);
    let title = Title::new("robust_rwlock.alone", one, "ns", Some(PTHREAD), Target::Open);
    outcome.figures.push(figure(&boards, OURS, title));
    let many = "robust RwLock, shared, 6 readers + 2 writers, each one write a ms: reads";
    let boards = contest(plan, plan.rounds, &[(many.to_string(), "reads/s")], &entrants, |open| flat(plan, &*open()?));
    outcome.add(&boards[0]);
    let title = Title::new("robust_rwlock.flat", many, "reads/s", Some(PTHREAD), Target::Open);
    outcome.figures.push(boards[0].figure(OURS, title));
    outcome
}
