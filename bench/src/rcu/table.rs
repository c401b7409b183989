//! The table of functions that a scheme compiled apart from us gives, as in `c/scheme.h`. Used by
//! `foreign.rs`, which calls one, and by `kovan/`, which gives one.

use std::ffi::c_void;

/// Called back with its argument from within a section or a registration.
pub type During = unsafe extern "C" fn(*mut c_void);

/// Each field is the `Stage` method of that name; `stop` points to an `AtomicBool`, `tally` to an
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
