//! A domain that a C program defines: its bytes are those that Rust makes.

use core::ffi::{CStr, c_char};
use core::ptr;

use super::super::kind::{ASYMMETRIC, FULL, Place, QSBR};
use super::super::section::slot::Slot;
use super::{RawDomain, SIZE};

/// A domain as the macros of `<leeward/rcu.h>` initialize it.
#[repr(C, align(128))]
struct AsInC {
    epoch: u64,
    gap: [u64; 15],
    place: Place,
    readers: u32,
    version: u32,
    rest: [u8; SIZE - 152],
    name: Name,
}

#[repr(C, align(8))]
struct Name(*const c_char);

// SAFETY: the string is never written.
unsafe impl Sync for Name {}

const NAME: &CStr = c"own";

extern "C" fn nowhere() -> *mut *const Slot {
    ptr::null_mut()
}

static IN_C: [AsInC; 3] = [in_c(ASYMMETRIC), in_c(FULL), in_c(QSBR)];
static IN_RUST: [RawDomain; 3] = [
    RawDomain::new(ASYMMETRIC, nowhere, NAME),
    RawDomain::new(FULL, nowhere, NAME),
    RawDomain::new(QSBR, nowhere, NAME),
];

const fn in_c(readers: u32) -> AsInC {
    AsInC {
        epoch: 1,
        gap: [0; 15],
        place: nowhere,
        readers,
        version: 1,
        rest: [0; SIZE - 152],
        name: Name(NAME.as_ptr()),
    }
}

/// Returns a byte of a value, which may be one that the compiler leaves unset between fields; in a
/// static, that is 0.
fn byte<T>(value: &'static T, at: usize) -> u8 {
    assert!(at < size_of::<T>());
    let place = ptr::from_ref(value).cast::<u8>().wrapping_add(at);
    // SAFETY: within the static.
    unsafe { place.read_volatile() }
}

#[test]
fn c_programs_initialize_a_domain_as_rust_does() {
    assert_eq!((size_of::<AsInC>(), align_of::<AsInC>()), (size_of::<RawDomain>(), align_of::<RawDomain>()));
    for (in_c, in_rust) in IN_C.iter().zip(&IN_RUST) {
        for at in 0..SIZE {
            assert_eq!(byte(in_c, at), byte(in_rust, at), "byte {at}");
        }
    }
}
