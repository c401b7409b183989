//! Deadlines: the function of `<leeward/deadline.h>`, and how every timed call reads one.

use core::ffi::c_int;
use core::time::Duration;

use leeward::futex::{Deadline, Private, Timeout};
use libc::timespec;

use crate::report::given;

/// Returns the timeout that a caller of C names.
///
/// # Errors
/// `EINVAL`: it is none.
pub(crate) fn timeout(deadline: Option<&timespec>) -> Result<Timeout, c_int> {
    let time = deadline.ok_or(libc::EINVAL)?;
    let nanoseconds = u32::try_from(time.tv_nsec).ok().filter(|&count| count < 1_000_000_000).ok_or(libc::EINVAL)?;
    // A time before the clock's beginning has passed.
    let time = u64::try_from(time.tv_sec).map_or(Duration::ZERO, |seconds| Duration::new(seconds, nanoseconds));
    Ok(Timeout::At(Deadline::at(time)))
}

/// Returns 0 if `wait` succeeds until the deadline, else the error.
pub(super) fn until(deadline: Option<&timespec>, wait: impl FnOnce(Timeout) -> bool) -> c_int {
    match timeout(deadline) {
        Ok(timeout) if wait(timeout) => 0,
        Ok(_) => libc::ETIMEDOUT,
        Err(error) => error,
    }
}

/// Returns 0 if an attempt succeeded, else the error `refusal`.
pub(super) fn done(succeeded: bool, refusal: c_int) -> c_int {
    if succeeded { 0 } else { refusal }
}

/// Stores the point in time that is so many nanoseconds from now.
#[unsafe(no_mangle)]
pub extern "C" fn lee_deadline_after(deadline: Option<&mut timespec>, nanoseconds: u64) {
    given!("lee_deadline_after", deadline: "deadline");
    let time = Deadline::after::<Private>(Duration::from_nanos(nanoseconds)).since_beginning();
    deadline.tv_sec = libc::time_t::try_from(time.as_secs()).unwrap_or(libc::time_t::MAX);
    deadline.tv_nsec = time.subsec_nanos() as _;
}
