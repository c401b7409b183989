//! What the tracer and the case, two processes, tell each other: words in a page that both map.
//!
//! Nothing of the library is used here, because a case is about its first use.

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::process::Command;
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicUsize, Ordering};

const DESCRIPTOR: &str = "LEEWARD_TEST_BOARD";

/// A number that only grows, and on which the other process waits.
pub struct Word(AtomicU32);

impl Word {
    pub fn get(&self) -> u32 {
        self.0.load(Ordering::SeqCst)
    }

    pub fn set(&self, value: u32) {
        self.0.store(value, Ordering::SeqCst);
        // SAFETY: a wake on a word that is there.
        unsafe { libc::syscall(libc::SYS_futex, self.0.as_ptr(), libc::FUTEX_WAKE, i32::MAX) };
    }

    /// Waits until it is `value` or more. Returns false if `is_over` does, which is asked every
    /// millisecond.
    pub fn wait(&self, value: u32, mut is_over: impl FnMut() -> bool) -> bool {
        loop {
            let now = self.get();
            if now >= value {
                return true;
            }
            if is_over() {
                return false;
            }
            let limit = libc::timespec { tv_sec: 0, tv_nsec: 1_000_000 };
            // SAFETY: a wait on a word that is there, for a time that outlives the call.
            unsafe { libc::syscall(libc::SYS_futex, self.0.as_ptr(), libc::FUTEX_WAIT, now, &raw const limit) };
        }
    }
}

/// The word after which there is nothing more to ask.
pub const OVER: u32 = u32::MAX;

/// The words of one walk through an operation.
#[repr(C)]
pub struct Board {
    /// 1: the thread beside the one that is stepped is where it should be.
    pub ready: Word,
    /// 1: the stepped thread has ended its operation.
    pub walked: Word,
    /// The number of the thread that is stepped, once it waits for its tracer.
    pub thread: Word,
    /// Where the object of the operation is, and its size: each change of it is forked beside.
    pub object: [AtomicUsize; 2],
    /// 1: the thread is traced; `OVER`: it may not be.
    pub traced: Word,
    /// 1: the thread that forks uses something before it forks, perhaps for the first time.
    pub before: Word,
    /// The fork that the tracer asks for, from 1.
    pub asked: Word,
    /// The last fork that was begun.
    pub begun: Word,
    /// The last fork that is done.
    pub forked: Word,
    /// The last fork whose child has ended.
    pub ended: Word,
    /// How that child ended, as `waitpid` says.
    pub status: AtomicI32,
    /// The part of everything that a child is using.
    pub part: AtomicU32,
    /// The number of the thread that forks.
    pub forking: AtomicI32,
}

/// How many walks a case has.
pub const WALKS: usize = 2;

fn map(descriptor: i32) -> &'static [Board; WALKS] {
    let access = libc::PROT_READ | libc::PROT_WRITE;
    let size = size_of::<[Board; WALKS]>();
    // SAFETY: a new mapping.
    let place = unsafe { libc::mmap(std::ptr::null_mut(), size, access, libc::MAP_SHARED, descriptor, 0) };
    assert_ne!(place, libc::MAP_FAILED, "mmap");
    // SAFETY: zeroed, aligned to a page, never unmapped.
    unsafe { &*place.cast::<[Board; WALKS]>() }
}

/// Returns boards for a case that is to be started, with what must live until then.
pub fn boards(command: &mut Command) -> (&'static [Board; WALKS], OwnedFd) {
    // SAFETY: a string that ends.
    let file = unsafe { libc::memfd_create(c"boards".as_ptr(), 0) };
    assert!(file >= 0, "memfd_create");
    // SAFETY: opened just now.
    let file = unsafe { OwnedFd::from_raw_fd(file) };
    // SAFETY: takes numbers only.
    let outcome = unsafe { libc::ftruncate(file.as_raw_fd(), size_of::<[Board; WALKS]>() as libc::off_t) };
    assert_eq!(outcome, 0, "ftruncate");
    command.env(DESCRIPTOR, file.as_raw_fd().to_string());
    (map(file.as_raw_fd()), file)
}

/// Returns, in a case, the boards with which it was started.
pub fn inherited() -> &'static [Board; WALKS] {
    map(std::env::var(DESCRIPTOR).unwrap().parse().unwrap())
}
