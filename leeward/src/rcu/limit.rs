//! What a domain may hold back, and what happens to a caller that goes beyond it.

use core::time::Duration;

use crate::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering, const_fn};
use crate::futex::{Private, Timeout};

/// What a domain may hold back, and what happens to a caller of [`Domain::defer`](super::Domain::defer) that goes
/// beyond it.
///
/// The limit is a goal, not a wall: a callback is queued first, and its caller held up afterwards. So each thread may be
/// one callback beyond it, and a thread that may not wait, or waited as long as the policy says, goes on; that is counted
/// in [`Stats::over_limit`](super::Stats::over_limit). Who has something better to do than to wait calls
/// [`Domain::try_defer`](super::Domain::try_defer) or [`Retired::try_defer`](super::Retired::try_defer), whatever the
/// policy is.
///
/// A single callback is never beyond the limit, however large it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limit {
    /// Callbacks that were deferred and have not run. Default: 65,536.
    pub callbacks: usize,
    /// Bytes that they hold: the size of each value, or what [`Retired::defer_bytes`](super::Retired::defer_bytes)
    /// says. Default: 64 MiB.
    pub bytes: usize,
    /// What a caller does that goes beyond either. Default: [`Policy::DEFAULT`].
    pub policy: Policy,
}

impl Limit {
    pub(super) const DEFAULT: Limit = Limit { callbacks: 1 << 16, bytes: 64 << 20, policy: Policy::DEFAULT };
}

impl Default for Limit {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// What [`Domain::defer`](super::Domain::defer) does beyond the limit.
///
/// Callbacks wait for readers, and a reader may wait for what the caller of `defer` holds: a writer that defers under a
/// mutex which readers take inside their sections would wait for ever for its own reader. So the policies that wait
/// state a time, after which the caller goes on and the reader that is in the way is reported as a
/// [`Stall`](super::Stall); all but one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Policy {
    /// Waits until the callbacks are within the limit again, at most for so long. They run on the worker only, so that
    /// they may take locks that callers of `defer` hold.
    Wait(Duration),
    /// Waits until the callbacks are within the limit again, **for as long as readers are inside their sections**. For
    /// programs that would rather stop than grow. Whatever is held by a caller of `defer` (a mutex, an executor's
    /// thread) must be needed by no reader inside a section, and by no callback.
    WaitForever,
    /// Runs a grace period and the callbacks that are queued on the calling thread, and waits for readers at most for so
    /// long. Callbacks then run wherever a thread defers, inside whatever locks are held there.
    Expedite(Duration),
}

impl Policy {
    /// What a domain begins with: to wait for a millisecond at most.
    pub const DEFAULT: Policy = Policy::Wait(Duration::from_millis(1));

    /// How long a caller may be held up; none: for ever.
    pub(super) fn bound(self) -> Option<Duration> {
        match self {
            Policy::Wait(limit) | Policy::Expedite(limit) => Some(limit),
            Policy::WaitForever => None,
        }
    }

    /// Returns until when a caller may be held up that comes now.
    pub(super) fn timeout(self) -> Timeout {
        self.bound().map_or(Timeout::Never, Timeout::after::<Private>)
    }
}

/// The domain is at its limit: the callback, given back.
pub struct Full<F>(pub F);

impl<F> core::fmt::Debug for Full<F> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Full")
    }
}

impl<F> core::fmt::Display for Full<F> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("the domain's limit of deferred callbacks is reached")
    }
}

impl<F> core::error::Error for Full<F> {}

/// What the words of [`Held`] count together.
const CALLBACKS: u32 = 28;
/// The most that one callback counts.
const MOST: u64 = (1 << (64 - CALLBACKS - 1)) - 1;

/// How much is queued, as one word, so that a caller of `defer` counts with one addition.
///
/// | bits | meaning |
/// |---|---|
/// | 0-27 | callbacks |
/// | 28-63 | bytes |
///
/// More than 268,435,455 callbacks carry into the bytes, and more than 64 GiB out of the word: the count is off then, and
/// right again when they have run, since what was added is subtracted.
#[derive(Clone, Copy)]
pub(super) struct Held(u64);

