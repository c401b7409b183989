//! What the tests of shared memory share: children, and regions.

#![allow(dead_code, missing_docs)]

use leeward::shared::{AnyBytes, Region};

/// Runs `work` in a child, which ends well if `work` returns true.
pub fn child(work: impl FnOnce() -> bool) -> libc::pid_t {
    // SAFETY: the child uses this library and atomics only.
    match unsafe { libc::fork() } {
        -1 => panic!("fork failed"),
        0 => {
            // SAFETY: ends a child that hangs.
            unsafe { libc::alarm(30) };
            let fine = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).unwrap_or(false);
            // SAFETY: ends the child without running what belongs to the parent.
            unsafe { libc::_exit(i32::from(!fine)) }
        }
        child => child,
    }
}

pub fn status_of(child: libc::pid_t) -> i32 {
    let mut status = 0;
    // SAFETY: `status` is ours to write.
    while unsafe { libc::waitpid(child, &mut status, 0) } != child {}
    status
}

/// Returns true if `work` returns true in a child.
pub fn is_fine_in_child(work: impl FnOnce() -> bool) -> bool {
    status_of(child(work)) == 0
}

/// Fails unless `work` returns true in a child.
#[track_caller]
pub fn in_child(work: impl FnOnce() -> bool) {
    let status = status_of(child(work));
    assert!(!libc::WIFSIGNALED(status), "the child was killed by signal {}", libc::WTERMSIG(status));
    assert_eq!(status, 0, "the child found something wrong");
}

/// Runs `work` in two processes at once.
pub fn in_two(work: impl Fn() -> bool) {
    let other = child(&work);
    let fine = work();
    assert_eq!(status_of(other), 0, "the child found something wrong");
    assert!(fine);
}

/// Returns a value in memory that children share, never unmapped.
///
/// # Safety
/// Zeroes are a value of the type, which processes may share.
pub unsafe fn zeroed<T>() -> &'static T {
    let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_ANONYMOUS);
    // SAFETY: a new mapping.
    let place = unsafe { libc::mmap(std::ptr::null_mut(), size_of::<T>(), access, kind, -1, 0) };
    assert_ne!(place, libc::MAP_FAILED, "mmap");
    // SAFETY: zeroed, aligned to a page, never unmapped; the caller's promise.
    unsafe { &*place.cast() }
}

pub fn region<T: AnyBytes + Sync>(make: impl FnOnce(&mut T)) -> Region<T> {
    Region::create(1, make).unwrap()
}
