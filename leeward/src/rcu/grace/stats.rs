//! Counts of what a domain has done so far, taken on the rare paths.

use core::sync::atomic::{AtomicU64, Ordering};

/// A count for people to read: no code depends on it.
pub(crate) struct Count(AtomicU64);

impl Count {
    pub(in crate::rcu) const fn new() -> Count {
        Count(AtomicU64::new(0))
    }

    pub(in crate::rcu) fn add(&self, by: u64) {
        // Relaxed: a count.
        self.0.fetch_add(by, Ordering::Relaxed);
    }

    pub(in crate::rcu) fn subtract(&self, by: u64) {
        // Relaxed: a count.
        self.0.fetch_sub(by, Ordering::Relaxed);
    }

    pub(in crate::rcu) fn get(&self) -> u64 {
        // Relaxed: a count.
        self.0.load(Ordering::Relaxed)
    }
}

macro_rules! counts {
    ($($name:ident),*) => {
        pub(crate) struct Counts { $(pub(in crate::rcu) $name: Count,)* }
        impl Counts {
            pub(in crate::rcu) const fn new() -> Counts { Counts { $($name: Count::new(),)* } }
        }
    };
}
counts!(
    grace_periods,
    heavy_fences,
    sleeps,
    stalls,
    leaked,
    callbacks_run,
    callback_panics,
    over_limit,
    lost,
    unlinked
);

/// What a domain has done, and what it holds, as [`Domain::stats`](super::super::Domain::stats) returns
/// it.
///
/// The counts are read one after the other, so they belong to about one instant.
///
/// ```
/// use leeward::rcu::{Domain, Stats};
/// leeward::rcu_domain! { struct Routes; }
/// drop(Routes::read());
/// Routes::synchronize();
/// let stats: Stats = Routes::stats();
/// assert_eq!((stats.grace_periods, stats.readers), (1, 1));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Stats {
    /// Grace periods that ended. [`synchronize`](super::super::Domain::synchronize) runs none while no
    /// reader is registered.
    pub grace_periods: u64,
    /// Heavy fences that grace periods issued: one each, and one more for each time that a grace
    /// period had to sleep. No heavy fence is issued in a domain declared `: Full`, nor while only
    /// [`qsbr::Reader`](crate::rcu::qsbr::Reader)s are registered.
    pub heavy_fences: u64,
    /// Times that a grace period slept until a reader left.
    pub sleeps: u64,
    /// Stalls that were reported.
    pub stalls: u64,
    /// Slots that are registered: threads and handles that read, or did and may again.
    pub readers: u64,
    /// Threads that exited inside a section, because a guard was leaked (or is about to be dropped
    /// by a later thread-local destructor). While this is not zero, no grace period ends.
    pub leaked: u64,
    /// Callbacks that were deferred and have not run yet.
    pub callbacks_queued: u64,
    /// Bytes that the queued callbacks hold; see [`Limit::bytes`](super::super::Limit::bytes).
    pub bytes_queued: u64,
    /// Callbacks that have run.
    pub callbacks_run: u64,
    /// Callbacks that have run and panicked, and destructors of what writers of containers have freed.
    pub callback_panics: u64,
    /// Callbacks whose callers went on beyond the [limit](super::super::Limit), because they may not wait
    /// (inside a section or a callback) or had waited for as long as the limit's policy says.
    pub over_limit: u64,
    /// Callbacks that never run: there was no memory to queue them, and the caller could not wait;
    /// or, in a child that [adopts](super::super::Domain::set_child_adopts) callbacks, another thread was
    /// running them at the fork. A batch that was being taken from the queue for the whole time
    /// that a fork waits counts as one.
    pub lost: u64,
    /// What containers of the domain have unlinked and not freed: nodes and entries, but for up to
    /// 123 of each thread that writes to each. Where no reader stays inside, there are at most three
    /// times as many as are retired in a grace period, and that begins when 16,384 wait at the latest.
    /// In the child of a fork some are counted that another thread was about to free.
    pub unlinked: u64,
}
