//! The four domains that the library has, and what it does when it is loaded.

use super::super::fork::watch;
use super::super::kind::{ASYMMETRIC, FULL, QSBR};
use super::raw::RawDomain;
use super::words;
use crate::process::thread;

/// Defines a domain that C programs find by its name.
macro_rules! domains {
    ($($(#[$meta:meta])* $name:ident = $symbol:literal: $readers:expr, $place:path;)+) => {$(
        $(#[$meta])*
        #[allow(non_upper_case_globals)]
        #[unsafe(no_mangle)]
        pub static $name: RawDomain = RawDomain::new($readers, $place, $symbol);
    )+};
}

domains! {
    /// Readers execute no fence and register by themselves or explicitly; liburcu's memb.
    lee_memb = c"lee_memb": ASYMMETRIC, words::memb;
    /// Readers execute no fence and register by themselves; liburcu's bp.
    lee_bp = c"lee_bp": ASYMMETRIC, words::bp;
    /// Readers execute full fences, and writers make no system call but to sleep; liburcu's mb.
    lee_mb = c"lee_mb": FULL, words::mb;
    /// Readers announce quiescent states; liburcu's qsbr.
    lee_qsbr = c"lee_qsbr": QSBR, words::qsbr;
}

/// Runs when the program, or the library, is loaded: what allocates is done before the first section.
#[used]
#[unsafe(link_section = ".init_array")]
static AT_START: extern "C" fn() = {
    extern "C" fn at_start() {
        for domain in [&lee_memb, &lee_bp, &lee_mb, &lee_qsbr] {
            watch(domain.state());
        }
        // Registers what a thread's number needs.
        thread::number();
    }
    at_start
};
