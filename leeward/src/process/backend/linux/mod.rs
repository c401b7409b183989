//! Linux's part of [`process`](crate::process): small questions to the system, here, and the fork
//! registry, the fork mark, errno, the start of a thread and standard error, in files of their own.
//!
//! Under miri no process forks, threads are the standard library's, and nothing is written to standard
//! error: that part is other systems'.

mod errno;
#[cfg(not(miri))]
pub(crate) mod fork;
#[cfg(not(miri))]
pub(crate) mod fork_mark;
#[cfg(miri)]
#[allow(dead_code)]
#[path = "../none.rs"]
mod none;
#[cfg(all(feature = "threads", not(miri)))]
mod start;
#[cfg(all(feature = "threads", not(miri)))]
mod stderr;

pub(crate) use errno::Errno;
#[cfg(all(miri, feature = "threads"))]
pub(crate) use none::start;
#[cfg(miri)]
pub(crate) use none::{fork, fork_mark, print_error};
#[cfg(all(feature = "threads", not(miri)))]
pub(crate) use start::start;
#[cfg(all(feature = "threads", not(miri)))]
pub(crate) use stderr::print_error;

use core::ptr::NonNull;

/// Ends the process, by `SIGABRT`.
pub(crate) fn abort() -> ! {
    // SAFETY: has no precondition.
    unsafe { libc::abort() }
}

/// Maps fresh memory of zeros, in whole pages; `None` if there is none. errno is left as it was.
pub(crate) fn map(bytes: usize) -> Option<NonNull<u8>> {
    let errno = Errno::save();
    let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: maps new memory.
    let memory = unsafe { libc::mmap(core::ptr::null_mut(), bytes, access, kind, -1, 0) };
    errno.restore();
    if memory == libc::MAP_FAILED { None } else { NonNull::new(memory.cast()) }
}

/// Gives mapped memory back. errno is left as it was.
///
/// # Safety
/// `map` returned it for that many bytes, and nothing uses it.
pub(crate) unsafe fn unmap(memory: NonNull<u8>, bytes: usize) {
    let errno = Errno::save();
    // SAFETY: the caller's promise.
    unsafe { libc::munmap(memory.as_ptr().cast(), bytes) };
    errno.restore();
}

/// Asks the kernel for the calling thread's number.
pub(crate) fn thread_number() -> u32 {
    rustix::thread::gettid().as_raw_nonzero().get() as u32
}

/// Returns the address of the calling thread's control block, which the child of a fork keeps.
#[inline]
pub(crate) fn control_block() -> u64 {
    // SAFETY: has no precondition.
    unsafe { libc::pthread_self() as u64 }
}

/// Returns true if there is a thread of that number, in any process; also where that cannot be
/// found out. errno is left as it was. For robust locks, which are of 64-bit systems.
#[cfg(target_pointer_width = "64")]
pub(crate) fn is_a_thread(number: u32) -> bool {
    let Some(thread) = i32::try_from(number).ok().and_then(rustix::process::Pid::from_raw) else { return false };
    let errno = Errno::save();
    let answer = rustix::process::test_kill_process(thread);
    errno.restore();
    answer != Err(rustix::io::Errno::SRCH)
}

/// Returns true if there is a thread of that number in this process; also where that cannot be
/// found out. errno is left as it was.
pub(crate) fn is_own_thread(number: u32) -> bool {
    let process = rustix::process::getpid().as_raw_nonzero().get();
    let errno = Errno::save();
    // SAFETY: signal 0 is not sent; the kernel only looks whether there is such a thread.
    let outcome = unsafe { libc::syscall(libc::SYS_tgkill, process, number as libc::pid_t, 0) };
    let is_refused = outcome < 0 && Errno::save().number() == libc::ESRCH;
    errno.restore();
    !is_refused
}

/// Returns true if the calling thread runs before all ordinary threads for as long as it wants to.
/// errno is left as it was.
pub(crate) fn is_real_time() -> bool {
    let errno = Errno::save();
    // SAFETY: accesses no memory of the program; 0 is the calling thread. (musl's own function
    // refuses.)
    let policy = unsafe { libc::syscall(libc::SYS_sched_getscheduler, 0) } as libc::c_int;
    errno.restore();
    policy >= 0
        && matches!(policy & !libc::SCHED_RESET_ON_FORK, libc::SCHED_FIFO | libc::SCHED_RR | libc::SCHED_DEADLINE)
}

/// Writes nothing: there is no standard error without threads.
#[cfg(not(any(feature = "threads", miri)))]
pub(crate) fn print_error(_: core::fmt::Arguments<'_>) {}
