//! How long a thread takes to end that holds robust locks: the kernel walks its list and marks each.

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

/// Threads that end in one round, for each number of locks.
const TIMES: usize = 20;
/// How many locks they hold; 2,048 is as many as the kernel marks.
const HELD: [usize; 4] = [0, 1, 100, MOST];
pub const MOST: usize = 2048;

/// As many robust locks of one kind as may be held, next to each other in shared memory.
pub trait Field: Send + Sync + Sized + 'static {
    /// Fresh ones.
    fn open() -> Self;

    /// Locks the first so many for as long as the calling thread lives.
    fn lock_for_good(&self, held: usize) -> Result<(), Error>;
}

/// pthread's.
struct Pthreads(Mapped<[UnsafeCell<libc::pthread_mutex_t>; MOST]>);

// SAFETY: mutexes are for several threads.
unsafe impl Sync for Pthreads {}
// SAFETY: they stay where they are.
unsafe impl Send for Pthreads {}

impl Field for Pthreads {
    fn open() -> Self {
        // SAFETY: memory for mutexes, which are initialised before anybody uses them.
        let mutexes = unsafe { Mapped::<[UnsafeCell<libc::pthread_mutex_t>; MOST]>::zeroed() };
        for mutex in mutexes.iter() {
            // SAFETY: fresh.
            unsafe { pthread::init(mutex.get(), Kind::Robust) };
        }
        Pthreads(mutexes)
    }

    fn lock_for_good(&self, held: usize) -> Result<(), Error> {
        for mutex in &self.0[..held] {
            // SAFETY: initialised by `open`.
            match unsafe { libc::pthread_mutex_lock(mutex.get()) } {
                0 => (),
                error => return Err(std::io::Error::from_raw_os_error(error).into()),
            }
        }
        Ok(())
    }
}

/// The median time of an end with so many locks held, in microseconds.
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

/// From the last thing that a thread does until it has been waited for.
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
