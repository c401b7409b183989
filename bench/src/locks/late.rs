//! The lateness of timed waits beside threads that use the processors all the time.

use std::sync::{PoisonError, mpsc};
use std::time::{Duration, Instant};

use super::contest::{Entrant, Outcome, contest};
use crate::crew::{Task, during};
use crate::error::Error;
use crate::figure::{Target, Title};
use crate::plan::Plan;

/// The time limit of each wait.
const LIMIT: Duration = Duration::from_millis(5);
/// The numbers of threads that spin meanwhile.
const SPINNERS: [usize; 3] = [0, 2, 8];
/// The number of waits in one round, and with `--quick`.
const WAITS: usize = 100;
const QUICK_WAITS: usize = 20;

/// A wait for an event that does not happen, limited to `LIMIT`.
pub trait Vain: Send + Sync {
    /// Waits once; returns true if it ended because its time was up.
    fn wait(&self) -> bool;
}

/// A lock or channel, and the wait at it.
struct On<T>(T, fn(&T) -> bool);

impl<T: Send + Sync> Vain for On<T> {
    fn wait(&self) -> bool {
        (self.1)(&self.0)
    }
}

type Open = fn() -> Box<dyn Vain>;

/// Makes an entrant from a constructor and a wait.
macro_rules! vain {
    ($name:expr, $new:expr, $wait:expr) => {
        Entrant::new($name, (|| Box::new(On($new, $wait))) as Open)
    };
}

const OURS_MUTEX: &str = "leeward Mutex";
const OURS_READ: &str = "leeward RwLock";
const OURS_CONDVAR: &str = "leeward Condvar";

fn mutexes() -> Vec<Entrant<Open>> {
    vec![
        vain!(
            OURS_MUTEX,
            {
                let mutex = leeward::sync::Mutex::new(());
                std::mem::forget(mutex.lock());
                mutex
            },
            |mutex| mutex.try_lock_for(LIMIT).is_none()
        ),
        vain!(
            "parking_lot",
            {
                let mutex = parking_lot::Mutex::new(());
                std::mem::forget(mutex.lock());
                mutex
            },
            |mutex| mutex.try_lock_for(LIMIT).is_none()
        ),
    ]
}

fn readers() -> Vec<Entrant<Open>> {
    vec![
        vain!(
            OURS_READ,
            {
                let lock = leeward::sync::RwLock::new(());
                std::mem::forget(lock.write());
                lock
            },
            |lock| lock.try_read_for(LIMIT).is_none()
        ),
        vain!(
            "parking_lot",
            {
                let lock = parking_lot::RwLock::new(());
                std::mem::forget(lock.write());
                lock
            },
            |lock| lock.try_read_for(LIMIT).is_none()
        ),
    ]
}

fn conditions() -> Vec<Entrant<Open>> {
    vec![
        vain!(OURS_CONDVAR, (leeward::sync::Mutex::new(()), leeward::sync::Condvar::new()), |(mutex, condvar)| condvar
            .wait_for(&mut mutex.lock(), LIMIT)
            .timed_out()),
        vain!("parking_lot", (parking_lot::Mutex::new(()), parking_lot::Condvar::new()), |(mutex, condvar)| condvar
            .wait_for(&mut mutex.lock(), LIMIT)
            .timed_out()),
        vain!("std", (std::sync::Mutex::new(()), std::sync::Condvar::new()), |(mutex, condvar)| {
            let guard = mutex.lock().unwrap_or_else(PoisonError::into_inner);
            condvar.wait_timeout(guard, LIMIT).unwrap_or_else(PoisonError::into_inner).1.timed_out()
        }),
        vain!("std recv_timeout", Channel::open(), |channel| channel.wait()),
    ]
}

/// A channel into which nothing is sent.
struct Channel {
    _sender: mpsc::Sender<()>,
    receiver: std::sync::Mutex<mpsc::Receiver<()>>,
}

impl Channel {
    fn open() -> Channel {
        let (sender, receiver) = mpsc::channel();
        Channel { _sender: sender, receiver: std::sync::Mutex::new(receiver) }
    }

    fn wait(&self) -> bool {
        let receiver = self.receiver.lock().unwrap_or_else(PoisonError::into_inner);
        receiver.recv_timeout(LIMIT) == Err(mpsc::RecvTimeoutError::Timeout)
    }
}

pub fn outcome(plan: &Plan) -> Outcome {
    let calls: [(&str, &str, &str, Vec<Entrant<Open>>); 3] = [
        ("mutex", "try_lock_for", OURS_MUTEX, mutexes()),
        ("read", "try_read_for", OURS_READ, readers()),
        ("condvar", "Condvar::wait_for", OURS_CONDVAR, conditions()),
    ];
    let mut outcome = Outcome::default();
    for (id, call, ours, entrants) in calls {
        for spinners in SPINNERS {
            let what = format!("{call} 5 ms beside {spinners} spinning threads: how late it ends");
            let quantities = [(format!("{what}, median"), "us"), (format!("{what}, 99th of 100"), "us")];
            let boards = contest(plan, plan.rounds, &quantities, &entrants, |open| lateness(plan, &*open(), spinners));
            for (board, (kind, (what, unit))) in boards.iter().zip(["median", "p99"].into_iter().zip(quantities)) {
                outcome.add(board);
                let id = format!("late.{id}.{spinners}.{kind}");
                let title = Title::new(&id, what, unit, None, Target::RatioAtMost(1.1));
                outcome.figures.push(board.figure(ours, title));
            }
        }
    }
    outcome
}

/// Returns how late the waits of a new thread end, in microseconds: the median, and the 99th of a
/// hundred.
fn lateness(plan: &Plan, vain: &dyn Vain, spinners: usize) -> Result<Vec<f64>, Error> {
    let spinner = || {
        Task::counting(|post| {
            post.ready();
            post.until_stopped(std::hint::spin_loop);
        })
    };
    let tasks: Vec<Task<'_>> = (0..spinners).map(|_| spinner()).collect();
    let waits = if plan.quick { QUICK_WAITS } else { WAITS };
    let mut late = during(&tasks, |_| {
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| (0..waits).map(|_| late_by(vain)).collect::<Result<Vec<f64>, Error>>());
            waiting.join().unwrap_or_else(|_| Err(Error::new("the thread that waited panicked")))
        })
    })??;
    late.sort_by(f64::total_cmp);
    Ok(vec![late[waits / 2], late[(waits * 99).div_ceil(100) - 1]])
}

fn late_by(vain: &dyn Vain) -> Result<f64, Error> {
    let began = Instant::now();
    if !vain.wait() {
        return Err(Error::new("a wait ended before its time was up"));
    }
    Ok((began.elapsed().as_secs_f64() - LIMIT.as_secs_f64()).max(0.0) * 1e6)
}
