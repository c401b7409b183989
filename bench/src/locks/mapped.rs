//! Shared mappings: memory for robust and process-shared locks, whose words the kernel looks up by
//! object.

use std::ops::Deref;
use std::ptr::NonNull;

/// A value in an anonymous shared mapping of its own. Dropping it unmaps the memory without running
/// the value's destructor.
pub struct Mapped<T>(NonNull<T>);

// SAFETY: the mapping owns the value, as a `Box` does.
unsafe impl<T: Send> Send for Mapped<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for Mapped<T> {}

impl<T> Mapped<T> {
    /// Maps zeroed memory as a value.
    ///
    /// # Safety
    /// All zeroes are a `T`.
    pub unsafe fn zeroed() -> Mapped<T> {
        let (read_write, shared) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_ANONYMOUS);
        // SAFETY: the call makes a new mapping and touches no other.
        let address = unsafe { libc::mmap(std::ptr::null_mut(), size_of::<T>().max(1), read_write, shared, -1, 0) };
        assert!(address != libc::MAP_FAILED, "compare: no memory could be mapped");
        Mapped(NonNull::new(address.cast()).expect("a mapping is never at zero"))
    }
}

impl<T: 'static> Mapped<T> {
    /// Returns the value forever: the memory is never unmapped.
    pub fn forever(self) -> &'static T {
        let place = std::mem::ManuallyDrop::new(self).0;
        // SAFETY: the memory is mapped, and a `T` by the promise of `zeroed`.
        unsafe { place.as_ref() }
    }
}

impl<T> Deref for Mapped<T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the memory is mapped, and a `T` by the promise of `zeroed`.
        unsafe { self.0.as_ref() }
    }
}

impl<T> Drop for Mapped<T> {
    fn drop(&mut self) {
        // SAFETY: `zeroed` has mapped the memory, and nothing borrows it any more.
        unsafe { libc::munmap(self.0.as_ptr().cast(), size_of::<T>().max(1)) };
    }
}