impl Held {
    /// One callback that counts `bytes`.
    pub(super) fn one(bytes: usize) -> Held {
        Held((bytes as u64).min(MOST) << CALLBACKS | 1)
    }

    pub(super) fn callbacks(self) -> u64 {
        self.0 & ((1 << CALLBACKS) - 1)
    }

    pub(super) fn bytes(self) -> u64 {
        self.0 >> CALLBACKS
    }
}

/// The count of what is queued.
pub(super) struct Count(AtomicU64);

impl Count {
    const_fn! {
        pub(super) fn new() -> Count {
            Count(AtomicU64::new(0))
        }
    }

    pub(super) fn get(&self) -> Held {
        // Relaxed, all: a count, from which no thread draws conclusions but how long to wait.
        Held(self.0.load(Ordering::Relaxed))
    }

    /// Adds one; how much there is then.
    pub(super) fn add(&self, one: Held) -> Held {
        Held(self.0.fetch_add(one.0, Ordering::Relaxed).wrapping_add(one.0))
    }

    pub(super) fn subtract(&self, one: Held) {
        self.0.fetch_sub(one.0, Ordering::Relaxed);
    }

    /// In the child of a fork: nothing is counted.
    pub(super) fn reset(&self) {
        self.0.store(0, Ordering::Relaxed);
    }
}

const WAIT: u32 = 0;
const WAIT_FOREVER: u32 = 1;
const EXPEDITE: u32 = 2;

/// A domain's [`Limit`], as words that each change on their own.
pub(super) struct Bounds {
    callbacks: AtomicUsize,
    bytes: AtomicUsize,
    policy: AtomicU32,
    /// Nanoseconds.
    wait: AtomicU64,
}

impl Bounds {
    const_fn! {
        pub(super) fn new() -> Bounds {
            Bounds {
                callbacks: AtomicUsize::new(Limit::DEFAULT.callbacks),
                bytes: AtomicUsize::new(Limit::DEFAULT.bytes),
                policy: AtomicU32::new(WAIT),
                wait: AtomicU64::new(1_000_000),
            }
        }
    }

    pub(super) fn set(&self, limit: Limit) {
        let kind = match limit.policy {
            Policy::Wait(_) => WAIT,
            Policy::WaitForever => WAIT_FOREVER,
            Policy::Expedite(_) => EXPEDITE,
        };
        let wait = limit.policy.bound().unwrap_or_default().as_nanos();
        // Relaxed, all: a caller that sees some of them old behaves as if it had come a moment before.
        self.callbacks.store(limit.callbacks, Ordering::Relaxed);
        self.bytes.store(limit.bytes, Ordering::Relaxed);
        self.wait.store(wait.try_into().unwrap_or(u64::MAX), Ordering::Relaxed);
        self.policy.store(kind, Ordering::Relaxed);
    }

    pub(super) fn get(&self) -> Limit {
        // Relaxed, all: as in `set`.
        let wait = Duration::from_nanos(self.wait.load(Ordering::Relaxed));
        let policy = match self.policy.load(Ordering::Relaxed) {
            WAIT => Policy::Wait(wait),
            WAIT_FOREVER => Policy::WaitForever,
            _ => Policy::Expedite(wait),
        };
        let callbacks = self.callbacks.load(Ordering::Relaxed);
        Limit { callbacks, bytes: self.bytes.load(Ordering::Relaxed), policy }
    }

    /// Returns true if `held` is more than may be held back.
    pub(super) fn are_exceeded_by(&self, held: Held) -> bool {
        // Relaxed, both: as in `set`.
        let (callbacks, bytes) = (self.callbacks.load(Ordering::Relaxed), self.bytes.load(Ordering::Relaxed));
        held.callbacks() > 1 && (held.callbacks() > callbacks as u64 || held.bytes() > bytes as u64)
    }

    /// Returns true if there is room for one more that counts `bytes`.
    pub(super) fn have_room(&self, held: Held, bytes: usize) -> bool {
        let one = Held::one(bytes);
        !self.are_exceeded_by(Held(held.0.wrapping_add(one.0)))
    }
}
