//! The thread-local words of C's domains: one for each of the four, which C programs read inline,
//! and the list of the thread's slots.
//!
//! The names of the former have the version of the ABI in them.

use super::super::section::slot::{Slot, UNREGISTERED};
use crate::process::local::c::word;

/// Declares the word of a domain, which begins as the address of `UNREGISTERED`; and the function
/// that finds the calling thread's.
macro_rules! slot_words {
    ($($(#[$meta:meta])* $name:ident = $word:ident, $symbol:literal;)+) => {$(
        word! {
            #[symbol = $symbol]
            static $word: *const Slot = &raw const UNREGISTERED
        }

        $(#[$meta])*
        #[inline(always)]
        pub(super) extern "C" fn $name() -> *mut *const Slot {
            $word::place().address().cast()
        }
    )+};
}

slot_words! {
    /// Finds the calling thread's variable of the domain `lee_memb`.
    memb = MEMB, "lee_1_memb_slot";
    /// Finds the calling thread's variable of the domain `lee_bp`.
    bp = BP, "lee_1_bp_slot";
    /// Finds the calling thread's variable of the domain `lee_mb`.
    mb = MB, "lee_1_mb_slot";
    /// Finds the calling thread's variable of the domain `lee_qsbr`.
    qsbr = QSBR, "lee_1_qsbr_slot";
}

word! {
    /// The calling thread's slots of all domains of C: the one that was taken last; null: none.
    static SLOTS: *const Slot = 0
}

/// Finds the calling thread's word for the first of its slots.
pub(super) fn slots() -> *mut *mut Slot {
    SLOTS::place().address().cast()
}
