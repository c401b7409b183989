//! The way that children take, and how a later one comes to a place of it: by a breakpoint, which is
//! an instruction and registers of x86-64.

use std::collections::HashMap;
use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::FileExt;

use super::{Beside, ask, begin_step, wait};

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
