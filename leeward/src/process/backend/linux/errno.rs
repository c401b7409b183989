//! errno, kept as it was: C programs that call this library must find it untouched.

/// The value of errno at one moment, to be put back.
#[derive(Clone, Copy)]
pub(crate) struct Errno(libc::c_int);

impl Errno {
    pub(crate) fn save() -> Errno {
        // SAFETY: the location is valid for the calling thread as long as it lives.
        let location = unsafe { libc::__errno_location() };
        // SAFETY: as above, and nobody else writes it.
        Errno(unsafe { location.read() })
    }

    pub(crate) fn restore(self) {
        // SAFETY: the location is valid for the calling thread as long as it lives.
        let location = unsafe { libc::__errno_location() };
        // SAFETY: as above, and nobody else reads it.
        unsafe { location.write(self.0) };
    }

    pub(crate) fn number(self) -> libc::c_int {
        self.0
    }
}
