//! The traits of `lock_api` 0.5 for the asymmetric locks (Rust 1.95, feature `lock_api_05`).
//!
//! Guards hold nothing, and stay on their thread, whose slots stand for them. (0.5 has no recursive
//! reads; [`RawRwLock::lock_shared_recursive`] is a method of the lock.)

use lock_api_05::{GuardNoSend, RawRwLockDowngrade};

use super::super::{RawMutex, RawRwLock};

/// Returns the guard of a writer that an upgrade has made; the upgradable reader's if it has not.
#[inline]
pub(super) fn upgraded(is_writer: bool, guard: GuardNoSend) -> Result<GuardNoSend, GuardNoSend> {
    if is_writer { Ok(guard) } else { Err(guard) }
}

/// Returns the guard of a call that locked; none if it did not.
#[inline]
pub(super) fn guard(locked: bool) -> Option<GuardNoSend> {
    locked.then_some(GuardNoSend::new())
}

// SAFETY: `lock` and `try_lock` let one caller in until `unlock`; guards stay on their thread.
unsafe impl lock_api_05::RawMutex for RawMutex {
    #[allow(clippy::declare_interior_mutable_const)]
    const INIT: Self = RawMutex::new();
    type Guard = GuardNoSend;

    #[inline(always)]
    fn lock(&self) -> GuardNoSend {
        RawMutex::lock(self);
        GuardNoSend::new()
    }

    #[inline]
    fn try_lock(&self) -> Option<GuardNoSend> {
        guard(RawMutex::try_lock(self))
    }

    #[inline(always)]
    unsafe fn unlock(&self, _: GuardNoSend) {
        // SAFETY: the caller's promise.
        unsafe { RawMutex::unlock(self) };
    }

    fn is_locked(&self) -> bool {
        RawMutex::is_locked(self)
    }
}

// SAFETY: a writer is alone until `unlock_exclusive` or `downgrade`, readers share until the last
// `unlock_shared`; guards stay on their thread.
unsafe impl lock_api_05::RawRwLock for RawRwLock {
    #[allow(clippy::declare_interior_mutable_const)]
    const INIT: Self = RawRwLock::new();
    type SharedGuard = GuardNoSend;
    type ExclusiveGuard = GuardNoSend;

    #[inline(always)]
    fn lock_shared(&self) -> GuardNoSend {
        RawRwLock::lock_shared(self);
        GuardNoSend::new()
    }

    #[inline]
    fn try_lock_shared(&self) -> Option<GuardNoSend> {
        guard(RawRwLock::try_lock_shared(self))
    }

    #[inline(always)]
    unsafe fn unlock_shared(&self, _: GuardNoSend) {
        // SAFETY: the caller's promise.
        unsafe { RawRwLock::unlock_shared(self) };
    }

    fn lock_exclusive(&self) -> GuardNoSend {
        RawRwLock::lock_exclusive(self);
        GuardNoSend::new()
    }

    fn try_lock_exclusive(&self) -> Option<GuardNoSend> {
        guard(RawRwLock::try_lock_exclusive(self))
    }

    #[inline]
    unsafe fn unlock_exclusive(&self, _: GuardNoSend) {
        // SAFETY: the caller's promise.
        unsafe { RawRwLock::unlock_exclusive(self) };
    }

    fn is_locked(&self) -> bool {
        RawRwLock::is_locked(self)
    }

    fn is_locked_exclusive(&self) -> bool {
        RawRwLock::is_locked_exclusive(self)
    }
}

// SAFETY: the writer becomes a reader in one step, and no other writer comes between.
unsafe impl RawRwLockDowngrade for RawRwLock {
    unsafe fn downgrade(&self, guard: GuardNoSend) -> GuardNoSend {
        // SAFETY: the caller's promise.
        unsafe { RawRwLock::downgrade(self) };
        guard
    }
}

// SAFETY: one upgradable reader is inside at a time, beside readers, and no writer; it becomes the
// writer when the readers have left, before any other.
unsafe impl lock_api_05::RawRwLockUpgrade for RawRwLock {
    type UpgradableGuard = GuardNoSend;

    fn lock_upgradable(&self) -> GuardNoSend {
        RawRwLock::lock_upgradable(self);
        GuardNoSend::new()
    }

    fn try_lock_upgradable(&self) -> Option<GuardNoSend> {
        guard(RawRwLock::try_lock_upgradable(self))
    }

    unsafe fn unlock_upgradable(&self, _: GuardNoSend) {
        // SAFETY: the caller's promise.
        unsafe { RawRwLock::unlock_upgradable(self) };
    }

    unsafe fn upgrade(&self, guard: GuardNoSend) -> GuardNoSend {
        // SAFETY: the caller's promise.
        unsafe { RawRwLock::upgrade(self) };
        guard
    }

    unsafe fn try_upgrade(&self, guard: GuardNoSend) -> Result<GuardNoSend, GuardNoSend> {
        // SAFETY: the caller's promise.
        upgraded(unsafe { RawRwLock::try_upgrade(self) }, guard)
    }
}

// SAFETY: each is one step, and no writer comes between.
unsafe impl lock_api_05::RawRwLockUpgradeDowngrade for RawRwLock {
    unsafe fn downgrade_upgradable(&self, guard: GuardNoSend) -> GuardNoSend {
        // SAFETY: the caller's promise.
        unsafe { RawRwLock::downgrade_upgradable(self) };
        guard
    }

    unsafe fn downgrade_to_upgradable(&self, guard: GuardNoSend) -> GuardNoSend {
        // SAFETY: the caller's promise.
        unsafe { RawRwLock::downgrade_to_upgradable(self) };
        guard
    }
}
