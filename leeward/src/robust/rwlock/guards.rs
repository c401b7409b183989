//! The guards of a robust readers-writer lock. Made by `rwlock`; call `words`.

use core::fmt;
use core::marker::PhantomData;
use core::mem;

use super::super::mutex::not_ours;
use super::words::{Left, Reading, Writing};
use super::{AnyBytes, RwLock};
use crate::marker::GuardNoSend;
use crate::robust::current::Current;

/// A robust [`RwLock`] locked for reading, without `Deref` for the reason of the mutex's
/// [`Guard`](crate::robust::Guard); dropping it unlocks.
///
/// It stays on its thread, in whose name the slot is held. If it is leaked, the slot is held until
/// that thread ends, and is free then. In the child of a fork a copy opens nothing, and asking it
/// for the value is a panic.
///
/// ```
/// use leeward::robust::RwLock;
/// static PAIR: RwLock<[u32; 2]> = RwLock::new([1, 2]);
/// let guard = PAIR.read().unwrap();
/// assert_eq!(guard.with(|pair| pair[1]), 2);
/// assert_eq!(guard.get(), [1, 2]);
/// ```
#[must_use = "the lock is given up when the guard is dropped"]
pub struct ReadGuard<T: AnyBytes, const READERS: usize = 32> {
    lock: &'static RwLock<T, READERS>,
    reading: Reading,
    thread: PhantomData<GuardNoSend>,
}

impl<T: AnyBytes, const READERS: usize> ReadGuard<T, READERS> {
    #[inline]
    pub(super) fn new(lock: &'static RwLock<T, READERS>, reading: Reading) -> ReadGuard<T, READERS> {
        ReadGuard { lock, reading, thread: PhantomData }
    }

    /// Lends the value to `work`, for as long as that runs, for the reasons that
    /// [`Guard::with`](crate::robust::Guard::with) has; what it says of scoped threads holds here.
    ///
    /// ```
    /// use leeward::robust::RwLock;
    /// static WORDS: RwLock<[u32; 3]> = RwLock::new([1, 2, 3]);
    /// assert_eq!(WORDS.read().unwrap().with(|words| words.iter().sum::<u32>()), 6);
    /// ```
    ///
    /// # Panics
    /// In the child of a fork, if the guard was copied with it.
    #[inline]
    pub fn with<R>(&self, work: impl FnOnce(&T) -> R) -> R {
        must_be_ours(self.reading.me);
        // SAFETY: this thread has its slot, so no writer is inside, and the guard is borrowed until
        // `work` has returned. The thread can end inside of `work` as `Guard::with` says, and what
        // it says of the reference then holds. Any bytes are a value.
        work(unsafe { &*self.lock.value.get() })
    }

    /// Returns a copy of the value.
    ///
    /// ```
    /// use leeward::robust::RwLock;
    /// static COUNT: RwLock<u32> = RwLock::new(3);
    /// assert_eq!(COUNT.read().unwrap().get(), 3);
    /// ```
    ///
    /// # Panics
    /// As [`with`](Self::with).
    #[inline]
    pub fn get(&self) -> T
    where
        T: Copy,
    {
        self.with(|value| *value)
    }
}

impl<T: AnyBytes, const READERS: usize> Drop for ReadGuard<T, READERS> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the guard was made when its thread took the slot, and is dropped once.
        unsafe { self.reading.end() };
    }
}

impl<T: AnyBytes, const READERS: usize> fmt::Debug for ReadGuard<T, READERS> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReadGuard").finish_non_exhaustive()
    }
}

/// A robust [`RwLock`] locked for writing, without `Deref` for the reason of the mutex's
/// [`Guard`](crate::robust::Guard); dropping it unlocks.
///
/// It stays on its thread. If it is leaked, the lock is held until that thread ends, and a writer
/// has died then. In the child of a fork a copy opens nothing, and asking it for the value is a
/// panic.
///
/// ```
/// use leeward::robust::RwLock;
/// static PAIR: RwLock<[u32; 2]> = RwLock::new([1, 2]);
/// let mut guard = PAIR.write().unwrap();
/// guard.with(|pair| pair.swap(0, 1));
/// assert_eq!(guard.get(), [2, 1]);
/// guard.set([0, 0]);
/// assert!(!guard.is_inconsistent());
/// ```
#[must_use = "the lock is given up when the guard is dropped"]
pub struct WriteGuard<T: AnyBytes, const READERS: usize = 32> {
    lock: &'static RwLock<T, READERS>,
    /// The thread that took the lock, with its process.
    owner: Current,
    left: Left,
    thread: PhantomData<GuardNoSend>,
}

impl<T: AnyBytes, const READERS: usize> WriteGuard<T, READERS> {
    #[inline]
    pub(super) fn new(lock: &'static RwLock<T, READERS>, writing: Writing, left: Left) -> WriteGuard<T, READERS> {
        WriteGuard { lock, owner: writing.me, left, thread: PhantomData }
    }

