//! errno, saved and restored: C programs that call this library must find it as it was.

/// The value of errno at one moment, to be put back.
#[derive(Clone, Copy)]
pub(crate) struct Errno(libc::c_int);

impl Errno {
    /// Reads the calling thread's errno.
    pub(crate) fn save() -> Errno {
        // SAFETY: the location is valid for the calling thread as long as it lives.
        let location = unsafe { libc::__errno_location() };
        // SAFETY: as above, and no other thread writes it.
        Errno(unsafe { location.read() })
    }

    /// Writes the value back to the calling thread's errno.
    pub(crate) fn restore(self) {
        // SAFETY: the location is valid for the calling thread as long as it lives.
        let location = unsafe { libc::__errno_location() };
        // SAFETY: as above, and no other thread reads it.
        unsafe { location.write(self.0) };
    }

    /// Returns the value as a number.
    pub(crate) fn number(self) -> libc::c_int {
        self.0
    }
}
