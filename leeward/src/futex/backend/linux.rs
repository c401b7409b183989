//! Linux's futex. Each function leaves errno as it was.

use core::ffi::c_long;
use core::time::Duration;

use super::{ALL, Changed, Deadline, Timeout, Wait, WaitAny, WakeOp, calls};
use crate::atomic::AtomicU32;
use crate::process;

/// Returns `FUTEX_PRIVATE_FLAG` for words of one process, 0 for shared words.
const fn flag<const SHARED: bool>() -> i32 {
    if SHARED { 0 } else { libc::FUTEX_PRIVATE_FLAG }
}

/// Sleeps while `word` is `expected`, until `timeout` at most. It may return at any time.
pub(super) fn wait<const SHARED: bool>(word: &AtomicU32, expected: u32, timeout: Timeout) -> Wait {
    // A time that is later than the kernel can say never comes.
    let time = timeout.deadline().and_then(calls::timespec);
    let time = time.as_ref().map_or(core::ptr::null(), core::ptr::from_ref);
    // WAIT_BITSET takes a point in time; WAIT takes a length.
    let operation = libc::FUTEX_WAIT_BITSET | flag::<SHARED>();
    // SAFETY: the word is borrowed; the time is null or our own.
    let outcome = unsafe {
        calls::futex(
            core::ptr::from_ref(word),
            operation,
            expected,
            time as c_long,
            core::ptr::null(),
            libc::FUTEX_BITSET_MATCH_ANY as u32,
        )
    };
    match outcome {
        Ok(_) | Err(libc::EINTR) => Wait::Woken,
        Err(libc::EAGAIN) => Wait::Changed,
        Err(libc::ETIMEDOUT) => Wait::TimedOut,
        // A sandbox refuses futexes: nothing is lost but the sleep.
        Err(_) => {
            yield_now();
            match timeout.deadline() {
                Some(deadline) if Deadline::at(now()) >= deadline => Wait::TimedOut,
                _ => Wait::Woken,
            }
        }
    }
}

/// Wakes up to `count` threads that sleep on `word`. Returns how many it woke.
pub(super) fn wake<const SHARED: bool>(word: *const AtomicU32, count: u32) -> u32 {
    // The kernel takes 0 and negative numbers for 1.
    if count == 0 {
        return 0;
    }
    let count = count.min(ALL);
    let operation = libc::FUTEX_WAKE | flag::<SHARED>();
    // SAFETY: the kernel does not access the word, which may be freed.
    let outcome = unsafe { calls::futex(word, operation, count, 0, core::ptr::null(), 0) };
    // Refused where the memory is unmapped, and by a sandbox, in which no thread sleeps (`wait`).
    outcome.unwrap_or(0)
}

/// Wakes up to `wake` sleepers of `from` and moves up to `requeue` others to `to`, if `from` is
/// still `expected`. Returns how many were woken or moved.
///
/// # Safety
/// `from` is alive.
pub(super) unsafe fn requeue<const SHARED: bool>(
    from: *const AtomicU32,
    expected: u32,
    wake: u32,
    to: *const AtomicU32,
    requeue: u32,
) -> Result<u32, Changed> {
    let (wake, requeue) = (wake.min(ALL), requeue.min(ALL));
    let operation = libc::FUTEX_CMP_REQUEUE | flag::<SHARED>();
    // SAFETY: the caller's promise; only the address of `to` is used.
    match unsafe { calls::futex(from, operation, wake, requeue as c_long, to, expected) } {
        Err(libc::EAGAIN) => Err(Changed),
        // A sandbox refuses the call: a waiter that is woken need not be moved.
        Err(_) => Ok(self::wake::<SHARED>(from, wake.saturating_add(requeue))),
        Ok(count) => Ok(count),
    }
}

/// Does `op` to `on` and wakes sleepers of both words. Returns how many it woke.
///
/// # Safety
/// `on` is alive and may be written so.
pub(super) unsafe fn wake_op<const SHARED: bool>(
    word: *const AtomicU32,
    wake: u32,
    on: *const AtomicU32,
    op: WakeOp,
    wake_on: u32,
) -> u32 {
    // The kernel takes 0 and negative numbers for 1.
    if wake != 0 && wake_on != 0 {
        let operation = libc::FUTEX_WAKE_OP | flag::<SHARED>();
        // SAFETY: the caller's promise.
        let outcome =
            unsafe { calls::futex(word, operation, wake.min(ALL), wake_on.min(ALL) as c_long, on, op.encoded()) };
        if let Ok(count) = outcome {
            return count;
        }
    }
    // One of the counts is 0, or a sandbox refuses the call and nothing has happened: in three
    // steps. SAFETY: the caller's promise.
    let old = op.apply_to(unsafe { &*on });
    let woken = self::wake::<SHARED>(word, wake);
    woken + if op.holds(old) { self::wake::<SHARED>(on, wake_on) } else { 0 }
}

/// A word to wait for, as `futex_waitv` takes it.
#[repr(C)]
#[derive(Clone, Copy)]
struct Waiter {
    value: u64,
    address: u64,
    flags: u32,
    reserved: u32,
}

/// The answer where the kernel has no `futex_waitv`, or a sandbox refuses it.
pub(super) struct Refused;

/// Sleeps while each of `words` (at most `MOST`) holds its value, until `timeout` at most.
pub(super) fn wait_any<const SHARED: bool>(words: &[(&AtomicU32, u32)], timeout: Timeout) -> Result<WaitAny, Refused> {
    const SIZE_U32: u32 = 2;
    let flags = SIZE_U32 | flag::<SHARED>() as u32;
    let mut waiters = [Waiter { value: 0, address: 0, flags, reserved: 0 }; super::outcome::MOST];
    for (waiter, (word, expected)) in waiters.iter_mut().zip(words) {
        waiter.value = u64::from(*expected);
        waiter.address = core::ptr::from_ref(*word) as usize as u64;
    }
    // A time that is later than the kernel can say never comes. Both numbers have 64 bits on every
    // architecture.
    let time = timeout.deadline().map(Deadline::since_beginning).and_then(|time| {
        let seconds = i64::try_from(time.as_secs()).ok()?;
        Some([seconds, i64::from(time.subsec_nanos())])
    });
    let time = time.as_ref().map_or(core::ptr::null(), |time| time.as_ptr());
    // SAFETY: the words are borrowed; the array is our own and has as many records as is said; the
    // time is null or our own.
    let outcome = unsafe { calls::futex_waitv(waiters.as_ptr().cast(), words.len() as u32, time) };
    match outcome {
        Ok(place) => Ok(WaitAny::Woken(Some(place as usize))),
        Err(libc::EAGAIN) => Ok(WaitAny::Changed),
        Err(libc::ETIMEDOUT) => Ok(WaitAny::TimedOut),
        Err(libc::EINTR) => Ok(WaitAny::Woken(None)),
        Err(_) => Err(Refused),
    }
}

/// Lets another thread run.
pub(crate) fn yield_now() {
    rustix::thread::sched_yield();
}

/// Returns true if a yield of the calling thread lets ordinary threads run; also where a sandbox
/// does not say how the thread is scheduled.
pub(super) fn yields_to_all() -> bool {
    !process::is_real_time()
}

/// Reads the monotonic clock.
pub(crate) fn now() -> Duration {
    calls::clock(libc::CLOCK_MONOTONIC)
}

/// Returns the calling thread's number, which no other thread of the process has. (`PID_MAX_LIMIT`
/// is 2^22.)
pub(super) fn thread_number() -> u32 {
    process::thread_number()
}
