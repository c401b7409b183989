//! The exit of a thread that holds robust locks: the kernel walks its list and marks each lock.

use std::cell::UnsafeCell;
use std::thread;
use std::time::Instant;

use super::alone::PTHREAD_ROBUST;
use super::contest::{Entrant, Outcome, contest};
use super::mapped::Mapped;
use super::pthread::{self, Kind};
use super::robust::{OURS, Robusts};
use crate::error::Error;
use crate::figure::{Target, Title};
use crate::plan::Plan;
use crate::rounds::median;

/// The number of threads that exit in one round, for each number of locks.
const TIMES: usize = 20;
/// The numbers of locks that are held. The kernel marks 2,048 at most.
const HELD: [usize; 4] = [0, 1, 100, MOST];
pub const MOST: usize = 2048;

/// An array of robust locks of one kind in shared memory, as many as may be held.
pub trait Field: Send + Sync + Sized + 'static {
    /// Returns an array of unlocked locks.
    fn open() -> Self;

    /// Locks the first `held` locks until the calling thread exits.
    fn lock_for_good(&self, held: usize) -> Result<(), Error>;
}

/// The array of pthread's robust mutexes.
struct Pthreads(Mapped<[UnsafeCell<libc::pthread_mutex_t>; MOST]>);

// SAFETY: several threads may use a mutex.
unsafe impl Sync for Pthreads {}
// SAFETY: the mutexes stay where they are when the mapping's owner moves.
unsafe impl Send for Pthreads {}

impl Field for Pthreads {
    fn open() -> Self {
        // SAFETY: zeroes are memory for mutexes, which are initialised before they are used.
        let mutexes = unsafe { Mapped::<[UnsafeCell<libc::pthread_mutex_t>; MOST]>::zeroed() };
        for mutex in mutexes.iter() {
            // SAFETY: the memory is fresh and nothing else uses it.
            unsafe { pthread::init(mutex.get(), Kind::Robust) };
        }
        Pthreads(mutexes)
    }

    fn lock_for_good(&self, held: usize) -> Result<(), Error> {
        for mutex in &self.0[..held] {
            // SAFETY: `open` has initialised the mutex.
            match unsafe { libc::pthread_mutex_lock(mutex.get()) } {
                0 => (),
                error => return Err(std::io::Error::from_raw_os_error(error).into()),
            }
        }
        Ok(())
    }
}

/// A function that returns the median time of an exit with this number of locks held, in
/// microseconds.
type Measure = fn(usize) -> Result<f64, Error>;

pub fn outcome(plan: &Plan) -> Outcome {
    let entrants: [Entrant<Measure>; 2] =
        [Entrant::new(OURS, end::<Robusts>), Entrant::new(PTHREAD_ROBUST, end::<Pthreads>)];
    let quantities = HELD.map(|held| (format!("end of a thread that holds {held} robust locks"), "us"));
    let boards = contest(plan, plan.rounds, &quantities, &entrants, |measure| {
        HELD.into_iter().map(measure).collect::<Result<Vec<f64>, Error>>()
    });
    let mut outcome = Outcome::default();
    for (board, held) in boards.iter().zip(HELD) {
        outcome.add(board);
        let what = format!("end of a thread that holds {held} robust locks");
        let title = Title::new(&format!("exit.{held}"), what, "us", Some(PTHREAD_ROBUST), Target::Open);
        outcome.figures.push(board.figure(OURS, title));
    }
    outcome
}

fn end<F: Field>(held: usize) -> Result<f64, Error> {
    let times = (0..TIMES).map(|_| end_once::<F>(held)).collect::<Result<Vec<f64>, Error>>()?;
    median(&times).ok_or_else(|| Error::new("no thread ended"))
}

/// Returns the time from a thread's last instruction until it has been joined.
fn end_once<F: Field>(held: usize) -> Result<f64, Error> {
    let locks = F::open();
    let taken = thread::scope(|scope| {
        let holder = scope.spawn(|| {
            locks.lock_for_good(held)?;
            Ok::<Instant, Error>(Instant::now())
        });
        holder.join().unwrap_or_else(|_| Err(Error::new("the thread that held the locks panicked")))
    })?;
    Ok(taken.elapsed().as_secs_f64() * 1e6)
}
