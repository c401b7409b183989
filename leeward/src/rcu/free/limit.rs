//! The limit on deferred callbacks: the users' types for it, and the words that count against it.
//!
//! `domain.rs` sets it, `defer/` counts and compares.

use core::time::Duration;

use crate::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering, const_fn};
use crate::futex::{Private, Timeout};

/// A domain's bounds on deferred callbacks, and what happens to a caller that goes beyond them.
///
/// ```
/// use leeward::rcu::{Domain, Limit, Policy};
/// leeward::rcu_domain! { struct Jobs; }
/// Jobs::set_limit(Limit { callbacks: 1_000, policy: Policy::WaitForever, ..Limit::default() });
/// assert_eq!(Jobs::limit().callbacks, 1_000);
/// assert_eq!(Jobs::limit().bytes, 64 << 20);
/// ```
///
/// The limit is a goal, not a wall: [`Domain::defer`](super::super::Domain::defer) queues a callback
/// first, and holds its caller up afterwards, as the [`Policy`] says. Each thread may thus be one
/// callback beyond the limit. A single callback is never beyond it, however large it is.
///
/// A caller goes on beyond the limit if it may not wait, because it is inside a section or a
/// callback of the domain, or if it has waited for as long as the policy says.
/// [`Stats::over_limit`](super::super::Stats::over_limit) counts both. After a wait, the reader that is in
/// the way is reported as a [`Stall`](super::super::Stall), once in the time after which [stalls
/// are](super::super::Domain::set_stall_limit).
///
/// A thread with an online [`qsbr::Reader`](crate::rcu::qsbr::Reader) is always inside: its loop should
/// look at that count. A thread that should not wait at all calls
/// [`Domain::try_defer`](super::super::Domain::try_defer) or
/// [`Retired::try_defer`](super::super::Retired::try_defer), which wait under no policy.
///
/// # Differences from liburcu
/// - `call_rcu` queues without bound.
/// - The head that `call_rcu` takes is a part of the object; `defer` allocates its closure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limit {
    /// The number of callbacks that may be deferred and have not run. Default: 65,536.
    pub callbacks: usize,
    /// The number of bytes that these callbacks may hold: the size of each value, or what
    /// [`Retired::defer_bytes`](super::super::Retired::defer_bytes) was told. Default: 64 MiB.
    pub bytes: usize,
    /// What happens to a caller that goes beyond either bound. Default: [`Policy::DEFAULT`].
    pub policy: Policy,
}

impl Limit {
    pub(in crate::rcu) const DEFAULT: Limit = Limit { callbacks: 1 << 16, bytes: 64 << 20, policy: Policy::DEFAULT };
}

impl Default for Limit {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// What [`Domain::defer`](super::super::Domain::defer) does to a caller beyond the [`Limit`].
///
/// Callbacks wait for readers, and a reader may wait for what the caller of `defer` holds: a writer
/// that defers under a mutex which readers take inside their sections would wait forever for its
/// own reader. Therefore all policies but [`WaitForever`](Self::WaitForever) state a time, after
/// which the caller goes on and the reader that is in the way is reported as a
/// [`Stall`](super::super::Stall).
///
/// ```
/// use leeward::rcu::{Domain, Global, Limit, Policy};
/// use std::time::Duration;
/// let policy = Policy::Expedite(Duration::from_millis(5));
/// Global::set_limit(Limit { policy, ..Limit::default() });
/// assert_ne!(policy, Policy::DEFAULT);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Policy {
    /// Waits until the callbacks are within the limit again, for the given time at most.
    ///
    /// Where there is a worker, callbacks run on it only, so they may take locks that callers of
    /// `defer` hold. Without one (no `std`, or no thread could be started) they run on the callers
    /// of `barrier` and on callers at the limit.
    Wait(Duration),
    /// Waits until the callbacks are within the limit again, **for as long as readers are inside
    /// their sections**.
    ///
    /// For programs that would rather stop than grow. What a caller of `defer` holds (a mutex, an
    /// executor's thread) must be needed by no reader inside a section, and by no callback.
    WaitForever,
    /// Runs a grace period and the queued callbacks on the calling thread, and waits for readers
    /// for the given time at most.
    ///
    /// Callbacks then run wherever a thread defers, while it holds whatever locks it holds there:
    /// they must take none of these.
    Expedite(Duration),
}

