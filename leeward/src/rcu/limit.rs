//! What a domain may hold back, and what happens to whoever would exceed it.

/// What a domain may hold back, and what happens to a caller of [`Domain::defer`](super::Domain::defer) that would exceed it.
///
/// The third policy, to fail, is [`Domain::try_defer`](super::Domain::try_defer) and [`Retired::try_defer`](super::Retired::try_defer),
/// whichever this says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limit {
    /// Callbacks that were deferred and have not run. Default: 65,536.
    pub callbacks: usize,
    /// Bytes that they hold: the size of each value, or what [`Retired::defer_bytes`](super::Retired::defer_bytes)
    /// says. Default: 64 MiB.
    pub bytes: usize,
    /// What a caller does that would exceed either. Default: [`Policy::Block`].
    pub policy: Policy,
}

impl Limit {
    pub(super) const DEFAULT: Limit = Limit { callbacks: 1 << 16, bytes: 64 << 20, policy: Policy::Block };
}

impl Default for Limit {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// What [`Domain::defer`](super::Domain::defer) does at the limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Policy {
    /// Wait until callbacks have run. They run on the worker only, so that they may take any lock *that no caller
    /// holds while it defers*.
    Block,
    /// Run a grace period and the callbacks that are queued at once, on the calling thread: no waiting for another
    /// thread, but callbacks then run wherever somebody defers, inside whatever locks are held there.
    Expedite,
}

/// The queue is at its limit: the callback, given back.
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
