//! Quiescent-state-based reading (QSBR): a reader neither enters nor leaves, but announces now and
//! then that it holds nothing.
//!
//! The borrow checker proves the quiescent state: a load borrows the handle, and
//! [`Reader::quiescent`] borrows it mutably, so nothing that was loaded can be alive. The slot and
//! the grace period are those of every other reader: a domain may have both kinds.
//!
//! ```
//! use leeward::rcu::{Domain, Global, RcuCell, qsbr};
//! let config = RcuCell::new(String::from("first"));
//! let mut reader = qsbr::Reader::register();
//! for _ in 0..3 {
//!     let now = config.load(&reader);     // no fence, no store
//!     assert_eq!(now, "first");
//!     reader.quiescent();                 // `now` is dead here, or this does not compile
//! }
//! reader.offline(|| { /* block, for as long as you like */ });
//! ```

use core::marker::PhantomData;

use super::super::domain::Domain;
use super::super::fork::watch;
use super::super::no_memory::NoMemory;
use super::local;
use super::slot::Slot;
use crate::fence::Full;
use crate::marker::GuardNoSend;
use crate::process::thread;

/// A reader that is inside a section (online) from its registration on, and announces quiescent
/// states.
///
/// ```
/// use leeward::rcu::{Global, RcuCell, qsbr};
/// let config = RcuCell::new(7);
/// let mut reader = qsbr::Reader::register();
/// let mut sum = 0;
/// for _event in 0..3 {
///     sum += *config.load(&reader);
///     reader.quiescent();
/// }
/// assert_eq!(sum, 21);
/// reader.offline(|| std::thread::yield_now());    // no grace period waits for it in there
/// reader.synchronize();                           // a reader may be a writer as well
/// ```
///
/// Grace periods wait for it to become [quiescent](Self::quiescent), go [offline](Self::offline) or
/// be dropped: a thread that has one and blocks holds them up. The reader belongs to its thread.
///
/// A quiescent state executes a full fence, but only if a grace period has begun since the last
/// one. So writers need no heavy fence for such readers: in a domain whose readers are all of this
/// kind, grace periods make no system call, except to sleep.
///
/// A thread that has an online reader is always inside: [`Domain::synchronize`] and
/// [`Domain::barrier`] panic there, and [`Domain::defer`] does not wait at the
/// [limit](super::super::Limit).
///
/// # Differences from liburcu
/// - The compiler checks that nothing is held at a quiescent state.
/// - A domain may have readers of sections beside it; liburcu's qsbr is a flavour of its own.
/// - `rcu_thread_offline` and `rcu_thread_online` are one call, [`offline`](Self::offline), which
///   comes online again when its closure panics, too.
/// - `rcu_register_thread` is [`register`](Self::register), as of the [reader of
///   sections](super::super::Reader::register). Dropping the reader unregisters it.
///
/// [`rcu`](crate::rcu) describes [cost](crate::rcu#cost), [fork](crate::rcu#fork) and [signals](crate::rcu#signals).
pub struct Reader<D: Domain = super::super::Global> {
    pub(in crate::rcu) slot: &'static Slot,
    domain: PhantomData<(GuardNoSend, fn() -> D)>,
}

impl Reader {
    /// Registers a reader of the calling thread in [`Global`](super::super::Global), which is online at
    /// once: grace periods wait for it from now on. [`register_in`](Self::register_in) registers one in any domain.
    ///
    /// # Panics
    /// If there is no memory for its slot; see [`try_register`](Self::try_register).
    #[track_caller]
    pub fn register() -> Self {
        Self::register_in()
    }

    /// Registers a reader of the calling thread in [`Global`](super::super::Global), which is online at
    /// once, if there is memory for its slot. Costs: [`try_register_in`](Self::try_register_in).
    ///
    /// ```
    /// use leeward::rcu::qsbr::Reader;
    /// let reader = Reader::try_register().expect("no memory for another reader");
    /// drop(reader);
    /// ```
    ///
    /// # Errors
    /// [`NoMemory`].
    #[track_caller]
    pub fn try_register() -> Result<Self, NoMemory> {
        Self::try_register_in()
    }
}

