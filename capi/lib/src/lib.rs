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

/// The bit in what the unwinder is about that says that a thread is ended (`_UA_FORCE_UNWIND` of the
/// C++ ABI for exceptions).
const FORCED: libc::c_int = 8;

/// Ends the process after a line on standard error. The unwinder asks this function when it comes to a
/// frame of the library: a function of the program's, which the library called, has thrown an
/// exception or ended its thread. The library's words would stay as they are in the midst of a call.
///
/// The symbol is the one that core and alloc, which are built to unwind, name. It is local in what is
/// installed, since a program may have another copy from another Rust library.
#[unsafe(no_mangle)]
extern "C" fn rust_eh_personality(_version: libc::c_int, actions: libc::c_int) -> libc::c_int {
    let what = if actions & FORCED == 0 { "threw an exception" } else { "ended or cancelled its thread" };
    // SAFETY: has no precondition.
    let thread = unsafe { libc::syscall(libc::SYS_gettid) };
    let _ = writeln!(
        StandardError,
        "leeward: a function that the library called {what}; it must return instead (thread {thread})"
    );
    // SAFETY: has no precondition.
    unsafe { libc::abort() }
}
