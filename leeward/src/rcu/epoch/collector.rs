//! Collectors: domains as values.
//!
//! A collector's words (`Inner`) live as long as its values and its threads' records (`local.rs`) do.
//! The children of forks find them by a registry of their addresses.

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::fmt;
use core::ops::Deref;
use core::ptr::{self, NonNull};

use super::super::free::worker;
use super::super::grace::Grace;
use super::super::grace::pace::Pace;
use super::super::grace::stats::Stats;
use super::super::kind::Kind;
use super::deferred::{Bag, Bags, Deferred};
use super::forks::{self, ForkEntry};
use super::lent::LentList;
use crate::atomic::{AtomicPtr, AtomicU64, Ordering};
use crate::fence;

/// A set of readers, and what they retire: an RCU domain as a value.
///
/// Handles ([`register`](Self::register)) belong to a thread and enter sections. What is deferred
/// under a guard is called by a thread that defers, pins or drops its handle later, once every
/// section that was open has ended; there is no worker. Dropping a collector's last handle and the
/// last of its clones calls all that is left.
///
/// ```
/// use leeward::rcu::epoch::{Atomic, Collector, Owned};
/// use std::sync::atomic::Ordering::{AcqRel, Acquire};
/// let collector = Collector::new();
/// let handle = collector.register();
/// let head = Atomic::new(1);
/// let guard = handle.pin();
/// let old = head.swap(Owned::new(2), AcqRel, &guard);
/// // SAFETY: unlinked above, and retired once, in the collector whose guards its readers hold.
/// unsafe { guard.defer_destroy(old) };
/// # drop(guard);
/// # drop(unsafe { head.into_owned() });
/// ```
///
/// # Cost
/// Two kilobytes and a half. Sections cost what a [`Reader`](crate::rcu::Reader)'s do and a count
/// more; deferring writes three words. A heavy fence is shared by 41 calls at least, and by more where
/// it takes long.
#[derive(Clone)]
pub struct Collector(pub(super) Arc<Owner>);

/// What a collector's handles and clones share: the owner of its words.
///
/// The words have memory of their own, so that no `&mut` to them exists while another thread may use
/// them. The last `Arc` makes one to what it holds, and a thread that exits, or forks, may be going
/// through all collectors then (`forks.rs`): it has a `&Grace` until the entry is cleared.
pub(super) struct Owner(Words);

/// The address of a collector's words, which its drop frees.
struct Words(NonNull<Inner>);

// SAFETY: it owns an `Inner`, which is `Send` and `Sync`.
unsafe impl Send for Words {}
// SAFETY: as above.
unsafe impl Sync for Words {}

impl Deref for Owner {
    type Target = Inner;

    fn deref(&self) -> &Inner {
        // SAFETY: made by `Box::into_raw`, and freed by the drop of `Words` alone.
        unsafe { self.0.0.as_ref() }
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        // First: nothing below may meet a thread that goes through all collectors.
        self.entry.clear();
        // SAFETY: the last one that had the collector is being dropped.
        unsafe { self.end() };
    }
}

