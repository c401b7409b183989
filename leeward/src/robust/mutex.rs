//! A robust mutex with its data, its guard, and what a caller is told.

use core::cell::UnsafeCell;
use core::fmt;
use core::marker::PhantomData;
use core::time::Duration;

use super::current::Current;
use super::lock::{Lock, Refusal, Taken};
use super::unlock::{ByExchange, Unlock};
use super::{AnyBytes, ListError};
use crate::futex::{Deadline, Shared, Timeout};

/// A mutual exclusion lock that survives the death of its owner, for memory that processes share.
///
/// The next owner gets the lock *and* the news ([`LockError::OwnerDied`]); it repairs the data and says so
/// ([`Guard::mark_consistent`]), or lets go, and the lock is unusable for ever ([`LockError::NotRecoverable`]).
///
/// # Layout
/// `repr(C)`; zeroed memory is an unlocked mutex around a zeroed `T`. The lock word at 0 (owner's thread id in bits 0-29, bit 30
/// "owner died", bit 31 "somebody waits"), its state at 4, zeroes at 8 (of a [`LightMutex`](super::LightMutex), who sleeps), zeroes at 16, `prev` at 24, `next` at 32, the value at 40 or the
/// next multiple of its alignment. 64-bit systems only.
///
/// # Where it may lie
/// While it is locked it is part of its owner's list, by its address, and a guard may be forgotten. So everything takes
/// `&'static self`: a static, a leaked box, or a place in a mapping that stays
/// ([`Region::leak`](crate::shared::Region::leak), [`Mutex::at`]).
///
/// # Cost
/// Free: a compare-exchange to lock, another to unlock, a dozen plain loads and stores. Contended: some looks, three
/// yields, then the shared futex. A dying owner costs the kernel a few hundred nanoseconds a lock.
///
/// # Memory ordering
/// Locking acquires what unlocking released; after an owner's death, what it had stored.
///
/// Not async-signal-safe: a handler that interrupts a lock or unlock of its own thread would take over its pending entry.
#[repr(C)]
pub struct Mutex<T: AnyBytes, U: Unlock = ByExchange> {
    lock: Lock,
    unlock: PhantomData<fn() -> U>,
    value: UnsafeCell<T>,
}

// SAFETY: the lock lets one thread at a time at the value.
unsafe impl<T: AnyBytes, U: Unlock> Sync for Mutex<T, U> {}

// SAFETY: words, of which any bytes are one, addresses that mean something to the owner's process and are used by the owner alone, and the value;
// `repr(C)`. In a region that is leaked: it is locked by a `'static` reference.
unsafe impl<T: AnyBytes, U: Unlock> AnyBytes for Mutex<T, U> {}

impl<T: AnyBytes> Mutex<T> {
    /// An unlocked one: for a static, or a box that is leaked. In a mapping, zeroes are one.
    pub const fn new(value: T) -> Mutex<T> {
        Mutex::with_unlock(value)
    }
}

impl<T: AnyBytes, U: Unlock> Mutex<T, U> {
    /// An unlocked one that is unlocked in a way of one's choice; see [`new`](Mutex::new).
    pub const fn with_unlock(value: T) -> Mutex<T, U> {
        Mutex { lock: Lock::new(), unlock: PhantomData, value: UnsafeCell::new(value) }
    }

