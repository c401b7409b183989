//! The number of heavy fences, by the strategy that served them.

/// The number of heavy fences that this process issued, by the strategy that served them.
///
/// Returned by [`counters`](super::counters). The child of a fork counts on from its parent's
/// numbers.
///
/// ```
/// use leeward::fence;
/// let before = fence::counters().total();
/// fence::heavy();
/// assert!(fence::counters().total() > before);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Counters {
    /// Fences served by [`Strategy::MembarrierPrivate`](super::Strategy::MembarrierPrivate).
    pub membarrier_private: u64,
    /// Fences served by [`Strategy::MembarrierGlobal`](super::Strategy::MembarrierGlobal).
    pub membarrier_global: u64,
    /// Fences served by [`Strategy::Signal`](super::Strategy::Signal).
    pub signal: u64,
    /// Times that the caller of a [`signal`](Self::signal) fence moved over the processors, because
    /// some thread could not be reached by a signal.
    pub visits: u64,
    /// Fences served by [`Strategy::Symmetric`](super::Strategy::Symmetric).
    pub symmetric: u64,
    /// Calls that a strategy refused (`EPERM`, `ENOMEM`, ...) and that were tried again or handed
    /// to the next one.
    pub retries: u64,
    /// Fences for threads of other processes (`membarrier(GLOBAL_EXPEDITED)`), issued by sleepers
    /// of `robust::LightMutex`. Not part of the [total](Self::total).
    pub processes: u64,
}

impl Counters {
    /// Returns the number of heavy fences of all strategies.
    pub fn total(&self) -> u64 {
        self.membarrier_private + self.membarrier_global + self.signal + self.symmetric
    }
}
