//! Work that is done once: what `<leeward/once.h>` calls. The work itself is called by the header,
//! so that it may leave by an exception, or end its thread, without a frame of Rust in between.

use core::ffi::c_int;

use leeward::raw::Once;
use leeward::raw::slow::{self, OnceBegun};

use crate::report::misuse;

/// The header's `LEE_1_ONCE_MINE`.
const MINE: c_int = -1;

// `LEE_1_ONCE_DONE`; and zeroes are one whose work has not been done.
const _: () = assert!(size_of::<Once>() == 4 && slow::ONCE_COMPLETED == 3);
// SAFETY: a number.
const _: () = assert!(unsafe { core::mem::transmute::<Once, u32>(Once::new()) } == 0);

/// Begins the work, or waits until it is done.
#[unsafe(no_mangle)]
pub extern "C" fn lee_1_once_begin(once: &Once) -> c_int {
    match slow::begin(once) {
        OnceBegun::Mine(_) => MINE,
        OnceBegun::Done => 0,
        OnceBegun::WouldDeadlock => {
            misuse("lee_once_call", once, "whose work the thread does: it would wait for itself");
            libc::EDEADLK
        }
    }
}

/// Ends the work that the caller began.
///
/// # Safety
/// `lee_1_once_begin` returned -1 to the caller, who has not ended the work since.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lee_1_once_end(once: &Once, is_done: bool) {
    // SAFETY: the caller's promise.
    unsafe { slow::end(once, is_done) };
}
