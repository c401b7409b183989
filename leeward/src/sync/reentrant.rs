//! The mutex that its holder may lock again: [`raw::Mutex`] under `lock_api`'s owner and count. Calls
//! `process::thread` for the calling thread's id.

use core::num::NonZeroUsize;

use crate::no_unwind::abort;
use crate::process::thread;
use crate::raw;

/// Tells a [`ReentrantMutex`] which thread calls, by parking_lot's name: an id that no other thread
/// of the process ever has, and that a thread keeps in the child of its fork.
///
/// Its call is a load of a thread-local variable. On 32-bit systems the process ends if it has
/// started more threads than a word can count.
///
/// ```
/// use leeward::sync::{RawMutex, RawThreadId, lock_api};
/// type Reentrant<T> = lock_api::ReentrantMutex<RawMutex, RawThreadId, T>;
/// static NAME: Reentrant<&str> = Reentrant::new("one");
/// assert_eq!(*NAME.lock(), "one");
/// ```
pub struct RawThreadId;

// SAFETY: ids are counted, so no two threads have the same one.
unsafe impl lock_api::GetThreadId for RawThreadId {
    const INIT: Self = RawThreadId;

    #[inline]
    fn nonzero_thread_id(&self) -> NonZeroUsize {
        match usize::try_from(thread::current()).ok().and_then(NonZeroUsize::new) {
            Some(id) => id,
            None => abort!("the process has started more threads than ids have bits for"),
        }
    }
}

/// A mutex that the thread which holds it may lock again. Its guards give shared references, since
/// there may be several; a [`RefCell`](core::cell::RefCell) inside makes the value writable.
///
/// ```
/// use leeward::sync::ReentrantMutex;
/// use std::cell::RefCell;
/// static LOG: ReentrantMutex<RefCell<Vec<u32>>> = ReentrantMutex::new(RefCell::new(Vec::new()));
///
/// fn note(entry: u32) {
///     let log = LOG.lock();
///     log.borrow_mut().push(entry);
///     if entry < 3 {
///         note(entry + 1); // locks it once more
///     }
/// }
///
/// note(1);
/// assert_eq!(*LOG.lock().borrow(), [1, 2, 3]);
/// assert!(!LOG.is_locked());
/// ```
///
/// Locking it for the first time and unlocking it for the last cost, wait and order memory as
/// [`raw::Mutex`] does, which also has fork and signals; what lies between is a load of the
/// thread's id and a count. In the child of a fork, what the forking thread holds is held by the
/// child's thread. Guards are not `Send`: the thread that locked unlocks. A guard that is leaked
/// keeps the mutex its thread's forever, also when that thread has exited.
///
/// # Panics
/// A thread that locks it more often than a `usize` counts panics, which takes leaked guards.
///
/// # Differences from std
/// It is `ReentrantLock`, which is not stable; there is no poisoning, and there are timed calls.
///
/// # Differences from parking_lot
/// A thread is known by a count instead of an address, so no later thread is taken for it.
pub type ReentrantMutex<T> = lock_api::ReentrantMutex<raw::Mutex, RawThreadId, T>;

/// A locked [`ReentrantMutex`]; the last of a thread's guards unlocks it when dropped.
///
/// ```
/// use leeward::sync::{ReentrantMutex, ReentrantMutexGuard};
/// let name = ReentrantMutex::new("one");
/// let outer: ReentrantMutexGuard<'_, &str> = name.lock();
/// let inner = name.lock();
/// drop(outer);
/// assert!(name.is_owned_by_current_thread());
/// assert_eq!(*inner, "one");
/// ```
pub type ReentrantMutexGuard<'a, T> = lock_api::ReentrantMutexGuard<'a, raw::Mutex, RawThreadId, T>;

/// A locked [`ReentrantMutex`] that shows a part of its value; the last of a thread's guards unlocks
/// it when dropped.
///
/// ```
/// use leeward::sync::{MappedReentrantMutexGuard, ReentrantMutex, ReentrantMutexGuard};
/// let pair = ReentrantMutex::new((1, "one"));
/// let name: MappedReentrantMutexGuard<'_, str> = ReentrantMutexGuard::map(pair.lock(), |pair| pair.1);
/// assert_eq!(&*name, "one");
/// assert!(pair.is_locked());
/// ```
pub type MappedReentrantMutexGuard<'a, T> = lock_api::MappedReentrantMutexGuard<'a, raw::Mutex, RawThreadId, T>;

/// Returns an unlocked [`ReentrantMutex`] around `value`: what `ReentrantMutex::new` returns, which
/// is a `const fn` as well. The name is parking_lot's.
///
/// ```
/// use leeward::sync::{ReentrantMutex, const_reentrant_mutex};
/// static NAME: ReentrantMutex<&str> = const_reentrant_mutex("one");
/// assert_eq!(*NAME.lock(), "one");
/// ```
pub const fn const_reentrant_mutex<T>(value: T) -> ReentrantMutex<T> {
    ReentrantMutex::new(value)
}
