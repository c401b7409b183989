//! Whether something makes a system call: a child that is allowed none does it.

use crate::trouble::Trouble;

/// Whether `work` runs without any system call. It runs here once before, so that what is set up once is no matter.
pub fn is_silent(mut work: impl FnMut()) -> Result<bool, Trouble> {
    work();
    // SAFETY: the child runs `work`, which has run, and leaves; it returns to nobody.
    match unsafe { libc::fork() } {
        -1 => Err(std::io::Error::last_os_error().into()),
        0 => alone(&mut work),
        child => died_in_peace(child),
    }
}

/// The child: allowed to leave and nothing else that it could want. Any other call kills it.
fn alone(work: &mut impl FnMut()) -> ! {
    const STRICT: libc::c_ulong = 1;
    // SAFETY: a switch of this process's own.
    let refused = unsafe { libc::prctl(libc::PR_SET_SECCOMP, STRICT) } != 0;
    if !refused {
        work();
    }
    // SAFETY: it ends here. The call of a single thread's end, which strict mode allows; the process has no other.
    unsafe { libc::syscall(libc::SYS_exit, libc::c_int::from(refused)) };
    std::process::abort()
}

fn died_in_peace(child: libc::pid_t) -> Result<bool, Trouble> {
    let mut status = 0;
    // SAFETY: a child of ours, and room for its status.
    while unsafe { libc::waitpid(child, &mut status, 0) } == -1 {
        let error = std::io::Error::last_os_error();
        if error.kind() != std::io::ErrorKind::Interrupted {
            return Err(error.into());
        }
    }
    match (libc::WIFEXITED(status), libc::WEXITSTATUS(status)) {
        (true, 0) => Ok(true),
        (true, _) => {
            Err(Trouble::new("this kernel has no strict seccomp mode, which system calls are looked for with"))
        }
        (false, _) => Ok(false),
    }
}

#[cfg(test)]
mod tests {
    use super::is_silent;

    #[test]
    fn a_call_is_noticed() {
        let mut number = 0;
        assert!(is_silent(|| number += 1).unwrap());
        // SAFETY: a question about this process.
        assert!(!is_silent(|| assert!(unsafe { libc::getppid() } >= 0)).unwrap());
    }
}
