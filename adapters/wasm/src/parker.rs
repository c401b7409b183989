//! How a runtime's guest threads sleep. The runtime implements it, or takes `threads`; `guest`
//! calls it.

use alloc::sync::Arc;

use leeward_engine::{Flag, ParkEnd, Part};

/// The way in which guest threads sleep and are woken, and the time. `Threads` (feature `std`) is
/// one for threads of a Linux process.
///
/// The methods are those of the engine's [`Host`](leeward_engine::Host) with the same names, which
/// says what each promises. One value serves all guest threads; each call is the calling thread's.
///
/// ```
/// use leeward_engine::{Config, Flag, ParkEnd};
/// use leeward_wasm::{Outcome, Parker, Runtime};
/// use std::sync::{Arc, atomic::AtomicU64};
/// use std::thread::{self, Thread};
/// use std::time::{Duration, Instant};
///
/// /// Threads of the standard library, on any system.
/// struct StdThreads(Instant);
///
/// impl Parker for StdThreads {
///     type Task = Thread;
///     fn task(&self, _: &Flag) -> Thread {
///         thread::current()
///     }
///     fn park(&self, flag: &Flag, until: Option<u64>) -> ParkEnd {
///         // An unpark that comes before the park ends it.
///         while flag.is_waiting() {
///             match until.map(|until| until.saturating_sub(self.now())) {
///                 None => thread::park(),
///                 Some(0) => return ParkEnd::TimedOut,
///                 Some(left) => thread::park_timeout(Duration::from_nanos(left)),
///             }
///         }
///         ParkEnd::Unparked
///     }
///     fn unpark(&self, task: Thread) {
///         task.unpark();
///     }
///     fn now(&self) -> u64 {
///         self.0.elapsed().as_nanos() as u64
///     }
///     fn spin(&self, _: u32) {
///         thread::yield_now();
///     }
/// }
///
/// let runtime = Runtime::new(Config::small(7), StdThreads(Instant::now())).unwrap();
/// let memory = runtime.memory(Arc::<[AtomicU64; 1]>::default());
/// thread::scope(|threads| {
///     threads.spawn(|| assert_eq!(memory.wait32(0, 0, 0, -1), Ok(Outcome::Woken)));
///     while memory.notify(0, 0, 1) == Ok(0) {}
/// });
/// assert_eq!(memory.wait32(0, 0, 0, 1000), Ok(Outcome::TimedOut));
/// ```
pub trait Parker {
    /// A handle by which a sleeping thread is woken. It may be used after that thread's wait has
    /// returned: then it does nothing, or ends some other park early.
    type Task: Send + 'static;

    /// Returns a handle of the calling thread, which is about to [`park`](Self::park) with `flag`.
    fn task(&self, flag: &Flag) -> Self::Task;

    /// Sleeps as long as [`Flag::is_waiting`] says, until the thread is unparked, or
    /// [`now`](Self::now) reaches `until`. The sleep may end early, with
    /// [`ParkEnd::Unparked`]. An [`unpark`](Self::unpark) that comes before the sleep must end it,
    /// or the flag must be looked at after the point from which an unpark would.
    ///
    /// [`ParkEnd::Interrupted`] ends the guest's wait with
    /// [`Trap::Interrupted`](crate::Trap::Interrupted), unless a notify has chosen it meanwhile: for
    /// runtimes that can end a thread's sleep by means of their own. [`ParkEnd::Recheck`] is taken
    /// for `Unparked`: a guest has no signal handlers, so its word need not be compared again.
    fn park(&self, flag: &Flag, until: Option<u64>) -> ParkEnd;

    /// Ends the [`park`](Self::park) of the thread with that handle.
    fn unpark(&self, task: Self::Task);

    /// Ends the parks of several threads, as
    /// [`Host::unpark_all`](leeward_engine::Host::unpark_all) does. Must take all that `tasks`
    /// yields.
    fn unpark_all(&self, tasks: impl Iterator<Item = Self::Task>, _part: Part) {
        tasks.for_each(|task| self.unpark(task));
    }

    /// Returns the nanoseconds since some moment, by a clock that only goes forward.
    fn now(&self) -> u64;

    /// Lets some time pass, because a lock of the engine's was found taken `tries` times in a row.
    /// Where the lock's holder may have lost its processor, the thread gives its own away after
    /// some tries. Must not call the [`Runtime`](crate::Runtime).
    fn spin(&self, _tries: u32) {
        core::hint::spin_loop();
    }
}

impl<P: Parker> Parker for Arc<P> {
    type Task = P::Task;

    fn task(&self, flag: &Flag) -> P::Task {
        (**self).task(flag)
    }

    fn park(&self, flag: &Flag, until: Option<u64>) -> ParkEnd {
        (**self).park(flag, until)
    }

    fn unpark(&self, task: P::Task) {
        (**self).unpark(task);
    }

    fn unpark_all(&self, tasks: impl Iterator<Item = P::Task>, part: Part) {
        (**self).unpark_all(tasks, part);
    }

    fn now(&self) -> u64 {
        (**self).now()
    }

    fn spin(&self, tries: u32) {
        (**self).spin(tries);
    }
}
