//! A test for system calls: a child process that is allowed none (strict seccomp mode) does the
//! work.

use crate::error::Error;

/// Returns true if `work` makes no system call. It runs once beforehand, so that what is set up
/// once does not count.
pub fn makes_no_syscalls(mut work: impl FnMut()) -> Result<bool, Error> {
    work();
    // SAFETY: the child runs `work`, which has run before, and exits without returning.
    match unsafe { libc::fork() } {
        -1 => Err(std::io::Error::last_os_error().into()),
        0 => alone(&mut work),
        child => exited(child),
    }
}

/// Runs the child, which may exit and make no other call that it could want: any such call kills
/// it.
fn alone(work: &mut impl FnMut()) -> ! {
    const STRICT: libc::c_ulong = 1;
    // SAFETY: the switch concerns this process alone.
    let refused = unsafe { libc::prctl(libc::PR_SET_SECCOMP, STRICT) } != 0;
    if !refused {
        work();
    }
    // SAFETY: the process ends here. Strict mode allows the call that ends one thread, and there is
    // no other thread.
    unsafe { libc::syscall(libc::SYS_exit, libc::c_int::from(refused)) };
    std::process::abort()
}

/// Waits for the child, and returns true if it exited, false if a call killed it.
fn exited(child: libc::pid_t) -> Result<bool, Error> {
    let mut status = 0;
    // SAFETY: the child is ours, and there is room for its status.
    while unsafe { libc::waitpid(child, &mut status, 0) } == -1 {
        let error = std::io::Error::last_os_error();
        if error.kind() != std::io::ErrorKind::Interrupted {
            return Err(error.into());
        }
    }
    match (libc::WIFEXITED(status), libc::WEXITSTATUS(status)) {
        (true, 0) => Ok(true),
        (true, _) => Err(Error::new("this kernel has no strict seccomp mode, by which system calls are detected")),
        (false, _) => Ok(false),
    }
}

#[cfg(test)]
mod tests {
    use super::makes_no_syscalls;

    #[test]
    fn a_call_is_noticed() {
        let mut number = 0;
        assert!(makes_no_syscalls(|| number += 1).unwrap());
        // SAFETY: the call only asks about this process.
        assert!(!makes_no_syscalls(|| assert!(unsafe { libc::getppid() } >= 0)).unwrap());
    }
}
