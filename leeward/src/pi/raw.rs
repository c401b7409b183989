//! The priority-inheriting lock's word, and the kernel's part in it. Called by
//! [`lock`](super::lock); calls the kernel's `FUTEX_LOCK_PI2`, `FUTEX_LOCK_PI` and
//! `FUTEX_UNLOCK_PI`.

use core::ffi::c_long;
use core::time::Duration;

use super::Error;
use crate::futex::{Deadline, Futex, Private, Timeout, calls, wait, yield_now};
use crate::mutant::mutated;
use crate::process::{is_own_thread, thread};
use core::sync::atomic::{AtomicU32, Ordering};

const FREE: u32 = 0;
const NUMBER: u32 = 0x3fff_ffff;
const OWNER_DIED: u32 = 1 << 30;
/// How often a waiter asks again for a lock whose owner the kernel does not find: the owner may
/// have unlocked it and exited since.
const EXIT_TRIES: u32 = 100;
/// How often a thread asks again for a lock that the kernel has given to a waiter which has not run
/// since: it yields first, and then sleeps for a moment each time, a second in all.
const HANDED_TRIES: u32 = 1_000;
const HANDED_YIELDS: u32 = 20;
const A_MOMENT: Duration = Duration::from_millis(1);

/// A priority-inheriting mutex without data; `SHARED` says whether several processes use it.
///
/// 8 bytes, valid when zeroed (unlocked). [`Mutex`](super::Mutex) is the one with data, whose page
/// says what both cost and how they differ from others.
///
/// ```
/// use leeward::pi::{Error, RawMutex};
/// let lock: RawMutex = RawMutex::new();
/// lock.lock()?;
/// assert!(lock.is_locked());
/// assert_eq!(lock.try_lock(), Err(Error::Deadlock));
/// // SAFETY: this thread has locked it.
/// unsafe { lock.unlock() };
/// # Ok::<(), Error>(())
/// ```
#[repr(C)]
#[derive(Debug)]
pub struct RawMutex<const SHARED: bool = false> {
    /// | bits | meaning |
    /// |---|---|
    /// | 0-29 | owner's thread number; 0: free |
    /// | 30 | the kernel's: an owner exited while the present owner waited |
    /// | 31 | the kernel's: a thread waits, so unlocking is a system call |
    word: AtomicU32,
    /// 1 if an owner has exited without unlocking: a leaked guard may still be in use, so no thread
    /// is let in any more. Written and read under the lock.
    gone: AtomicU32,
}

impl<const SHARED: bool> RawMutex<SHARED> {
    /// Returns an unlocked lock.
    #[allow(clippy::new_without_default)]
    pub const fn new() -> Self {
        RawMutex { word: AtomicU32::new(FREE), gone: AtomicU32::new(0) }
    }

    /// Locks the mutex, waiting as long as that takes.
    ///
    /// # Errors
    /// Any [`Error`] but `TimedOut`.
    #[inline]
    pub fn lock(&self) -> Result<(), Error> {
        if self.take(thread::number()) { self.taken() } else { self.lock_slow(Timeout::Never) }
    }

    /// Locks the mutex, waiting until `deadline` at most.
    ///
    /// ```
    /// use leeward::futex::{Deadline, Private};
    /// use leeward::pi::{Error, RawMutex};
    /// use std::time::Duration;
    /// static LOCK: RawMutex = RawMutex::new();
    /// LOCK.lock()?;
    /// let other = std::thread::spawn(|| LOCK.lock_until(Deadline::after::<Private>(Duration::from_millis(1))));
    /// assert_eq!(other.join().unwrap(), Err(Error::TimedOut));
    /// // SAFETY: this thread has locked it.
    /// unsafe { LOCK.unlock() };
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// Any [`Error`].
    #[inline]
    pub fn lock_until(&self, deadline: Deadline) -> Result<(), Error> {
        if self.take(thread::number()) { self.taken() } else { self.lock_slow(Timeout::At(deadline)) }
    }

