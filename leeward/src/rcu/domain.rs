//! Domains: sets of readers and writers that know nothing of each other's, as types.

use core::time::Duration;

#[cfg(feature = "std")]
use super::automatic;
use super::backing::Backing;
use super::callback::SizeOf;
use super::fork::watch;
use super::grace::OwnSection;
use super::limit::{Full, Limit};
use super::local;
#[cfg(feature = "std")]
use super::no_memory::NoMemory;
use super::stall::Stall;
use super::stats::Stats;

/// A point in a domain's time, for [`Domain::poll`].
///
/// Of one domain only: polling another with it does not compile.
#[derive(Debug)]
#[must_use = "a cookie is good for nothing but polling"]
pub struct Cookie<D: Domain = super::Global> {
    pub(super) ticket: u64,
    domain: core::marker::PhantomData<fn() -> D>,
}

impl<D: Domain> Clone for Cookie<D> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<D: Domain> Copy for Cookie<D> {}

/// A domain: its readers, its grace periods and its deferred callbacks, apart from every other domain's.
///
/// Made by [`rcu_domain!`](crate::rcu_domain); [`Global`](super::Global) is there already. All functions are
/// associated ones, `Routes::read()`; the module's free functions are those of `Global`.
pub trait Domain: Backing {
    /// Enters a read section on the calling thread, registering the thread at its first.
    ///
    /// What is loaded through the guard stays alive until the guard is dropped. Sections nest to any depth and guards
    /// may be dropped in any order. Wait-free, apart from the first call on a thread.
    ///
    /// # Memory ordering
    /// A section that began before a grace period did is waited for; any other sees everything that the writer stored
    /// before it asked for that grace period.
    ///
    /// # Cost
    /// Free path: two loads and a store to lines of one's own and one load of a shared line that only grace periods
    /// write; no fence, no locked instruction (two full fences with [`Full`](crate::fence::Full)). A section within
    /// another: two calls more. Paid path: a thread's first section takes a slot, which may allocate: a global
    /// allocator that reads must register its threads before they first allocate, or use handles.
    ///
    /// # Panics
    /// If there is no memory for the thread's slot; [`register`](Self::register) tells beforehand.
    ///
    /// # Async-signal-safety
    /// Safe at any instruction of any code on a thread that is registered ([`register`](Self::register), or an
    /// earlier section) and not past its thread-local destructors, provided that the handler leaves every section
    /// that it enters and none that it did not enter.
    #[cfg(feature = "std")]
    #[inline(always)]
    #[track_caller]
    fn read() -> super::Guard<'static, Self> {
        automatic::read::<Self>()
    }

    /// Registers the calling thread now rather than at its first section. Needed before its signal handlers read.
    ///
    /// # Errors
    /// [`NoMemory`].
    #[cfg(feature = "std")]
    fn register() -> Result<(), NoMemory> {
        automatic::register_early::<Self>()
    }

    /// Waits until every section that was open when the call began has ended.
    ///
    /// What was unlinked before the call can be freed after it. Callers share: however many call at once, two grace
    /// periods serve them all.
    ///
    /// The algorithm is an epoch grace period in one phase (after Fraser, "Practical lock-freedom", 2004, and
    /// Desnoyers et al., "User-Level Implementations of Read-Copy Update", 2012) behind one heavy fence.
    ///
    /// # Memory ordering
    /// Everything before the call in this thread happens before every section that begins after it; everything in the
    /// sections waited for happens before what follows the call.
    ///
    /// # Cost
    /// One [heavy fence](crate::fence::heavy) and a load for each registered reader; one more heavy fence and a sleep
    /// if a reader stays inside for long.
    ///
    /// # Panics
    /// Inside a section of the same domain: it would wait for itself.
    ///
    /// # Async-signal-safety
    /// None.
    #[track_caller]
    fn synchronize() {
        watch::<Self>();
        if local::is_inside::<Self>() || Self::state().grace.synchronize::<Self::Fence>() == Err(OwnSection) {
            panic!(
                "leeward: synchronize() called inside a read section of the same domain: it would wait for itself for ever"
            );
        }
    }

    /// Asks for a grace period without waiting for it: [`poll`](Self::poll) tells when it is over.
    ///
    /// # Cost
    /// A full fence; a system call if the worker sleeps.
    fn start_poll() -> Cookie<Self> {
        watch::<Self>();
        let state = Self::state();
        let ticket = state.grace.tickets.take();
        state.queue.want::<Self>(ticket);
        Cookie { ticket, domain: core::marker::PhantomData }
    }

    /// Whether a grace period has passed since the cookie was made. Never waits.
    ///
    /// True once means true for ever. Works inside sections (and stays false while the caller's own is in the way).
    ///
    /// # Cost
    /// One load. Where there is no worker (without `std`, or when no thread could be started) a call tries to run the
    /// grace period itself, which costs a heavy fence.
    fn poll(cookie: &Cookie<Self>) -> bool {
        let state = Self::state();
        state.grace.tickets.is_served(cookie.ticket)
            || ((!state.queue.has_worker() || state.queue.is_running_callbacks())
                && state.grace.try_lead::<Self::Fence>(cookie.ticket))
    }

    /// Runs `callback` after a grace period, on the domain's worker thread.
    ///
    /// Beyond the [limit](Self::set_limit) the caller is held up once the callback is queued, as the limit's policy
    /// says: by default it waits for a millisecond at most. Then it goes on, which is counted in
    /// [`Stats::over_limit`], and the reader that is in the way is reported as a stall, once in the time after which stalls are. Inside a
    /// section or a callback of the domain the caller does not wait at all. A thread with an online
    /// [`qsbr::Reader`](super::qsbr::Reader) is always inside: its loop should look at that count, or
    /// [`try_defer`](Self::try_defer). A panic in a callback is caught and counted. The worker's stack has 2 MiB.
    ///
    /// Callers may hold locks that readers and callbacks take, unless the limit's policy is
    /// [`WaitForever`](super::Policy::WaitForever) or [`Expedite`](super::Policy::Expedite), which say what they ask.
    ///
    /// Callbacks that are queued when the process exits do not run; [`barrier`](Self::barrier) before the end of
    /// `main` drains them.
    ///
    /// # Cost
    /// An allocation, an addition and a compare-exchange; a system call if the worker sleeps. No lock.
    ///
    /// # Aborts
    /// Where there is no memory for the closure, as a box of it would.
    fn defer(callback: impl FnOnce() + Send + 'static) {
        Self::state().queue.defer::<Self, _>(callback);
    }

    /// The same where waiting is out of the question: gives the callback back at the limit, or where there is no
    /// memory for it. Threads that call at once may together go beyond the limit by one callback each.
    ///
    /// # Errors
    /// [`Full`], with the callback.
    fn try_defer<F: FnOnce() + Send + 'static>(callback: F) -> Result<(), Full<F>> {
        Self::state().queue.try_defer::<Self, F>(callback, SizeOf::<F>::NEW)
    }

    /// Waits until every callback that was deferred before the call, by any thread, has run.
    ///
    /// # Cost
    /// At most the grace period that runs and one more; nothing when nothing is queued.
    ///
    /// # Panics
    /// Inside a callback of the same domain, and inside a section of it: it would wait for itself. And where the
    /// callbacks cannot be run, because no [heavy fence](crate::fence::heavy) is possible or the handler of a stall
    /// panics each time: with that panic. They are queued still.
    #[track_caller]
    fn barrier() {
        watch::<Self>();
        let state = Self::state();
        assert!(
            !state.queue.runs_here(),
            "leeward: barrier() called inside a callback of the same domain: it would wait for itself for ever"
        );
        assert!(
            !local::is_inside::<Self>() && !state.grace.is_inside(),
            "leeward: barrier() called inside a read section of the same domain: it would wait for itself for ever"
        );
        state.queue.barrier::<Self>();
    }

    /// Bounds what may be deferred and not yet run; see [`Limit`].
    fn set_limit(limit: Limit) {
        Self::state().queue.set_limit(limit);
    }

    /// The bounds in force: what [`set_limit`](Self::set_limit) said last, or the default.
    ///
    /// # Cost
    /// Some loads.
    fn limit() -> Limit {
        Self::state().queue.limit()
    }

    /// Whether a child of a fork runs the callbacks that it inherits. By default it does not: they are queued in the
    /// parent, which runs them, and the child forgets its copy, whose memory it keeps.
    ///
    /// A child that adopts them runs its copy of each, after a grace period of its own, on a worker that is started before
    /// `fork` returns: a program that queues callbacks, then forks and goes on as the child (a daemon), has them run. The
    /// parent's run as well: what a callback does must be right to be done once in each process. `fork` waits for a
    /// callback that is running at that moment, for a tenth of a second at most; one that runs for longer is lost to the
    /// child, and counted in [`Stats::lost`].
    fn set_child_adopts(adopts: bool) {
        watch::<Self>();
        Self::state().queue.set_child_adopts(adopts);
    }

    /// After how long a grace period reports the reader that it waits for, and to whom; then again after each further
    /// such time.
    ///
    /// The default is ten seconds, to standard error. `after: None` never reports; `tell: None` is the default again.
    /// `tell` runs on the thread that waits, in the midst of a grace period: it must not call `synchronize`, `barrier`
    /// or `defer` of the same domain, nor take a lock that callers of these hold. If it panics, the grace period is begun
    /// anew by the next who asks for one; callbacks stay queued. It is also called by a thread whose
    /// [`defer`](Self::defer) went beyond the limit because of a reader, at most once in each `after`.
    fn set_stall_limit(after: Option<Duration>, tell: Option<fn(&Stall)>) {
        Self::state().grace.stall.set(after, tell);
    }

    /// What the domain has done so far, and what it holds.
    fn stats() -> Stats {
        let state = Self::state();
        let counts = &state.grace.counts;
        Stats {
            grace_periods: counts.grace_periods.get(),
            heavy_fences: counts.heavy_fences.get(),
            sleeps: counts.sleeps.get(),
            stalls: counts.stalls.get(),
            readers: state.grace.registry.claimed() as u64,
            leaked: counts.leaked.get(),
            callbacks_run: counts.callbacks_run.get(),
            callback_panics: counts.callback_panics.get(),
            over_limit: counts.over_limit.get(),
            lost: counts.lost.get(),
            ..state.queue.stats()
        }
    }
}

