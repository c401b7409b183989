//! Many sleepers woken by one call: each is moved to one word first. `Host::unpark_all` calls it;
//! it calls the kernel's futex.

use core::sync::atomic::AtomicU32;

use super::{Parked, futex};
use crate::Part;
use crate::mutant::mutated;

/// The kernel's operation that moves sleepers, among the threads of one process.
const REQUEUE: i32 = libc::FUTEX_REQUEUE | libc::FUTEX_PRIVATE_FLAG;

/// A guard that wakes the gathered threads when it is dropped, also where an executor panicked
/// meanwhile.
struct Gathered<'a>(&'a Gathering);

impl Drop for Gathered<'_> {
    fn drop(&mut self) {
        if !(mutated!(gathered_rest) && std::thread::panicking()) {
            Parked(self.0.address()).unpark_some(i32::MAX as u32);
        }
    }
}

/// A word on which threads are gathered that one call wakes, so that one system call wakes all of
/// them. The word is never read, and any number of calls use it at a time. An example is at
/// [`Parked`].
///
/// # Cost
/// 4 bytes. A wake of few threads does not use it; one of many costs a requeue for each thread, and
/// one wake.
///
/// # Signals, forks, panics
/// It may be used by a handler that wakes. In the child of a fork no thread sleeps on its copy. It
/// does not panic; if `tasks` does, the threads that were gathered are woken with the
/// [`Part::Rest`].
#[derive(Debug, Default)]
pub struct Gathering(AtomicU32);

impl Gathering {
    /// Unparks each task, as [`Parked::unpark`] does, and many of them by one system call for all.
    /// For [`Host::unpark_all`](crate::Host::unpark_all).
    ///
    /// A thread that sleeps is moved from its flag to the gathering word, and is woken there with
    /// the [`Part::Rest`]. No thread stays asleep there: each call that moves a thread there wakes
    /// all that are there afterwards. A thread that was awake already is not moved; if another
    /// thread sleeps on its flag's address by now, that one is woken for no reason, as each sleeper
    /// on a futex has to expect.
    pub fn unpark_all(&self, tasks: impl Iterator<Item = Parked>, part: Part) {
        if part == Part::All {
            tasks.for_each(Parked::unpark);
            return;
        }
        let _wake = (part == Part::Rest).then(|| Gathered(self));
        tasks.for_each(|task| self.gather(task));
    }

    /// Returns the address of the gathering word.
    fn address(&self) -> usize {
        core::ptr::from_ref(&self.0).addr()
    }

    /// Moves a sleeping thread to the gathering word, or unparks it where the kernel refuses that.
    fn gather(&self, task: Parked) {
        if futex(task.0, REQUEUE, 0, 1, self.address()).is_err() {
            task.unpark();
        }
    }
}

#[cfg(test)]
mod tests {
    use core::sync::atomic::Ordering::Relaxed;

    use super::*;

    const WAIT: i32 = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;

    #[test]
    fn a_stranger_who_sleeps_where_a_flag_was_is_woken_with_the_rest() {
        let (word, ended) = (AtomicU32::new(1), AtomicU32::new(0));
        let stranger = Parked(core::ptr::from_ref(&word).addr());
        let gathering = Gathering::default();
        std::thread::scope(|threads| {
            threads.spawn(|| {
                while word.load(Relaxed) == 1 {
                    let _ = futex(stranger.0, WAIT, 1, 0, 0);
                }
                ended.store(1, Relaxed);
            });
            let move_there = || futex(stranger.0, REQUEUE, 0, 1, gathering.address());
            while move_there() != Ok(1) {
                std::thread::yield_now();
            }
            // Its own waker does not find it there, as if it had been woken for no reason just
            // before.
            word.store(0, Relaxed);
            stranger.unpark();
            std::thread::sleep(std::time::Duration::from_millis(1));
            assert_eq!(ended.load(Relaxed), 0);
            gathering.unpark_all([Parked(8)].into_iter(), Part::Rest);
        });
        assert_eq!(ended.load(Relaxed), 1);
    }
}
