//! A collector's end for which its author waits. Calls `collector` by a drop.

use alloc::sync::Arc;

use super::collector::Collector;

impl Collector {
    /// Ends the collector: makes all deferred calls that are left, on the calling thread, and returns once they
    /// have been made.
    ///
    /// A drop does the same where nothing else has the collector, and says nothing where something has. A handle
    /// and a clone have it; so does a thread that once [entered](Self::enter) it, while it exits and makes calls
    /// that it had deferred, which may be after it was joined. A structure whose deferred calls use what its own
    /// drop frees has this instead of a drop, and asks again until the thread is through.
    ///
    /// ```
    /// use leeward::rcu::epoch::Collector;
    /// let collector = Collector::new();
    /// std::thread::scope(|scope| {
    ///     scope.spawn(|| collector.enter().defer(|| ()));
    /// });
    /// let mut ends = collector.try_end();
    /// while let Err(collector) = ends {
    ///     std::thread::yield_now();
    ///     ends = collector.try_end();
    /// }
    /// ```
    ///
    /// # Errors
    /// The collector, if something else has it. No call is made then.
    pub fn try_end(self) -> Result<(), Collector> {
        // From here on no thread that exits gets hold of it.
        Arc::try_unwrap(self.0).map(drop).map_err(Collector)
    }
}
