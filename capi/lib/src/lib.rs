//! The static library of the C face: `leeward-capi`, and what a Rust program without std has to
//! bring: an allocator, which is the C library's, and a panic handler, which ends the process.

#![no_std]

use core::alloc::{GlobalAlloc, Layout};
use core::fmt::Write;

extern crate leeward_capi;

/// The C library's allocator.
struct Malloc;

// SAFETY: `aligned_alloc` returns fresh memory of the size, at the alignment.
unsafe impl GlobalAlloc for Malloc {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // The alignment that `malloc` guarantees; the size is to be a multiple.
        let align = layout.align().max(16);
        // SAFETY: a power of two, and a multiple of it, which cannot overflow: a layout's size,
        // rounded up, fits an `isize`.
        unsafe { libc::aligned_alloc(align, layout.size().next_multiple_of(align)).cast() }
    }

    unsafe fn dealloc(&self, memory: *mut u8, _: Layout) {
        // SAFETY: it came from `alloc`.
        unsafe { libc::free(memory.cast()) }
    }
}

#[global_allocator]
static MALLOC: Malloc = Malloc;

/// Standard error, without a buffer.
struct StandardError;

impl Write for StandardError {
    fn write_str(&mut self, part: &str) -> core::fmt::Result {
        // SAFETY: reads the text, which outlives the call.
        let written = unsafe { libc::write(libc::STDERR_FILENO, part.as_ptr().cast(), part.len()) };
        if written < 0 { Err(core::fmt::Error) } else { Ok(()) }
    }
}

/// Ends the process after a line on standard error. The functions of the C face answer misuse; a
/// panic is a bug of the library's own.
#[panic_handler]
fn panic(info: &core::panic::PanicInfo) -> ! {
    let _ = writeln!(StandardError, "leeward: {info}");
    // SAFETY: has no precondition.
    unsafe { libc::abort() }
}

// core and alloc are built to unwind, and name this; nothing here does. A weak symbol, since a
// program may have another copy from another Rust library.
core::arch::global_asm!(
    ".pushsection .text.rust_eh_personality,\"ax\",%progbits",
    ".weak rust_eh_personality",
    ".type rust_eh_personality, %function",
    "rust_eh_personality:",
    ".zero 4",
    ".popsection",
);
