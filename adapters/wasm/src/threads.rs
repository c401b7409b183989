//! Guest threads that are threads of a Linux process. Runtimes give it to `Runtime::new`; it calls
//! the engine's module `parking`.

use leeward_engine::parking::{self, Gathering, Parked};
use leeward_engine::{Clock, Deadline, Flag, ParkEnd, Part};

use crate::Parker;

/// The threads of a Linux process as a [`Parker`]: they sleep on the system's futex, after a short
/// spin, as [`parking::park`] says.
///
/// A signal handler that runs on a sleeping thread does not end the guest's wait, with
/// `SA_RESTART` or without. A handler must not call the [`Runtime`](crate::Runtime). The child of a
/// fork makes a runtime of its own.
///
/// ```
/// use leeward_wasm::{Parker, Threads};
///
/// let threads = Threads::default();
/// let before = threads.now();
/// assert!(threads.now() >= before);
/// ```
#[derive(Debug, Default)]
pub struct Threads(Gathering);

impl Parker for Threads {
    type Task = Parked;

    fn task(&self, flag: &Flag) -> Parked {
        Parked::with(flag)
    }

    fn park(&self, flag: &Flag, until: Option<u64>) -> ParkEnd {
        // A guest that polls with a time of 0 costs no system call.
        if until.is_some_and(|until| self.now() >= until) {
            return ParkEnd::TimedOut;
        }
        match parking::park(flag, until.map(|at| Deadline { clock: Clock::Monotonic, at })) {
            ParkEnd::TimedOut => ParkEnd::TimedOut,
            // The host's signals are none of the guest's business.
            _ => ParkEnd::Unparked,
        }
    }

    fn unpark(&self, task: Parked) {
        task.unpark();
    }

    fn unpark_all(&self, tasks: impl Iterator<Item = Parked>, part: Part) {
        self.0.unpark_all(tasks, part);
    }

    fn now(&self) -> u64 {
        parking::now(Clock::Monotonic)
    }

    fn spin(&self, tries: u32) {
        parking::spin(tries);
    }
}