impl Drop for Words {
    fn drop(&mut self) {
        // SAFETY: made by `Box::into_raw`; the `Owner` is gone, and the entry was cleared.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

/// The words of a collector.
pub(super) struct Inner {
    pub(super) grace: Grace,
    pace: Pace,
    /// The number of calls that were sealed and not made.
    held: AtomicU64,
    /// The limit of `held`, as `set_limit` says.
    limit: AtomicU64,
    /// Bags of records that were dropped, as a list (`Bags`).
    orphans: AtomicPtr<Bag>,
    /// The ticket of some orphan, after which they are looked at; 0: there is none.
    orphans_ticket: AtomicU64,
    /// True: readers execute full fences, since no heavy fence is possible.
    pub(super) is_full: bool,
    entry: &'static ForkEntry,
    /// The records that it lends to threads which enter without a handle.
    pub(super) lent: LentList,
}

// SAFETY: bags hold calls that may be made on any thread (`Deferred::new`).
unsafe impl Send for Inner {}
// SAFETY: as above; the bags are exchanged atomically.
unsafe impl Sync for Inner {}

impl Collector {
    /// Makes a collector without readers.
    ///
    /// # Panics
    /// If there is no memory to keep its address for the children of forks.
    pub fn new() -> Collector {
        let is_full = !fence::is_possible();
        let Some(entry) = forks::claim() else { panic!("leeward: there is no memory for one more collector") };
        let inner = Box::new(Inner {
            grace: Grace::new(Kind::new(!is_full, None)),
            pace: Pace::new(),
            held: AtomicU64::new(0),
            limit: AtomicU64::new(1 << 16),
            orphans: AtomicPtr::new(ptr::null_mut()),
            orphans_ticket: AtomicU64::new(0),
            is_full,
            entry,
            lent: LentList::new(),
        });
        let owner = Owner(Words(NonNull::from(Box::leak(inner))));
        entry.set(NonNull::from(&owner.grace));
        Collector(Arc::new(owner))
    }

    /// Waits until every section of this collector that was open when the call began has ended; as
    /// [`Domain::synchronize`](crate::rcu::Domain::synchronize), with its cost and its panics. (It makes
    /// no deferred call.)
    ///
    /// ```
    /// use leeward::rcu::epoch::{Atomic, Collector, Owned};
    /// use std::sync::atomic::Ordering::AcqRel;
    /// let collector = Collector::new();
    /// let name = Atomic::new("a");
    /// let old = name.swap(Owned::new("b"), AcqRel, &collector.register().pin()).as_raw();
    /// collector.synchronize();
    /// // SAFETY: unlinked above, and every older section has ended; it came from a box.
    /// drop(unsafe { Box::from_raw(old.cast_mut()) });
    /// # drop(unsafe { name.into_owned() });
    /// ```
    ///
    /// # Panics
    /// - In a section of the same collector.
    /// - Where heavy fences have become impossible ([`fence::heavy`](crate::fence::heavy)).
    #[track_caller]
    pub fn synchronize(&self) {
        if self.0.grace.synchronize().is_err() {
            panic!("leeward: Collector::synchronize was called in a section of the same collector");
        }
    }

    /// Sets how many deferred calls should be held back at most: a grace period begins at the latest when
    /// a quarter of that waits for it, whatever its fence costs; and a thread that defers beyond the limit
    /// makes more of the calls. The default is 65,536.
    ///
    /// A reader that stays in its section holds all of them back even so: [`Stats::over_limit`] counts
    /// the bags that were sealed beyond the limit.
    ///
    /// ```
    /// use leeward::rcu::epoch::Collector;
    /// let collector = Collector::new();
    /// collector.set_limit(1000);
    /// let handle = collector.register();
    /// handle.pin().defer(|| ());
    /// assert_eq!(collector.stats().over_limit, 0);
    /// ```
    pub fn set_limit(&self, calls: usize) {
        // Relaxed: a number.
        self.0.limit.store(calls as u64, Ordering::Relaxed);
    }

    /// Returns what the collector has done so far, and what it holds: of the calls that are queued,
    /// those in bags that are full or were flushed.
    pub fn stats(&self) -> Stats {
        let counts = &self.0.grace.counts;
        Stats {
            grace_periods: counts.grace_periods.get(),
            heavy_fences: counts.heavy_fences.get(),
            sleeps: counts.sleeps.get(),
            stalls: counts.stalls.get(),
            readers: self.0.grace.readers(),
            callbacks_run: counts.callbacks_run.get(),
            callback_panics: counts.callback_panics.get(),
            over_limit: counts.over_limit.get(),
            // Relaxed: a count.
            callbacks_queued: self.0.held.load(Ordering::Relaxed),
            ..Stats::default()
        }
    }
}

impl Inner {
    /// Seals a bag: takes its ticket, and counts its calls.
    pub(super) fn seal(&self, bag: &mut Bag) {
        bag.ticket = self.grace.tickets.take();
        let calls = bag.len() as u64;
        self.pace.note_sealed(calls);
        // Relaxed: a count.
        self.held.fetch_add(calls, Ordering::Relaxed);
        if self.is_beyond_limit() {
            self.grace.counts.over_limit.add(1);
        }
    }

    /// Goes on with a grace period for the ticket `wanted`, or the orphans', if that needs no waiting.
    /// `at_once`: begins one although few calls wait for it.
    pub(super) fn step(&self, wanted: Option<u64>, at_once: bool) {
        // Relaxed: a number. The next look sees it, if this one does not.
        let wanted = wanted.unwrap_or(0).max(self.orphans_ticket.load(Ordering::Relaxed));
        // Relaxed: a number.
        self.pace.step(&self.grace, wanted, at_once, self.limit.load(Ordering::Relaxed) / 4);
    }

    /// Returns true if more calls are held back than should be.
    pub(super) fn is_beyond_limit(&self) -> bool {
        // Relaxed, both: numbers.
        self.held.load(Ordering::Relaxed) > self.limit.load(Ordering::Relaxed)
    }

    /// Returns true if the bag's grace period is over.
    pub(super) fn is_over(&self, bag: &Bag) -> bool {
        self.grace.tickets.is_served(bag.ticket)
    }

    /// Makes the calls of a bag, whose grace period is over, and returns the bag. What panics is counted;
    /// where panics are not caught, the rest is left to the next thread.
    pub(super) fn run(&self, bag: Box<Bag>) -> Box<Bag> {
        let mut making = Making { inner: self, calls: bag.len(), bag: Some(bag) };
        if let Some(bag) = &mut making.bag {
            self.make_calls(bag);
        }
        making.end().unwrap_or_else(Bag::new)
    }

    /// Makes the calls of a bag that may not be sealed, of a collector that ends.
    fn run_unsealed(&self, bag: &mut Bag) {
        self.grace.counts.callbacks_run.add(bag.len() as u64);
        self.make_calls(bag);
    }

    fn make_calls(&self, bag: &mut Bag) {
        bag.empty(|deferred: Deferred| {
            // SAFETY: the grace period of the bag is over.
            if worker::panics(|| unsafe { deferred.call() }) {
                self.grace.counts.callback_panics.add(1);
            }
        });
    }

    /// Leaves bags to the next thread that collects (`run_orphans`).
    pub(super) fn leave(&self, bags: Bags) {
        let Some(ticket) = bags.last_ticket() else { return };
        let mut first = bags.into_raw(ptr::null_mut());
        // SeqCst, here and in `run_orphans`: this exchange is before that of the ticket below, as the
        // two of `run_orphans` are the other way round.
        // - If our look at the ticket comes first, the other takes our bags, too.
        // - If the other's exchange of the ticket comes first, we set the ticket anew.
        // It also releases the bags, and acquires those of others.
        while self.orphans.compare_exchange(ptr::null_mut(), first, Ordering::SeqCst, Ordering::Relaxed).is_err() {
            // Others left theirs: they go behind ours.
            // SAFETY: this thread's alone.
            let ours = unsafe { Bags::from_raw(first) };
            first = ours.into_raw(self.orphans.swap(ptr::null_mut(), Ordering::SeqCst));
        }
        let _ = self.orphans_ticket.compare_exchange(0, ticket, Ordering::SeqCst, Ordering::SeqCst);
    }

    /// Makes the calls of orphans whose grace period is over. Returns true if there may be some.
    pub(super) fn run_orphans(&self) -> bool {
        // Relaxed: a hint.
        let ticket = self.orphans_ticket.load(Ordering::Relaxed);
        if ticket == 0 || !self.grace.tickets.is_served(ticket) {
            return false;
        }
        // SeqCst, both: as in `leave`.
        self.orphans_ticket.swap(0, Ordering::SeqCst);
        let first = self.orphans.swap(ptr::null_mut(), Ordering::SeqCst);
        // SAFETY: taken by the exchange.
        let mut orphans = unsafe { Bags::from_raw(first) };
        let mut later = Bags::new();
        while let Some(bag) = orphans.pop_if(|_| true) {
            if self.is_over(&bag) {
                self.run(bag);
            } else {
                later.push(bag);
            }
        }
        self.leave(later);
        true
    }

    /// Makes all calls that are left: there is no reader any more. The records that were lent point
    /// into the words, so that this takes no `&mut`.
    ///
    /// # Safety
    /// No other thread uses the collector, or will.
    unsafe fn end(&self) {
        // SAFETY: guards of these records borrowed the collector.
        unsafe { self.lent.end(&mut |bag| self.run_unsealed(bag)) };
        // Relaxed: the caller has the collector alone.
        let first = self.orphans.swap(ptr::null_mut(), Ordering::Relaxed);
        // SAFETY: taken by the exchange.
        let mut orphans = unsafe { Bags::from_raw(first) };
        while let Some(bag) = orphans.pop_if(|_| true) {
            self.run(bag);
        }
    }
}

/// A bag whose calls are being made.
struct Making<'a> {
    inner: &'a Inner,
    /// The number of calls that it had.
    calls: usize,
    bag: Option<Box<Bag>>,
}

impl Making<'_> {
    /// Counts the calls that were made, and returns the bag.
    fn end(&mut self) -> Option<Box<Bag>> {
        let bag = self.bag.take()?;
        let made = (self.calls - bag.len()) as u64;
        self.inner.grace.counts.callbacks_run.add(made);
        // Relaxed: a count.
        self.inner.held.fetch_sub(made, Ordering::Relaxed);
        Some(bag)
    }
}

impl Drop for Making<'_> {
    fn drop(&mut self) {
        // A call has unwound, where panics are not caught.
        if let Some(bag) = self.end() {
            let mut rest = Bags::new();
            rest.push(bag);
            self.inner.leave(rest);
        }
    }
}

impl Default for Collector {
    fn default() -> Self {
        Collector::new()
    }
}

/// Two are equal that are clones of one.
impl PartialEq for Collector {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}
impl Eq for Collector {}

impl fmt::Debug for Collector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Collector").finish_non_exhaustive()
    }
}
