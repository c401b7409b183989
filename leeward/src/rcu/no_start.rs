//! Starts the worker's thread where nobody forks: as the standard library does.

/// Runs `work` on a new thread that nobody joins. False if none can be had.
pub(super) fn start(work: fn()) -> bool {
    std::thread::Builder::new().name("leeward-rcu".into()).spawn(work).is_ok()
}
