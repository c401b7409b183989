//! The table of functions of a scheme that is compiled separately, as in `c/scheme.h`. `foreign.rs`
//! calls one, and the crate in `kovan/` provides one.

use std::ffi::c_void;

/// A function that is called back, with its argument, within a section or a registration.
pub type During = unsafe extern "C" fn(*mut c_void);

/// The `Stage` methods of a scheme, by name. `stop` points to an `AtomicBool`, `tally` to an
/// `AtomicU64`.
#[repr(C)]
pub struct Table {
    pub open: unsafe extern "C" fn(),
    pub close: unsafe extern "C" fn(),
    pub section: unsafe extern "C" fn(n: u64, alignment: u32) -> u64,
    pub read: unsafe extern "C" fn(stop: *const u8, tally: *mut u64),
    pub dwell: unsafe extern "C" fn(stop: *const u8, tally: *mut u64, inside_ns: u64),
    pub write: unsafe extern "C" fn(stop: *const u8, tally: *mut u64),
    pub retire: unsafe extern "C" fn(stop: *const u8, tally: *mut u64),
    pub retire_one: unsafe extern "C" fn(),
    pub hold: unsafe extern "C" fn(During, *mut c_void),
    pub rest: unsafe extern "C" fn(During, *mut c_void),
    pub synchronize: unsafe extern "C" fn(),
    pub barrier: unsafe extern "C" fn(),
}
