//! Linux's futex calls, as the kernel takes them. errno is as it was before each.
//!
//! Called by the [backend](super::backend) of `Private` and `Shared`, and by priority-inheriting locks.

use super::Deadline;
use crate::atomic::AtomicU32;
use crate::process::Errno;

/// The time as the kernel takes it, if it can.
pub(crate) fn timespec(time: Deadline) -> Option<libc::timespec> {
    let time = time.since_beginning();
    let seconds = time.as_secs().try_into().ok()?;
    Some(libc::timespec { tv_sec: seconds, tv_nsec: time.subsec_nanos() as _ })
}

/// The futex call: what it returned, or the number of the error. errno is as it was.
///
/// # Safety
/// What `operation` reads and writes must be there; `fourth` is a pointer to a time, or a number.
pub(crate) unsafe fn futex(
    word: *const AtomicU32,
    operation: libc::c_int,
    value: u32,
    fourth: libc::c_long,
    other: *const AtomicU32,
    last: u32,
) -> Result<u32, libc::c_int> {
    let errno = Errno::save();
    // SAFETY: the caller's promise.
    let outcome = unsafe { libc::syscall(libc::SYS_futex, word, operation, value, fourth, other, last) };
    if outcome < 0 {
        let error = Errno::save().number();
        errno.restore();
        return Err(error);
    }
    Ok(outcome as u32)
}

/// The `futex_waitv` call: the place of the word that was woken, or the number of the error. errno is as it was.
///
/// # Safety
/// `words` points to `count` of the kernel's `futex_waitv` records, whose words are there; `time` to seconds and
/// nanoseconds on the monotonic clock, or it is null.
pub(crate) unsafe fn futex_waitv(words: *const u8, count: u32, time: *const i64) -> Result<u32, libc::c_int> {
    let errno = Errno::save();
    // SAFETY: the caller's promise.
    let outcome = unsafe { libc::syscall(libc::SYS_futex_waitv, words, count, 0, time, libc::CLOCK_MONOTONIC) };
    if outcome < 0 {
        let error = Errno::save().number();
        errno.restore();
        return Err(error);
    }
    Ok(outcome as u32)
}
