//! Reports of misuse: a line on standard error.

use core::fmt::{Arguments, Write};

/// A line of limited length, so that it needs no memory.
struct Line {
    text: [u8; 256],
    length: usize,
}

impl Write for Line {
    fn write_str(&mut self, part: &str) -> core::fmt::Result {
        let room = &mut self.text[self.length..];
        let length = part.len().min(room.len());
        room[..length].copy_from_slice(&part.as_bytes()[..length]);
        self.length += length;
        Ok(())
    }
}

/// Writes `leeward: `, the text, the calling thread's number and a newline to standard error, in one
/// call, and ignores errors. A text that is too long for the line is cut off. errno is left as it
/// was. The thread is not cancelled there, as it might be in the C library's function.
pub(crate) fn report(text: Arguments<'_>) {
    let mut line = Line { text: [0; 256], length: 0 };
    // SAFETY: has no precondition.
    let thread = unsafe { libc::syscall(libc::SYS_gettid) };
    let _ = writeln!(line, "leeward: {text} (thread {thread})");
    line.text[line.length - 1] = b'\n';
    // SAFETY: has no precondition; the location is valid for the calling thread.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: as above.
    let before = unsafe { errno.read() };
    // SAFETY: reads the line, which outlives the call. For a closed descriptor the call is an error.
    let _ = unsafe { libc::syscall(libc::SYS_write, libc::STDERR_FILENO, line.text.as_ptr(), line.length) };
    // SAFETY: as above.
    unsafe { errno.write(before) };
}

/// Reports a call of `function` for an object, and what is wrong with it: the end of a sentence that
/// begins with the object's address.
#[cold]
#[inline(never)]
pub(crate) fn misuse<T>(function: &str, object: &T, what: &str) {
    report(format_args!("{function} called with {object:p}, {what}"));
}

/// Ends the process, for a caller of `function` that passed a NULL where a `what` is needed.
#[cold]
#[inline(never)]
pub(crate) fn is_null(function: &str, what: &str) -> ! {
    report(format_args!("{function} called with a {what} that is NULL"));
    // SAFETY: has no precondition.
    unsafe { libc::abort() }
}

/// Binds each pointer of C to what it points to; of one that is NULL, ends the process with a line that
/// names the function. (A reference that is null would be undefined.)
macro_rules! given {
    ($function:literal, $($pointer:ident: $what:literal),+) => {
        $(let Some($pointer) = $pointer else { $crate::report::is_null($function, $what) };)+
    };
}
pub(crate) use given;