    /// The one that lies at `place`, in a mapping of shared memory.
    ///
    /// # Panics
    /// If `place` is null or not aligned.
    ///
    /// # Safety
    /// - There are `size_of::<Mutex<T, U>>()` bytes, readable and writable, at first zeroed or moved there from
    ///   [`Mutex::new`], and since then written by mutexes of this type and layout only, in every process that maps them.
    /// - They stay mapped there as long as anything uses the mutex through the reference, as long as any thread of this process holds it
    ///   (through a forgotten guard, too), and until every call of lock and unlock on it has returned.
    /// - Processes that use it are of one pid namespace.
    /// - In [`Guard::with`] the reference stays on its thread, in every process: one that is killed ends thread by thread, and another thread
    ///   might use the reference for a moment after the lock was given on.
    pub unsafe fn at(place: *mut Mutex<T, U>) -> &'static Mutex<T, U> {
        assert!(
            !place.is_null() && place.is_aligned(),
            "a robust mutex cannot lie at {place:?}: its address must be a multiple of {}",
            align_of::<Mutex<T, U>>()
        );
        // SAFETY: the caller's promise.
        unsafe { &*place }
    }

    /// Locks it, waiting as long as that takes.
    ///
    /// # Errors
    /// [`LockError::OwnerDied`], which holds the lock; and all others but `WouldBlock` and `TimedOut`. `OwnerLost` comes after 30 seconds.
    ///
    /// ```
    /// use leeward::robust::{LockError, Mutex};
    /// static COUNTER: Mutex<u64> = Mutex::new(0);
    /// match COUNTER.lock() {
    ///     Ok(mut count) => count.with(|count| *count += 1),
    ///     Err(LockError::OwnerDied(mut count)) => {
    ///         count.set(1); // repair
    ///         count.mark_consistent();
    ///     }
    ///     Err(error) => panic!("{error}"),
    /// }
    /// assert_eq!(COUNTER.lock().unwrap().get(), 1);
    /// ```
    #[inline]
    pub fn lock(&'static self) -> Result<Guard<T, U>, LockError<T, U>> {
        self.with(Timeout::Never)
    }

    /// Locks it if nobody holds it.
    ///
    /// # Errors
    /// As [`lock`](Self::lock); [`LockError::WouldBlock`] if it is held.
    #[inline]
    pub fn try_lock(&'static self) -> Result<Guard<T, U>, LockError<T, U>> {
        self.with(Timeout::Now)
    }

    /// Locks it, waiting for so long at most.
    ///
    /// # Errors
    /// As [`try_lock_until`](Self::try_lock_until).
    pub fn try_lock_for(&'static self, limit: Duration) -> Result<Guard<T, U>, LockError<T, U>> {
        self.try_lock_until(Deadline::after::<Shared>(limit))
    }

    /// Locks it, waiting until then at most.
    ///
    /// # Errors
    /// As [`lock`](Self::lock); [`LockError::TimedOut`], or [`LockError::OwnerLost`] if the time is up and there is no such thread as the owner.
    pub fn try_lock_until(&'static self, deadline: Deadline) -> Result<Guard<T, U>, LockError<T, U>> {
        self.with(Timeout::At(deadline))
    }

    #[inline]
    fn with(&'static self, timeout: Timeout) -> Result<Guard<T, U>, LockError<T, U>> {
        match self.lock.lock::<U>(timeout) {
            Ok(Taken { me, owner_died: false }) => Ok(self.guard(me, false)),
            other => Err(self.news(other)),
        }
    }

    #[inline]
    fn guard(&'static self, owner: Current, is_inconsistent: bool) -> Guard<T, U> {
        Guard { mutex: self, owner, is_inconsistent, thread: PhantomData }
    }

    #[cold]
    fn news(&'static self, outcome: Result<Taken, Refusal>) -> LockError<T, U> {
        match outcome {
            Ok(taken) => LockError::OwnerDied(self.guard(taken.me, true)),
            Err(Refusal::NotRecoverable) => LockError::NotRecoverable,
            Err(Refusal::WouldDeadlock) => LockError::WouldDeadlock,
            Err(Refusal::WouldBlock) => LockError::WouldBlock,
            Err(Refusal::TimedOut) => LockError::TimedOut,
            Err(Refusal::OwnerLost(owner)) => LockError::OwnerLost(owner),
            Err(Refusal::NoList(error)) => LockError::NoList(error),
        }
    }

    /// Whether it is unusable for ever.
    pub fn is_unrecoverable(&self) -> bool {
        self.lock.is_unrecoverable()
    }

    /// Does what the kernel did not: the next owner is told that `owner` died. For [`LockError::OwnerLost`]. False if it was not, or is no longer,
    /// `owner`'s.
    ///
    /// # Errors
    /// [`ListError`]: this thread has no robust list.
    ///
    /// # Safety
    /// No thread holds the lock: `owner` is dead in every pid namespace.
    pub unsafe fn declare_owner_dead(&'static self, owner: u32) -> Result<bool, ListError> {
        // SAFETY: the caller's promise.
        unsafe { self.lock.declare_dead(owner) }
    }
}

impl<T: AnyBytes, U: Unlock> fmt::Debug for Mutex<T, U> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mutex").field("is_unrecoverable", &self.is_unrecoverable()).finish_non_exhaustive()
    }
}

/// An open robust lock: its drop unlocks. It stays on its thread, by whose number the lock is held; if it is leaked, the lock is held until
/// that thread ends, and its owner has died then.
///
/// In the child of a fork a copy of the parent's guard opens nothing: its drop does nothing, and to ask it for the value is a panic. It knows
/// its process as well as its thread, so that this holds whatever number the child's thread has.
#[must_use = "the lock is given up when the guard is dropped"]
pub struct Guard<T: AnyBytes, U: Unlock = ByExchange> {
    mutex: &'static Mutex<T, U>,
    /// The thread that took it, and of which process.
    owner: Current,
    is_inconsistent: bool,
    thread: PhantomData<*const ()>,
}

impl<T: AnyBytes, U: Unlock> Guard<T, U> {
    /// The value, for as long as `work` takes: a reference that outlived a thread which leaked its guard and ended would be one to a lock that
    /// somebody else holds.
    ///
    /// `work` may lend it to scoped threads, for which it waits. Not where the lock lies in memory
    /// that *processes* share: one that is killed ends thread by thread, and a scoped thread may go
    /// on for some instructions when the owner has ended, its death was told, and the lock is
    /// another process's. That is what [`Mutex::at`] asks for, and
    /// [`Region::open`](crate::shared::Region::open).
    ///
    /// # Panics
    /// In the child of a fork, if the guard was copied with it.
    #[inline]
    pub fn with<R>(&mut self, work: impl FnOnce(&mut T) -> R) -> R {
        self.must_be_ours();
        // SAFETY: this thread holds the lock, and the guard is borrowed alone until `work` has
        // returned. The thread holds it as long: it ends inside of `work` either alone, by a call
        // that unwinds no frame, which is unsafe and whose caller answers for what those frames had
        // lent; or with its process, none of whose threads then uses the reference beside the next
        // owner but in memory of several processes, where it stays on this thread, as those
        // promised who made the memory one of several (`at`, `Region::open`, `Region::from_raw_fd`,
        // or a fork). Any bytes are a value.
        work(unsafe { &mut *self.mutex.value.get() })
    }

