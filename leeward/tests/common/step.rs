//! One instruction of a child after the other, by ptrace: what the stepping tests of robust locks and `leeward torture robust` share.

use std::io;

/// In the child: its parent traces it from now on.
pub fn let_the_parent_trace() -> bool {
    // SAFETY: takes no pointer.
    unsafe { libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) == 0 }
}

/// In the child: waits for being stepped.
pub fn stop() {
    // SAFETY: stops the calling process.
    unsafe { libc::raise(libc::SIGSTOP) };
}

/// Waits until the child stops (true) or ends.
pub fn wait(child: i32) -> io::Result<bool> {
    let mut status = 0;
    loop {
        // SAFETY: `status` is ours to write.
        if unsafe { libc::waitpid(child, &mut status, libc::__WALL) } == child {
            return Ok(libc::WIFSTOPPED(status));
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

/// Lets a stopped child go on for one instruction, without waiting for it.
pub fn begin_step(child: i32) -> io::Result<()> {
    // SAFETY: the two pointers are not used.
    match unsafe { libc::ptrace(libc::PTRACE_SINGLESTEP, child, 0, 0) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// So many instructions of a stopped child. False if it ended before.
pub fn steps(child: i32, count: usize) -> io::Result<bool> {
    for _ in 0..count {
        begin_step(child)?;
        if !wait(child)? {
            return Ok(false);
        }
    }
    Ok(true)
}
