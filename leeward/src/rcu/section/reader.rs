//! Explicit registration: a handle that its owner keeps, without thread-local storage.

use core::marker::PhantomData;

use super::super::domain::Domain;
use super::super::fork::watch;
use super::super::no_memory::NoMemory;
use super::guard::Guard;
use super::slot::Slot;
use crate::marker::GuardNoSend;
use crate::process::thread;

/// A registered reader, as a value: for `no_std`, for foreign runtimes, and for loops that want the
/// shortest section there is.
///
/// A reader belongs to the thread that made it: so the child of a fork knows which sections go on,
/// and a stalled grace period names the right thread. [`detach`](Self::detach) lets it travel.
///
/// ```
/// use leeward::rcu::{Global, RcuCell, Reader};
/// let config = RcuCell::new(7);
/// let reader = Reader::register();
/// let guard = reader.read();
/// assert_eq!(*config.load(&guard), 7);
/// drop(guard);
/// let detached = reader.detach();         // for another thread
/// std::thread::spawn(move || drop(detached.attach())).join().unwrap();
/// ```
///
/// # Differences from crossbeam-epoch
/// - `LocalHandle` is this type, and `pin` is [`read`](Self::read), which executes no fence.
/// - A guard borrows its handle, so it cannot outlive it.
/// - A handle travels between threads, by [`detach`](Self::detach).
///
/// [`rcu`](crate::rcu) describes [cost](crate::rcu#cost), [fork](crate::rcu#fork) and [signals](crate::rcu#signals).
pub struct Reader<D: Domain = super::super::Global> {
    slot: &'static Slot,
    domain: PhantomData<(GuardNoSend, fn() -> D)>,
}

impl Reader {
    /// Registers a reader of the calling thread in [`Global`](super::super::Global).
    /// [`register_in`](Self::register_in) registers one in any domain.
    ///
    /// # Panics
    /// If there is no memory for its slot; see [`try_register`](Self::try_register).
    #[track_caller]
    pub fn register() -> Self {
        Self::register_in()
    }

    /// Registers a reader of the calling thread in [`Global`](super::super::Global), if there is
    /// memory for its slot. Costs: [`try_register_in`](Self::try_register_in).
    ///
    /// ```
    /// use leeward::rcu::Reader;
    /// let reader = Reader::try_register().expect("no memory for another reader");
    /// drop(reader);
    /// ```
    ///
    /// # Errors
    /// [`NoMemory`].
    pub fn try_register() -> Result<Self, NoMemory> {
        Self::try_register_in()
    }
}

impl<D: Domain> Reader<D> {
    /// Registers a reader of the calling thread in the domain `D`.
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

    /// Registers a reader of the calling thread in the domain `D`, if there is memory for its slot.
    ///
    /// ```
    /// use leeward::rcu::Reader;
    /// leeward::rcu_domain! { struct Routes; }
    /// let reader = Reader::<Routes>::try_register_in().expect("no memory for another reader");
    /// drop(reader.read());
    /// ```
    ///
    /// # Cost
    /// A search for a free slot, some atomic operations and a full fence; a system call for more
    /// memory where all slots are taken. The first 16 readers of a domain need none.
    ///
    /// # Errors
    /// [`NoMemory`].
    pub fn try_register_in() -> Result<Self, NoMemory> {
        let slot = claim::<D>()?;
        Ok(Reader { slot, domain: PhantomData })
    }

    /// Enters a read section; [`Domain::read`] says what that promises.
    ///
    /// # Cost
    /// A load and a store to the reader's own slot, and a load of the domain's epoch. Wait-free.
    ///
    /// # Async-signal-safety
    /// Safe in a handler that leaves every section that it enters; the [module](crate::rcu#signals) says
    /// more.
    #[inline(always)]
    #[track_caller]
    pub fn read(&self) -> Guard<'_, D> {
        if self.slot.is_inside() { Guard::enter_nested(self.slot) } else { Guard::enter_outermost(self.slot) }
    }

    /// Gives the handle up for one that may be sent to another thread.
    ///
    /// The borrow checker ensures that no guard of the handle is alive; sections whose guards were
    /// forgotten end here.
    pub fn detach(self) -> DetachedReader<D> {
        let slot = self.slot;
        core::mem::forget(self);
        slot.end_all::<D::Fence>();
        slot.detach();
        thread::give_handle();
        DetachedReader { slot, domain: PhantomData }
    }
}

impl<D: Domain> Drop for Reader<D> {
    /// Unregisters the reader. Sections whose guards were forgotten end here: nothing that was
    /// loaded through them outlives the handle.
    fn drop(&mut self) {
        self.slot.end_all::<D::Fence>();
        D::state().grace.release(self.slot);
        thread::give_handle();
    }
}

/// A registered reader without a thread, made by [`Reader::detach`], which may be sent to another
/// thread.
///
/// ```
/// use leeward::rcu::{Global, RcuCell, Reader};
/// let config = RcuCell::new(7);
/// let reader = Reader::register().detach();
/// std::thread::scope(|scope| {
///     scope.spawn(|| {
///         let reader = reader.attach();
///         assert_eq!(*config.load(&reader.read()), 7);
///     });
/// });
/// ```
///
/// It is outside of every section, so no grace period waits for it. It keeps its slot across a
/// [fork](crate::rcu#fork), where the child may attach it.
pub struct DetachedReader<D: Domain = super::super::Global> {
    slot: &'static Slot,
    domain: PhantomData<fn() -> D>,
}

impl<D: Domain> DetachedReader<D> {
    /// Gives the reader to the calling thread.
    pub fn attach(self) -> Reader<D> {
        let slot = self.slot;
        core::mem::forget(self);
        slot.hand_to(thread::take_handle(), thread::number());
        Reader { slot, domain: PhantomData }
    }
}

impl<D: Domain> Drop for DetachedReader<D> {
    fn drop(&mut self) {
        D::state().grace.release(self.slot);
    }
}

/// Takes a slot for a handle of the calling thread.
fn claim<D: Domain>() -> Result<&'static Slot, NoMemory> {
    watch(D::state());
    let slot = D::state().grace.claim(thread::take_handle(), thread::number());
    slot.map_err(|_| {
        thread::give_handle();
        NoMemory
    })
}

impl<D: Domain> core::fmt::Debug for Reader<D> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Reader").field("inside", &self.slot.is_inside()).finish()
    }
}

impl<D: Domain> core::fmt::Debug for DetachedReader<D> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("DetachedReader").finish_non_exhaustive()
    }
}
