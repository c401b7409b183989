//! Whether a sandbox kills for asking: found out by a child, where there is a sandbox at all.
//!
//! A seccomp filter may answer `membarrier`, or the opening of a file, with `SECCOMP_RET_KILL`,
//! which nothing in the process survives. So, where `prctl(PR_GET_SECCOMP)` says that a filter is
//! in force, a child process makes the calls first and the parent looks at how it ended; if it was
//! killed, one child for each kind of call. Without a filter, nothing is probed. The child is made
//! by the raw `clone` call with no exit signal: no fork handler runs, no `SIGCHLD` is sent, and no
//! `wait` of the program's can reap it. It shares no memory (a core dump of a child that shares it
//! takes the parent along on kernels before 5.16), so it costs what a fork of this process costs,
//! once; [`force`](crate::fence::force) of the signals avoids the question altogether.

use core::sync::atomic::{AtomicU8, Ordering};

use rustix::thread::MembarrierCommand as Command;

use super::environ;

const UNKNOWN: u8 = 0;
/// The question was asked.
const ASKED: u8 = 1;
/// Opening and reading a file is survived.
const READS: u8 = 2;
/// Calling `membarrier` is survived.
const FENCES: u8 = 4;

/// `UNKNOWN`, or `ASKED` with what is survived.
static ANSWER: AtomicU8 = AtomicU8::new(UNKNOWN);

/// Whether membarrier may be called without being killed for it. Asked once; the answer stays.
pub(super) fn asking_is_survived() -> bool {
    answer() & FENCES != 0
}

/// Whether the environment may be read without being killed for it. Asked once, together with the
/// other.
pub(super) fn reading_is_survived() -> bool {
    answer() & READS != 0
}

fn answer() -> u8 {
    // Relaxed, both: whoever races finds the same answer.
    let mut answer = ANSWER.load(Ordering::Relaxed);
    if answer == UNKNOWN {
        answer = ask();
        ANSWER.store(answer, Ordering::Relaxed);
    }
    answer
}

fn ask() -> u8 {
    if !filtered() || child_survives(READS | FENCES) {
        return ASKED | READS | FENCES;
    }
    [READS, FENCES].into_iter().filter(|&what| child_survives(what)).fold(ASKED, |answer, what| answer | what)
}

/// Whether a seccomp filter is in force for this thread, or may be.
fn filtered() -> bool {
    let errno = crate::process::Errno::save();
    // SAFETY: PR_GET_SECCOMP reads one number of the calling thread and takes no pointer.
    let mode = unsafe { libc::prctl(libc::PR_GET_SECCOMP) };
    errno.restore();
    // Also where the question itself is refused.
    mode != 0
}

/// Lets a child make the calls, and tells whether it came back by itself.
fn child_survives(what: u8) -> bool {
    let errno = crate::process::Errno::save();
    let survived = spawn_and_wait(what);
    errno.restore();
    survived
}

fn spawn_and_wait(what: u8) -> bool {
    // SAFETY: no flag is set, so the child is a copy of this thread alone on memory of its own, as fork makes one; it
    // only makes raw system calls and ends.
    let child = unsafe { libc::syscall(libc::SYS_clone, 0 as libc::c_ulong, 0, 0, 0, 0) };
    match child {
        0 => ask_and_end(what),
        // Refused: we cannot find out, so we do not ask.
        -1 => false,
        child => ended_well(child as libc::pid_t),
    }
}

/// In the child: the calls that the parent means to make.
fn ask_and_end(what: u8) -> ! {
    // A refusal by an error number is survived, and is the caller's to answer.
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

fn ended_well(child: libc::pid_t) -> bool {
    let mut status = 0;
    loop {
        // SAFETY: `status` is ours to write; __WALL is needed for a child without an exit signal.
        let reaped = unsafe { libc::waitpid(child, &mut status, libc::__WALL) };
        if reaped == child {
            return libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0;
        }
        if crate::process::Errno::save().number() != libc::EINTR {
            return false;
        }
    }
}
