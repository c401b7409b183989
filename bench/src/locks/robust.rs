//! Robust locks in shared memory, ours beside pthread's: uncontended, and contended by two threads.

use std::sync::OnceLock;

use leeward::robust::{AnyBytes, ByExchange, ByStore, LockError, Mutex as Lock, Unlock};

use super::alone::{self, Open, PTHREAD_ROBUST, entrant};
use super::contended::{quantities, round};
use super::contest::{Entrant, Outcome, contest};
use super::exits::{Field, MOST};
use super::mapped::Mapped;
use super::mutexes::{Mutex, PthreadRobust};
use crate::error::Error;
use crate::figure::{Target, Title};
use crate::plan::Plan;

pub const OURS: &str = "leeward robust, shared";
const LIGHT: &str = "leeward robust LightMutex, shared";

/// Our robust lock, in a mapping that is never unmapped, as its references require.
pub struct Robust<U: Unlock>(&'static Lock<u64, U>);

impl<U: Unlock> Mutex for Robust<U> {
    fn open() -> Self {
        // SAFETY: zeroes are an unlocked robust mutex around 0.
        Robust(Mapped::forever(unsafe { Mapped::zeroed() }))
    }

    #[inline(always)]
    fn locked<R>(&self, section: impl FnOnce(&mut u64) -> R) -> R {
        match self.0.lock() {
            Ok(mut guard) => guard.with(section),
            Err(error) => unusable(&error),
        }
    }
}

#[cold]
#[inline(never)]
fn unusable<T: AnyBytes, U: Unlock>(error: &LockError<T, U>) -> ! {
    panic!("compare: a robust lock of ours could not be taken: {error}")
}

/// Our robust locks, as many as may be held. Every round takes the same ones and repairs them.
pub struct Robusts(&'static [Lock<u64>; MOST]);

impl Field for Robusts {
    fn open() -> Self {
        static ALL: OnceLock<&'static [Lock<u64>; MOST]> = OnceLock::new();
        // SAFETY: zeroes are unlocked robust mutexes around 0.
        Robusts(ALL.get_or_init(|| Mapped::forever(unsafe { Mapped::zeroed() })))
    }

    fn lock_for_good(&self, held: usize) -> Result<(), Error> {
        for lock in &self.0[..held] {
            let guard = lock.lock().or_else(|error| error.repair(|_| ()));
            std::mem::forget(guard.map_err(|error| Error::new(error.to_string()))?);
        }
        Ok(())
    }
}

pub fn outcome(plan: &Plan) -> Outcome {
    let entrants: [Entrant<Open>; 3] = [
        entrant::<Robust<ByExchange>>(OURS),
        entrant::<Robust<ByStore>>(LIGHT),
        entrant::<PthreadRobust>(PTHREAD_ROBUST),
    ];
    let mut outcome = Outcome::default();
    let alone = alone::boards(plan, "robust lock + unlock, uncontended", &entrants);
    outcome.add(&alone[0]);
    let what = "2 threads on 2 processors, empty sections";
    let two = quantities(&format!("robust Mutex, shared, {what}"));
    let two = contest(plan, plan.rounds, &two, &entrants, |open| round(plan, &*open(), 2, 0));
    two.iter().for_each(|board| outcome.add(board));
    for (ours, id, kind) in [(OURS, "robust", "Mutex"), (LIGHT, "robust_light", "LightMutex")] {
        let title = |row, what: &str, unit, target| {
            let (id, what) = (format!("{id}.{row}"), format!("robust {kind}, shared{what}"));
            Title::new(&id, what, unit, Some(PTHREAD_ROBUST), target)
        };
        let least = title("alone", ": lock + unlock, uncontended", "ns", Target::RatioAtMost(0.65));
        outcome.figures.push(alone::figure(&alone, ours, least));
        let most = title("2t", &format!(", {what}"), "/s", Target::RatioAtLeast(2.0));
        outcome.figures.push(two[0].figure(ours, most));
    }
    outcome
}
