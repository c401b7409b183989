//! The first instructions, and the arguments, which the kernel leaves on the stack.

use core::arch::global_asm;
use core::ffi::{CStr, c_char};

use crate::arguments::Arguments;

#[cfg(target_arch = "x86_64")]
global_asm!(
    ".globl _start", "_start:", "xor ebp, ebp", "mov rdi, rsp", "and rsp, -16", "call {begin}", "ud2",
    begin = sym begin
);
#[cfg(target_arch = "aarch64")]
global_asm!(
    ".globl _start", "_start:", "mov x29, xzr", "mov x30, xzr", "mov x0, sp", "and sp, x0, #-16",
    "bl {begin}", "brk #1",
    begin = sym begin
);
#[cfg(target_arch = "riscv64")]
global_asm!(
    ".globl _start", "_start:", ".option push", ".option norelax", "la gp, __global_pointer$", ".option pop",
    "mv a0, sp", "andi sp, sp, -16", "call {begin}", "unimp",
    begin = sym begin
);
#[cfg(target_arch = "powerpc64")]
global_asm!(
    ".globl _start", "_start:", "addis 2, 12, .TOC.-_start@ha", "addi 2, 2, .TOC.-_start@l",
    ".localentry _start, .-_start", "mr 3, 1", "clrrdi 1, 1, 4", "li 0, 0", "stdu 0, -128(1)",
    "bl {begin}", "nop", "trap",
    begin = sym begin
);

/// Reads the arguments and runs the program.
///
/// # Safety
/// `stack` is what the kernel left: the number of arguments, and where each is.
unsafe extern "C" fn begin(stack: *const usize) -> ! {
    // SAFETY: the caller's promise.
    let count = unsafe { stack.read() };
    let argument = move |at: usize| {
        // SAFETY: the caller's promise.
        let place = unsafe { stack.add(1 + at) };
        // SAFETY: as above.
        let text = unsafe { place.cast::<*const c_char>().read() };
        // SAFETY: strings that end and live as long as the process.
        unsafe { CStr::from_ptr(text) }.to_str().unwrap_or("?")
    };
    let arguments = Arguments::read((1..count).map(argument));
    crate::end(&arguments, crate::main(&arguments))
}
