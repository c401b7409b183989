//! Queueing a callback, and what happens to a caller beyond the limit.

use core::ptr::{self, NonNull};

use super::super::callback::{self, Bytes, Call, OwnSize};
use super::super::head::Head;
use super::super::limit::{NotQueued, Policy, QueuedAmount};
use super::Queue;
use super::reclaim::Reclaimed;
use super::twice::deferred_twice;
use crate::atomic::Ordering;
use crate::futex::{Private, Timeout};
use crate::mutant::{check, order, step};
use crate::rcu::backing::{Backing, State};
use crate::rcu::fork::watch;
use crate::rcu::section::local;

impl Queue {
    /// Queues a closure, and holds the caller up beyond the limit, as the policy says. Aborts
    /// without memory.
    ///
    /// # Safety
    /// The closure may be called on any thread, after any time.
    pub(in crate::rcu) unsafe fn defer<D: Backing, F: FnOnce()>(&'static self, call: F) {
        match callback::callback::<D, _, _>(call, OwnSize) {
            Ok(head) => self.push(D::state(), head, size_of::<F>()),
            Err(_) => alloc::alloc::handle_alloc_error(core::alloc::Layout::new::<F>()),
        }
    }

    /// Queues a call that, without memory, the caller may make after a grace period, or never: then it
    /// is forgotten, and counted as lost.
    ///
    /// # Safety
    /// As for `defer`.
    pub(in crate::rcu) unsafe fn defer_or_wait<D: Backing, F: Call>(&'static self, call: F, bytes: impl Bytes<F>) {
        let domain = D::state();
        let size = bytes.of(&call);
        let call = match callback::callback::<D, _, _>(call, bytes) {
            Ok(head) => return self.push(domain, head, size),
            Err(call) => call,
        };
        watch(domain);
        let grace = &domain.grace;
        let timeout = self.limit.get().policy.timeout();
        if !self.may_not_wait(domain) && grace.wait(timeout) {
            return call.call();
        }
        grace.counts.lost.add(1);
        core::mem::forget(call);
    }

    /// Queues a call, or returns it at the limit or without memory.
    ///
    /// # Safety
    /// As for `defer`.
    pub(in crate::rcu) unsafe fn try_defer<D: Backing, F: Call>(
        &'static self,
        call: F,
        bytes: impl Bytes<F>,
    ) -> Result<(), NotQueued<F>> {
        let size = bytes.of(&call);
        if !self.limit.have_room(self.incoming.held.get(), size) {
            self.worker.wake(D::state(), self);
            return Err(NotQueued(call));
        }
        let head = callback::callback::<D, _, _>(call, bytes).map_err(NotQueued)?;
        self.push_regardless(D::state(), head, size);
        Ok(())
    }

    /// Queues the object of `head`, which is to be called by `call` and counts no bytes; at the limit
    /// as `push` does.
    ///
    /// # Safety
    /// The head is the caller's alone, is not queued, and stays where it is until `call` runs with
    /// it, which it does once, on any thread.
    pub(in crate::rcu) unsafe fn push_raw(
        &'static self,
        domain: &'static State,
        head: NonNull<Head>,
        call: unsafe extern "C-unwind" fn(NonNull<Head>),
    ) {
        // SAFETY: the head is the caller's own memory.
        unsafe { head.write(Head::of(call)) };
        self.push(domain, head, 0);
    }

    /// Queues the object of `head` as `push_raw` does, and holds nobody up.
    ///
    /// # Safety
    /// As for `push_raw`.
    #[cfg(any(feature = "threads", leeward_loom))]
    pub(in crate::rcu) unsafe fn push_raw_regardless(
        &'static self,
        domain: &'static State,
        head: NonNull<Head>,
        call: unsafe extern "C-unwind" fn(NonNull<Head>),
    ) {
        // SAFETY: the head is the caller's own memory.
        unsafe { head.write(Head::of(call)) };
        self.push_regardless(domain, head, 0);
    }

    /// Queues the object of `head`, and holds the caller up beyond the limit, as the policy says.
    fn push(&'static self, domain: &'static State, head: NonNull<Head>, bytes: usize) {
        let held = self.push_regardless(domain, head, bytes);
        if self.limit.are_exceeded_by(held) {
            self.hold_up(domain);
        }
    }