    /// Lends the value to `work`, for as long as that runs, for the reasons that
    /// [`Guard::with`](crate::robust::Guard::with) has; what it says of scoped threads holds here.
    ///
    /// ```
    /// use leeward::robust::RwLock;
    /// static WORDS: RwLock<[u32; 3]> = RwLock::new([1, 2, 3]);
    /// WORDS.write().unwrap().with(|words| words.reverse());
    /// assert_eq!(WORDS.read().unwrap().get(), [3, 2, 1]);
    /// ```
    ///
    /// # Panics
    /// In the child of a fork, if the guard was copied with it.
    #[inline]
    pub fn with<R>(&mut self, work: impl FnOnce(&mut T) -> R) -> R {
        must_be_ours(self.owner);
        // SAFETY: this thread is the only one inside, and the guard is borrowed exclusively until
        // `work` has returned. The thread can end inside of `work` as `Guard::with` says, and what
        // it says of the reference then holds. Any bytes are a value.
        work(unsafe { &mut *self.lock.value.get() })
    }

    /// Returns a copy of the value.
    ///
    /// ```
    /// use leeward::robust::RwLock;
    /// static COUNT: RwLock<u32> = RwLock::new(3);
    /// assert_eq!(COUNT.write().unwrap().get(), 3);
    /// ```
    ///
    /// # Panics
    /// As [`with`](Self::with).
    #[inline]
    pub fn get(&self) -> T
    where
        T: Copy,
    {
        must_be_ours(self.owner);
        // SAFETY: this thread, from which the guard does not move, is the only one inside.
        unsafe { self.lock.value.get().read() }
    }

    /// Stores another value.
    ///
    /// ```
    /// use leeward::robust::RwLock;
    /// static COUNT: RwLock<u32> = RwLock::new(3);
    /// COUNT.write().unwrap().set(4);
    /// assert_eq!(COUNT.read().unwrap().get(), 4);
    /// ```
    ///
    /// # Panics
    /// As [`with`](Self::with).
    #[inline]
    pub fn set(&mut self, value: T) {
        self.with(|place| *place = value);
    }

    /// Makes the guard one that reads: no other writer comes between, and readers that were held up
    /// may enter. It waits for no thread that has the lock; if every slot is taken, by readers that
    /// find the writer and give way, it waits until any of them has.
    ///
    /// It is an associated function, as it is of the other locks. If the thread dies in the middle of
    /// it, a writer has died, or a reader, and the data is whole in both cases.
    ///
    /// ```
    /// use leeward::robust::{RwLock, RwLockError, WriteGuard};
    /// static PAIR: RwLock<[u32; 2]> = RwLock::new([1, 2]);
    /// let mut guard = PAIR.write().unwrap();
    /// guard.set([3, 4]);
    /// let guard = WriteGuard::downgrade(guard).expect("the data is whole");
    /// std::thread::scope(|scope| {
    ///     scope.spawn(|| {
    ///         assert_eq!(PAIR.try_read().unwrap().get(), [3, 4]);
    ///         assert!(matches!(PAIR.try_write(), Err(RwLockError::WouldBlock)));
    ///     });
    /// });
    /// assert_eq!(guard.get(), [3, 4]);
    /// ```
    ///
    /// # Errors
    /// The guard comes back, and writes as before: a writer died, and the data is not [marked
    /// consistent](Self::mark_consistent); or all slots are taken, and the word of one was
    /// overwritten, or names a thread whose death the kernel did not report (that comes after 30
    /// seconds).
    ///
    /// # Panics
    /// As [`with`](Self::with).
    pub fn downgrade(guard: Self) -> Result<ReadGuard<T, READERS>, Self> {
        must_be_ours(guard.owner);
        if guard.is_inconsistent() {
            return Err(guard);
        }
        let lock = guard.lock;
        // SAFETY: the guard is this thread's, which has the writers' lock; it is forgotten if that is
        // given up.
        match unsafe { lock.words.downgrade(guard.owner) } {
            Ok(reading) => {
                mem::forget(guard);
                Ok(ReadGuard::new(lock, reading))
            }
            Err(_) => Err(guard),
        }
    }

    /// Says that the data is whole again, so that the next locker gets what it asks for. Has no
    /// effect where no writer died.
    ///
    /// ```
    /// use leeward::robust::{RwLock, RwLockError};
    /// static COUNT: RwLock<u32> = RwLock::new(3);
    /// std::thread::spawn(|| std::mem::forget(COUNT.write())).join().unwrap();
    /// let Err(RwLockError::OwnerDied(mut count)) = COUNT.write() else { panic!("it was told") };
    /// count.set(0);
    /// count.mark_consistent();
    /// drop(count);
    /// assert_eq!(COUNT.read().unwrap().get(), 0);
    /// ```
    pub fn mark_consistent(&mut self) {
        self.left = Left::Whole;
    }

    /// Returns true if a writer died and the data was not marked consistent since.
    ///
    /// ```
    /// use leeward::robust::RwLock;
    /// static COUNT: RwLock<u32> = RwLock::new(3);
    /// assert!(!COUNT.write().unwrap().is_inconsistent());
    /// ```
    pub fn is_inconsistent(&self) -> bool {
        self.left != Left::Whole
    }
}

#[inline]
fn must_be_ours(owner: Current) {
    if !owner.is_here() {
        not_ours(owner.id());
    }
}

impl<T: AnyBytes, const READERS: usize> Drop for WriteGuard<T, READERS> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the guard was made when its thread took the writers' lock, and is dropped once.
        unsafe { self.lock.words.end_writing(self.owner, self.left) };
    }
}

impl<T: AnyBytes, const READERS: usize> fmt::Debug for WriteGuard<T, READERS> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WriteGuard").field("is_inconsistent", &self.is_inconsistent()).finish_non_exhaustive()
    }
}
