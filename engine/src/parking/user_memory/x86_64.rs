//! The accesses to user memory in x86-64's assembly, with the table of their instructions that may
//! fault. `assembly` calls the functions and knows what they promise.
//!
//! Arguments are in rdi, rsi and rdx, the answer in rax and rdx; all that is changed beside these
//! is rcx, rsi, rdi and the flags, none of which a caller keeps. There is no stack but the return
//! address, so the red zone is whole, and a shadow stack matches. `movs` goes upwards, since the
//! direction flag is clear at a call.

use core::ffi::c_void;

use super::accesses::symbol;

/// The number of instructions that may fault.
pub(super) const FAULTS: usize = 8;

/// A register, as the kernel hands it to a handler.
pub(super) type Register = libc::greg_t;

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
            ", @function\n",
            symbol!($name),
            ":\n.cfi_startproc"
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
        ".pushsection .rodata.leeward_user_memory, \"a\", @progbits\n.long 2b - .\n.popsection"
    };
}

core::arch::global_asm!(
    ".pushsection .rodata.leeward_user_memory, \"a\", @progbits",
    ".p2align 2",
    concat!(".globl ", symbol!("faults"), "\n.hidden ", symbol!("faults"), "\n", symbol!("faults"), ":"),
    ".popsection",
    ".pushsection .text.leeward_user_memory, \"ax\", @progbits",
    function!("load_u8"),
    "xor edx, edx",
    "2: movzx eax, byte ptr [rdi]",
    may_fault!(),
    "ret",
    end!("load_u8"),
    function!("load_u16"),
    "xor edx, edx",
    "2: movzx eax, word ptr [rdi]",
    may_fault!(),
    "ret",
    end!("load_u16"),
    function!("load_u32"),
    "xor edx, edx",
    "2: mov eax, dword ptr [rdi]",
    may_fault!(),
    "ret",
    end!("load_u32"),
    function!("load_u64"),
    "xor edx, edx",
    "2: mov rax, qword ptr [rdi]",
    may_fault!(),
    "ret",
    end!("load_u64"),
    // rdi: the address, esi: the old value, edx: the new one.
    function!("compare_exchange"),
    "mov eax, esi",
    "2: lock cmpxchg dword ptr [rdi], edx",
    may_fault!(),
    "xor edx, edx",
    "ret",
    end!("compare_exchange"),
    // rdi: the address, esi: the new value.
    function!("swap"),
    "xor edx, edx",
    "mov eax, esi",
    "2: xchg dword ptr [rdi], eax",
    may_fault!(),
    "ret",
    end!("swap"),
    // rdi: the address, esi: what is added.
    function!("fetch_add"),
    "xor edx, edx",
    "mov eax, esi",
    "2: lock xadd dword ptr [rdi], eax",
    may_fault!(),
    "ret",
    end!("fetch_add"),
    // rdi: to, rsi: from, rdx: how many. A fault is at this instruction, with the rest in rcx.
    function!("copy"),
    "mov rcx, rdx",
    "xor edx, edx",
    "2: rep movsb",
    may_fault!(),
    "ret",
    end!("copy"),
    function!("faulted"),
    "xor eax, eax",
    "mov edx, 1",
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
    let registers = unsafe { &raw mut (*context).uc_mcontext.gregs };
    registers.cast::<Register>().wrapping_add(libc::REG_RIP as usize)
}
