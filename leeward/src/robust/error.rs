//! The reasons why a thread's robust list cannot be used. Made by `list`.

use core::fmt;

/// The reason why the calling thread has no robust list that could be joined or registered.
///
/// Nothing was written to the list that was found.
///
/// ```
/// use leeward::robust::{ListError, LockError, Mutex};
/// static COUNT: Mutex<u64> = Mutex::new(0);
/// match COUNT.lock() {
///     Ok(mut count) => count.set(1),
///     Err(LockError::NoList(ListError::Libc)) => println!("not on this C library"),
///     Err(error) => panic!("{error}"),
/// }
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ListError {
    /// The C library is not glibc. (musl registers a list of its own later, without looking.)
    Libc,
    /// The kernel, or a sandbox, refuses robust lists.
    Refused,
    /// The registered list has its lock words elsewhere than glibc's: the value is the offset.
    Offset(isize),
    /// The registered list is not linked as glibc's is, or is corrupt.
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
                "the robust list of this thread has its lock words at {offset} bytes from an entry, \
                 not at -32: it cannot be joined"
            ),
            ListError::Layout => {
                f.write_str("the robust list of this thread is not linked as expected: it is left alone")
            }
        }
    }
}

impl core::error::Error for ListError {}