impl Policy {
    /// The policy that a domain begins with: it waits for a millisecond at most.
    pub const DEFAULT: Policy = Policy::Wait(Duration::from_millis(1));

    /// Returns how long a caller may be held up; none: forever.
    pub(in crate::rcu) fn bound(self) -> Option<Duration> {
        match self {
            Policy::Wait(limit) | Policy::Expedite(limit) => Some(limit),
            Policy::WaitForever => None,
        }
    }

    /// Returns until when a caller may be held up that arrives now.
    pub(in crate::rcu) fn timeout(self) -> Timeout {
        self.bound().map_or(Timeout::Never, Timeout::after::<Private>)
    }
}

/// The error of a `try_defer` at the domain's [`Limit`], or without memory, with the callback.
///
/// ```
/// use leeward::rcu::{Domain, Limit, NotQueued};
/// leeward::rcu_domain! { struct Jobs; }
/// Jobs::set_limit(Limit { callbacks: 1, ..Limit::default() });
/// let guard = Jobs::read();               // keeps the first callback from running
/// assert!(Jobs::try_defer(|| println!("first")).is_ok());
/// if let Err(NotQueued(callback)) = Jobs::try_defer(|| println!("second")) {
///     callback();
/// }
/// # drop(guard);
/// ```
pub struct NotQueued<F>(pub F);

impl<F> core::fmt::Debug for NotQueued<F> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("NotQueued")
    }
}

impl<F> core::fmt::Display for NotQueued<F> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("the callback was not queued: the domain's limit is reached, or there is no memory")
    }
}

impl<F> core::error::Error for NotQueued<F> {}

/// The number of bits of [`QueuedAmount`] that count callbacks.
const CALLBACKS: u32 = 28;
/// The greatest number of bytes that one callback counts.
const MOST: u64 = (1 << (64 - CALLBACKS - 1)) - 1;

/// An amount of queued callbacks, as one word, so that a caller of `defer` counts with one
/// addition.
///
/// | bits | meaning |
/// |---|---|
/// | 0-27 | callbacks |
/// | 28-63 | bytes |
///
/// More than 268,435,455 callbacks carry into the bytes, and more than 64 GiB out of the word. The
/// count is wrong then, and right again when they have run, since what was added is subtracted.
#[derive(Clone, Copy)]
pub(in crate::rcu) struct QueuedAmount(u64);

impl QueuedAmount {
    /// Makes the amount of one callback that counts `bytes`.
    pub(in crate::rcu) fn one(bytes: usize) -> QueuedAmount {
        QueuedAmount((bytes as u64).min(MOST) << CALLBACKS | 1)
    }

    pub(in crate::rcu) fn callbacks(self) -> u64 {
        self.0 & ((1 << CALLBACKS) - 1)
    }

    pub(in crate::rcu) fn bytes(self) -> u64 {
        self.0 >> CALLBACKS
    }
}

/// A domain's count of what is queued.
pub(in crate::rcu) struct Count(AtomicU64);

impl Count {
    const_fn! {
        pub(in crate::rcu) fn new() -> Count {
            Count(AtomicU64::new(0))
        }
    }

    pub(in crate::rcu) fn get(&self) -> QueuedAmount {
        // Relaxed, all: a count that decides only how long callers wait.
        QueuedAmount(self.0.load(Ordering::Relaxed))
    }

    /// Adds the amount of one callback, and returns the sum.
    pub(in crate::rcu) fn add(&self, one: QueuedAmount) -> QueuedAmount {
        QueuedAmount(self.0.fetch_add(one.0, Ordering::Relaxed).wrapping_add(one.0))
    }

