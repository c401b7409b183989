//! What the types of the locks promise about threads: which locks and guards may be sent and
//! shared. (Programs that must not compile: soundness.rs, with tests/ui.) The assertions are the
//! compiler's; the test says that they were compiled.

#![cfg(target_os = "linux")]
#![allow(missing_docs)]

#[macro_use]
#[path = "../common/auto_traits.rs"]
mod auto_traits;

use std::cell::Cell;
use std::rc::Rc;

use leeward::futex::{Private, Shared};
use leeward::{asym, pi, raw, shared, sync};

/// A type that is Send and not Sync.
type NotSync = Cell<u32>;
/// A type that is neither Send nor Sync.
type Neither = Rc<u32>;
/// A type that is Sync and not Send.
type NotSend = std::sync::MutexGuard<'static, u32>;

/// A type of which any bytes are a value; Send, and not Sync.
#[repr(transparent)]
struct Bytes(NotSync);
// SAFETY: a number.
unsafe impl shared::AnyBytes for Bytes {}

/// Asserts that exclusive locks are Sync if the value is Send, and Send if it is.
macro_rules! exclusive {
    ($($lock:ident)::+) => {
        assert_is!(Send: $($lock)::+<u32>, $($lock)::+<NotSync>);
        assert_is!(Sync: $($lock)::+<u32>, $($lock)::+<NotSync>);
        assert_not!(Send: $($lock)::+<Neither>, $($lock)::+<NotSend>);
        assert_not!(Sync: $($lock)::+<Neither>, $($lock)::+<NotSend>);
    };
}

/// Asserts that locks which share the value want it to be Sync as well.
macro_rules! sharing {
    ($($lock:ident)::+) => {
        assert_is!(Send: $($lock)::+<u32>, $($lock)::+<NotSync>);
        assert_is!(Sync: $($lock)::+<u32>);
        assert_not!(Send: $($lock)::+<Neither>, $($lock)::+<NotSend>);
        assert_not!(Sync: $($lock)::+<NotSync>, $($lock)::+<Neither>, $($lock)::+<NotSend>);
    };
}

exclusive!(sync::Mutex);
exclusive!(sync::LightMutex);
exclusive!(sync::FairMutex);
exclusive!(sync::ReentrantMutex);
exclusive!(sync::poison::Mutex);
exclusive!(pi::Mutex);
exclusive!(asym::Mutex);
sharing!(sync::RwLock);
sharing!(sync::poison::RwLock);
sharing!(asym::RwLock);
sharing!(sync::OnceLock);
sharing!(sync::LazyLock);
assert_is!(Sync: sync::LazyLock<u32, Box<dyn FnOnce() -> u32 + Send>>);
assert_not!(Sync: sync::LazyLock<u32, Box<dyn FnOnce() -> u32>>);

