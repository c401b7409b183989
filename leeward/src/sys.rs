//! What neither rustix nor core has: errno kept as it was, and who the calling thread is.

/// errno as it was, to be put back: C programs that call us must find it untouched.
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

/// Ends the process, by `SIGABRT`.
pub(crate) fn abort() -> ! {
    // SAFETY: has no precondition.
    unsafe { libc::abort() }
}

/// Blocks the calling thread's asynchronous signals until dropped, so that a thread started meanwhile never runs the
/// program's handlers. `SIGURG` and the real-time ones stay: a heavy fence may be one.
#[cfg(feature = "std")]
pub(crate) struct BlockedSignals(libc::sigset_t);

#[cfg(feature = "std")]
impl BlockedSignals {
    pub(crate) fn new() -> BlockedSignals {
        const SYNCHRONOUS: [libc::c_int; 6] =
            [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE, libc::SIGTRAP, libc::SIGSYS];
        let stays = |signal| SYNCHRONOUS.contains(&signal) || signal == libc::SIGURG;
        let mut blocked = core::mem::MaybeUninit::<libc::sigset_t>::uninit();
        // SAFETY: initialises the set.
        unsafe { libc::sigemptyset(blocked.as_mut_ptr()) };
        // SAFETY: initialised just now.
        let mut blocked = unsafe { blocked.assume_init() };
        for signal in (1..32).filter(|&signal| !stays(signal)) {
            // SAFETY: a set of ours and a number that exists.
            unsafe { libc::sigaddset(&mut blocked, signal) };
        }
        let mut before = blocked;
        // SAFETY: two sets of ours.
        unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &blocked, &mut before) };
        BlockedSignals(before)
    }
}

#[cfg(feature = "std")]
impl Drop for BlockedSignals {
    fn drop(&mut self) {
        // SAFETY: the set that was in force before.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &self.0, core::ptr::null_mut()) };
    }
}

/// Returns true if the calling thread runs before all ordinary ones for as long as it wants to. errno is as it was.
pub(crate) fn is_real_time() -> bool {
    let errno = Errno::save();
    // SAFETY: reads nothing of ours; 0 is the calling thread. (musl's own function refuses.)
    let policy = unsafe { libc::syscall(libc::SYS_sched_getscheduler, 0) } as libc::c_int;
    errno.restore();
    policy >= 0
        && matches!(policy & !libc::SCHED_RESET_ON_FORK, libc::SCHED_FIFO | libc::SCHED_RR | libc::SCHED_DEADLINE)
}

/// The time as the kernel takes it, if it can.
pub(crate) fn timespec(time: crate::futex::Deadline) -> Option<libc::timespec> {
    let time = time.since_beginning();
    let seconds = time.as_secs().try_into().ok()?;
    Some(libc::timespec { tv_sec: seconds, tv_nsec: time.subsec_nanos() as _ })
}

/// The futex call: what it returned, or the number of the error. errno is as it was.
///
/// # Safety
/// What `operation` reads and writes must be there; `fourth` is a pointer to a time, or a number.
pub(crate) unsafe fn futex(
    word: *const crate::atomic::AtomicU32,
    operation: libc::c_int,
    value: u32,
    fourth: libc::c_long,
    other: *const crate::atomic::AtomicU32,
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
