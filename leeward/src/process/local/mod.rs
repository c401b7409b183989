//! The seam between this library and thread-local storage: how a word of the calling thread is
//! declared ([`word!`]), and how the thread's exit is noticed ([`exit!`]).
//!
//! With `std`, both are the standard library's (`std.rs`). With `threads` alone, and under `--cfg
//! leeward_c_local`, they are made by the conventions of the C library (`c/`). A word whose symbol C
//! code reads is made by `c/` in both.

pub(crate) mod access;
#[cfg(all(feature = "std", not(leeward_c_local)))]
#[path = "std.rs"]
mod backend;
#[cfg(all(
    target_os = "linux",
    target_pointer_width = "64",
    any(
        target_arch = "x86_64",
        target_arch = "aarch64",
        target_arch = "riscv64",
        all(target_arch = "powerpc64", target_endian = "little")
    )
))]
#[cfg_attr(feature = "std", allow(dead_code, unused_imports, unused_macros))]
pub(crate) mod c;
#[cfg(any(not(feature = "std"), leeward_c_local))]
use c as backend;

#[cfg(all(
    not(feature = "std"),
    not(all(
        target_os = "linux",
        target_pointer_width = "64",
        any(
            target_arch = "x86_64",
            target_arch = "aarch64",
            target_arch = "riscv64",
            all(target_arch = "powerpc64", target_endian = "little")
        )
    ))
))]
compile_error!(
    "leeward's feature `threads` without `std` needs Linux on x86_64, aarch64, riscv64 or powerpc64 \
     (little-endian): enable `std`, or do without `threads`"
);

pub(crate) use access::Word;
pub(crate) use backend::*;
