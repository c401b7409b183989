//! The locks of the installed libc, called from Rust without a layer: the call goes through the
//! same table as a C program's.

use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::ops::{Deref, DerefMut};

use super::mapped::Mapped;

/// Checks a call that cannot fail for a lock that is used as it is here.
pub fn sure(error: libc::c_int) {
    if error != 0 {
        panic!("compare: a pthread call failed: {}", std::io::Error::from_raw_os_error(error));
    }
}

/// The kind of a mutex, which `pthread_mutexattr_t` describes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Normal,
    /// Robust, and shared between processes.
    Robust,
    /// With priority inheritance.
    Inheriting,
}

/// Initialises a mutex.
///
/// # Safety
/// `mutex` may be written, and no thread uses it.
pub unsafe fn init(mutex: *mut libc::pthread_mutex_t, kind: Kind) {
    let mut attributes = MaybeUninit::uninit();
    let attributes = attributes.as_mut_ptr();
    // SAFETY: the attributes are ours and not yet initialised.
    sure(unsafe { libc::pthread_mutexattr_init(attributes) });
    match kind {
        Kind::Normal => (),
        Kind::Robust => {
            // SAFETY: the attributes are initialised above.
            sure(unsafe { libc::pthread_mutexattr_setrobust(attributes, libc::PTHREAD_MUTEX_ROBUST) });
            // SAFETY: as above.
            sure(unsafe { libc::pthread_mutexattr_setpshared(attributes, libc::PTHREAD_PROCESS_SHARED) });
        }
        Kind::Inheriting => {
            // SAFETY: as above.
            sure(unsafe { libc::pthread_mutexattr_setprotocol(attributes, libc::PTHREAD_PRIO_INHERIT) })
        }
    }
    // SAFETY: the caller promises that the mutex may be written.
    sure(unsafe { libc::pthread_mutex_init(mutex, attributes) });
}

/// A mutex and the data that it guards, in a shared mapping.
pub struct Cell<T> {
    mutex: UnsafeCell<libc::pthread_mutex_t>,
    data: UnsafeCell<T>,
}

// SAFETY: the data is reached only through a guard.
unsafe impl<T: Send> Sync for Cell<T> {}
// SAFETY: the cell is never moved once it is made.
unsafe impl<T: Send> Send for Cell<T> {}

pub struct Mutex<T>(Mapped<Cell<T>>);

impl<T> Mutex<T> {
    /// # Safety
    /// All zeroes are a `T`.
    pub unsafe fn zeroed(kind: Kind) -> Mutex<T> {
        // SAFETY: zeroes are memory for a mutex, which is initialised below, and a `T` by the
        // caller's promise.
        let cell = unsafe { Mapped::<Cell<T>>::zeroed() };
        // SAFETY: the memory is fresh and nothing else uses it.
        unsafe { init(cell.mutex.get(), kind) };
        Mutex(cell)
    }

    #[inline(always)]
    pub fn lock(&self) -> Guard<'_, T> {
        // SAFETY: `zeroed` has initialised the mutex. No owner exits with it here, which is the
        // only news of a robust mutex.
        unsafe { libc::pthread_mutex_lock(self.0.mutex.get()) };
        Guard(self)
    }
}

pub struct Guard<'a, T>(&'a Mutex<T>);

impl<T> Deref for Guard<'_, T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: the guard holds the lock.
        unsafe { &*self.0.0.data.get() }
    }
}

impl<T> DerefMut for Guard<'_, T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the guard holds the lock.
        unsafe { &mut *self.0.0.data.get() }
    }
}

impl<T> Drop for Guard<'_, T> {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: this thread holds the lock.
        unsafe { libc::pthread_mutex_unlock(self.0.0.mutex.get()) };
    }
}

/// A condition variable, private to the process.
pub struct Condvar(Box<UnsafeCell<libc::pthread_cond_t>>);

// SAFETY: several threads may use a condition variable.
unsafe impl Sync for Condvar {}
// SAFETY: the box keeps its address.
unsafe impl Send for Condvar {}

impl Condvar {
    pub fn new() -> Condvar {
        Condvar(Box::new(UnsafeCell::new(libc::PTHREAD_COND_INITIALIZER)))
    }

    pub fn wait<'a, T>(&self, guard: Guard<'a, T>) -> Guard<'a, T> {
        // SAFETY: both are initialised, and this thread holds the mutex.
        unsafe { libc::pthread_cond_wait(self.0.get(), guard.0.0.mutex.get()) };
        guard
    }

    pub fn notify_one(&self) {
        // SAFETY: it was initialised when it was made.
        unsafe { libc::pthread_cond_signal(self.0.get()) };
    }

    pub fn notify_all(&self) {
        // SAFETY: it was initialised when it was made.
        unsafe { libc::pthread_cond_broadcast(self.0.get()) };
    }
}

/// A reader-writer lock, private to the process.
pub struct RwLock(Box<UnsafeCell<libc::pthread_rwlock_t>>, UnsafeCell<u64>);

// SAFETY: the data is reached only under the lock.
unsafe impl Sync for RwLock {}
// SAFETY: the box keeps its address.
unsafe impl Send for RwLock {}

impl RwLock {
    pub fn new() -> RwLock {
        RwLock(Box::new(UnsafeCell::new(libc::PTHREAD_RWLOCK_INITIALIZER)), UnsafeCell::new(0))
    }

    #[inline(always)]
    pub fn read<R>(&self, section: impl FnOnce(&u64) -> R) -> R {
        // SAFETY: it was initialised when it was made.
        unsafe { libc::pthread_rwlock_rdlock(self.0.get()) };
        // SAFETY: the lock is held for reading.
        let result = section(unsafe { &*self.1.get() });
        // SAFETY: this thread holds the lock.
        unsafe { libc::pthread_rwlock_unlock(self.0.get()) };
        result
    }

    #[inline(always)]
    pub fn write<R>(&self, section: impl FnOnce(&mut u64) -> R) -> R {
        // SAFETY: it was initialised when it was made.
        unsafe { libc::pthread_rwlock_wrlock(self.0.get()) };
        // SAFETY: the lock is held for writing.
        let result = section(unsafe { &mut *self.1.get() });
        // SAFETY: this thread holds the lock.
        unsafe { libc::pthread_rwlock_unlock(self.0.get()) };
        result
    }
}

/// Returns the installed libc's name and version.
pub fn version() -> Option<String> {
    #[cfg(target_env = "gnu")]
    {
        // SAFETY: the call takes nothing and returns a static string.
        let text = unsafe { libc::gnu_get_libc_version() };
        // SAFETY: the string ends in a zero.
        let text = unsafe { std::ffi::CStr::from_ptr(text) };
        Some(format!("(glibc {})", text.to_string_lossy()))
    }
    #[cfg(not(target_env = "gnu"))]
    Some("(of this system's libc)".to_string())
}
