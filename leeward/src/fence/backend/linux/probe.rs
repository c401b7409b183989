//! The question whether a sandbox kills for a system call: asked by a child, where there is a
//! sandbox.
//!
//! A seccomp filter may answer `membarrier`, or the opening of a file, with `SECCOMP_RET_KILL`,
//! which nothing in the process survives. So, where `prctl(PR_GET_SECCOMP)` says that a filter is
//! in force, a child process makes the calls first, and the parent looks at how the child ended; if
//! it was killed, one child for each kind of call finds out which. Without a filter, nothing is
//! probed. The child is made by the raw `clone` call with no exit signal: no fork handler runs, no
//! `SIGCHLD` is sent, and no `wait` of the program's can reap it. It shares no memory (a core dump
//! of a child that shares it kills the parent on kernels before 5.16), so it costs what a fork of
//! this process costs, once. [`force`](crate::fence::force) of the signal strategy avoids the
//! question altogether.

use core::sync::atomic::{AtomicU8, Ordering};

use rustix::thread::MembarrierCommand as Command;

use super::environ;

const UNKNOWN: u8 = 0;
/// Bit of the answer: the question was asked.
const ASKED: u8 = 1;
/// Bit of the answer: opening and reading a file is survived.
const READS: u8 = 2;
/// Bit of the answer: calling `membarrier` is survived.
const FENCES: u8 = 4;

/// The answer: `UNKNOWN`, or `ASKED` with a bit for each kind of call that is survived.
static ANSWER: AtomicU8 = AtomicU8::new(UNKNOWN);

/// Returns true if the process is not killed for calling membarrier. Asked once; the answer stays.
pub(super) fn asking_is_survived() -> bool {
    answer() & FENCES != 0
}

/// Returns true if the process is not killed for reading its environment. Asked once, together with
/// [`asking_is_survived`]'s question.
pub(super) fn reading_is_survived() -> bool {
    answer() & READS != 0
}

fn answer() -> u8 {
    // Relaxed, both: threads that race find the same answer.
    let mut answer = ANSWER.load(Ordering::Relaxed);
    if answer == UNKNOWN {
        answer = ask();
        ANSWER.store(answer, Ordering::Relaxed);
    }
    answer
}

/// Finds the answer out: by children, if a filter is in force.
fn ask() -> u8 {
    if !filtered() || child_survives(READS | FENCES) {
        return ASKED | READS | FENCES;
    }
    [READS, FENCES].into_iter().filter(|&what| child_survives(what)).fold(ASKED, |answer, what| answer | what)
}

/// Returns true if a seccomp filter is, or may be, in force for this thread.
fn filtered() -> bool {
    let errno = crate::process::Errno::save();
    // SAFETY: PR_GET_SECCOMP reads one number of the calling thread and takes no pointer.
    let mode = unsafe { libc::prctl(libc::PR_GET_SECCOMP) };
    errno.restore();
    // True also where the question itself is refused.
    mode != 0
}

/// Lets a child make the calls. Returns true if the child ended by itself.
fn child_survives(what: u8) -> bool {
    let errno = crate::process::Errno::save();
    let survived = spawn_and_wait(what);
    errno.restore();
    survived
}

fn spawn_and_wait(what: u8) -> bool {
    // SAFETY: no flag is set, so the child is a copy of this thread alone on memory of its own, as
    // after a fork; it only makes raw system calls and ends.
    let child = unsafe { libc::syscall(libc::SYS_clone, 0 as libc::c_ulong, 0, 0, 0, 0) };
    match child {
        0 => ask_and_end(what),
        // Refused: this cannot be found out, so the calls are not made.
        -1 => false,
        child => ended_well(child as libc::pid_t),
    }
}

/// Makes the calls that the parent means to make, in the child, and ends the child.
fn ask_and_end(what: u8) -> ! {
    // A refusal by an error number is survived; the parent answers it.
    if what & READS != 0 {
        let _ = environ::each_byte(|_| true);
    }
    if what & FENCES != 0 {
        let _ = super::membarrier::has_private();
        let own = [Command::RegisterPrivateExpedited, Command::PrivateExpedited, Command::Global];
        let others = [Command::RegisterGlobalExpedited, Command::GlobalExpedited];
        for command in own.into_iter().chain(others) {
            let _ = rustix::thread::membarrier(command);
        }
    }
    loop {
        // SAFETY: ends the child, whose memory is its own.
        unsafe { libc::syscall(libc::SYS_exit_group, 0) };
    }
}

/// Waits for the child. Returns true if it ended by itself. (Not by the C library's function, where
/// the thread may be cancelled, in the midst of a grace period.)
fn ended_well(child: libc::pid_t) -> bool {
    let mut status: libc::c_int = 0;
    let no_usage = core::ptr::null_mut::<libc::rusage>();
    loop {
        // SAFETY: `status` is ours to write; __WALL is needed for a child without an exit signal.
        let reaped = unsafe { libc::syscall(libc::SYS_wait4, child, &mut status, libc::__WALL, no_usage) };
        if reaped == libc::c_long::from(child) {
            return libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0;
        }
        if crate::process::Errno::save().number() != libc::EINTR {
            return false;
        }
    }
}
