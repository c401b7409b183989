//! What the tests of robust locks share: memory that children share, children, and what a lock
//! looks like from outside.

#![allow(dead_code, missing_docs)]

use std::sync::atomic::{AtomicU32, Ordering};

use leeward::robust::{AnyBytes, ByExchange, Guard, LockError, Mutex, Unlock};

pub const WAITERS: u32 = 1 << 31;
pub const OWNER_DIED: u32 = 1 << 30;
pub const OWNER: u32 = OWNER_DIED - 1;

/// Returns zeroed memory that children share, never unmapped.
pub fn shared_memory(bytes: usize) -> *mut u8 {
    let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_ANONYMOUS);
    // SAFETY: a new mapping.
    let place = unsafe { libc::mmap(std::ptr::null_mut(), bytes, access, kind, -1, 0) };
    assert_ne!(place, libc::MAP_FAILED, "mmap");
    place.cast()
}

/// Returns a value in such memory; zeroes must be a value of its type.
pub fn shared<T: Sync + AnyBytes>() -> &'static T {
    // SAFETY: zeroed, aligned to a page, never unmapped.
    unsafe { &*shared_memory(size_of::<T>()).cast::<T>() }
}

/// Returns a mutex in such memory.
pub fn shared_mutex<T: AnyBytes>() -> &'static Mutex<T> {
    shared_mutex_of::<T, ByExchange>()
}

/// Returns a mutex in such memory that is unlocked in the way `U`.
pub fn shared_mutex_of<T: AnyBytes, U: Unlock>() -> &'static Mutex<T, U> {
    // SAFETY: zeroed, aligned to a page, never unmapped; children are of this pid namespace.
    unsafe { Mutex::at(shared_memory(size_of::<Mutex<T, U>>()).cast()) }
}

/// Returns the lock word.
pub fn word<T: AnyBytes, U: Unlock>(mutex: &'static Mutex<T, U>) -> &'static AtomicU32 {
    // SAFETY: the documented layout.
    unsafe { &*core::ptr::from_ref(mutex).cast::<AtomicU32>() }
}

/// Forks; the child runs `work` and ends with its exit code.
pub fn child(work: impl FnOnce() -> i32) -> i32 {
    // SAFETY: the child uses this library, atomics and system calls.
    match unsafe { libc::fork() } {
        -1 => panic!("fork"),
        0 => {
            // SAFETY: ends a child that hangs.
            unsafe { libc::alarm(60) };
            let code = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).unwrap_or(99);
            // SAFETY: ends the child without running what belongs to the parent.
            unsafe { libc::_exit(code) }
        }
        number => number,
    }
}

pub fn kill(child: i32) {
    // SAFETY: a child of ours that was not waited for.
    unsafe { libc::kill(child, libc::SIGKILL) };
}

/// Waits for the child's end; returns its status.
pub fn reap(child: i32) -> i32 {
    let mut status = 0;
    // SAFETY: `status` is ours to write.
    while unsafe { libc::waitpid(child, &mut status, libc::__WALL) } != child {
        assert_eq!(std::io::Error::last_os_error().kind(), std::io::ErrorKind::Interrupted);
    }
    status
}

#[track_caller]
pub fn must_end_well(child: i32) {
    let status = reap(child);
    assert!(libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0, "the child's status is {status:#x}");
}

/// Waits, in the child, until it is killed.
pub fn for_ever() -> ! {
    loop {
        // SAFETY: has no precondition.
        unsafe { libc::pause() };
    }
}

/// Returns true if the thread sleeps in the kernel's futex call.
pub fn is_in_futex(thread: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{thread}/stat")).unwrap_or_default();
    let sleeps = stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('S'));
    let call = std::fs::read_to_string(format!("/proc/{thread}/syscall")).unwrap_or_default();
    sleeps
        && [libc::SYS_futex, libc::SYS_futex_waitv].iter().any(|one| call.split(' ').next() == Some(&one.to_string()))
}

pub fn gettid() -> i32 {
    // SAFETY: has no precondition.
    unsafe { libc::gettid() }
}

/// Loads the word, for a thread that waits for its value.
pub fn value(word: &AtomicU32) -> u32 {
    word.load(Ordering::SeqCst)
}

/// The calling thread's robust list as the kernel has it.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Head {
    pub next: usize,
    pub offset: isize,
    pub pending: usize,
}

pub fn head() -> *mut Head {
    let (mut head, mut length) = (std::ptr::null_mut::<Head>(), 0_usize);
    // SAFETY: 0 is the calling thread; both places are ours to write.
    let answer = unsafe { libc::syscall(libc::SYS_get_robust_list, 0, &raw mut head, &raw mut length) };
    assert_eq!((answer, length), (0, if head.is_null() { length } else { size_of::<Head>() }));
    head
}

/// Returns the locks on the list, the last taken first, by the address of their words. Both
/// directions are walked and must agree.
pub fn walk() -> Vec<usize> {
    let head = head() as usize;
    // SAFETY: an entry's links, as long as the list is whole.
    let at = |address: usize| unsafe { (address as *const usize).read() };
    let mut forward = Vec::new();
    let mut place = at(head) & !1;
    while place != head {
        forward.push(place - 32);
        assert!(forward.len() < 10_000, "the list does not end");
        place = at(place) & !1;
    }
    let mut backward = Vec::new();
    let mut place = at(head - 8) & !1;
    while place != head {
        backward.push(place - 32);
        assert!(backward.len() < 10_000, "the list does not end");
        place = at(place - 8) & !1;
    }
    backward.reverse();
    assert_eq!(forward, backward, "the list is not the same from both ends");
    // SAFETY: as the kernel reads it.
    assert_eq!(unsafe { (*(head as *const Head)).pending }, 0);
    forward
}

/// Returns what came of a lock, in a word.
pub fn outcome<T: AnyBytes, U: Unlock>(result: Result<Guard<T, U>, LockError<T, U>>) -> &'static str {
    match result {
        Ok(_) => "ok",
        Err(LockError::OwnerDied(mut guard)) => {
            guard.mark_consistent();
            "owner died"
        }
        Err(LockError::NotRecoverable) => "not recoverable",
        Err(LockError::WouldDeadlock) => "would deadlock",
        Err(LockError::WouldBlock) => "would block",
        Err(LockError::TimedOut) => "timed out",
        Err(LockError::OwnerLost(_)) => "owner lost",
        Err(LockError::NoList(_)) => "no list",
        Err(_) => "another",
    }
}
