//! Why a thread's robust list cannot be used.

use core::fmt;

/// The calling thread has no robust list that could be joined or registered. Nothing was written to what was found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ListError {
    /// The C library is not glibc: musl registers a list of its own later, without looking.
    Libc,
    /// The kernel (or a sandbox) knows no robust lists.
    Refused,
    /// The list that is registered has its lock words elsewhere: the offset.
    Offset(isize),
    /// The list that is registered is not linked as glibc's is, or is corrupt.
    Layout,
}

impl fmt::Display for ListError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ListError::Libc => {
                f.write_str("robust locks need glibc: another C library may replace the thread's robust list")
            }
            ListError::Refused => f.write_str("robust locks need the kernel's robust lists, which were refused"),
            ListError::Offset(offset) => write!(
                f,
                "the robust list of this thread has its lock words at {offset} bytes from an entry, not at -32: it cannot be joined"
            ),
            ListError::Layout => {
                f.write_str("the robust list of this thread is not linked as expected: it is left alone")
            }
        }
    }
}

impl core::error::Error for ListError {}
