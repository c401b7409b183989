//! A robust mutex with its data, its guard, and what a locker is told. Calls [`lock`](super::lock).

use core::cell::UnsafeCell;
use core::fmt;
use core::marker::PhantomData;
use core::time::Duration;

use super::current::Current;
use super::lock::{Lock, LockTaken, Refusal};
use super::unlock::{ByExchange, Unlock};
use super::{AnyBytes, ListError};
use crate::futex::{Deadline, Shared, Timeout};
use crate::marker::GuardNoSend;

/// A mutual exclusion lock that survives the death of its owner, for memory that processes share.
///
/// The next owner gets the lock and learns of the death ([`LockError::OwnerDied`]). It repairs the
/// data and says so ([`Guard::mark_consistent`]); or it unlocks, and the lock is unusable forever
/// ([`LockError::NotRecoverable`]).
///
/// ```
/// use leeward::robust::{LockError, Mutex};
/// static COUNTER: Mutex<u64> = Mutex::new(0);
/// // A thread that exits with the lock; or a process that is killed.
/// std::thread::spawn(|| std::mem::forget(COUNTER.lock())).join().unwrap();
/// match COUNTER.lock() {
///     Err(LockError::OwnerDied(mut count)) => {
///         count.set(1); // repair
///         count.mark_consistent();
///     }
///     other => panic!("{other:?}"),
/// }
/// assert_eq!(COUNTER.lock().unwrap().get(), 1);
/// ```
///
/// # Layout
/// `repr(C)`; zeroed memory is an unlocked mutex around a zeroed `T`. The lock word lies at 0, the
/// value at 40 or the next multiple of its alignment; [the guide](crate::guide::robust) has the
/// fields between them and their bits. There are robust mutexes on 64-bit systems only.
///
/// # Where it may lie
/// While it is locked, it is part of its owner's list by its address, and its guard may be leaked.
/// So everything takes `&'static self`: a static, a leaked box, or a place in a mapping that stays
/// ([`Region::leak`](crate::shared::Region::leak), [`Mutex::at`]).
///
/// # Cost
/// - Free: a compare-exchange to lock, another to unlock, and a dozen plain loads and stores.
///   [`LightMutex`](super::LightMutex) spares the second.
/// - Contended: a short spin with some yields, then the shared futex.
/// - A dying owner costs the kernel a few hundred nanoseconds a lock.
///
/// # Memory ordering
/// Everything that was done under the lock before, also by an owner that died, happens before the
/// return of a call that locks.
///
/// # Differences from std
/// - A panic unlocks, without poisoning. What is reported is the owner's *death*, also that of a
///   thread which leaked its guard and ended; std's mutex stays locked then.
/// - The value is reached through a closure ([`Guard::with`]), and any bytes must be a value of its
///   type ([`AnyBytes`]): the owner may have died between two halves of a store.
/// - [`lock`](Self::lock) takes `&'static self`. A thread that holds the lock already gets
///   [`LockError::WouldDeadlock`].
///
/// # Differences from `pthread_mutexattr_setrobust`
/// - `EOWNERDEAD`, `ENOTRECOVERABLE` and `pthread_mutex_consistent` are [`LockError::OwnerDied`],
///   [`LockError::NotRecoverable`] and [`Guard::mark_consistent`]: the states are the same.
/// - There are no attributes and no call to initialise it: each of these locks is robust and
///   process-shared, and zeroes are a free one.
/// - A lock that the kernel did not reach is [`LockError::OwnerLost`] instead of a wait forever.
/// - There is no recursive kind, and none with priority inheritance.
/// - The data lies in the mutex.
///
/// # Panics
/// Locking and unlocking do not panic. [`Guard::with`] does, in the child of a fork.
///
/// # Fork, signals
/// [As the module says](super#fork).
#[repr(C)]
pub struct Mutex<T: AnyBytes, U: Unlock = ByExchange> {
    lock: Lock,
    unlock: PhantomData<fn() -> U>,
    value: UnsafeCell<T>,
}

// SAFETY: the lock lets one thread at a time have the value.
unsafe impl<T: AnyBytes, U: Unlock> Sync for Mutex<T, U> {}

// SAFETY: words, of which any bytes are one; addresses that mean something to the owner's process
// and are used by the owner alone; and the value. `repr(C)`. In a region it is locked by a
// `'static` reference, so the region is leaked.
unsafe impl<T: AnyBytes, U: Unlock> AnyBytes for Mutex<T, U> {}

