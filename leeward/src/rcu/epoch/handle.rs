//! Handles: a thread's registration with a collector.

use core::fmt;
use core::ptr::NonNull;

use super::super::no_memory::NoMemory;
use super::collector::Collector;
use super::guard::Guard;
use super::local::{Kind, Local};

impl Collector {
    /// Makes a handle of the calling thread.
    ///
    /// # Panics
    /// If there is no memory for its slot.
    pub fn register(&self) -> LocalHandle {
        match self.try_register() {
            Ok(handle) => handle,
            Err(error) => panic!("leeward: {error}"),
        }
    }

    /// Makes a handle of the calling thread, if there is memory for its slot.
    ///
    /// ```
    /// use leeward::rcu::epoch::Collector;
    /// let collector = Collector::new();
    /// let handle = collector.try_register().expect("no memory for another thread");
    /// assert!(handle.collector() == &collector);
    /// ```
    ///
    /// # Errors
    /// [`NoMemory`].
    pub fn try_register(&self) -> Result<LocalHandle, NoMemory> {
        Local::new(self.clone(), Kind::Handle).map(|local| LocalHandle { local })
    }
}

/// A thread's registration with a [`Collector`]. It stays on its thread.
///
/// ```
/// use leeward::rcu::epoch::Collector;
/// let handle = Collector::new().register();
/// let guard = handle.pin();
/// assert!(handle.is_pinned());
/// drop(handle);               // the guard goes on
/// drop(guard);
/// ```
pub struct LocalHandle {
    local: NonNull<Local>,
}

impl LocalHandle {
    /// Enters a section, within which pointers may be loaded. Sections nest.
    ///
    /// # Cost
    /// That of [`Reader::read`](crate::rcu::Reader::read), a load and a count more; no fence and no
    /// locked instruction. Every 128th call of a thread that has deferred something may make some of
    /// the deferred calls.
    #[inline]
    pub fn pin(&self) -> Guard {
        // SAFETY: the record lives as long as the handle does.
        unsafe { Guard::enter(self.local) }
    }

    /// Returns true if a guard of this handle is open.
    #[inline]
    pub fn is_pinned(&self) -> bool {
        self.local().is_pinned()
    }

    /// Returns the handle's collector.
    #[inline]
    pub fn collector(&self) -> &Collector {
        self.local().collector()
    }

    fn local(&self) -> &Local {
        // SAFETY: as above.
        unsafe { self.local.as_ref() }
    }
}

impl Drop for LocalHandle {
    /// Ends the registration, now or with the last guard, and makes the deferred calls that may be
    /// made; the others are left to the collector's other threads.
    fn drop(&mut self) {
        // SAFETY: the record's one handle, which is not used any more.
        unsafe { Local::drop_handle(self.local) };
    }
}

impl fmt::Debug for LocalHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalHandle").field("pinned", &self.is_pinned()).finish()
    }
}