impl<D: Domain> Reader<D> {
    /// Registers a reader of the calling thread in the domain `D`, which is online at once: grace periods
    /// wait for it from now on.
    ///
    /// # Panics
    /// If there is no memory for its slot; see [`try_register_in`](Self::try_register_in).
    #[track_caller]
    pub fn register_in() -> Self {
        match Self::try_register_in() {
            Ok(reader) => reader,
            Err(error) => panic!("leeward: {error}"),
        }
    }

    /// Registers a reader of the calling thread in the domain `D`, which is online at once, if there is
    /// memory for its slot.
    ///
    /// ```
    /// use leeward::rcu::qsbr::Reader;
    /// leeward::rcu_domain! { struct Routes; }
    /// let reader = Reader::<Routes>::try_register_in().expect("no memory for another reader");
    /// drop(reader);
    /// ```
    ///
    /// # Errors
    /// [`NoMemory`].
    #[track_caller]
    pub fn try_register_in() -> Result<Self, NoMemory> {
        watch(D::state());
        let grace = &D::state().grace;
        let slot = grace.claim_fenced(thread::take_handle(), thread::number()).map_err(|_| {
            thread::give_handle();
            NoMemory
        })?;
        if cfg!(debug_assertions) {
            slot.note_entry(core::panic::Location::caller());
        }
        slot.enter_outermost::<Full>(grace.epoch());
        Ok(Reader { slot, domain: PhantomData })
    }

    /// Announces a quiescent state: the thread holds nothing that it loaded through this handle.
    ///
    /// # Memory ordering
    /// Everything before the call in this thread happens before what follows a grace period that
    /// this quiescent state ends. Loads after the call see what was unlinked before that grace
    /// period.
    ///
    /// # Cost
    /// Two loads and a comparison, if no grace period has begun since the last call. Otherwise also
    /// a store and a full fence; a futex wake and a yield if a writer sleeps on this reader.
    /// Wait-free but for those two calls.
    ///
    /// # Panics
    /// In debug builds, while the thread is inside a section of the same domain ([`Domain::read`]):
    /// what the section loaded is still held, so the state is not quiescent. (It stays protected,
    /// by the section's own announcement.)
    #[inline]
    #[track_caller]
    pub fn quiescent(&mut self) {
        if cfg!(debug_assertions) && local::is_inside(D::state()) {
            quiescent_while_nested();
        }
        self.slot.quiesce_if_changed(D::state().grace.epoch());
    }

    /// Runs `blocking`, during which no grace period waits for this reader.
    ///
    /// # Cost
    /// Two stores and two full fences; a futex wake and a yield if a writer sleeps on this reader.
    pub fn offline<R>(&mut self, blocking: impl FnOnce() -> R) -> R {
        let _offline = Offline::begin(self);
        blocking()
    }

    /// Waits for a grace period, during which this reader is offline.
    ///
    /// # Panics
    /// As [`Domain::synchronize`] does, for example inside another section of the domain. The
    /// reader is online again then.
    #[track_caller]
    pub fn synchronize(&mut self) {
        let _offline = Offline::begin(self);
        D::synchronize();
    }
}

/// The time for which a reader is offline. Its drop brings the reader online again, after a panic
/// as well, since the handle may be used afterwards.
struct Offline<'a, D: Domain>(&'a Reader<D>);

impl<'a, D: Domain> Offline<'a, D> {
    fn begin(reader: &'a mut Reader<D>) -> Self {
        reader.slot.end_all::<Full>();
        Offline(reader)
    }
}

impl<D: Domain> Drop for Offline<'_, D> {
    fn drop(&mut self) {
        self.0.slot.enter_outermost::<Full>(D::state().grace.epoch());
    }
}

#[cold]
#[inline(never)]
#[track_caller]
fn quiescent_while_nested() -> ! {
    panic!("leeward: quiescent() called while the thread is inside a read section of the same domain");
}

impl<D: Domain> Drop for Reader<D> {
    fn drop(&mut self) {
        self.slot.end_all::<Full>();
        D::state().grace.release(self.slot);
        thread::give_handle();
    }
}

impl<D: Domain> core::fmt::Debug for Reader<D> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Reader").finish_non_exhaustive()
    }
}
