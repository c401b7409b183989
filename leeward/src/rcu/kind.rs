//! What distinguishes one domain's state from another's: which fences its readers execute, and
//! where a thread finds its slot. It never changes.
//!
//! Read by everything that works on a domain's state without knowing the domain's type.

use super::slot::Slot;
use crate::atomic::const_fn;
use crate::fence::{Asymmetric, Full, Pair};

/// A function that returns the address of the calling thread's variable of one domain, which holds
/// the address of the thread's slot.
#[doc(hidden)]
pub type Place = extern "C" fn() -> *mut *const Slot;

/// `fences` of a domain whose readers execute no fence.
const ASYMMETRIC: u32 = 0;
/// `fences` of a domain whose readers execute full fences.
const FULL: u32 = 1;

/// The constant part of a domain's state.
#[repr(C)]
#[doc(hidden)]
pub struct Kind {
    /// Finds the calling thread's variable; `None` without thread-local storage.
    place: Option<Place>,
    /// `ASYMMETRIC` or `FULL`.
    fences: u32,
}

impl Kind {
    const_fn! {
        #[doc(hidden)]
        pub fn new(is_asymmetric: bool, place: Option<Place>) -> Kind {
            Kind { place, fences: if is_asymmetric { ASYMMETRIC } else { FULL } }
        }
    }

    /// Returns true if readers execute no fence, so that writers need heavy ones.
    pub(super) fn is_asymmetric(&self) -> bool {
        self.fences == ASYMMETRIC
    }

    /// Executes the light half of the domain's pair of fences.
    pub(super) fn light(&self) {
        if self.is_asymmetric() { Asymmetric::light() } else { Full::light() }
    }

    /// Executes the heavy half of the domain's pair of fences.
    pub(super) fn heavy(&self) {
        if self.is_asymmetric() { Asymmetric::heavy() } else { Full::heavy() }
    }

    pub(super) fn place(&self) -> Option<Place> {
        self.place
    }
}
