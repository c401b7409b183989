//! Child processes of a scenario, and memory that they share with it.

use core::ptr::NonNull;
use core::sync::atomic::AtomicU32;

use crate::errno::Errno;
use crate::numbers;
use crate::scenario::{Outcome, Trouble};
use crate::world::{Body, World, unfit, wrong};

pub(crate) const SIGKILL: usize = 9;
const SIGCHLD: usize = 17;
const PR_SET_PDEATHSIG: usize = 1;
/// The flags of a process that shares its parent's memory: `CLONE_VM | SIGCHLD`.
pub(crate) const SHARER: usize = 0x100 | SIGCHLD;
const CLONE_NEWPID: usize = 0x2000_0000;
const PROT_READ_WRITE: usize = 3;
const MAP_SHARED_ANONYMOUS: usize = 0x21;
/// The size of a shared mapping, in bytes.
pub(crate) const SHARED: usize = 64 * 1024;

/// A child process of a scenario.
#[derive(Clone, Copy)]
pub(crate) struct Child(pub(crate) usize);

/// Anonymous memory that is shared with children.
#[derive(Clone, Copy)]
pub(crate) struct Shared(pub(crate) NonNull<AtomicU32>);

impl Shared {
    /// Returns one of its words.
    pub(crate) fn word(&self, at: usize) -> &AtomicU32 {
        assert!(at < SHARED / 4);
        // SAFETY: within the mapping, which stays.
        let word = unsafe { self.0.add(at) };
        // SAFETY: as above; zero is a value of it.
        unsafe { word.as_ref() }
    }
}

impl World<'_> {
    /// Maps anonymous memory that children share.
    pub(crate) fn shared(&self) -> Result<Shared, Trouble> {
        let arguments = [0, SHARED, PROT_READ_WRITE, MAP_SHARED_ANONYMOUS, usize::MAX, 0];
        // SAFETY: a new mapping.
        let memory = unsafe { self.call(numbers::MMAP, arguments) };
        let memory = memory.map_err(|errno| unfit(format_args!("mmap of shared anonymous memory: {errno}")))?;
        NonNull::new(core::ptr::with_exposed_provenance_mut(memory))
            .map(Shared)
            .ok_or_else(|| unfit(format_args!("mmap answered address 0")))
    }

    /// Starts a child process, a copy of this one with this thread alone, which calls `body` and ends;
    /// its exit code is 0 if the body's call succeeded, else the error's number.
    pub(crate) fn child(&self, body: Body) -> Result<Child, Trouble> {
        self.child_with(body, SIGCHLD)
    }

    /// As `child`, with a namespace of its own for the numbers of processes and threads: the child has
    /// number 1 there.
    pub(crate) fn child_with_its_own_numbers(&self, body: Body) -> Result<Child, Trouble> {
        self.child_with(body, CLONE_NEWPID | SIGCHLD)
    }

    fn child_with(&self, body: Body, flags: usize) -> Result<Child, Trouble> {
        // SAFETY: the child has a copy of all memory that is not shared.
        match unsafe { self.call(numbers::CLONE, [flags, 0, 0, 0, 0, 0]) } {
            Ok(0) => {
                // It dies with its parent, also when that is ended because it hangs.
                // SAFETY: takes numbers.
                let _ = unsafe { self.call(numbers::PRCTL, [PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0, 0]) };
                let answered = body(self);
                self.step.ended(answered);
                let code = answered.err().map_or(0, |errno| usize::from(errno.0));
                loop {
                    // SAFETY: takes a number.
                    let _ = unsafe { self.call(numbers::EXIT_GROUP, [code, 0, 0, 0, 0, 0]) };
                }
            }
            Ok(child) => Ok(Child(child)),
            Err(errno) => Err(unfit(format_args!("no child process: {errno}"))),
        }
    }

    /// Sends a child a signal.
    pub(crate) fn kill(&self, child: Child, signal: usize) {
        // SAFETY: takes numbers.
        let _ = unsafe { self.call(numbers::KILL, [child.0, signal, 0, 0, 0, 0]) };
    }

    /// Waits for the end of a child; returns its status as `wait4` says it.
    pub(crate) fn status_of(&self, child: Child) -> Result<i32, Trouble> {
        let mut status = 0_i32;
        loop {
            // SAFETY: writes the status.
            let ended =
                unsafe { self.call(numbers::WAIT4, [child.0, (&raw mut status).expose_provenance(), 0, 0, 0, 0]) };
            match ended {
                Ok(_) => return Ok(status),
                Err(Errno::INTR) => {}
                Err(errno) => return Err(unfit(format_args!("wait4: {errno}"))),
            }
        }
    }

    /// Asserts that a child ends by itself, and that its body's call succeeded.
    pub(crate) fn ends_well(&self, child: Child, who: &str) -> Outcome {
        match self.status_of(child)? {
            0 => Ok(()),
            status if status & 0x7f == 0 => wrong(format_args!(
                "the call of {who} answered {}; Linux answers no error",
                Errno((status >> 8 & 0xff) as u16)
            )),
            status => wrong(format_args!("{who} was killed by signal {}", status & 0x7f)),
        }
    }
}
