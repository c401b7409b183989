//! Domains: sets of readers and writers that are independent of one another, as types.

use core::ptr::NonNull;
use core::time::Duration;

use super::backing::Backing;
use super::fork::watch;
use super::free::callback::OwnSize;
use super::free::head::Head;
use super::free::limit::{Limit, NotQueued};
use super::grace::OwnSection;
use super::grace::stall::Stall;
use super::grace::stats::Stats;
#[cfg(feature = "std")]
use super::no_memory::NoMemory;
#[cfg(feature = "std")]
use super::section::automatic;
use super::section::local;

/// A request for a grace period, for [`Domain::poll_state`].
///
/// A cookie belongs to one domain: polling another domain with it does not compile.
///
/// ```
/// use leeward::rcu;
/// let cookie = rcu::start_poll();
/// // ... do something else ...
/// while !rcu::poll_state(&cookie) {
///     std::thread::yield_now();
/// }
/// ```
#[derive(Debug)]
#[must_use = "a cookie serves for polling only"]
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

/// A set of readers and writers, with its own grace periods and deferred callbacks.
///
/// [`rcu_domain!`](crate::rcu_domain) declares domains; [`Global`](super::Global) exists already.
/// All functions are associated ones (`Routes::read()`); the module's free functions are those of
/// `Global`.
///
/// ```
/// use leeward::rcu::{Domain, RcuCell};
///
/// leeward::rcu_domain! { struct Routes; }
///
/// let table = RcuCell::<_, Routes>::new_in(vec![1, 2]);
/// assert_eq!(table.load(&Routes::read()).len(), 2);
/// let old = table.replace(vec![3]);       // new readers find the new table
/// Routes::synchronize();                  // every older section has ended
/// old.defer();
/// Routes::barrier();                      // what was deferred has run
/// assert_eq!(Routes::stats().callbacks_run, 1);
/// ```
///
/// # Differences from crossbeam-epoch
/// - A domain is a type, a `Collector` a value: a guard of another domain does not compile.
/// - Writers can wait for readers ([`synchronize`](Self::synchronize)), or ask and look later
///   ([`start_poll`](Self::start_poll)).
/// - Callbacks run in the order of deferral on the domain's worker (or on a caller at the limit,
///   with [`Policy::Expedite`](super::Policy::Expedite)), not on the threads that pin.
/// - What is deferred is [limited](Limit), and a reader that holds it up is
///   [reported](Self::set_stall_limit).
/// - In the child of a fork, the slots of threads that are not there are given back; in crossbeam's
///   they stay pinned.
///
/// # Differences from liburcu
/// - The flavours memb and bp are the default, mb is a domain declared `: Full`, and qsbr is
///   [`qsbr::Reader`](crate::rcu::qsbr::Reader); a program may use all of them, and as many domains as
///   it declares.
/// - Without `membarrier` signals serve, and readers stay as they are; liburcu's execute fences.
/// - [`synchronize`](Self::synchronize) inside a section panics; liburcu's waits for itself.
/// - [`defer`](Self::defer), its `call_rcu`, has a [limit](Limit).
/// - `fork` needs no calls; liburcu asks for `call_rcu_before_fork` and its kin.
///
/// [`rcu`](super) describes [cost](super#cost), [fork](super#fork) and [signals](super#signals).
pub trait Domain: Backing {
    /// Enters a read section on the calling thread; the first call on a thread registers it.
    ///
    /// What is loaded through the guard stays alive until the guard is dropped. Sections nest to
    /// any depth, and guards may be dropped in any order. Wait-free, except for a thread's first
    /// call and for calls after its thread-local destructors have run, each of which takes a slot.
    ///
    /// # Memory ordering
    /// A grace period waits for every section that began before it did. Every other section sees
    /// everything that the writer stored before it asked for that grace period.
    ///
    /// # Cost
    /// Common path: two loads and a store to the thread's own lines, and one load of a shared line
    /// that only grace periods write; no fence and no locked instruction. A domain declared
    /// `: Full` adds two full fences ([`Full`](crate::fence::Full)). A section within another costs
    /// two function calls more, which are out of line.
    ///
    /// Rare path: a thread's first section takes a slot, which may allocate. A global allocator
    /// that reads must register its threads before they first allocate, or use handles
    /// ([`Reader`](super::Reader)).
    ///
    /// # Panics
    /// If there is no memory for the thread's slot; [`register`](Self::register) returns that error
    /// beforehand.
    ///
    /// # Async-signal-safety
    /// Safe at any instruction on a registered thread; the [module](super#signals) has the
    /// conditions.
    #[cfg(feature = "std")]
    #[inline(always)]
    #[track_caller]
    fn read() -> super::Guard<'static, Self> {
        automatic::read::<Self>()
    }

    /// Registers the calling thread now rather than at its first section.
    ///
    /// Needed before a signal handler on this thread reads. Does nothing on a thread that has run
    /// its thread-local destructors: there each section takes a slot for itself.
    ///
    /// ```
    /// use leeward::rcu::{Domain, Global};
    /// std::thread::spawn(|| {
    ///     Global::register().expect("no memory for another thread");
    ///     drop(Global::read());                       // cannot panic for lack of memory
    /// })
    /// .join()
    /// .unwrap();
    /// ```
    ///
    /// # Errors
    /// [`NoMemory`], if there is none for the slot.
    #[cfg(feature = "std")]
    fn register() -> Result<(), NoMemory> {
        automatic::register_early::<Self>()
    }

    /// Waits until every section that was open when the call began has ended.
    ///
    /// What was unlinked before the call can be freed after it. Callers share: however many call at
    /// once, two grace periods serve them all.
    ///
    /// The algorithm is an epoch grace period in one phase (after Fraser, "Practical lock-freedom",
    /// 2004, and Desnoyers et al., "User-Level Implementations of Read-Copy Update", 2012) behind
    /// one heavy fence.
    ///
    /// # Memory ordering
    /// Everything before the call in this thread happens before every section that begins after it.
    /// Everything in the sections waited for happens before what follows the call.
    ///
    /// # Cost
    /// One [heavy fence](crate::fence::heavy) and a load for each registered reader; one more heavy
    /// fence and a sleep if a reader stays inside for long. [`Stats::heavy_fences`] says when no
    /// heavy fence is needed. While no reader is registered: one full fence.
    ///
    /// # Panics
    /// - Inside a section of the same domain, since the call would wait for itself.
    /// - Where no heavy fence is possible ([`fence::heavy`](crate::fence::heavy)).
    /// - If the handler of a [stall](Self::set_stall_limit) panics, with its panic.
    ///
    /// # Async-signal-safety
    /// None.
    #[track_caller]
    fn synchronize() {
        let state = Self::state();
        watch(state);
        if local::is_inside(state) || state.grace.synchronize() == Err(OwnSection) {
            panic!(
                "leeward: synchronize() called inside a read section of the same domain: it would \
                 wait for itself forever"
            );
        }
    }

    /// Returns a grace period as a future, for any executor: ready once every section has ended that
    /// was open when it was first polled.
    ///
    /// No guard of the domain must be held meanwhile: as a guard stays on its thread, a task that holds
    /// one across an `await` cannot be sent to another, which most executors ask for; on the others the
    /// first poll panics. [`GracePeriod`](super::GracePeriod) has an example, the cost, what happens where
    /// there is no worker, and what a fork does.
    ///
    /// ```
    /// use leeward::rcu::{Domain, Global, RcuCell};
    /// static IS_OPEN: std::sync::LazyLock<RcuCell<bool>> = std::sync::LazyLock::new(|| RcuCell::new(true));
    /// async fn close() {
    ///     IS_OPEN.store(false);
    ///     Global::synchronize_async().await;          // no thread waits
    ///     // From here on, no section is open that found `true`.
    /// }
    /// fn spawn(task: impl Future<Output = ()> + Send) {}
    /// spawn(close());
    /// ```
    #[cfg(any(feature = "threads", leeward_loom))]
    fn synchronize_async() -> super::GracePeriod<Self> {
        super::GracePeriod::new()
    }

    /// Asks for a grace period without waiting for it; [`poll_state`](Self::poll_state) returns true
    /// once it is over. (A [`synchronize`](Self::synchronize) meanwhile need not serve the cookie:
    /// without readers it returns at once.)
    ///
    /// ```
    /// use leeward::rcu::{Domain, Global};
    /// let cookie = Global::start_poll();
    /// while !Global::poll_state(&cookie) {
    ///     std::thread::yield_now();                   // or whatever else there is to do
    /// }
    /// assert!(Global::poll_state(&cookie));
    /// ```
    ///
    /// # Cost
    /// A full fence and an atomic operation; a system call if the worker sleeps.
    fn start_poll() -> Cookie<Self> {
        let state = Self::state();
        watch(state);
        let ticket = state.grace.tickets.take();
        state.queue.want(state, ticket);
        Cookie { ticket, domain: core::marker::PhantomData }
    }

    /// Returns true if a grace period has passed since the cookie was made. Never waits for
    /// readers.
    ///
    /// Once true, it stays true. The call works inside sections, and returns false while the
    /// caller's own section is in the way.
    ///
    /// ```
    /// use leeward::rcu::{Domain, Global, RcuCell};
    /// let cell = RcuCell::new(1);
    /// let guard = Global::read();
    /// let old = cell.load(&guard);
    /// let cookie = Global::start_poll();
    /// assert!(!Global::poll_state(&cookie));          // this thread's own section began before
    /// assert_eq!(*old, 1);
    /// drop(guard);
    /// ```
    ///
    /// # Memory ordering
    /// Once it returns true, everything in the sections waited for happens before what follows the
    /// call.
    ///
    /// # Cost
    /// One load. Where there is no worker (without `threads`, or when no thread could be started), and
    /// while the worker runs callbacks, a call tries to run the grace period itself, which costs a
    /// heavy fence.
    ///
    /// # Panics
    /// Where it runs the grace period itself and no [heavy fence](crate::fence::heavy) is possible.
    fn poll_state(cookie: &Cookie<Self>) -> bool {
        let state = Self::state();
        state.grace.tickets.is_served(cookie.ticket)
            || ((!state.queue.has_worker() || state.queue.is_running_callbacks())
                && state.grace.try_lead(cookie.ticket))
    }

    /// Runs `callback` after a grace period, on the domain's worker thread.
    ///
    /// The callback is always queued. At the [limit](Limit), which says more, the caller is then
    /// held up for a millisecond at most, unless the limit's policy says otherwise, and not at all
    /// inside a section or a callback of the domain.
    ///
    /// With `std`, a panic in a callback is caught and counted in [`Stats::callback_panics`];
    /// without, it ends the process if the callback runs on the worker. The worker's stack has
    /// 2 MiB. Without `threads` there is no worker: [`barrier`](Self::barrier), and callers at the
    /// limit, run what is queued; a panic in a callback comes out of them, and the rest of its batch
    /// waits for another grace period.
    ///
    /// Callbacks that are queued when the process exits do not run; [`barrier`](Self::barrier)
    /// before the end of `main` runs them.
    ///
    /// # Memory ordering
    /// Everything before the call in this thread, and everything in the sections waited for,
    /// happens before the callback.
    ///
    /// # Cost
    /// An allocation, an addition and a compare-exchange; a system call if the worker sleeps. (Of
    /// callbacks that follow one another closely it is not woken: they run up to 1 ms later.) No
    /// lock.
    ///
    /// # Panics
    /// A caller beyond the limit that runs what is queued (with [`Policy::Expedite`], or where there is no
    /// worker) may find that no [heavy fence](crate::fence::heavy) is possible, or that a stall's handler
    /// panics, and panics with that. Its callback is queued.
    ///
    /// [`Policy::Expedite`]: super::Policy::Expedite
    ///
    /// # Aborts
    /// Where there is no memory for the closure, as a box of it would.
    fn defer(callback: impl FnOnce() + Send + 'static) {
        // SAFETY: the closure is `Send` and `'static`.
        unsafe { Self::state().queue.defer::<Self, _>(callback) };
    }

    /// Does what [`defer`](Self::defer) does with a closure that the compiler cannot check.
    ///
    /// For authors of data structures, whose nodes are freed by pointers.
    ///
    /// ```
    /// use leeward::rcu::{Domain, Global};
    /// let node = Box::into_raw(Box::new(7));
    /// // SAFETY: no reader can find the node any more, it is freed nowhere else, and a number may
    /// // be dropped on any thread, at any time.
    /// unsafe { Global::defer_unchecked(move || drop(Box::from_raw(node))) };
    /// Global::barrier();
    /// ```
    ///
    /// # Safety
    /// The closure may be called on another thread (what it captures and is not `Send` must be
    /// right there), and at any later time, or never: what it borrows must live until then.
    unsafe fn defer_unchecked<F: FnOnce()>(callback: F) {
        // SAFETY: the caller's promise.
        unsafe { Self::state().queue.defer::<Self, F>(callback) };
    }

    /// Calls `call(head)` after a grace period, as [`defer`](Self::defer) does with a closure, and
    /// allocates nothing: the [`Head`], two words, lies in the object that is to be freed.
    ///
    /// It counts one callback and no bytes towards the [limit](Limit).
    ///
    /// ```
    /// use std::ptr::NonNull;
    /// use leeward::rcu::{Domain, Global, Head};
    /// #[repr(C)]
    /// struct Node { head: Head, value: u64 }
    /// /// # Safety
    /// /// The head is that of a node which is the caller's alone.
    /// unsafe extern "C-unwind" fn free(head: NonNull<Head>) {
    ///     // SAFETY: the head is a node's first field, and the node came from a box.
    ///     drop(unsafe { Box::from_raw(head.cast::<Node>().as_ptr()) });
    /// }
    /// let node = NonNull::from(Box::leak(Box::new(Node { head: Head::new(), value: 7 })));
    /// // SAFETY: no reader can find the node any more, and it is freed nowhere else.
    /// unsafe { Global::defer_raw(node.cast(), free) };
    /// Global::barrier();
    /// ```
    ///
    /// # Cost
    /// An addition and a compare-exchange; a system call if the worker sleeps. No lock.
    ///
    /// # Aborts
    /// The process ends with a line if the head is queued already, once that is found: by this call if
    /// no other was queued in between, else by the thread that was to call it. A head whose callback
    /// has begun may be queued again.
    ///
    /// # Safety
    /// - The head is the caller's alone, is not queued, and stays where it is until `call` runs.
    /// - `call` may run on another thread, at any later time, or never, and its promises hold then.
    unsafe fn defer_raw(head: NonNull<Head>, call: unsafe extern "C-unwind" fn(NonNull<Head>)) {
        let state = Self::state();
        // SAFETY: the caller's promise.
        unsafe { state.queue.push_raw(state, head, call) };
    }

    /// Runs `callback` after a grace period, as [`defer`](Self::defer) does, but never waits: at
    /// the limit, or where there is no memory for it, returns the callback.
    ///
    /// Threads that call at once may together go beyond the limit by one callback each.
    ///
    /// ```
    /// use leeward::rcu::{Domain, Global, NotQueued};
    /// let mut callback = (|| println!("no reader is left")) as fn();
    /// while let Err(NotQueued(back)) = Global::try_defer(callback) {
    ///     callback = back;                            // the queue is full: try again later
    ///     std::thread::yield_now();
    /// }
    /// Global::barrier();
    /// ```
    ///
    /// # Errors
    /// [`NotQueued`], with the callback.
    fn try_defer<F: FnOnce() + Send + 'static>(callback: F) -> Result<(), NotQueued<F>> {
        // SAFETY: it may be sent, and borrows nothing.
        unsafe { Self::state().queue.try_defer::<Self, F>(callback, OwnSize) }
    }

    /// Waits until every callback that was deferred before the call, by any thread, has run.
    ///
    /// # Cost
    /// At most the grace period that runs and one more, and the callbacks; nothing when nothing is
    /// queued.
    ///
    /// # Panics
    /// - Inside a callback or a section of the same domain, since the call would wait for itself.
    /// - Where the callbacks cannot be run, because no [heavy fence](crate::fence::heavy) is
    ///   possible or the handler of a stall panics each time, with that panic. They stay queued.
    #[track_caller]
    fn barrier() {
        let state = Self::state();
        watch(state);
        assert!(
            !state.queue.runs_here(),
            "leeward: barrier() called inside a callback of the same domain: it would wait for itself forever"
        );
        assert!(
            !local::is_inside(state) && !state.grace.is_inside(),
            "leeward: barrier() called inside a read section of the same domain: it would wait for itself forever"
        );
        state.queue.barrier(state);
    }

    /// Bounds what may be deferred and not yet run; see [`Limit`].
    ///
    /// ```
    /// use leeward::rcu::{Domain, Limit, Policy};
    /// use std::time::Duration;
    /// leeward::rcu_domain! { struct Pages; }
    /// let limit = Limit { callbacks: 1000, policy: Policy::Expedite(Duration::from_millis(5)), ..Pages::limit() };
    /// Pages::set_limit(limit);
    /// assert_eq!(Pages::limit().callbacks, 1000);
    /// ```
    fn set_limit(limit: Limit) {
        Self::state().queue.set_limit(limit);
    }

    /// Returns the limit that [`set_limit`](Self::set_limit) set last, or the default.
    ///
    /// # Cost
    /// Some loads.
    fn limit() -> Limit {
        Self::state().queue.limit()
    }

    /// Sets whether the child of a fork runs the callbacks that it inherits.
    ///
    /// By default it does not: the parent runs them, and the child forgets its copies, whose memory
    /// it keeps.
    ///
    /// A child that adopts them runs its copy of each, after a grace period of its own, on a worker
    /// that is started before `fork` returns. That serves a program that queues callbacks, forks,
    /// and goes on as the child (a daemon). The parent runs its own as well: what such a callback
    /// does must be right to be done once in each process.
    ///
    /// `fork` waits for a callback that is running at that moment, for 100 ms at most. One that
    /// runs for longer is lost to the child, and counted in [`Stats::lost`].
    ///
    /// ```
    /// use leeward::rcu::{Domain, Global};
    /// Global::set_child_adopts(true);                 // at the beginning of a program that becomes a daemon
    /// ```
    fn set_child_adopts(adopts: bool) {
        watch(Self::state());
        Self::state().queue.set_child_adopts(adopts);
    }

    /// Sets after how long a grace period reports the reader that it waits for, and the function
    /// that it reports it to. It reports again after each further such time.
    ///
    /// The default is ten seconds, to standard error. With `after: None` nothing is reported;
    /// `tell: None` restores the report to standard error. [`Stall`] has an example.
    ///
    /// `tell` runs on the thread that waits, inside a grace period: it must not call `synchronize`,
    /// `barrier` or `defer` of the same domain, nor take a lock that callers of these hold. If it
    /// panics, the next caller that asks for a grace period begins it anew; callbacks stay queued, and
    /// the worker tries again. A thread whose [`defer`](Self::defer) went beyond the limit because of a reader
    /// calls `tell` as well, at most once in each `after`.
    ///
    /// ```
    /// use leeward::rcu::{Domain, Global};
    /// use std::time::Duration;
    /// Global::set_stall_limit(Some(Duration::from_secs(60)), None);    // None: the report on standard error
    /// ```
    fn set_stall_limit(after: Option<Duration>, tell: Option<fn(&Stall)>) {
        Self::state().grace.stall.set(after, tell);
    }

    /// Returns what the domain has done so far, and what it holds.
    ///
    /// # Cost
    /// Some loads.
    fn stats() -> Stats {
        Self::state().stats()
    }
}

impl<D: Backing> Domain for D {}
