//! The system calls that both verbs need and that neither std nor rustix has, each as a safe
//! function where it can be.

use std::io;

/// The way in which a child ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ended {
    Exited(i32),
    Killed(i32),
}

/// Forks, and returns the child's process number. The child runs `child`, exits with its result as
/// the code, and never returns.
///
/// # Safety
/// `child` must not depend on threads that the child process does not have: it takes no lock that
/// another thread may hold.
pub unsafe fn fork(child: impl FnOnce() -> u8) -> io::Result<i32> {
    // SAFETY: the caller's promise is what fork requires.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            let code = child();
            // SAFETY: the call ends the process and runs none of its handlers.
            unsafe { libc::_exit(i32::from(code)) }
        }
        number => Ok(number),
    }
}

/// Waits for a child of [`fork`].
pub fn wait_for(child: i32) -> io::Result<Ended> {
    loop {
        if let Some(ended) = wait(child, 0)? {
            return Ok(ended);
        }
    }
}

/// Returns how a child of [`fork`] ended, if it has.
pub fn has_ended(child: i32) -> io::Result<Option<Ended>> {
    wait(child, libc::WNOHANG)
}

fn wait(child: i32, options: libc::c_int) -> io::Result<Option<Ended>> {
    let mut status = 0;
    // SAFETY: `status` is ours, and the call may write it.
    match unsafe { libc::waitpid(child, &mut status, options) } {
        0 => Ok(None),
        -1 => match io::Error::last_os_error() {
            error if error.kind() == io::ErrorKind::Interrupted => Ok(None),
            error => Err(error),
        },
        _ if libc::WIFSIGNALED(status) => Ok(Some(Ended::Killed(libc::WTERMSIG(status)))),
        _ => Ok(Some(Ended::Exited(libc::WEXITSTATUS(status)))),
    }
}

/// Lets the calling thread run only when no other thread wants to. If that is refused, the thread
/// runs as before.
pub fn run_when_idle() {
    let parameters = libc::sched_param { sched_priority: 0 };
    // SAFETY: the parameters are ours, and the call concerns the calling thread.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_IDLE, &parameters) };
}

/// Has the process killed by `SIGALRM` after `seconds`.
pub fn die_in(seconds: u32) {
    // SAFETY: the call has no precondition; the signal's disposition is the default one.
    unsafe { libc::alarm(seconds) };
}

/// Returns true if some thread of this process is in `membarrier`, false if the kernel does not
/// say.
pub fn is_anybody_in_membarrier() -> bool {
    let call = format!("{} ", libc::SYS_membarrier);
    let threads = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let mut calls = threads.filter_map(|thread| std::fs::read_to_string(thread.path().join("syscall")).ok());
    calls.any(|its| its.starts_with(&call))
}

/// Makes a prctl call that takes numbers only.
pub fn prctl(option: libc::c_int, argument: libc::c_ulong) -> libc::c_int {
    // SAFETY: the options that this program uses (PR_GET_SECCOMP, the question of PR_FUTEX_HASH)
    // take no pointer, and unknown ones are refused.
    unsafe { libc::prctl(option, argument, 0_u64, 0_u64, 0_u64) }
}

/// Returns true if a seccomp filter is in force for this thread.
pub fn is_filtered() -> bool {
    const SECCOMP_MODE_FILTER: libc::c_int = 2;
    prctl(libc::PR_GET_SECCOMP, 0) == SECCOMP_MODE_FILTER
}

/// Returns the number of columns of the terminal at standard output, if it is one and knows.
pub fn terminal_columns() -> Option<usize> {
    let mut size = libc::winsize { ws_row: 0, ws_col: 0, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: `size` is ours, and the call may write it.
    let answer = unsafe { libc::ioctl(libc::STDOUT_FILENO, libc::TIOCGWINSZ, &raw mut size) };
    (answer == 0 && size.ws_col > 0).then_some(usize::from(size.ws_col))
}

/// Sleeps for `time`, by an absolute instant. std's sleep starts over with the rest after each
/// signal, and the kernel adds the timer's slack to it each time, so that signals that come faster
/// than the slack (50 microseconds; heavy fences by signal do) would keep it asleep for as long as
/// they come.
pub fn sleep(time: std::time::Duration) {
    use rustix::thread::{ClockId, clock_nanosleep_absolute};
    let now = rustix::time::clock_gettime(ClockId::Monotonic);
    let Some(end) = rustix::time::Timespec::try_from(time).ok().and_then(|time| now.checked_add(time)) else { return };
    while clock_nanosleep_absolute(ClockId::Monotonic, &end) == Err(rustix::io::Errno::INTR) {}
}