    /// The value, copied.
    ///
    /// # Panics
    /// As [`with`](Self::with).
    #[inline]
    pub fn get(&self) -> T
    where
        T: Copy,
    {
        self.must_be_ours();
        // SAFETY: this thread, from which the guard does not go away, holds the lock.
        unsafe { self.mutex.value.get().read() }
    }

    /// Another value.
    ///
    /// # Panics
    /// As [`with`](Self::with).
    #[inline]
    pub fn set(&mut self, value: T) {
        self.with(|place| *place = value);
    }

    #[inline]
    fn must_be_ours(&self) {
        if !self.owner.is_here() {
            not_ours(self.owner.id());
        }
    }

    /// The data is whole again: the lock stays usable. Without effect where no owner died.
    pub fn mark_consistent(&mut self) {
        self.is_inconsistent = false;
    }

    /// Whether an owner died and nobody has said yet that the data is whole.
    pub fn is_inconsistent(&self) -> bool {
        self.is_inconsistent
    }
}

#[cold]
#[inline(never)]
fn not_ours(owner: u32) -> ! {
    panic!("this guard of a robust mutex is a fork's copy: thread {owner} of the parent holds the lock")
}

impl<T: AnyBytes, U: Unlock> Drop for Guard<T, U> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the guard was made when its thread took the lock, and is dropped once.
        unsafe { self.mutex.lock.unlock::<U>(self.owner, self.is_inconsistent) };
    }
}

impl<T: AnyBytes, U: Unlock> fmt::Debug for Guard<T, U> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guard").field("is_inconsistent", &self.is_inconsistent).finish_non_exhaustive()
    }
}

/// Why a lock was not simply taken.
#[non_exhaustive]
pub enum LockError<T: AnyBytes, U: Unlock = ByExchange> {
    /// It was taken, but its last owner died in it: the data may be half-written. Repair it and
    /// [mark it consistent](Guard::mark_consistent), or drop the guard and nobody uses the lock again.
    OwnerDied(Guard<T, U>),
    /// An owner died and the next one did not repair the data.
    NotRecoverable,
    /// The calling thread holds it already; or the word holds the thread's number for no good reason.
    WouldDeadlock,
    /// Somebody holds it.
    WouldBlock,
    /// Somebody held it all the time.
    TimedOut,
    /// It is held by a thread of this number, and there is none: the word was overwritten, the owner lives in another pid namespace, or it
    /// died and the kernel did not come to this lock (it walks 2,048 entries). [`Mutex::declare_owner_dead`] is the way out.
    OwnerLost(u32),
    /// The calling thread has no robust list that could be used.
    NoList(ListError),
}

impl<T: AnyBytes, U: Unlock> LockError<T, U> {
    /// If the owner died: has `repair` mend the data and marks it consistent. Any other error stays. If `repair` panics, the lock is
    /// unusable from then on.
    ///
    /// ```
    /// # use leeward::robust::Mutex;
    /// static COUNTER: Mutex<u64> = Mutex::new(0);
    /// let count = COUNTER.lock().or_else(|error| error.repair(|count| *count = 0)).unwrap();
    /// ```
    ///
    /// # Errors
    /// What it was, unless the owner died.
    pub fn repair(self, repair: impl FnOnce(&mut T)) -> Result<Guard<T, U>, LockError<T, U>> {
        match self {
            LockError::OwnerDied(mut guard) => {
                guard.with(repair);
                guard.mark_consistent();
                Ok(guard)
            }
            other => Err(other),
        }
    }
}

impl<T: AnyBytes, U: Unlock> fmt::Debug for LockError<T, U> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl<T: AnyBytes, U: Unlock> fmt::Display for LockError<T, U> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LockError::OwnerDied(_) => f.write_str("the lock's last owner died: its data may be half-written"),
            LockError::NotRecoverable => {
                f.write_str("the lock is unusable: an owner died and nobody repaired its data")
            }
            LockError::WouldDeadlock => f.write_str("the calling thread holds the lock already"),
            LockError::WouldBlock => f.write_str("the lock is held"),
            LockError::TimedOut => f.write_str("the lock was held until the time was up"),
            LockError::OwnerLost(owner) => {
                write!(
                    f,
                    "the lock is held by thread {owner}, which does not exist: its death was not told, or the lock was overwritten"
                )
            }
            LockError::NoList(error) => error.fmt(f),
        }
    }
}

impl<T: AnyBytes, U: Unlock> core::error::Error for LockError<T, U> {}
