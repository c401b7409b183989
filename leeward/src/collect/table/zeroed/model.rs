//! Atomics that are not made of zeros, as loom's.

/// Makes `count` values in memory that has zeros.
pub(super) fn make<T>(first: *mut T, count: usize, make: impl Fn() -> T) {
    for index in 0..count {
        // SAFETY: callers have memory for so many.
        let place = unsafe { first.add(index) };
        // SAFETY: as above.
        unsafe { place.write(make()) };
    }
}
