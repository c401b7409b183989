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

/// Runs `work` in two processes at once.
pub fn in_two(work: impl Fn() -> bool) {
    let other = child(&work);
    let fine = work();
    assert_eq!(status_of(other), 0, "the child found something wrong");
    assert!(fine);
}

pub fn region<T: AnyBytes + Sync>(make: impl FnOnce(&mut T)) -> Region<T> {
    Region::create(1, make).unwrap()
}
