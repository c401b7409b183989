//! Runs a child one instruction after the other, by ptrace. Shared by the stepping tests of robust
//! locks and `leeward torture robust`.

#![allow(dead_code)]

#[cfg(target_arch = "x86_64")]
#[path = "trail.rs"]
mod trail;

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};

#[cfg(target_arch = "x86_64")]
#[allow(unused_imports)]
pub use trail::{Trail, registers, steps};

/// Lets the thread that forked trace the calling process from now on. Called in the child, which ends
/// with that thread: one that is stopped would stay for ever, and hear no alarm.
pub fn let_the_parent_trace() -> bool {
    // SAFETY: the call takes no pointer.
    let ends = unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) == 0 };
    // SAFETY: as above.
    ends && unsafe { libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) == 0 }
}

/// Stops the calling process until it is stepped. Called in the child.
pub fn stop() {
    // SAFETY: the signal stops the calling process and nothing else.
    unsafe { libc::raise(libc::SIGSTOP) };
}

/// Waits until the child stops and returns the signal that stopped it, or none if the child ended.
pub fn wait(child: i32) -> io::Result<Option<i32>> {
    let mut status = 0;
    loop {
        // SAFETY: `status` is ours, and the call may write it.
        if unsafe { libc::waitpid(child, &mut status, libc::__WALL) } == child {
            return Ok(libc::WIFSTOPPED(status).then(|| libc::WSTOPSIG(status)));
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

/// Lets a stopped child go on for one instruction, without waiting for it.
pub fn begin_step(child: i32) -> io::Result<()> {
    ask(libc::PTRACE_SINGLESTEP, child)
}

/// Lets the child go on until it [stops](stop) itself or ends, and waits for that.
pub fn go_on(child: i32) -> io::Result<Option<i32>> {
    ask(libc::PTRACE_CONT, child)?;
    wait(child)
}

/// Lets a stopped child go on to where its next system call begins or ends. Returns the signal that
/// stopped it, or none if the child ended.
pub fn to_the_next_call(child: i32) -> io::Result<Option<i32>> {
    ask(libc::PTRACE_SYSCALL, child)?;
    wait(child)
}

/// Keeps the calling thread and a child on one processor: a stop is then a switch, where it would
/// wake another processor, which takes several times as long.
pub struct Beside {
    child: i32,
    before: libc::cpu_set_t,
}

impl Beside {
    pub fn the(child: i32) -> Beside {
        // SAFETY: zeroes are a set of no processor.
        let mut before: libc::cpu_set_t = unsafe { std::mem::zeroed() };
        // SAFETY: fills ours.
        unsafe { libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut before) };
        // SAFETY: as above.
        let mut here: libc::cpu_set_t = unsafe { std::mem::zeroed() };
        // One after the other, so that threads that do so at the same time share no processor.
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        // SAFETY: the numbers are within the set's size.
        let allowed = (0..libc::CPU_SETSIZE as usize).filter(|at| unsafe { libc::CPU_ISSET(*at, &before) });
        let turn = NEXT.fetch_add(1, Ordering::Relaxed) + std::process::id() as usize;
        let allowed: Vec<_> = allowed.collect();
        let processor = allowed.get(turn % allowed.len().max(1)).copied().unwrap_or(0);
        // SAFETY: changes ours.
        unsafe { libc::CPU_SET(processor, &mut here) };
        Beside::allow(0, &here);
        Beside::allow(child, &here);
        Beside { child, before }
    }

    /// Where a system refuses, the thread stays where it is: steps take longer then.
    fn allow(thread: i32, processors: &libc::cpu_set_t) {
        // SAFETY: reads the set.
        unsafe { libc::sched_setaffinity(thread, size_of::<libc::cpu_set_t>(), processors) };
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        Beside::allow(0, &self.before);
        Beside::allow(self.child, &self.before);
    }
}

fn ask(what: libc::c_uint, child: i32) -> io::Result<()> {
    let none = std::ptr::null_mut::<libc::c_void>();
    // SAFETY: the child is stopped, and the pointers are not used.
    match unsafe { libc::ptrace(what, child, none, none) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Traces one thread of another process from now on; the other threads run free. The thread is
/// killed if its tracer ends.
pub fn seize(thread: i32) -> io::Result<()> {
    let none = std::ptr::null_mut::<libc::c_void>();
    // SAFETY: the call takes numbers only.
    match unsafe { libc::ptrace(libc::PTRACE_SEIZE, thread, none, libc::PTRACE_O_EXITKILL) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Lets a stopped thread go on for one instruction, after the handler of `signal` if that is not 0.
pub fn begin_step_with(thread: i32, signal: i32) -> io::Result<()> {
    ask_with(libc::PTRACE_SINGLESTEP, thread, signal)
}

/// Lets a stopped thread go on, still traced, after the handler of `signal` if that is not 0.
pub fn begin_to_go_on_with(thread: i32, signal: i32) -> io::Result<()> {
    ask_with(libc::PTRACE_CONT, thread, signal)
}

/// Stops tracing a stopped thread, and lets it go on.
pub fn release(thread: i32) -> io::Result<()> {
    ask(libc::PTRACE_DETACH, thread)
}

fn ask_with(what: libc::c_uint, thread: i32, signal: i32) -> io::Result<()> {
    let none = std::ptr::null_mut::<libc::c_void>();
    // SAFETY: the thread is stopped, and the call takes numbers only.
    match unsafe { libc::ptrace(what, thread, none, signal as libc::c_long) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
