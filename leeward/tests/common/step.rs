//! Runs a child one instruction after the other, by ptrace. Shared by the stepping tests of robust
//! locks and `leeward torture robust`.

#![allow(dead_code)]

use std::collections::HashMap;
use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Lets the parent trace the calling process from now on. Called in the child.
pub fn let_the_parent_trace() -> bool {
    // SAFETY: the call takes no pointer.
    unsafe { libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) == 0 }
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

/// Runs `count` instructions of a stopped child. Returns false if it stopped itself or ended
/// before.
pub fn steps(child: i32, count: usize) -> io::Result<bool> {
    Trail::default().steps(child, count)
}

/// The way of children that all do the same: the addresses of their instructions, learnt while the
/// first of them are stepped. A later child runs to a breakpoint near the place that is asked for
/// and is stepped from there, so that a test that stops one child before each instruction takes
/// a few stops for each child instead of one for each instruction.
///
/// Children may differ (how long one spins is the clock's to say). One that ends without having come
/// to its breakpoint is reported as one that ended; then the way is forgotten from there on, and
/// [`next`](Trail::next) gives the same place again.
#[derive(Default)]
pub struct Trail {
    /// The address that is next after each instruction, and how often it has been next by then.
    known: Vec<(u64, usize)>,
    visits: HashMap<u64, usize>,
    /// The number of instructions that the last child was to be stepped.
    place: usize,
    has_missed: bool,
    is_over: bool,
}

impl Trail {
    /// Returns the number of instructions to which the next child is to be stepped, which is `stride`
    /// more than the last, if that one came there; or none if the way ends before.
    pub fn next(&mut self, stride: usize) -> Option<usize> {
        self.place += if self.has_missed { 0 } else { stride };
        (!self.is_over).then_some(self.place)
    }

    /// Runs `count` instructions of a stopped child. Returns false if it stopped itself or ended
    /// before.
    pub fn steps(&mut self, child: i32, count: usize) -> io::Result<bool> {
        self.steps_with(child, count, wait)
    }

    /// Does what [`steps`](Trail::steps) does; `wait` waits for the child's next stop, and returns
    /// none also for a child that sleeps.
    pub fn steps_with(
        &mut self,
        child: i32,
        count: usize,
        wait: impl Fn(i32) -> io::Result<Option<i32>>,
    ) -> io::Result<bool> {
        let _beside = Beside::the(child);
        self.has_missed = false;
        if self.known.is_empty() {
            self.visits.insert(registers(child)?.rip, 1);
        }
        let mut done = 0;
        if let Some(at) = self.shortcut(count) {
            let (address, visits) = self.known[at];
            if !run_to(child, address, visits, &wait)? {
                return self.miss(at);
            }
            done = at + 1;
        }
        while done < count {
            begin_step(child)?;
            if wait(child)? != Some(libc::SIGTRAP) {
                if done < self.known.len() {
                    return self.miss(done);
                }
                self.is_over = true;
                return Ok(false);
            }
            done += 1;
            if done > self.known.len() {
                let address = registers(child)?.rip;
                let visits = self.visits.entry(address).or_default();
                *visits += 1;
                self.known.push((address, *visits));
            }
        }
        Ok(true)
    }

    /// Returns true if the last child stopped itself or ended where all that is known of the way
    /// ends: there is nothing further to step to.
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// Returns the number of instructions to which the last child was to be stepped.
    pub fn place(&self) -> usize {
        self.place
    }

    /// Returns true if the last child went another way.
    pub fn has_missed(&self) -> bool {
        self.has_missed
    }

    /// Forgets the way from the `at`th instruction on, where a child went another one.
    fn miss(&mut self, at: usize) -> io::Result<bool> {
        for (address, _) in self.known.drain(at..) {
            self.visits.entry(address).and_modify(|visits| *visits -= 1);
        }
        self.has_missed = true;
        Ok(false)
    }

    /// Returns the place to run to on the way to `count` instructions, if that saves stops.
    fn shortcut(&self, count: usize) -> Option<usize> {
        // A visit before the last takes two stops.
        let cost = |at: &usize| 2 * self.known[*at].1 + (count - at);
        let end = count.min(self.known.len());
        (end.saturating_sub(64)..end).min_by_key(cost).filter(|at| cost(at) < count)
    }
}

/// Lets a stopped child run until `address` is next for the `visits`th time. Returns false if it
/// stops, ends or sleeps before.
fn run_to(child: i32, address: u64, visits: usize, wait: impl Fn(i32) -> io::Result<Option<i32>>) -> io::Result<bool> {
    let memory = OpenOptions::new().read(true).write(true).open(format!("/proc/{child}/mem"))?;
    let mut code = [0];
    memory.read_exact_at(&mut code, address)?;
    let breakpoint = [0xCC];
    for visit in 1..=visits {
        memory.write_all_at(&breakpoint, address)?;
        ask(libc::PTRACE_CONT, child)?;
        let stopped = wait(child)?;
        // Of a child that is gone there is nothing to restore.
        let restored = memory.write_all_at(&code, address);
        if stopped != Some(libc::SIGTRAP) {
            return Ok(false);
        }
        restored?;
        let mut registers = registers(child)?;
        assert_eq!(registers.rip, address + 1, "a trap that is not the breakpoint's");
        registers.rip = address;
        set_registers(child, registers)?;
        if visit < visits {
            begin_step(child)?;
            if wait(child)? != Some(libc::SIGTRAP) {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

/// Returns a stopped thread's registers.
pub fn registers(thread: i32) -> io::Result<libc::user_regs_struct> {
    // SAFETY: zeroed is a valid value.
    let mut registers: libc::user_regs_struct = unsafe { std::mem::zeroed() };
    let none = std::ptr::null_mut::<libc::c_void>();
    // SAFETY: the registers are ours to write; where no stopped thread is, the call fails.
    match unsafe { libc::ptrace(libc::PTRACE_GETREGS, thread, none, &raw mut registers) } {
        0 => Ok(registers),
        _ => Err(io::Error::last_os_error()),
    }
}

fn set_registers(thread: i32, registers: libc::user_regs_struct) -> io::Result<()> {
    let none = std::ptr::null_mut::<libc::c_void>();
    // SAFETY: the registers are only read; where no stopped thread is, the call fails.
    match unsafe { libc::ptrace(libc::PTRACE_SETREGS, thread, none, &raw const registers) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
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
