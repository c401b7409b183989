//! Quiescent-state-based reading: no entering and no leaving; from time to time the reader says "I hold nothing".
//!
//! Safe, because the borrow checker proves the quiescent state: loading borrows the handle, [`Reader::quiescent`]
//! needs it whole, so nothing that was loaded can be alive. The slot and the grace period are those of every other
//! reader: a domain may have both kinds.
//!
//! ```
//! use leeward::rcu::{Domain, Global, RcuCell, qsbr};
//! let config = RcuCell::<_, Global>::new(String::from("first"));
//! let mut reader = qsbr::Reader::<Global>::online();
//! for _ in 0..3 {
//!     let now = config.load(&reader);     // no fence, no store
//!     assert_eq!(now, "first");
//!     reader.quiescent();                 // `now` is dead here, or this does not compile
//! }
//! reader.offline(|| { /* block, for as long as you like */ });
//! ```

use core::marker::PhantomData;

use super::domain::{Domain, NoMemory};
use super::local;
use super::reader::{claim, release};
use super::slot::Slot;

/// A reader that is inside from its registration on, and says so anew now and then.
///
/// Grace periods wait for it to become [quiescent](Self::quiescent), go [offline](Self::offline) or be dropped: a
/// thread that has one and blocks holds them up. Belongs to its thread.
pub struct Reader<D: Domain = super::Global> {
    slot: &'static Slot,
    domain: PhantomData<(*mut (), fn() -> D)>,
}

impl<D: Domain> Reader<D> {
    /// Registers a reader of the calling thread's, online.
    ///
    /// # Panics
    /// If there is no memory for its slot; see [`try_online`](Self::try_online).
    #[track_caller]
    pub fn online() -> Self {
        match Self::try_online() {
            Ok(reader) => reader,
            Err(error) => panic!("leeward: {error}"),
        }
    }

    /// Registers a reader of the calling thread's, online.
    ///
    /// # Errors
    /// [`NoMemory`].
    #[track_caller]
    pub fn try_online() -> Result<Self, NoMemory> {
        let slot = claim::<D>()?;
        if cfg!(debug_assertions) {
            slot.note_entry(core::panic::Location::caller());
        }
        slot.enter_outermost::<D::Fence>(D::state().grace.epoch());
        Ok(Reader { slot, domain: PhantomData })
    }

    /// Announces that the thread holds nothing that it loaded through this handle.
    ///
    /// # Cost
    /// Two loads, a store, and a look at the thread's own slot; a system call if a writer sleeps on this reader.
    /// Wait-free.
    ///
    /// # Panics
    /// While the thread is inside a section of the same domain ([`Domain::read`]): what the section loaded is still
    /// held, so the state is not quiescent.
    #[inline]
    pub fn quiescent(&mut self) {
        if local::is_inside::<D>() {
            quiescent_while_nested();
        }
        self.slot.quiesce::<D::Fence>(D::state().grace.epoch());
    }

    /// Runs `blocking` while no grace period waits for this reader.
    pub fn offline<R>(&mut self, blocking: impl FnOnce() -> R) -> R {
        struct Back<'a, D: Domain>(&'a Reader<D>);
        impl<D: Domain> Drop for Back<'_, D> {
            fn drop(&mut self) {
                self.0.slot.enter_outermost::<D::Fence>(D::state().grace.epoch());
            }
        }
        self.slot.end_all::<D::Fence>();
        // Also when `blocking` panics: the handle may be used afterwards.
        let _back = Back(self);
        blocking()
    }

    /// Waits for a grace period without standing in its way.
    pub fn synchronize(&mut self) {
        self.offline(D::synchronize);
    }
}

#[cold]
#[inline(never)]
fn quiescent_while_nested() -> ! {
    panic!("leeward: quiescent() called while the thread is inside a read section of the same domain");
}

impl<D: Domain> Drop for Reader<D> {
    fn drop(&mut self) {
        release::<D>(self.slot);
    }
}

impl<D: Domain> core::fmt::Debug for Reader<D> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Reader").finish_non_exhaustive()
    }
}