/// Asserts that guards of locks which any thread may unlock go where the value may go if the feature
/// says so, and that sharing one is sharing the value.
#[cfg(feature = "send_guard")]
macro_rules! guard {
    ($($guard:ident)::+) => {
        assert_is!(Send: $($guard)::+<'static, u32>);
        assert_not!(Send: $($guard)::+<'static, Neither>, $($guard)::+<'static, NotSend>);
        assert_is!(Sync: $($guard)::+<'static, u32>);
        assert_not!(Sync: $($guard)::+<'static, NotSync>, $($guard)::+<'static, Neither>);
    };
}

/// Asserts that guards of locks which know their thread stay on it.
macro_rules! thread_guard {
    ($($guard:ident)::+) => {
        assert_not!(Send: $($guard)::+<'static, u32>, $($guard)::+<'static, NotSync>, $($guard)::+<'static, Neither>);
        assert_is!(Sync: $($guard)::+<'static, u32>);
        assert_not!(Sync: $($guard)::+<'static, NotSync>, $($guard)::+<'static, Neither>);
    };
}

#[cfg(not(feature = "send_guard"))]
macro_rules! guard {
    ($($guard:ident)::+) => {
        thread_guard!($($guard)::+);
    };
}

guard!(sync::MutexGuard);
guard!(sync::MappedMutexGuard);
guard!(sync::LightMutexGuard);
guard!(sync::MappedLightMutexGuard);
guard!(sync::FairMutexGuard);
guard!(sync::MappedFairMutexGuard);
guard!(sync::RwLockReadGuard);
guard!(sync::MappedRwLockWriteGuard);
guard!(sync::RwLockWriteGuard);
guard!(sync::RwLockUpgradableReadGuard);
// It is a shared reference to the part, and goes where that may go, or stays.
#[cfg(feature = "send_guard")]
assert_is!(Send: sync::MappedRwLockReadGuard<'static, u32>, sync::MappedRwLockReadGuard<'static, NotSend>);
#[cfg(not(feature = "send_guard"))]
assert_not!(Send: sync::MappedRwLockReadGuard<'static, u32>, sync::MappedRwLockReadGuard<'static, NotSend>);
assert_not!(Send: sync::MappedRwLockReadGuard<'static, NotSync>);
assert_is!(Sync: sync::MappedRwLockReadGuard<'static, u32>);
assert_not!(Sync: sync::MappedRwLockReadGuard<'static, NotSync>);
thread_guard!(sync::ReentrantMutexGuard);
thread_guard!(sync::poison::MutexGuard);
thread_guard!(sync::poison::RwLockReadGuard);
thread_guard!(sync::poison::RwLockWriteGuard);
thread_guard!(sync::MappedReentrantMutexGuard);
thread_guard!(pi::MutexGuard);
thread_guard!(pi::MappedMutexGuard);
thread_guard!(shared::MappedMutexGuard);
thread_guard!(shared::MappedRwLockReadGuard);
thread_guard!(shared::MappedRwLockWriteGuard);
thread_guard!(asym::MappedMutexGuard);
thread_guard!(asym::MappedRwLockReadGuard);
thread_guard!(asym::MappedRwLockWriteGuard);
thread_guard!(asym::MutexGuard);
thread_guard!(asym::RwLockReadGuard);
thread_guard!(asym::RwLockWriteGuard);
thread_guard!(asym::RwLockUpgradableReadGuard);

// Locks of shared memory: their values are Send.
assert_is!(Send: shared::Mutex<u32>, shared::Mutex<Bytes>, shared::RwLock<u32>, shared::RwLock<Bytes>);
assert_is!(Sync: shared::Mutex<u32>, shared::Mutex<Bytes>, shared::RwLock<u32>);
assert_not!(Sync: shared::RwLock<Bytes>);
assert_not!(Send:
    shared::MutexGuard<'static, u32>, shared::RwLockReadGuard<'static, u32>,
    shared::RwLockUpgradableReadGuard<'static, u32>,
    shared::RwLockWriteGuard<'static, u32>
);
assert_is!(Sync:
    shared::MutexGuard<'static, u32>, shared::RwLockReadGuard<'static, u32>,
    shared::RwLockWriteGuard<'static, u32>
);
assert_not!(Sync:
    shared::MutexGuard<'static, Bytes>, shared::RwLockReadGuard<'static, Bytes>,
    shared::RwLockWriteGuard<'static, Bytes>
);
assert_is!(Send: shared::Region<u32>, shared::Condvar);
assert_is!(Sync: shared::Region<u32>, shared::Condvar);

// Words, and types made of words, are any thread's.
assert_is!(Send:
    raw::Mutex, raw::Mutex<Shared>, raw::LightMutex, raw::FairMutex, raw::RwLock, raw::RwLock<Shared>,
    pi::RawMutex, pi::RawMutex<true>, asym::RawMutex, asym::RawRwLock
);
assert_is!(Sync:
    raw::Mutex, raw::Mutex<Shared>, raw::LightMutex, raw::RwLock, raw::RwLock<Shared>,
    pi::RawMutex, pi::RawMutex<true>, asym::RawMutex, asym::RawRwLock
);
assert_is!(Send:
    sync::Condvar, raw::Condvar<raw::Plain, Private>, raw::Condvar<raw::Requeue, Shared>,
    raw::Condvar<raw::WakeOp, Private>
);
assert_is!(Sync:
    sync::Condvar, raw::Condvar<raw::Plain, Private>, raw::Condvar<raw::Requeue, Shared>,
    raw::Condvar<raw::WakeOp, Private>
);
assert_is!(Send: sync::Poison<u32>, sync::Poison<NotSync>);
assert_is!(Sync: sync::Poison<u32>);
assert_not!(Send: sync::Poison<Neither>);
assert_not!(Sync: sync::Poison<NotSync>);

/// Robust locks exist on 64-bit systems only. They are Sync for every value, which is Send.
#[cfg(all(target_pointer_width = "64", not(leeward_symmetric)))]
mod robust {
    use super::*;
    use leeward::robust::{Guard, LockError, Mutex};

    assert_is!(Send: Mutex<u32>, Mutex<Bytes>);
    assert_is!(Sync: Mutex<u32>, Mutex<Bytes>);
    assert_not!(Send: Guard<u32>, Guard<Bytes>, LockError<u32>);
    assert_not!(Sync: Guard<u32>, Guard<Bytes>, LockError<u32>);

    #[test]
    fn guards_are_small() {
        assert_eq!(size_of::<Guard<[u64; 9]>>(), 32);
    }
}

/// A guard is cheap to carry: the lock's address, with room for an `Option`. Guards of locks that
/// processes share know their process, too.
#[test]
fn guards_are_small() {
    macro_rules! has_words {
        ($words:literal: $($guard:ty),* $(,)?) => {$(
            assert_eq!(size_of::<$guard>(), $words * size_of::<usize>(), stringify!($guard));
            assert_eq!(size_of::<Option<$guard>>(), $words * size_of::<usize>(), stringify!($guard));
        )*};
    }
    has_words!(1:
        sync::MutexGuard<'static, u32>,
        sync::LightMutexGuard<'static, u32>,
        sync::RwLockReadGuard<'static, u32>
    );
    has_words!(1: pi::MutexGuard<'static, u32>, asym::MutexGuard<'static, u32>, asym::RwLockReadGuard<'static, u32>);
    has_words!(1: raw::Permit<'static>);
    has_words!(2: shared::MutexGuard<'static, u32>, shared::RwLockReadGuard<'static, u32>);
}
