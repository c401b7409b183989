//! The locks of the installed libc. Called straight from Rust: a call through the same table as a C program's, and no other cost.

use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::ops::{Deref, DerefMut};

use super::mapped::Mapped;

/// A call that cannot fail for a lock that is used as here.
fn sure(error: libc::c_int) {
    if error != 0 {
        panic!("compare: a pthread call failed: {}", std::io::Error::from_raw_os_error(error));
    }
}

/// What `pthread_mutexattr_t` says.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Normal,
    /// Robust, and shared between processes.
    Robust,
    /// With priority inheritance.
    Inheriting,
}

/// Puts a fresh mutex there.
///
/// # Safety
/// `mutex` may be written, and nobody uses it.
pub unsafe fn init(mutex: *mut libc::pthread_mutex_t, kind: Kind) {
    let mut attributes = MaybeUninit::uninit();
    let attributes = attributes.as_mut_ptr();
    // SAFETY: uninitialised attributes of our own.
    sure(unsafe { libc::pthread_mutexattr_init(attributes) });
    match kind {
        Kind::Normal => (),
        Kind::Robust => {
            // SAFETY: initialised above.
            sure(unsafe { libc::pthread_mutexattr_setrobust(attributes, libc::PTHREAD_MUTEX_ROBUST) });
            // SAFETY: as above.
            sure(unsafe { libc::pthread_mutexattr_setpshared(attributes, libc::PTHREAD_PROCESS_SHARED) });
        }
        Kind::Inheriting => {
            // SAFETY: as above.
            sure(unsafe { libc::pthread_mutexattr_setprotocol(attributes, libc::PTHREAD_PRIO_INHERIT) })
        }
    }
    // SAFETY: the caller's promise.
    sure(unsafe { libc::pthread_mutex_init(mutex, attributes) });
}

/// A mutex and what it protects, in a shared mapping.
pub struct Cell<T> {
    mutex: UnsafeCell<libc::pthread_mutex_t>,
    data: UnsafeCell<T>,
}

// SAFETY: the data is reached only through a guard.
unsafe impl<T: Send> Sync for Cell<T> {}
// SAFETY: it is never moved once made.
unsafe impl<T: Send> Send for Cell<T> {}

pub struct Mutex<T>(Mapped<Cell<T>>);

impl<T> Mutex<T> {
    /// # Safety
    /// All zeroes are a `T`.
    pub unsafe fn zeroed(kind: Kind) -> Mutex<T> {
        // SAFETY: zeroes are memory for a mutex, which is initialised below, and a `T` by the caller's promise.
        let cell = unsafe { Mapped::<Cell<T>>::zeroed() };
        // SAFETY: fresh.
        unsafe { init(cell.mutex.get(), kind) };
        Mutex(cell)
    }

    #[inline(always)]
    pub fn lock(&self) -> Guard<'_, T> {
        // SAFETY: initialised in `zeroed`. Nobody dies holding it here, and a robust mutex has no other news.
        unsafe { libc::pthread_mutex_lock(self.0.mutex.get()) };
        Guard(self)
    }
}

pub struct Guard<'a, T>(&'a Mutex<T>);

impl<T> Deref for Guard<'_, T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: locked.
        unsafe { &*self.0.0.data.get() }
    }
}

impl<T> DerefMut for Guard<'_, T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: locked.
        unsafe { &mut *self.0.0.data.get() }
    }
}

impl<T> Drop for Guard<'_, T> {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: this thread holds it.
        unsafe { libc::pthread_mutex_unlock(self.0.0.mutex.get()) };
    }
}

/// A condition variable, private to the process.
pub struct Condvar(Box<UnsafeCell<libc::pthread_cond_t>>);

// SAFETY: that is what it is for.
unsafe impl Sync for Condvar {}
// SAFETY: its address stays.
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
        // SAFETY: initialised.
        unsafe { libc::pthread_cond_signal(self.0.get()) };
    }

    pub fn notify_all(&self) {
        // SAFETY: initialised.
        unsafe { libc::pthread_cond_broadcast(self.0.get()) };
    }
}

/// A reader-writer lock, private to the process.
pub struct RwLock(Box<UnsafeCell<libc::pthread_rwlock_t>>, UnsafeCell<u64>);

// SAFETY: the data is reached only under the lock.
unsafe impl Sync for RwLock {}
// SAFETY: its address stays.
unsafe impl Send for RwLock {}

impl RwLock {
    pub fn new() -> RwLock {
        RwLock(Box::new(UnsafeCell::new(libc::PTHREAD_RWLOCK_INITIALIZER)), UnsafeCell::new(0))
    }

    #[inline(always)]
    pub fn read<R>(&self, section: impl FnOnce(&u64) -> R) -> R {
        // SAFETY: initialised.
        unsafe { libc::pthread_rwlock_rdlock(self.0.get()) };
        // SAFETY: locked for reading.
        let result = section(unsafe { &*self.1.get() });
        // SAFETY: this thread holds it.
        unsafe { libc::pthread_rwlock_unlock(self.0.get()) };
        result
    }

    #[inline(always)]
    pub fn write<R>(&self, section: impl FnOnce(&mut u64) -> R) -> R {
        // SAFETY: initialised.
        unsafe { libc::pthread_rwlock_wrlock(self.0.get()) };
        // SAFETY: locked for writing.
        let result = section(unsafe { &mut *self.1.get() });
        // SAFETY: this thread holds it.
        unsafe { libc::pthread_rwlock_unlock(self.0.get()) };
        result
    }
}

/// The installed libc, as it names itself.
pub fn version() -> Option<String> {
    #[cfg(target_env = "gnu")]
    {
        // SAFETY: it takes nothing and gives a static string.
        let text = unsafe { libc::gnu_get_libc_version() };
        // SAFETY: that string ends in a zero.
        let text = unsafe { std::ffi::CStr::from_ptr(text) };
        Some(format!("(glibc {})", text.to_string_lossy()))
    }
    #[cfg(not(target_env = "gnu"))]
    Some("(of this system's libc)".to_string())
}
