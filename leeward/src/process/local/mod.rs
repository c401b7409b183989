//! The seam between this library and thread-local storage: how a word of the calling thread is
//! declared ([`word!`]), and how the thread's exit is noticed ([`exit!`]).
//!
//! With `std`, both are the standard library's (`std.rs`). With `threads` alone, and under `--cfg
//! leeward_c_local`, they are made by the conventions of the C library (`c/`). A word whose symbol C
//! code reads is made by `c/` in both. Called by `process::thread`, `asym::local`, `robust::current`
//! and `rcu`; calls nothing.

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

pub(crate) use backend::*;

/// A word of the calling thread's, declared by [`word!`]. Reading and writing it allocates nothing,
/// is async-signal-safe, and works from the thread's first instruction to its last.
pub(crate) trait Word: Copy {
    /// The type of the word: `u64`, `usize`, a pointer, or a pair of these.
    type Value: Copy;

    /// Returns the calling thread's value.
    fn get(self) -> Self::Value;

    /// Sets the calling thread's value.
    fn set(self, value: Self::Value);
}