impl<T: AnyBytes> Mutex<T> {
    /// Returns an unlocked mutex around `value`, for a static or a box that is leaked. In a
    /// mapping, zeroes are one.
    pub const fn new(value: T) -> Mutex<T> {
        Mutex::with_unlock(value)
    }
}

impl<T: AnyBytes, U: Unlock> Mutex<T, U> {
    /// Returns an unlocked mutex around `value` that is unlocked as `U` says; see
    /// [`new`](Mutex::new).
    pub const fn with_unlock(value: T) -> Mutex<T, U> {
        Mutex { lock: Lock::new(), unlock: PhantomData, value: UnsafeCell::new(value) }
    }

    /// Returns the mutex that lies at `place`, in a mapping of shared memory.
    ///
    /// # Panics
    /// If `place` is null or not aligned.
    ///
    /// # Safety
    /// - At `place` are `size_of::<Mutex<T, U>>()` bytes, readable and writable; at first zeroed or
    ///   moved there from [`Mutex::new`], and since then written by mutexes of this type and layout
    ///   only, in every process that maps them.
    /// - They stay mapped there as long as anything uses the mutex through the reference, as long
    ///   as any thread of this process holds it (through a leaked guard, too), and until every call
    ///   of lock and unlock on it has returned.
    /// - All processes that use it are of one pid namespace.
    /// - In [`Guard::with`] the reference stays on its thread, in every process: one that is killed
    ///   ends thread by thread, and another thread might use the reference for a moment after the
    ///   lock was given on.
    pub unsafe fn at(place: *mut Mutex<T, U>) -> &'static Mutex<T, U> {
        assert!(
            !place.is_null() && place.is_aligned(),
            "a robust mutex cannot lie at {place:?}: its address must be a multiple of {}",
            align_of::<Mutex<T, U>>()
        );
        // SAFETY: the caller's promise.
        unsafe { &*place }
    }

    /// Locks the mutex, waiting as long as that takes.
    ///
    /// # Errors
    /// [`LockError::OwnerDied`], which holds the lock; and all others but `WouldBlock` and
    /// `TimedOut`. `OwnerLost` comes after 30 seconds.
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

    /// Locks the mutex if no thread holds it.
    ///
    /// # Errors
    /// As [`lock`](Self::lock); [`LockError::WouldBlock`] if it is held.
    #[inline]
    pub fn try_lock(&'static self) -> Result<Guard<T, U>, LockError<T, U>> {
        self.with(Timeout::Now)
    }

    /// Locks the mutex, waiting for `limit` at most.
    ///
    /// # Errors
    /// As [`try_lock_until`](Self::try_lock_until).
    pub fn try_lock_for(&'static self, limit: Duration) -> Result<Guard<T, U>, LockError<T, U>> {
        self.try_lock_until(Deadline::after::<Shared>(limit))
    }

    /// Locks the mutex, waiting until `deadline` at most.
    ///
    /// ```
    /// use leeward::futex::{Deadline, Shared};
    /// use leeward::robust::{LockError, Mutex};
    /// use std::time::Duration;
    /// static TOTAL: Mutex<u64> = Mutex::new(1);
    /// let total = TOTAL.try_lock_for(Duration::from_secs(1))?;
    /// std::thread::scope(|scope| {
    ///     scope.spawn(|| {
    ///         let soon = Deadline::after::<Shared>(Duration::from_millis(1));
    ///         assert!(TOTAL.try_lock().is_err());
    ///         assert!(matches!(TOTAL.try_lock_until(soon), Err(LockError::TimedOut)));
    ///     });
    /// });
    /// assert_eq!(total.get(), 1);
    /// # drop(total);
    /// # Ok::<(), LockError<u64>>(())
    /// ```
    ///
    /// # Errors
    /// As [`lock`](Self::lock); [`LockError::TimedOut`], or [`LockError::OwnerLost`] if time is up
    /// and there is no such thread as the owner.
    pub fn try_lock_until(&'static self, deadline: Deadline) -> Result<Guard<T, U>, LockError<T, U>> {
        self.with(Timeout::At(deadline))
    }

    #[inline]
    fn with(&'static self, timeout: Timeout) -> Result<Guard<T, U>, LockError<T, U>> {
        match self.lock.lock::<U>(timeout) {
            Ok(LockTaken { me, owner_died: false }) => Ok(self.guard(me, false)),
            other => Err(self.news(other)),
        }
    }

    #[inline]
    fn guard(&'static self, owner: Current, is_inconsistent: bool) -> Guard<T, U> {
        Guard { mutex: self, owner, is_inconsistent, thread: PhantomData }
    }

    #[cold]
    fn news(&'static self, outcome: Result<LockTaken, Refusal>) -> LockError<T, U> {
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

    /// Returns true if it is unusable forever.
    ///
    /// ```
    /// use leeward::robust::{LockError, Mutex};
    /// static TOTAL: Mutex<u64> = Mutex::new(0);
    /// std::thread::spawn(|| std::mem::forget(TOTAL.lock())).join().unwrap();
    /// // Its owner died, and the one that was told so unlocks it without `mark_consistent`.
    /// assert!(matches!(TOTAL.lock(), Err(LockError::OwnerDied(_))));
    /// assert!(TOTAL.is_unrecoverable());
    /// assert!(matches!(TOTAL.lock(), Err(LockError::NotRecoverable)));
    /// ```
    pub fn is_unrecoverable(&self) -> bool {
        self.lock.is_unrecoverable()
    }

    /// Frees a lock that the kernel did not reach: the next owner is told that `owner` died. For
    /// [`LockError::OwnerLost`]. Returns false, and changes nothing, if `owner` does not hold the
    /// lock.
    ///
    /// ```
    /// use leeward::robust::{LockError, Mutex};
    /// static TOTAL: Mutex<u64> = Mutex::new(0);
    /// match TOTAL.lock() {
    ///     Err(LockError::OwnerLost(owner)) => {
    ///         // SAFETY: the thread is dead (the program knows that from elsewhere).
    ///         assert!(unsafe { TOTAL.declare_owner_dead(owner) }.is_ok());
    ///     }
    ///     outcome => assert!(outcome.is_ok()),
    /// }
    /// ```
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

/// A locked robust [`Mutex`], without `Deref`: a reference that leaked with the guard would outlive
/// the thread, and the lock with it. Dropping it unlocks.
///
/// The value is lent to a closure ([`with`](Self::with)) or copied ([`get`](Self::get),
/// [`set`](Self::set)). With `Deref`, `Box::leak(Box::new(guard))` would give a `&'static mut T`; when
/// the thread ends, the kernel gives the lock to another, which would have a second one.
///
/// It stays on its thread, by whose number the lock is held. If it is leaked, the lock is held
/// until that thread ends, and its owner has died then.
///
/// In the child of a fork, a copy of the parent's guard opens nothing: its drop does nothing, and
/// asking it for the value is a panic. The guard knows its process as well as its thread, so this
/// holds whatever number the child's thread has.
///
/// ```
/// use leeward::robust::Mutex;
/// static PAIR: Mutex<[u32; 2]> = Mutex::new([1, 2]);
/// let mut guard = PAIR.lock().unwrap();
/// guard.with(|pair| pair.swap(0, 1));
/// assert_eq!(guard.get(), [2, 1]);
/// guard.set([0, 0]);
/// assert!(!guard.is_inconsistent());
/// ```
#[must_use = "the lock is given up when the guard is dropped"]
pub struct Guard<T: AnyBytes, U: Unlock = ByExchange> {
    mutex: &'static Mutex<T, U>,
    /// The thread that took the lock, with its process.
    owner: Current,
    is_inconsistent: bool,
    thread: PhantomData<GuardNoSend>,
}

impl<T: AnyBytes, U: Unlock> Guard<T, U> {
    /// Lends the value to `work`. A reference that outlived a thread which leaked its guard and
    /// ended would be one to a lock that another thread holds; so it ends with `work`.
    ///
    /// `work` may lend the value to scoped threads, for which it waits. It may not where the lock
    /// lies in memory that *processes* share: a process that is killed ends thread by thread, so a
    /// scoped thread may go on for some instructions after the owner has ended, its death was
    /// reported, and the lock is another process's. [`Mutex::at`] and
    /// [`Region::open`](crate::shared::Region::open) ask for that.
    ///
    /// # Panics
    /// In the child of a fork, if the guard was copied with it.
    #[inline]
    pub fn with<R>(&mut self, work: impl FnOnce(&mut T) -> R) -> R {
        self.must_be_ours();
        // SAFETY: this thread holds the lock, and the guard is borrowed exclusively until `work`
        // has returned. The thread holds the lock as long. It can end inside of `work` in two ways.
        // Alone: by a call that unwinds no frame, which is unsafe and whose caller answers for what
        // those frames had lent. Or with its process: then none of the process's threads uses the
        // reference beside the next owner, except in memory of several processes, where it stays on
        // this thread, as promised by those who shared the memory (`at`, `Region::open`,
        // `Region::from_raw_fd`, or a fork). Any bytes are a value.
        work(unsafe { &mut *self.mutex.value.get() })
    }

    /// Returns a copy of the value.
    ///
    /// # Panics
    /// As [`with`](Self::with).
    #[inline]
    pub fn get(&self) -> T
    where
        T: Copy,
    {
        self.must_be_ours();
        // SAFETY: this thread, from which the guard does not move, holds the lock.
        unsafe { self.mutex.value.get().read() }
    }

    /// Stores another value.
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

    /// Says that the data is whole again, so the lock stays usable. Has no effect where no owner
    /// died.
    ///
    /// ```
    /// use leeward::robust::{LockError, Mutex};
    /// static TOTAL: Mutex<u64> = Mutex::new(0);
    /// std::thread::spawn(|| std::mem::forget(TOTAL.lock())).join().unwrap();
    /// let Err(LockError::OwnerDied(mut total)) = TOTAL.lock() else { panic!("its owner died") };
    /// assert!(total.is_inconsistent());
    /// total.set(0);                                   // repair
    /// total.mark_consistent();
    /// drop(total);
    /// assert!(TOTAL.lock().is_ok());
    /// ```
    pub fn mark_consistent(&mut self) {
        self.is_inconsistent = false;
    }

    /// Returns true if an owner died and the data was not marked consistent since.
    pub fn is_inconsistent(&self) -> bool {
        self.is_inconsistent
    }
}

#[cold]
#[inline(never)]
pub(super) fn not_ours(owner: u32) -> ! {
    panic!("leeward: this guard of a robust lock is a fork's copy: thread {owner} of the parent holds the lock")
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

/// The reason why a lock was not simply taken. `OwnerDied` holds the lock; the others do not.
///
/// ```
/// use leeward::robust::{LockError, Mutex};
/// static LOCK: Mutex<u32> = Mutex::new(0);
/// let guard = LOCK.lock().unwrap();
/// assert!(matches!(LOCK.try_lock(), Err(LockError::WouldDeadlock)));
/// std::thread::scope(|scope| {
///     scope.spawn(|| assert!(matches!(LOCK.try_lock(), Err(LockError::WouldBlock))));
/// });
/// ```
#[non_exhaustive]
pub enum LockError<T: AnyBytes, U: Unlock = ByExchange> {
    /// The lock was taken, but its last owner died in it: the data may be half written. Repair it
    /// and [mark it consistent](Guard::mark_consistent), or drop the guard, and no thread gets the
    /// lock again.
    OwnerDied(Guard<T, U>),
    /// An owner died, and the next one did not repair the data.
    NotRecoverable,
    /// The calling thread holds the lock already. (Or the word was overwritten and holds its
    /// number.)
    WouldDeadlock,
    /// Another thread holds the lock, and the call was not to wait.
    WouldBlock,
    /// Another thread held the lock until the time limit passed.
    TimedOut,
    /// The lock is held by a thread of this number, and there is no such thread. The word was
    /// overwritten, or the owner lives in another pid namespace, or it died and the kernel did not
    /// reach this lock (it walks 2,048 entries). [`Mutex::declare_owner_dead`] frees the lock.
    OwnerLost(u32),
    /// The calling thread has no robust list that can be used.
    NoList(ListError),
}

impl<T: AnyBytes, U: Unlock> LockError<T, U> {
    /// Repairs the data by `repair` and marks it consistent, if the owner died. Any other error
    /// stays. If `repair` panics, the lock is unusable from then on.
    ///
    /// ```
    /// # use leeward::robust::Mutex;
    /// static COUNTER: Mutex<u64> = Mutex::new(0);
    /// let count = COUNTER.lock().or_else(|error| error.repair(|count| *count = 0)).unwrap();
    /// ```
    ///
    /// # Errors
    /// The error itself, unless it is `OwnerDied`.
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
                f.write_str("the lock is unusable: an owner died and its data was not repaired")
            }
            LockError::WouldDeadlock => f.write_str("the calling thread holds the lock already"),
            LockError::WouldBlock => f.write_str("the lock is held"),
            LockError::TimedOut => f.write_str("the lock was held until the time was up"),
            LockError::OwnerLost(owner) => {
                write!(
                    f,
                    "the lock is held by thread {owner}, which does not exist: its death was not \
                     reported, or the lock was overwritten"
                )
            }
            LockError::NoList(error) => error.fmt(f),
        }
    }
}

impl<T: AnyBytes, U: Unlock> core::error::Error for LockError<T, U> {}
