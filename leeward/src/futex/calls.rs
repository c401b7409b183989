//! Linux's futex calls, as the kernel takes them, and its clocks. Each leaves errno as it was.

use core::mem::MaybeUninit;
use core::time::Duration;

use super::Deadline;
use crate::atomic::AtomicU32;
use crate::process::Errno;

/// Returns the time as the kernel takes it; `None` if it is later than the kernel can say.
pub(crate) fn timespec(time: Deadline) -> Option<libc::timespec> {
    let time = time.since_beginning();
    let seconds = time.as_secs().try_into().ok()?;
    Some(libc::timespec { tv_sec: seconds, tv_nsec: time.subsec_nanos() as _ })
}

/// Reads a clock, by the C library. (Without std, rustix looks for the kernel's function in memory
/// that tools such as valgrind do not map.)
pub(crate) fn clock(which: libc::clockid_t) -> Duration {
    let mut now = MaybeUninit::<libc::timespec>::zeroed();
    // SAFETY: `now` is ours to write. A clock that every Linux has: it cannot fail.
    unsafe { libc::clock_gettime(which, now.as_mut_ptr()) };
    // SAFETY: zeroed, and then written.
    let now = unsafe { now.assume_init() };
    Duration::new(u64::try_from(now.tv_sec).unwrap_or(0), now.tv_nsec as u32)
}

/// Makes the futex call. Returns what the kernel returned, or the number of the error. errno is
/// left as it was.
///
/// # Safety
/// The memory that `operation` reads and writes must be there; `fourth` is a pointer to a time, or
/// a number.
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

/// Makes the `futex_waitv` call. Returns the index of the word that was woken, or the number of the
/// error. errno is left as it was.
///
/// # Safety
/// `words` points to `count` of the kernel's `futex_waitv` records, whose words are there; `time`
/// to seconds and nanoseconds on the monotonic clock, or it is null.
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
