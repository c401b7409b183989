//! What distinguishes one domain's state from another's: which fences its readers execute, and
//! where a thread finds its slot. It never changes.
//!
//! Read by everything that works on a domain's state without knowing the domain's type.

use super::section::slot::Slot;
use crate::atomic::const_fn;
use crate::fence::{self, Asymmetric, Error, Full, Pair};

/// A function that returns the address of the calling thread's variable of one domain, which holds
/// the address of the thread's slot.
#[doc(hidden)]
pub type Place = extern "C" fn() -> *mut *const Slot;

/// `readers` of a domain whose readers execute no fence.
pub(super) const ASYMMETRIC: u32 = 0;
/// `readers` of a domain whose readers execute full fences.
pub(super) const FULL: u32 = 1;
/// `readers` of a domain of C whose readers announce quiescent states.
#[cfg(feature = "c")]
pub(super) const QSBR: u32 = 2;
/// The version of the domains that `<leeward/rcu.h>` defines.
#[cfg(feature = "c")]
const VERSION: u32 = 1;

/// The constant part of a domain's state. C programs write it when they define a domain: the fields
/// are a part of the ABI.
#[repr(C)]
#[doc(hidden)]
pub struct Kind {
    /// Finds the calling thread's variable; `None` without thread-local storage.
    place: Option<Place>,
    /// `ASYMMETRIC`, `FULL` or `QSBR`.
    readers: u32,
    /// The version of a domain of C; 0: a domain of Rust.
    version: u32,
}

impl Kind {
    const_fn! {
        #[doc(hidden)]
        pub fn new(is_asymmetric: bool, place: Option<Place>) -> Kind {
            Kind { place, readers: if is_asymmetric { ASYMMETRIC } else { FULL }, version: 0 }
        }
    }

    /// Makes the kind of a domain of C.
    #[cfg(feature = "c")]
    pub(super) const fn of_c(readers: u32, place: Place) -> Kind {
        Kind { place: Some(place), readers, version: VERSION }
    }

    /// Returns true if the domain is one of C, whatever its version.
    #[cfg(feature = "c")]
    pub(super) fn is_of_c(&self) -> bool {
        self.version != 0
    }

    /// Returns the kind of readers, as C programs define it.
    #[cfg(feature = "c")]
    pub(super) fn readers(&self) -> u32 {
        self.readers
    }

    /// Returns true if readers announce quiescent states only, by name.
    #[cfg(feature = "c")]
    pub(super) fn is_qsbr(&self) -> bool {
        self.readers == QSBR
    }

    /// Returns true if readers execute no fence, so that writers need heavy ones.
    pub(super) fn is_asymmetric(&self) -> bool {
        self.readers == ASYMMETRIC
    }

    /// Executes the light half of the domain's pair of fences.
    pub(super) fn light(&self) {
        if self.is_asymmetric() { Asymmetric::light() } else { Full::light() }
    }

    /// Executes the heavy half of the domain's pair of fences, or says that none is possible.
    pub(super) fn try_heavy(&self) -> Result<(), Error> {
        if self.is_asymmetric() {
            return fence::try_heavy();
        }
        Full::heavy();
        Ok(())
    }

    pub(super) fn place(&self) -> Option<Place> {
        self.place
    }
}
