//! Words on powerpc64 (little-endian), whose inline assembly needs Rust 1.95.

/// Returns the [`LocalPlace`] of the word with this symbol.
///
/// The table of offsets is found from an instruction, since a function that needs no table may run
/// without its register, r2. The last instruction adds the thread pointer, r13, to the offset:
/// linkers know these three as a whole.
macro_rules! place {
    ($symbol:expr) => {{
        let address: *mut ();
        // SAFETY: computes an address, from the thread pointer and a table that does not change.
        unsafe {
            core::arch::asm!(
                "bcl 20, 31, 2f",
                "2: mflr {0}",
                "addis {0}, {0}, (.TOC. - 2b)@ha",
                "addi {0}, {0}, (.TOC. - 2b)@l",
                concat!("addis {0}, {0}, ", $symbol, "@got@tprel@ha"),
                concat!("ld {0}, ", $symbol, "@got@tprel@l({0})"),
                concat!("add {0}, {0}, ", $symbol, "@tls"),
                out(reg_nonzero) address,
                out("lr") _,
                options(pure, nomem, preserves_flags, nostack)
            );
        }
        // SAFETY: the address of a word that the macro's caller declares.
        unsafe { $crate::process::local::c::LocalPlace::at(address, 0) }
    }};
}
pub(crate) use place;

#[path = "address.rs"]
mod address;
pub(crate) use address::LocalPlace;