impl<D: Backing> Domain for D {}

/// Declares domains of your own.
///
/// ```
/// use leeward::rcu::{Domain, RcuCell};
///
/// leeward::rcu_domain! {
///     /// Readers of the routing table. The reader pays nothing, the writer issues heavy fences.
///     pub struct Routes;
///     /// Readers that pay for a full fence, so that writers make no system call.
///     struct Rules: Full;
/// }
///
/// let table = RcuCell::<_, Routes>::new(vec![1, 2, 3]);
/// let guard = Routes::read();
/// assert_eq!(table.load(&guard).len(), 3);
/// ```
#[macro_export]
macro_rules! rcu_domain {
    ($($(#[$meta:meta])* $vis:vis struct $name:ident $(: $fence:ident)?;)+) => {$(
        $(#[$meta])*
        #[derive(Debug)]
        $vis enum $name {}

        // SAFETY: one static and one set of thread-local variables, all of this domain's own.
        unsafe impl $crate::rcu::Backing for $name {
            type Fence = $crate::rcu_domain!(@fence $($fence)?);
            #[inline(always)]
            fn state() -> &'static $crate::rcu::hidden::State {
                $crate::__leeward_static! { STATE: $crate::rcu::hidden::State = $crate::rcu::hidden::State::new(); }
                &STATE
            }
            $crate::__rcu_domain_local!($name);
        }
    )+};
    (@fence) => { $crate::fence::Asymmetric };
    (@fence $fence:ident) => { $crate::fence::$fence };
}

/// The thread's own slot, where there is thread-local storage.
#[cfg(feature = "std")]
#[doc(hidden)]
#[macro_export]
macro_rules! __rcu_domain_local {
    ($name:ident) => {
        #[inline(always)]
        fn local() -> $crate::rcu::hidden::Local {
            ::std::thread_local! {
                static SLOT: $crate::rcu::hidden::LocalSlot =
                    const { $crate::rcu::hidden::LocalSlot::new() };
            }
            ::std::thread_local! {
                static EXIT: $crate::rcu::hidden::ThreadExit = const {
                    $crate::rcu::hidden::ThreadExit::new($crate::rcu::hidden::leave_thread::<$name>)
                };
            }
            $crate::rcu::hidden::Local::new(&SLOT, &EXIT)
        }
    };
}

/// Without thread-local storage there are handles only.
#[cfg(not(feature = "std"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __rcu_domain_local {
    ($name:ident) => {};
}
