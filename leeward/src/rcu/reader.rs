//! Explicit registration: a handle that its owner keeps. No thread-local storage.

use core::marker::PhantomData;

use super::domain::Domain;
use super::fork::watch;
use super::guard::Guard;
use super::no_memory::NoMemory;
use super::slot::Slot;
use crate::process::thread;

/// A registered reader, as a value: for `no_std`, for foreign runtimes, and for loops that want the shortest section
/// there is.
///
/// Belongs to the thread that made it (that is how the child of a fork knows which sections go on, and a stalled
/// grace period whom to name); [`detach`](Self::detach) lets it travel.
///
/// ```
/// use leeward::rcu::{Global, RcuCell, Reader};
/// let config = RcuCell::<_, Global>::new(7);
/// let reader = Reader::<Global>::register();
/// let guard = reader.read();
/// assert_eq!(*config.load(&guard), 7);
/// ```
pub struct Reader<D: Domain = super::Global> {
    slot: &'static Slot,
    domain: PhantomData<(*mut (), fn() -> D)>,
}

impl<D: Domain> Reader<D> {
    /// Takes a slot of the domain's.
    ///
    /// # Panics
    /// If there is no memory for it; see [`try_register`](Self::try_register).
    pub fn register() -> Self {
        match Self::try_register() {
            Ok(reader) => reader,
            Err(error) => panic!("leeward: {error}"),
        }
    }

    /// Takes a slot of the domain's.
    ///
    /// # Errors
    /// [`NoMemory`]. The first sixteen readers of a domain need none.
    pub fn try_register() -> Result<Self, NoMemory> {
        let slot = claim::<D>()?;
        Ok(Reader { slot, domain: PhantomData })
    }

    /// Enters a read section; [`Domain::read`] says what that promises.
    ///
    /// # Cost
    /// Two loads and a store to lines of one's own and a load of the domain's epoch. Wait-free. Async-signal-safe, if
    /// the handler leaves what it enters.
    #[inline(always)]
    #[track_caller]
    pub fn read(&self) -> Guard<'_, D> {
        if self.slot.is_inside() { Guard::enter_nested(self.slot) } else { Guard::enter_outermost(self.slot) }
    }

    /// Gives the handle up for one that may be sent to another thread. No section is open, as the borrow checker
    /// knows.
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
    /// Guards that were forgotten end here: nothing that was loaded through them outlives the handle.
    fn drop(&mut self) {
        self.slot.end_all::<D::Fence>();
        D::state().grace.release(self.slot);
        thread::give_handle();
    }
}

/// A registered reader on its way from one thread to another.
pub struct DetachedReader<D: Domain = super::Global> {
    slot: &'static Slot,
    domain: PhantomData<fn() -> D>,
}

impl<D: Domain> DetachedReader<D> {
    /// Makes it the calling thread's.
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

/// A slot for a handle of the calling thread's.
fn claim<D: Domain>() -> Result<&'static Slot, NoMemory> {
    watch::<D>();
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
