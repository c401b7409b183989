//! The accesses to user memory in AArch64's assembly, with the table of their instructions that may
//! fault. `assembly` calls the functions and knows what they promise.
//!
//! Arguments are in x0 to x2, the answer in x0 and x1; all that is changed beside these is x2 to x5
//! and the flags, none of which a caller keeps. There is no stack. Each function begins with a
//! landing pad (`bti c`, which older processors take for nothing), as the linker may put a veneer
//! before it.
//!
//! What writes is a pair of exclusive instructions, acquire and release, and a barrier after them:
//! full ordering.

use core::ffi::c_void;

use super::accesses::symbol;

/// The number of instructions that may fault.
pub(super) const FAULTS: usize = 12;

/// A register, as the kernel hands it to a handler.
pub(super) type Register = u64;

/// Begins a function that other object files of this crate can name.
macro_rules! function {
    ($name:literal) => {
        concat!(
            ".p2align 4\n.globl ",
            symbol!($name),
            "\n.hidden ",
            symbol!($name),
            "\n.type ",
            symbol!($name),
            ", %function\n",
            symbol!($name),
            ":\n.cfi_startproc\nhint #34"
        )
    };
}

/// Ends a function.
macro_rules! end {
    ($name:literal) => {
        concat!(".cfi_endproc\n.size ", symbol!($name), ", . - ", symbol!($name))
    };
}

/// Enters the instruction after the label 2 into the table.
macro_rules! may_fault {
    () => {
        ".pushsection .rodata.leeward_user_memory, \"a\", %progbits\n.word 2b - .\n.popsection"
    };
}

core::arch::global_asm!(
    ".pushsection .rodata.leeward_user_memory, \"a\", %progbits",
    ".p2align 2",
    concat!(".globl ", symbol!("faults"), "\n.hidden ", symbol!("faults"), "\n", symbol!("faults"), ":"),
    ".popsection",
    ".pushsection .text.leeward_user_memory, \"ax\", %progbits",
    function!("load_u8"),
    "mov x1, xzr",
    "2: ldrb w0, [x0]",
    may_fault!(),
    "ret",
    end!("load_u8"),
    function!("load_u16"),
    "mov x1, xzr",
    "2: ldrh w0, [x0]",
    may_fault!(),
    "ret",
    end!("load_u16"),
    function!("load_u32"),
    "mov x1, xzr",
    "2: ldr w0, [x0]",
    may_fault!(),
    "ret",
    end!("load_u32"),
    function!("load_u64"),
    "mov x1, xzr",
    "2: ldr x0, [x0]",
    may_fault!(),
    "ret",
    end!("load_u64"),
    // x0: the address, w1: the old value, w2: the new one.
    function!("compare_exchange"),
    "3:",
    "2: ldaxr w3, [x0]",
    may_fault!(),
    "cmp w3, w1",
    // A word that is not the old value is written as it was: a page that may only be read faults.
    "csel w5, w2, w3, eq",
    "2: stlxr w4, w5, [x0]",
    may_fault!(),
    "cbnz w4, 3b",
    "dmb ish",
    "mov w0, w3",
    "mov x1, xzr",
    "ret",
    end!("compare_exchange"),
    // x0: the address, w1: the new value.
    function!("swap"),
    "3:",
    "2: ldaxr w3, [x0]",
    may_fault!(),
    "2: stlxr w4, w1, [x0]",
    may_fault!(),
    "cbnz w4, 3b",
    "dmb ish",
    "mov w0, w3",
    "mov x1, xzr",
    "ret",
    end!("swap"),
    // x0: the address, w1: what is added.
    function!("fetch_add"),
    "3:",
    "2: ldaxr w3, [x0]",
    may_fault!(),
    "add w5, w3, w1",
    "2: stlxr w4, w5, [x0]",
    may_fault!(),
    "cbnz w4, 3b",
    "dmb ish",
    "mov w0, w3",
    "mov x1, xzr",
    "ret",
    end!("fetch_add"),
    // x0: to, x1: from, x2: how many.
    function!("copy"),
    "cbz x2, 4f",
    "3:",
    "2: ldrb w3, [x1], #1",
    may_fault!(),
    "2: strb w3, [x0], #1",
    may_fault!(),
    "subs x2, x2, #1",
    "b.ne 3b",
    "4: mov x1, xzr",
    "ret",
    end!("copy"),
    function!("faulted"),
    "clrex",
    "mov x0, xzr",
    "mov x1, #1",
    "ret",
    end!("faulted"),
    ".popsection",
);

/// Returns where a handler's context says at which instruction the thread goes on.
///
/// # Safety
/// `context` is that of a signal handler, or a copy.
pub(super) unsafe fn next_instruction(context: *mut c_void) -> *mut Register {
    let context = context.cast::<libc::ucontext_t>();
    // SAFETY: within the context.
    unsafe { &raw mut (*context).uc_mcontext.pc }
}
