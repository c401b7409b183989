//! What the compiler expects of a C library, and the allocator that the linker asks for.

use core::alloc::{GlobalAlloc, Layout};

/// The allocator that there is not: the model's tables lie in an arena of its own, and nothing else of this program
/// allocates. An allocation fails.
struct Nothing;

// SAFETY: it never gives memory out.
unsafe impl GlobalAlloc for Nothing {
    unsafe fn alloc(&self, _: Layout) -> *mut u8 {
        core::ptr::null_mut()
    }

    unsafe fn dealloc(&self, _: *mut u8, _: Layout) {}
}

#[global_allocator]
static NOTHING: Nothing = Nothing;

/// Copies bytes.
///
/// # Safety
/// `size` bytes at both places, which do not overlap.
#[unsafe(no_mangle)]
unsafe extern "C" fn memcpy(to: *mut u8, from: *const u8, size: usize) -> *mut u8 {
    for at in 0..size {
        // SAFETY: the caller's promise.
        let byte = unsafe { from.add(at).read() };
        // SAFETY: as above.
        unsafe { to.add(at).write(byte) };
    }
    to
}

/// Copies bytes, also to where some of them are.
///
/// # Safety
/// `size` bytes at both places.
#[unsafe(no_mangle)]
unsafe extern "C" fn memmove(to: *mut u8, from: *const u8, size: usize) -> *mut u8 {
    let backwards = to.addr().wrapping_sub(from.addr()) < size;
    for step in 0..size {
        let at = if backwards { size - 1 - step } else { step };
        // SAFETY: the caller's promise.
        let byte = unsafe { from.add(at).read() };
        // SAFETY: as above.
        unsafe { to.add(at).write(byte) };
    }
    to
}

/// Fills bytes.
///
/// # Safety
/// `size` bytes.
#[unsafe(no_mangle)]
unsafe extern "C" fn memset(to: *mut u8, byte: i32, size: usize) -> *mut u8 {
    for at in 0..size {
        // SAFETY: the caller's promise.
        unsafe { to.add(at).write(byte as u8) };
    }
    to
}

/// Compares bytes.
///
/// # Safety
/// `size` bytes at both places.
#[unsafe(no_mangle)]
unsafe extern "C" fn memcmp(one: *const u8, other: *const u8, size: usize) -> i32 {
    for at in 0..size {
        // SAFETY: the caller's promise.
        let first = unsafe { one.add(at).read() };
        // SAFETY: as above.
        let second = unsafe { other.add(at).read() };
        if first != second {
            return i32::from(first) - i32::from(second);
        }
    }
    0
}

/// Compares bytes for equality.
///
/// # Safety
/// As for `memcmp`.
#[unsafe(no_mangle)]
unsafe extern "C" fn bcmp(one: *const u8, other: *const u8, size: usize) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { memcmp(one, other, size) }
}

/// Returns the length of a string.
///
/// # Safety
/// A string that ends.
#[unsafe(no_mangle)]
unsafe extern "C" fn strlen(string: *const u8) -> usize {
    let mut len = 0;
    // SAFETY: the caller's promise.
    while unsafe { string.add(len).read() } != 0 {
        len += 1;
    }
    len
}

/// Says that the processor has nothing special. On aarch64 the compiler's functions for atomic operations
/// (`outline-atomics`) come with code that asks a C library, at the start of a program, for the instructions that
/// the processor has; the linker wants a symbol for it. That code is not run here: the functions use the
/// instructions that every processor has, as they do after this answer.
#[cfg(target_arch = "aarch64")]
#[unsafe(no_mangle)]
extern "C" fn getauxval(_what: usize) -> usize {
    0
}