    pub(in crate::rcu) fn subtract(&self, one: QueuedAmount) {
        self.0.fetch_sub(one.0, Ordering::Relaxed);
    }

    /// Resets the count to nothing, in the child of a fork.
    pub(in crate::rcu) fn reset(&self) {
        self.0.store(0, Ordering::Relaxed);
    }
}

const WAIT: u32 = 0;
const WAIT_FOREVER: u32 = 1;
const EXPEDITE: u32 = 2;

/// A domain's [`Limit`], as words that change independently. Words of zeros are no limit.
pub(in crate::rcu) struct Bounds {
    /// The complement of the greatest number of callbacks.
    callbacks: AtomicUsize,
    /// The complement of the greatest number of bytes.
    bytes: AtomicUsize,
    /// `WAIT`, `WAIT_FOREVER` or `EXPEDITE`.
    policy: AtomicU32,
    /// The policy's time, in nanoseconds.
    wait: AtomicU64,
}

impl Bounds {
    const_fn! {
        /// Makes the default bounds.
        pub(in crate::rcu) fn new() -> Bounds {
            Bounds {
                callbacks: AtomicUsize::new(!Limit::DEFAULT.callbacks),
                bytes: AtomicUsize::new(!Limit::DEFAULT.bytes),
                policy: AtomicU32::new(WAIT),
                wait: AtomicU64::new(1_000_000),
            }
        }
    }

    #[cfg(feature = "c")]
    const_fn! {
        /// Makes bounds that nothing exceeds.
        pub(in crate::rcu) fn none() -> Bounds {
            Bounds {
                callbacks: AtomicUsize::new(0),
                bytes: AtomicUsize::new(0),
                policy: AtomicU32::new(WAIT),
                wait: AtomicU64::new(0),
            }
        }
    }

    pub(in crate::rcu) fn set(&self, limit: Limit) {
        let kind = match limit.policy {
            Policy::Wait(_) => WAIT,
            Policy::WaitForever => WAIT_FOREVER,
            Policy::Expedite(_) => EXPEDITE,
        };
        let wait = limit.policy.bound().unwrap_or_default().as_nanos();
        // Relaxed, all: a caller that sees some of them old behaves as if it had come a moment
        // earlier.
        self.callbacks.store(!limit.callbacks, Ordering::Relaxed);
        self.bytes.store(!limit.bytes, Ordering::Relaxed);
        self.wait.store(wait.try_into().unwrap_or(u64::MAX), Ordering::Relaxed);
        self.policy.store(kind, Ordering::Relaxed);
    }

    pub(in crate::rcu) fn get(&self) -> Limit {
        // Relaxed, all: as in `set`.
        let wait = Duration::from_nanos(self.wait.load(Ordering::Relaxed));
        let policy = match self.policy.load(Ordering::Relaxed) {
            WAIT => Policy::Wait(wait),
            WAIT_FOREVER => Policy::WaitForever,
            _ => Policy::Expedite(wait),
        };
        let (callbacks, bytes) = (!self.callbacks.load(Ordering::Relaxed), !self.bytes.load(Ordering::Relaxed));
        Limit { callbacks, bytes, policy }
    }

    /// Returns true if `held` is more than may be held back.
    pub(in crate::rcu) fn are_exceeded_by(&self, held: QueuedAmount) -> bool {
        // Relaxed, both: as in `set`.
        let (callbacks, bytes) = (!self.callbacks.load(Ordering::Relaxed), !self.bytes.load(Ordering::Relaxed));
        held.callbacks() > 1 && (held.callbacks() > callbacks as u64 || held.bytes() > bytes as u64)
    }

    /// Returns true if there is room for one callback more that counts `bytes`.
    pub(in crate::rcu) fn have_room(&self, held: QueuedAmount, bytes: usize) -> bool {
        let one = QueuedAmount::one(bytes);
        !self.are_exceeded_by(QueuedAmount(held.0.wrapping_add(one.0)))
    }
}
