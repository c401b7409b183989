//! Memory that processes may share: what robust and process-shared locks are for, and what the kernel has to look up.

use std::ops::Deref;
use std::ptr::NonNull;

/// A value in an anonymous shared mapping of its own, unmapped when dropped. The value's own destructor is not run.
pub struct Mapped<T>(NonNull<T>);

// SAFETY: it owns the value, as a `Box` does.
unsafe impl<T: Send> Send for Mapped<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for Mapped<T> {}

impl<T> Mapped<T> {
    /// Maps zeroed memory; `init` makes it a value.
    ///
    /// # Safety
    /// All zeroes are a `T`.
    pub unsafe fn zeroed() -> Mapped<T> {
        let (read_write, shared) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_ANONYMOUS);
        // SAFETY: a new mapping.
        let address = unsafe { libc::mmap(std::ptr::null_mut(), size_of::<T>().max(1), read_write, shared, -1, 0) };
        assert!(address != libc::MAP_FAILED, "compare: no memory could be mapped");
        Mapped(NonNull::new(address.cast()).expect("a mapping is never at zero"))
    }
}

impl<T: 'static> Mapped<T> {
    /// It is never unmapped.
    pub fn forever(self) -> &'static T {
        let place = std::mem::ManuallyDrop::new(self).0;
        // SAFETY: mapped, and a `T` by the promise of `zeroed`.
        unsafe { place.as_ref() }
    }
}

impl<T> Deref for Mapped<T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: mapped, and a `T` by the promise of `zeroed`.
        unsafe { self.0.as_ref() }
    }
}

impl<T> Drop for Mapped<T> {
    fn drop(&mut self) {
        // SAFETY: mapped by `zeroed`; nothing borrows it any more.
        unsafe { libc::munmap(self.0.as_ptr().cast(), size_of::<T>().max(1)) };
    }
}
