//! The memory that the allocator has handed out, by the C library's own count.

/// Returns the bytes that malloc has given out and that were not freed. (`mallinfo2` walks the free
/// lists: it is called when a round's time is over.)
pub fn bytes() -> f64 {
    // SAFETY: the call takes nothing, and returns counts.
    let counts = unsafe { libc::mallinfo2() };
    (counts.uordblks + counts.hblkhd) as f64
}
