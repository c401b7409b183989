//! How the kernel that is asked is reached.

use crate::errno::{Answer, Errno, answer};
use crate::numbers;

/// The flags of a thread: `CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM`.
pub(crate) const THREAD: usize = 0x50f00;

/// The system calls of the kernel that is asked.
///
/// In a guest it is [`Linux`](crate::linux::Linux), which makes them. A kernel's own test harness may
/// call its functions instead: each scenario is then a call like any other test's.
///
/// Needed are `futex` and `mmap`, and for most scenarios threads; a scenario whose calls are not there
/// ends as absent.
pub trait Syscalls: Sync {
    /// Makes a system call, by its number of [`numbers`], and returns what the kernel leaves in
    /// the register of the answer: from -4095 to -1 an error's number, negated.
    ///
    /// # Safety
    /// Addresses among the arguments are what this call expects: what it writes through them is no
    /// value of Rust's that is borrowed.
    unsafe fn call(&self, number: usize, arguments: [usize; 6]) -> isize;

    /// Starts a thread that shares the caller's memory, calls `body(argument)`, and ends.
    ///
    /// # Errors
    /// There are no threads, or no more of them.
    ///
    /// # Safety
    /// `body` may be called with that argument on another thread.
    unsafe fn spawn(&self, body: extern "C" fn(usize), argument: usize) -> Result<(), Errno>;

    /// Starts a thread or a process that shares the caller's memory, by `clone` with these flags, of which `CLONE_VM`
    /// is one, and with a stack of its own; it calls `body(argument)`, and ends. The addresses are those of the words
    /// that `clone` writes for the parent and for the child, where flags ask for it. Returns its number.
    ///
    /// Only the scenarios of `clone` ask for it: without it they are unfit.
    ///
    /// # Errors
    /// Those of `clone`; `ENOSYS`, if it is not written.
    ///
    /// # Safety
    /// As for `spawn`; the words are no value of Rust's that is borrowed.
    unsafe fn spawn_as(
        &self,
        _flags: usize,
        _words: [usize; 2],
        _body: extern "C" fn(usize),
        _argument: usize,
    ) -> Answer {
        Err(Errno::NOSYS)
    }

    /// Lets about that many microseconds go by while other threads run. A kernel without `nanosleep`
    /// is asked to yield; one without either spins.
    fn pause(&self, microseconds: u64) {
        let time = [microseconds / 1_000_000, microseconds % 1_000_000 * 1_000];
        // SAFETY: the call reads the time.
        let slept = unsafe { self.call(numbers::NANOSLEEP, [(&raw const time).expose_provenance(), 0, 0, 0, 0, 0]) };
        if slept == 0 {
            return;
        }
        for _ in 0..microseconds {
            // SAFETY: takes no argument.
            if unsafe { self.call(numbers::SCHED_YIELD, [0; 6]) } != 0 {
                (0..100).for_each(|_| core::hint::spin_loop());
            }
        }
    }
}

/// Makes a system call.
///
/// # Safety
/// As for [`Syscalls::call`].
pub(crate) unsafe fn ask(kernel: &dyn Syscalls, number: usize, arguments: [usize; 6]) -> Answer {
    // SAFETY: the caller's promise.
    answer(unsafe { kernel.call(number, arguments) })
}