    /// Locks the mutex if no thread holds it. Makes no system call.
    ///
    /// # Errors
    /// - [`Error::Deadlock`]: the caller holds it.
    /// - [`Error::TimedOut`]: another thread holds it. This includes an owner that exited while no
    ///   thread waited, since only waiters ask the kernel.
    /// - [`Error::OwnerGone`]: an owner exited, and another thread has found that out.
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
        // Acquire: partner of the release in `unlock`. Relaxed on failure: the kernel checks the
        // word.
        self.word.compare_exchange(FREE, this, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Returns `Ok` if the lock, just taken, may be kept; otherwise gives it up.
    #[inline]
    fn taken(&self) -> Result<(), Error> {
        // Relaxed: locked.
        if self.gone.load(Ordering::Relaxed) == 0 { Ok(()) } else { self.refuse() }
    }

    /// Closes the lock forever, gives it up and returns the error. The caller has just taken it.
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
        let (mut tries, mut handed) = (EXIT_TRIES, 0);
        loop {
            // The kernel takes the lock for the caller with full ordering.
            match self.ask(timeout) {
                // An owner had not unlocked it. Relaxed: locked.
                Ok(_) if self.word.load(Ordering::Relaxed) & OWNER_DIED != 0 && !mutated!(pi_gone) => {
                    return self.refuse();
                }
                Ok(_) => return self.taken(),
                Err(libc::EINTR) => {}
                // The owner is exiting, and the kernel does not know yet what it holds: soon it is
                // gone.
                Err(libc::EAGAIN) if timeout.has_passed::<Private>() => {
                    return Err(Error::TimedOut);
                }
                Err(libc::EAGAIN) => yield_now(),
                // The owner may have unlocked and exited since the kernel looked.
                Err(libc::ESRCH) if tries > 0 => {
                    tries -= 1;
                    yield_now();
                }
                Err(libc::ESRCH) => return Err(Error::OwnerGone),
                // An owner has exited, and the kernel has given the lock to a waiter: as long as
                // that has not run, the word names the dead owner, who owns nothing, and the kernel
                // calls that a mistake of the program's.
                Err(libc::EINVAL) if timeout.has_passed::<Private>() => return Err(Error::TimedOut),
                Err(libc::EINVAL) if handed < HANDED_TRIES && !mutated!(pi_handed) => {
                    handed += 1;
                    pause(handed);
                }
                Err(libc::EDEADLK) => return Err(Error::Deadlock),
                Err(libc::ETIMEDOUT) => return Err(Error::TimedOut),
                // The kernel lets no thread wait for one of another process. Or it was unlocked
                // since.
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
        // A time that is too far away for the kernel's format never comes: no time limit.
        let deadline = timeout.deadline();
        let Some(time) = deadline.and_then(calls::timespec) else {
            return self.call(libc::FUTEX_LOCK_PI, None);
        };
        // LOCK_PI2 (Linux 5.14) uses the monotonic clock, LOCK_PI the one that people set.
        match (self.call(LOCK_PI2, Some(time)), deadline) {
            (Err(libc::ENOSYS), Some(deadline)) => self.call(libc::FUTEX_LOCK_PI, people_time(deadline)),
            (outcome, _) => outcome,
        }
    }

    fn call(&self, operation: i32, time: Option<libc::timespec>) -> Result<u32, i32> {
        let operation = operation | if SHARED { 0 } else { libc::FUTEX_PRIVATE_FLAG };
        let time = time.as_ref().map_or(core::ptr::null(), core::ptr::from_ref);
        // SAFETY: the word is borrowed; the time is null or ours.
        unsafe { calls::futex(&raw const self.word, operation, 0, time as c_long, core::ptr::null(), 0) }
    }

    /// Unlocks the mutex, and gives it to the waiter of the highest priority.
    ///
    /// # Safety
    /// The calling thread has locked it, or did so before a fork of which this process is the
    /// child.
    #[inline]
    pub unsafe fn unlock(&self) {
        // Release: what was done under the lock happens before the next owner's section. Partner:
        // the acquire in `take`. Relaxed on failure: the kernel checks the word.
        if self.word.compare_exchange(thread::number(), FREE, Ordering::Release, Ordering::Relaxed).is_err() {
            self.unlock_slow();
        }
    }

    #[cold]
    #[inline(never)]
    fn unlock_slow(&self) {
        // The kernel gives the lock to the waiter of the highest priority, with full ordering.
        if self.call(libc::FUTEX_UNLOCK_PI, None).is_err() && !SHARED {
            // In the child of a fork, this is a copy of the parent's lock. The child's threads may
            // have tried to wait for it, but the kernel refused them: no thread is to be woken. (A
            // shared lock is still the parent's.)
            // Release: as above.
            self.word.store(FREE, Ordering::Release);
        }
    }

    /// Returns true if a thread holds it. The answer may be out of date when it is returned.
    pub fn is_locked(&self) -> bool {
        self.owner() != FREE
    }

    /// Returns the number of the thread that holds it, or `FREE`.
    fn owner(&self) -> u32 {
        // Relaxed: the answer is out of date anyway.
        self.word.load(Ordering::Relaxed) & NUMBER
    }
}

/// Lets a thread run that was given the lock, whatever its priority.
#[cold]
fn pause(tries: u32) {
    if tries <= HANDED_YIELDS {
        return yield_now();
    }
    // On a word that no other thread knows: a plain waiter on the lock's own would be in the
    // kernel's way.
    wait(&AtomicU32::new(0), 0, Timeout::after::<Private>(A_MOMENT));
}

/// Returns the same point in time on the clock that people set.
fn people_time(deadline: Deadline) -> Option<libc::timespec> {
    let left = deadline.since_beginning().saturating_sub(Private::now().since_beginning());
    let now = calls::clock(libc::CLOCK_REALTIME);
    calls::timespec(Deadline::at(now.saturating_add(left)))
}
