//! A line for standard error, made and written without an allocation.

use core::fmt::{Arguments, Error, Result, Write};

use super::Errno;

/// Writes `line`, which ends with a newline, to standard error; of a line that is longer than
/// [`CAPACITY`], the beginning. It does not take the standard library's lock, which another thread
/// may hold for as long as it likes, and ignores errors. errno is left as it was. The thread is not
/// cancelled there, as it might be in the C library's function, in the midst of a grace period.
pub(crate) fn print_error(line: Arguments<'_>) {
    let mut text = Text { bytes: [b'\n'; CAPACITY + 1], length: 0 };
    let length = match text.write_fmt(line) {
        Ok(()) => text.length,
        // Truncated to the buffer, whose last byte is a newline.
        Err(_) => text.length + 1,
    };
    let errno = Errno::save();
    // SAFETY: reads the line, which outlives the call. For a closed descriptor the call is an
    // error.
    let _ = unsafe { libc::syscall(libc::SYS_write, libc::STDERR_FILENO, text.bytes.as_ptr(), length) };
    errno.restore();
}

/// The greatest length of a line: more than a report with a place in a source file has.
const CAPACITY: usize = 511;

/// A text on the stack, with newlines behind it.
struct Text {
    bytes: [u8; CAPACITY + 1],
    length: usize,
}

impl Write for Text {
    /// Appends as much of `text` as there is room for.
    fn write_str(&mut self, text: &str) -> Result {
        let length = text.len().min(CAPACITY - self.length);
        self.bytes[self.length..][..length].copy_from_slice(&text.as_bytes()[..length]);
        self.length += length;
        if length == text.len() { Ok(()) } else { Err(Error) }
    }
}
