//! The domains of C as types, for readers and writers in Rust.

use super::super::backing::{Backing, State};
use super::super::no_memory::NoMemory;
use super::super::section::slot::Slot;
use super::domains::{lee_bp, lee_mb, lee_memb, lee_qsbr};
use super::{thread, words};
use crate::fence::{Asymmetric, Full};

macro_rules! types {
    ($($(#[$meta:meta])* $name:ident: $fence:ident, $domain:ident, $place:path;)+) => {$(
        $(#[$meta])*
        ///
        /// Its guards, cells and grace periods are those of every domain; the [module](super) says
        /// what differs.
        #[derive(Debug)]
        pub enum $name {}

        // SAFETY: one static, and one variable for each thread, both of this domain's own.
        unsafe impl Backing for $name {
            type Fence = $fence;
            const IS_OF_C: bool = true;

            #[inline(always)]
            fn state() -> &'static State {
                $domain.state()
            }

            #[inline(always)]
            fn place() -> *mut *const Slot {
                $place()
            }

            fn take_slot(early: bool) -> Result<&'static Slot, NoMemory> {
                if early {
                    return thread::register_early($domain.state());
                }
                // A slot for one section is inside already, and announces it once more.
                thread::register($domain.state()).map(thread::OwnSlot::slot)
            }
        }
    )+};
}

types! {
    /// The domain `lee_memb`: readers execute no fence; liburcu's flavour memb.
    Memb: Asymmetric, lee_memb, words::memb;
    /// The domain `lee_bp`: readers execute no fence; liburcu's flavour bp.
    Bp: Asymmetric, lee_bp, words::bp;
    /// The domain `lee_mb`: readers execute full fences; liburcu's flavour mb.
    Mb: Full, lee_mb, words::mb;
    /// The domain `lee_qsbr`: readers announce quiescent states; liburcu's flavour qsbr. Its guards
    /// execute full fences, unless the thread is online.
    Qsbr: Full, lee_qsbr, words::qsbr;
}
