//! What C's writers call: grace periods, polling, deferred callbacks. Misuse is an error here, where
//! Rust's functions panic.

use core::ptr::NonNull;
use core::time::Duration;

use super::super::fork::watch;
use super::super::free::head::Head;
use super::super::free::limit::Limit;
use super::super::grace::OwnSection;
use super::super::grace::stall::CStall;
use super::super::grace::stats::Stats;
use super::super::section::local;
use super::raw::RawDomain;
use super::reader::Offline;
use crate::fence;

/// The reason why a call of C was refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refused {
    /// The caller is inside a section of the domain: it would wait for itself.
    Inside,
    /// The caller is a callback of the domain: it would wait for itself.
    InCallback,
    /// No heavy fence is possible in this process.
    NoFence,
}

impl RawDomain {
    /// Returns true if grace periods are possible.
    fn can_wait(&self) -> bool {
        !self.state.grace.kind.is_asymmetric() || fence::is_possible()
    }

    /// Waits for a grace period. A thread that is online is offline meanwhile.
    pub fn synchronize(&'static self) -> Result<(), Refused> {
        let domain = self.state();
        watch(domain);
        if !self.can_wait() {
            return Err(Refused::NoFence);
        }
        let _offline = Offline::begin(&domain);
        if local::is_inside(domain) || domain.grace.synchronize() == Err(OwnSection) {
            return Err(Refused::Inside);
        }
        Ok(())
    }

    /// Asks for a grace period, and returns the number for [`poll`](Self::poll).
    pub fn start_poll(&'static self) -> u64 {
        let domain = self.state();
        watch(domain);
        let ticket = domain.grace.tickets.take();
        domain.queue.want(domain, ticket);
        ticket
    }

    /// Returns true if the grace period of that number is over. Never waits for readers.
    pub fn poll(&'static self, ticket: u64) -> bool {
        let domain = self.state();
        let has_helper = domain.queue.has_worker() && !domain.queue.is_running_callbacks();
        domain.grace.tickets.is_served(ticket) || (!has_helper && self.can_wait() && domain.grace.try_lead(ticket))
    }

    /// Queues a callback. Never fails; never waits, unless a limit was set.
    ///
    /// # Safety
    /// The head is the caller's, not queued, and stays where it is until `call` runs with it, which
    /// it does once, on any thread; `call` does not unwind.
    pub unsafe fn defer(&'static self, head: NonNull<Head>, call: unsafe extern "C-unwind" fn(NonNull<Head>)) {
        let domain = self.state();
        // SAFETY: the caller's promise.
        unsafe { domain.queue.push_raw(domain, head, call) };
    }

    /// Waits until everything that was queued before the call has run. A thread that is online is
    /// offline meanwhile.
    pub fn barrier(&'static self) -> Result<(), Refused> {
        let domain = self.state();
        watch(domain);
        if domain.queue.runs_here() {
            return Err(Refused::InCallback);
        }
        let _offline = Offline::begin(&domain);
        if local::is_inside(domain) || domain.grace.is_inside() {
            return Err(Refused::Inside);
        }
        if !self.can_wait() {
            return if domain.queue.stats().callbacks_queued == 0 { Ok(()) } else { Err(Refused::NoFence) };
        }
        domain.queue.barrier(domain);
        Ok(())
    }

    /// Returns what the domain has done so far, and what it holds.
    pub fn stats(&'static self) -> Stats {
        self.state().stats()
    }

    /// Bounds what may be queued; see [`Limit`].
    pub fn set_limit(&'static self, limit: Limit) {
        self.state().queue.set_limit(limit);
    }

    /// Sets after how long a grace period reports the reader that it waits for, and the function
    /// that it reports it to; none: standard error.
    pub fn set_stall_limit(&'static self, after: Option<Duration>, tell: Option<extern "C-unwind" fn(*const CStall)>) {
        self.state().grace.stall.set_for_c(after, tell);
    }

    /// Sets whether the children of forks run the callbacks that they inherit; the default.
    pub fn set_child_adopts(&'static self, adopts: bool) {
        watch(self.state());
        self.state().queue.set_child_adopts(adopts);
    }
}