    /// Queues the object of `head`, and returns how much is queued then.
    fn push_regardless(&'static self, domain: &'static State, head: NonNull<Head>, bytes: usize) -> QueuedAmount {
        watch(domain);
        // Counted before the object can be taken, so that the count never falls below 0.
        let held = self.incoming.held.add(QueuedAmount::one(bytes));
        let is_first = self.link(domain, head);
        // The worker takes all that is queued until it finds nothing, so only the first to queue
        // has to tell it. If no thread can be started, `barrier` and callers at the limit, which
        // are expected to wait, run what is queued.
        if check!(worker_wake, (is_first || !self.worker.is_running())) {
            self.worker.notify(domain, self);
        }
        held
    }

    /// Pushes `head` onto the stack. Returns true if the stack was empty.
    fn link(&self, domain: &'static State, head: NonNull<Head>) -> bool {
        // SAFETY: the head is the caller's own until the exchange below.
        let this = unsafe { head.as_ref() };
        // Relaxed: the exchange decides.
        let mut last = self.incoming.last.load(Ordering::Relaxed);
        loop {
            if check!(twice_at_once, ptr::eq(last, head.as_ptr())) {
                // Memory that is used again has the address of a head that was here before, and a load may
                // find what was there then. An exchange finds what is there now. Relaxed: nothing is
                // changed.
                match self.incoming.last.compare_exchange(last, last, Ordering::Relaxed, Ordering::Relaxed) {
                    Ok(_) => deferred_twice(domain, last),
                    Err(now) => {
                        last = now;
                        continue;
                    }
                }
            }
            this.set_next(last);
            // Release: the object is whole. Partner: the acquire in `take`. Relaxed on failure: the
            // loop tries again.
            match self.incoming.last.compare_exchange_weak(
                last,
                head.as_ptr(),
                order!(Release, push_release),
                Ordering::Relaxed,
            ) {
                Ok(_) => return last.is_null(),
                Err(now) => last = now,
            }
        }
    }

    /// Holds a caller beyond the limit up, as the policy says, and counts and reports it if it goes
    /// on beyond the limit. Its callback is queued already, so a panic loses nothing.
    #[cold]
    #[inline(never)]
    fn hold_up(&'static self, domain: &'static State) {
        let policy = self.limit.get().policy;
        let timeout = policy.timeout();
        let waits = check!(limit_waits, !self.may_not_wait(domain));
        if waits {
            self.wait_for_room(domain, policy, timeout);
        }
        if self.is_beyond_limit() {
            let grace = &domain.grace;
            grace.counts.over_limit.add(1);
            if waits {
                let expedites = matches!(policy, Policy::Expedite(_));
                grace.report_beyond_limit(policy.bound().unwrap_or_default(), expedites);
            }
        }
    }

    /// Waits until the queue is within the limit or the time is up, for the worker or by running
    /// the callbacks.
    fn wait_for_room(&'static self, domain: &'static State, policy: Policy, timeout: Timeout) {
        let expedites = matches!(policy, Policy::Expedite(_));
        let failures = self.worker.failures();
        while self.is_beyond_limit() && !timeout.has_passed::<Private>() {
            // A worker that has ended meanwhile could do nothing, and the next one could not either:
            // this thread tries, so that its caller gets the panic.
            let has_ended = self.worker.failures() != failures && !self.worker.is_running();
            if !expedites && !has_ended && self.worker.wake(domain, self) {
                self.wait_until(|| !self.is_beyond_limit(), timeout);
            } else if self.reclaim(domain, timeout) == Reclaimed::Forked {
                return;
            }
        }
    }

    /// Returns true inside a section or a callback of the domain, where a caller that waited for
    /// callbacks would wait for itself.
    fn may_not_wait(&self, domain: &'static State) -> bool {
        self.runs_here() || local::is_inside(domain) || domain.grace.is_inside()
    }

    /// Asks for a grace period for a thread that polls.
    pub(in crate::rcu) fn want(&'static self, domain: &'static State, ticket: u64) {
        // Release: partner of the acquire in the worker's `work`.
        self.wanted.fetch_max(ticket, Ordering::Release);
        step!(want_wake, self.worker.wake(domain, self));
    }
}
