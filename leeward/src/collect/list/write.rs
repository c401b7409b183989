//! What writers call on the list: the lock, and single steps.

use super::list::List;
use super::lock::AlreadyOwn;
use super::locked::Locked;
use super::node::NodeChain;
use super::retired::Retired;
use crate::rcu::Domain;

impl<T, D: Domain> List<T, D> {
    /// Locks the list for writing, waiting as long as that takes. Readers go on.
    ///
    /// What takes a closure is a method of [`Locked`]: it runs while the caller can see that the list
    /// is locked. A real-time thread that waits sleeps, after some microseconds of rechecks.
    ///
    /// # Panics
    /// If the calling thread has the list locked already.
    #[inline]
    #[track_caller]
    pub fn lock(&self) -> Locked<'_, T, D> {
        match self.lock.lock() {
            // SAFETY: locked above.
            Ok(taken) => unsafe { Locked::new(self, taken) },
            Err(AlreadyOwn) => own(),
        }
    }

    /// Locks the list for writing, unless a thread has it locked; also if that is the calling one.
    pub fn try_lock(&self) -> Option<Locked<'_, T, D>> {
        let taken = self.lock.try_lock()?;
        // SAFETY: locked above.
        Some(unsafe { Locked::new(self, taken) })
    }

    /// Adds a value at the front.
    ///
    /// # Panics
    /// As [`lock`](Self::lock), and as [`handle_alloc_error`](std::alloc::handle_alloc_error), if there
    /// is no memory.
    #[track_caller]
    pub fn push_front(&self, value: T) {
        let chain = NodeChain::one(value);
        self.lock().link_front(chain);
    }

    /// Adds a value at the end.
    ///
    /// # Panics
    /// As [`push_front`](Self::push_front).
    #[track_caller]
    pub fn push_back(&self, value: T) {
        let chain = NodeChain::one(value);
        self.lock().link_back(chain);
    }

    /// Adds a value at the front.
    ///
    /// # Errors
    /// The value, if there is no memory for it.
    ///
    /// # Panics
    /// As [`lock`](Self::lock).
    #[track_caller]
    pub fn try_push_front(&self, value: T) -> Result<(), T> {
        let chain = NodeChain::try_one(value)?;
        self.lock().link_front(chain);
        Ok(())
    }

    /// Adds a value at the end.
    ///
    /// ```
    /// let list = leeward::collect::List::new();
    /// assert_eq!(list.try_push_back(1), Ok(()));
    /// ```
    ///
    /// # Errors
    /// The value, if there is no memory for it.
    ///
    /// # Panics
    /// As [`lock`](Self::lock).
    #[track_caller]
    pub fn try_push_back(&self, value: T) -> Result<(), T> {
        let chain = NodeChain::try_one(value)?;
        self.lock().link_back(chain);
        Ok(())
    }

    /// Takes the first value out, and returns it.
    ///
    /// # Panics
    /// As [`lock`](Self::lock).
    #[track_caller]
    pub fn pop_front(&self) -> Option<Retired<'_, T, D>> {
        self.lock().pop_front()
    }

    /// Takes the last value out, and returns it.
    ///
    /// # Panics
    /// As [`lock`](Self::lock).
    #[track_caller]
    pub fn pop_back(&self) -> Option<Retired<'_, T, D>> {
        self.lock().pop_back()
    }

    /// Takes all values out, at one moment. They are freed after a grace period.
    ///
    /// # Panics
    /// As [`lock`](Self::lock).
    #[track_caller]
    pub fn clear(&self) {
        self.lock().clear();
    }

    /// Moves the values of another list to the end of this one, as [`Locked::append`] does.
    ///
    /// ```
    /// use leeward::{collect::List, rcu};
    /// let list = List::from([1, 2]);
    /// list.append(List::from([3, 4]));
    /// assert!(list.iter(&rcu::read()).eq(&[1, 2, 3, 4]));
    /// ```
    ///
    /// # Panics
    /// As [`lock`](Self::lock).
    #[track_caller]
    pub fn append<E: Domain>(&self, mut other: List<T, E>) {
        let chain = other.take_chain();
        // Before the lock: destructors of what was removed from it may run.
        drop(other);
        if let Some(chain) = chain {
            self.lock().link_back(chain);
        }
    }

    /// Adds all values of an iterator at the end, at one moment: it runs to its end first, with no lock
    /// held.
    pub(super) fn add_all(&self, values: impl IntoIterator<Item = T>) {
        if let Some(chain) = NodeChain::collect(values) {
            self.lock().link_back(chain);
        }
    }
}

#[cold]
#[inline(never)]
#[track_caller]
fn own() -> ! {
    panic!("leeward: a thread locks a List that it has locked: use its Locked, or drop that first");
}
