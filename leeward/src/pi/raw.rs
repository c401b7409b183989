//! The lock word, and the kernel's part.

use core::ffi::c_long;
use core::time::Duration;

use super::Error;
use crate::futex::{Deadline, Futex, Private, Timeout, calls, yield_now};
use crate::mutant::mutated;
use crate::process::{is_own_thread, thread};
use core::sync::atomic::{AtomicU32, Ordering};

const FREE: u32 = 0;
const NUMBER: u32 = 0x3fff_ffff;
const OWNER_DIED: u32 = 1 << 30;
/// How often an owner that is about to exit is given time to.
const EXIT_TRIES: u32 = 100;

/// A priority-inheriting mutex without data. Whether processes share it is a type.
///
/// 8 bytes; zeroed memory is an unlocked one. Free, it costs one compare-exchange each way and a look at the thread's number;
/// otherwise a system call each way: there is no spinning, the owner is to run.
#[repr(C)]
#[derive(Debug)]
pub struct RawMutex<const SHARED: bool = false> {
    /// | bits | meaning |
    /// |---|---|
    /// | 0-29 | owner's thread number; 0: free |
    /// | 30 | (the kernel's: the owner exited while the one that has it now waited) |
    /// | 31 | (the kernel's: somebody waits, unlock by system call) |
    word: AtomicU32,
    /// 1 when an owner has exited without unlocking, who may have given on what it locked: nobody is let in any more. Written
    /// and read under the lock.
    gone: AtomicU32,
}

impl<const SHARED: bool> RawMutex<SHARED> {
    /// An unlocked one.
    #[allow(clippy::new_without_default)]
    pub const fn new() -> Self {
        RawMutex { word: AtomicU32::new(FREE), gone: AtomicU32::new(0) }
    }

    /// Locks it, waiting as long as that takes.
    ///
    /// # Errors
    /// [`Error`], but not `TimedOut`.
    #[inline]
    pub fn lock(&self) -> Result<(), Error> {
        if self.take(thread::number()) { self.taken() } else { self.lock_slow(Timeout::Never) }
    }

    /// Locks it by `deadline`.
    ///
    /// # Errors
    /// [`Error`].
    #[inline]
    pub fn lock_until(&self, deadline: Deadline) -> Result<(), Error> {
        if self.take(thread::number()) { self.taken() } else { self.lock_slow(Timeout::At(deadline)) }
    }

    /// Locks it if nobody holds it. No system call.
    ///
    /// # Errors
    /// [`Error::Deadlock`]: the caller holds it; [`Error::TimedOut`]: somebody else does; [`Error::OwnerGone`]. An owner that exited while nobody waited
    /// is one that holds it: only who waits asks the kernel.
    #[inline]
    pub fn try_lock(&self) -> Result<(), Error> {
        let this = thread::number();
        // Acquire: as in `take`. Relaxed on failure: nothing was locked.
        match self.word.compare_exchange(FREE, this, Ordering::Acquire, Ordering::Relaxed) {
            Ok(_) => self.taken(),
            Err(word) if word & NUMBER == this => Err(Error::Deadlock),
            Err(_) => Err(Error::TimedOut),
        }
    }

