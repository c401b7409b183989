//! Words on RISC-V, where the register `tp` is the thread pointer.

/// Returns the [`LocalPlace`] of the word with this symbol.
macro_rules! place {
    ($symbol:expr) => {{
        let (thread, offset): (*mut (), usize);
        // SAFETY: copies the thread pointer.
        unsafe { core::arch::asm!("mv {}, tp", out(reg) thread, options(pure, nomem, preserves_flags, nostack)) };
        // SAFETY: loads from the global offset table, which does not change.
        unsafe {
            core::arch::asm!(
                concat!("la.tls.ie {}, ", $symbol),
                out(reg) offset,
                options(pure, nomem, preserves_flags, nostack)
            );
        }
        // SAFETY: the calling thread's pointer, and the offset of a word that the macro's caller
        // declares.
        unsafe { $crate::process::local::c::LocalPlace::at(thread, offset) }
    }};
}
pub(crate) use place;

#[path = "address.rs"]
mod address;
pub(crate) use address::LocalPlace;
