//! Robust locks in shared memory, ours beside pthread's: nobody else there, and wanted by two threads all the time.

use std::sync::OnceLock;

use leeward::robust::{LockError, Mutex as Lock};

use super::alone::{self, Open, PTHREAD_ROBUST, entrant};
use super::contended::{quantities, round};
use super::contest::{Entrant, Outcome, contest};
use super::exits::{Field, MOST};
use super::mapped::Mapped;
use super::mutexes::{Mutex, PthreadRobust};
use crate::figure::{Target, Title};
use crate::plan::Plan;
use crate::trouble::Trouble;

pub const OURS: &str = "leeward robust, shared";

/// Ours, in a mapping that stays: it is used by reference for ever.
pub struct Robust(&'static Lock<u64>);

impl Mutex for Robust {
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
fn unusable(error: &LockError<u64>) -> ! {
    panic!("compare: a robust lock of ours could not be taken: {error}")
}

/// As many as may be held; the same ones every time, repaired when they are taken again.
pub struct Robusts(&'static [Lock<u64>; MOST]);

impl Field for Robusts {
    fn open() -> Self {
        static ALL: OnceLock<&'static [Lock<u64>; MOST]> = OnceLock::new();
        // SAFETY: zeroes are unlocked robust mutexes around 0.
        Robusts(ALL.get_or_init(|| Mapped::forever(unsafe { Mapped::zeroed() })))
    }

    fn lock_for_good(&self, held: usize) -> Result<(), Trouble> {
        for lock in &self.0[..held] {
            let guard = lock.lock().or_else(|error| error.repair(|_| ()));
            std::mem::forget(guard.map_err(|error| Trouble::new(error.to_string()))?);
        }
        Ok(())
    }
}

pub fn outcome(plan: &Plan) -> Outcome {
    let entrants: [Entrant<Open>; 2] = [entrant::<Robust>(OURS), entrant::<PthreadRobust>(PTHREAD_ROBUST)];
    let mut outcome = Outcome::default();
    let boards = alone::boards(plan, "robust lock + unlock, nobody else there", &entrants);
    outcome.add(&boards[0]);
    let what = "robust Mutex, shared: lock + unlock, nobody else there";
    let title = Title::new("robust.alone", what, "ns", Some(PTHREAD_ROBUST), Target::RatioAtMost(0.65));
    outcome.figures.push(alone::figure(&boards, OURS, title));
    let what = "robust Mutex, shared, 2 threads on 2 processors, empty sections";
    let boards = contest(plan, plan.rounds, &quantities(what), &entrants, |open| round(plan, &*open(), 2, 0));
    boards.iter().for_each(|board| outcome.add(board));
    let title = Title::new("robust.2t", what, "/s", Some(PTHREAD_ROBUST), Target::RatioAtLeast(2.0));
    outcome.figures.push(boards[0].figure(OURS, title));
    outcome
}