    #[inline]
    fn take(&self, this: u32) -> bool {
        // Acquire: partner of the release in `unlock`. Relaxed on failure: the kernel looks again.
        self.word.compare_exchange(FREE, this, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Just taken; whether it may be kept.
    #[inline]
    fn taken(&self) -> Result<(), Error> {
        // Relaxed: locked.
        if self.gone.load(Ordering::Relaxed) == 0 { Ok(()) } else { self.refuse() }
    }

    /// Given up at once, for ever.
    #[cold]
    #[inline(never)]
    fn refuse(&self) -> Result<(), Error> {
        // Relaxed: locked.
        self.gone.store(1, Ordering::Relaxed);
        // SAFETY: the caller has just taken it.
        unsafe { self.unlock() };
        Err(Error::OwnerGone)
    }

    #[cold]
    #[inline(never)]
    fn lock_slow(&self, timeout: Timeout) -> Result<(), Error> {
        let mut tries = EXIT_TRIES;
        loop {
            // The kernel takes the lock for the caller with full ordering.
            match self.ask(timeout) {
                // From an owner that had not unlocked it? Relaxed: locked.
                Ok(_) if self.word.load(Ordering::Relaxed) & OWNER_DIED != 0 && !mutated!(pi_gone) => {
                    return self.refuse();
                }
                Ok(_) => return self.taken(),
                Err(libc::EINTR) => {}
                // The owner is exiting, and what it holds not yet known: soon it is gone.
                Err(libc::EAGAIN) if timeout.has_passed::<Private>() => {
                    return Err(Error::TimedOut);
                }
                Err(libc::EAGAIN) => yield_now(),
                // Or it has unlocked and exited since the kernel looked.
                Err(libc::ESRCH) if tries > 0 => {
                    tries -= 1;
                    yield_now();
                }
                Err(libc::ESRCH) => return Err(Error::OwnerGone),
                Err(libc::EDEADLK) => return Err(Error::Deadlock),
                Err(libc::ETIMEDOUT) => return Err(Error::TimedOut),
                // The kernel lets nobody wait for a thread of another process. Or it was unlocked since.
                Err(libc::EPERM) if !SHARED && self.owner() == FREE => {}
                Err(libc::EPERM) if !SHARED && !is_own_thread(self.owner()) => return Err(Error::OwnerGone),
                Err(errno) => return Err(Error::Refused(errno)),
            }
            if self.take(thread::number()) {
                return self.taken();
            }
        }
    }

    fn ask(&self, timeout: Timeout) -> Result<u32, i32> {
        const LOCK_PI2: i32 = 13;
        // A time that the kernel cannot say never comes.
        let deadline = timeout.deadline();
        let Some(time) = deadline.and_then(calls::timespec) else {
            return self.call(libc::FUTEX_LOCK_PI, None);
        };
        // LOCK_PI2 (Linux 5.14) counts on the monotonic clock, LOCK_PI on the one that people set.
        match (self.call(LOCK_PI2, Some(time)), deadline) {
            (Err(libc::ENOSYS), Some(deadline)) => self.call(libc::FUTEX_LOCK_PI, people_time(deadline)),
            (outcome, _) => outcome,
        }
    }

    fn call(&self, operation: i32, time: Option<libc::timespec>) -> Result<u32, i32> {
        let operation = operation | if SHARED { 0 } else { libc::FUTEX_PRIVATE_FLAG };
        let time = time.as_ref().map_or(core::ptr::null(), core::ptr::from_ref);
        // SAFETY: the word is borrowed, the time is null or ours.
        unsafe { calls::futex(&raw const self.word, operation, 0, time as c_long, core::ptr::null(), 0) }
    }

    /// Unlocks it.
    ///
    /// # Safety
    /// The calling thread has locked it; or did so before a fork of which this is the child.
    #[inline]
    pub unsafe fn unlock(&self) {
        // Release: what was done under the lock happens before the next owner's. Relaxed on failure: the kernel looks.
        if self.word.compare_exchange(thread::number(), FREE, Ordering::Release, Ordering::Relaxed).is_err() {
            self.unlock_slow();
        }
    }

    #[cold]
    #[inline(never)]
    fn unlock_slow(&self) {
        // The kernel gives the lock to the waiter of the highest priority, with full ordering.
        if self.call(libc::FUTEX_UNLOCK_PI, None).is_err() && !SHARED {
            // The child of a fork: this is a copy of its parent's lock. Its threads may have tried to wait for it, and the kernel
            // refused them: nobody is to be woken. (A shared one is its parent's still.)
            // Release: as above.
            self.word.store(FREE, Ordering::Release);
        }
    }

    /// Whether somebody holds it; out of date when it is returned.
    pub fn is_locked(&self) -> bool {
        self.owner() != FREE
    }

    /// The number of the thread that holds it.
    fn owner(&self) -> u32 {
        // Relaxed: out of date anyway.
        self.word.load(Ordering::Relaxed) & NUMBER
    }
}

/// The same point in time on the clock that people set.
fn people_time(deadline: Deadline) -> Option<libc::timespec> {
    let left = deadline.since_beginning().saturating_sub(Private::now().since_beginning());
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Realtime);
    let now = Duration::new(now.tv_sec.max(0) as u64, now.tv_nsec as u32);
    calls::timespec(Deadline::at(now.saturating_add(left)))
}
