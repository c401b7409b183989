//! The kinds of mutex with two condition variables that take part, each in a few lines.

use std::ops::DerefMut;
use std::sync::PoisonError;

use super::pthread::{self, Kind};

/// The state that the mutex guards.
#[derive(Default)]
pub struct State {
    /// The number of hand-overs, of calls to all waiters, or of items taken from a channel.
    pub turn: u64,
    /// The number of waiters that have come since the last call, or of items in a channel.
    pub arrived: u64,
    /// Set when the measurement is over: every thread returns.
    pub over: bool,
    /// The slots of a bounded channel.
    pub items: Option<Box<[u64]>>,
}

/// The index of the first condition variable.
pub const FIRST: usize = 0;
/// The index of the second condition variable.
pub const SECOND: usize = 1;

/// A mutex with two condition variables. Notifiers hold the lock in all figures.
pub trait Monitor: Send + Sync + Sized + 'static {
    type Guard<'a>: DerefMut<Target = State>
    where
        Self: 'a;

    fn open() -> Self;
    fn lock(&self) -> Self::Guard<'_>;
    fn wait<'a>(&'a self, which: usize, guard: Self::Guard<'a>) -> Self::Guard<'a>;
    fn notify_one(&self, which: usize);
    fn notify_all(&self, which: usize);
}

macro_rules! monitor {
    ($name:ident $(<$scheme:ident: $bound:path>)?, $mutex:ty, $condvar:ty, $guard:ty, $new_mutex:expr, $new:expr,
        $lock:expr, $wait:expr) => {
        pub struct $name $(<$scheme: $bound>)? {
            mutex: $mutex,
            conditions: [$condvar; 2],
        }

        impl $(<$scheme: $bound>)? Monitor for $name $(<$scheme>)? {
            type Guard<'a> = $guard where Self: 'a;

            fn open() -> Self {
                $name { mutex: $new_mutex, conditions: [$new, $new] }
            }

            #[inline]
            fn lock(&self) -> Self::Guard<'_> {
                let lock: fn(&$mutex) -> Self::Guard<'_> = $lock;
                lock(&self.mutex)
            }

            #[inline]
            fn wait<'a>(&'a self, which: usize, guard: Self::Guard<'a>) -> Self::Guard<'a> {
                let wait: fn(&'a $condvar, Self::Guard<'a>) -> Self::Guard<'a> = $wait;
                wait(&self.conditions[which], guard)
            }

            #[inline]
            fn notify_one(&self, which: usize) {
                self.conditions[which].notify_one();
            }

            #[inline]
            fn notify_all(&self, which: usize) {
                self.conditions[which].notify_all();
            }
        }
    };
    // For guards that `lock` gives as they are and that `wait` borrows: all but std's and
    // pthread's.
    (borrowing $name:ident $(<$scheme:ident: $bound:path>)?, $mutex:ty, $condvar:ty, $guard:ty, $new:expr) => {
        monitor!($name $(<$scheme: $bound>)?, $mutex, $condvar, $guard, Default::default(), $new,
            |mutex| mutex.lock(),
            |condvar, mut guard| {
                condvar.wait(&mut guard);
                guard
            });
    };
}

monitor!(
    Std,
    std::sync::Mutex<State>,
    std::sync::Condvar,
    std::sync::MutexGuard<'a, State>,
    Default::default(),
    Default::default(),
    |mutex| mutex.lock().unwrap_or_else(PoisonError::into_inner),
    |condvar, guard| condvar.wait(guard).unwrap_or_else(PoisonError::into_inner)
);

monitor!(
    borrowing ParkingLot,
    parking_lot::Mutex<State>,
    parking_lot::Condvar,
    parking_lot::MutexGuard<'a, State>,
    Default::default()
);

monitor!(
    borrowing Usync,
    usync::Mutex<State>,
    usync::Condvar,
    usync::MutexGuard<'a, State>,
    Default::default()
);

monitor!(
    Pthread,
    pthread::Mutex<State>,
    pthread::Condvar,
    pthread::Guard<'a, State>,
    // SAFETY: zeroes are a state: the numbers 0, `false`, and no box.
    unsafe { pthread::Mutex::zeroed(Kind::Normal) },
    pthread::Condvar::new(),
    |mutex| mutex.lock(),
    |condvar, guard| condvar.wait(guard)
);

monitor!(
    borrowing Ours<S: leeward::raw::Scheme>,
    leeward::sync::Mutex<State>,
    leeward::sync::Condvar<S>,
    leeward::sync::MutexGuard<'a, State>,
    leeward::sync::Condvar::with_scheme()
);

/// Futexes of the embedded engine.
type Hosted = leeward::futex::Hosted<leeward::futex::Parking>;
type HostedMutex = leeward::raw::Mutex<Hosted>;

monitor!(
    borrowing OnEngine<S: leeward::raw::Scheme>,
    lock_api::Mutex<HostedMutex, State>,
    leeward::sync::Condvar<S, Hosted>,
    lock_api::MutexGuard<'a, HostedMutex, State>,
    leeward::sync::Condvar::with_scheme()
);
