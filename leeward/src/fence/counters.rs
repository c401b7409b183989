//! How many heavy fences there were, by what served them.

/// How many heavy fences this process issued, by the strategy that served them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Counters {
    /// Served by [`Strategy::MembarrierPrivate`](super::Strategy::MembarrierPrivate).
    pub membarrier_private: u64,
    /// Served by [`Strategy::MembarrierGlobal`](super::Strategy::MembarrierGlobal).
    pub membarrier_global: u64,
    /// Served by [`Strategy::Signal`](super::Strategy::Signal).
    pub signal: u64,
    /// Of those, the ones in which some thread had to be reached by moving over the processors.
    pub visits: u64,
    /// Served by [`Strategy::Symmetric`](super::Strategy::Symmetric).
    pub symmetric: u64,
    /// Calls that a strategy refused (`EPERM`, `ENOMEM`, ...) and that were tried again or handed to the next one.
    pub retries: u64,
    /// Issued for threads of other processes (`membarrier(GLOBAL_EXPEDITED)`), by sleepers of `robust::LightMutex`. Not part of the total.
    pub processes: u64,
}

impl Counters {
    /// All heavy fences.
    pub fn total(&self) -> u64 {
        self.membarrier_private + self.membarrier_global + self.signal + self.symmetric
    }
}
