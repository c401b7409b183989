//! Signals of a scenario: what their handlers do, and to which threads and children they are sent.

use core::mem::size_of;
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use crate::numbers;
use crate::processes::Child;
use crate::scenario::{Outcome, Trouble};
use crate::world::{Body, Started, World, unfit};

/// A signal for handlers.
pub(crate) const USR1: usize = 10;
/// A signal that has no handler.
pub(crate) const USR2: usize = 12;
const CONT: usize = 18;
const STOP: usize = 19;

#[cfg(target_arch = "x86_64")]
const SA_RESTORER: usize = 0x0400_0000;
const SA_RESTART: usize = 0x1000_0000;
const SIG_DFL: usize = 0;
const SIG_IGN: usize = 1;
const WUNTRACED: usize = 2;

/// What becomes of a wait that a handler interrupted.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum After {
    /// The call ends.
    End,
    /// The call is made again, if it is one of those (`SA_RESTART`).
    Restart,
}

/// The world of the scenario that has handlers: one, as a process has one handler for a signal.
static WORLD: AtomicUsize = AtomicUsize::new(0);
/// What its handler does: a `Body`.
static BODY: AtomicUsize = AtomicUsize::new(0);
/// How many times a handler has run to its end.
static HANDLED: AtomicU32 = AtomicU32::new(0);

/// `struct sigaction` as the kernel reads it.
#[repr(C)]
struct Action {
    handler: usize,
    flags: usize,
    #[cfg(not(target_arch = "riscv64"))]
    restorer: usize,
    mask: u64,
}

extern "C" fn handler(_signal: i32) {
    let world = core::ptr::with_exposed_provenance::<World<'_>>(WORLD.load(Ordering::SeqCst));
    // SAFETY: `handle` stored it, and worlds stay for ever.
    let world = unsafe { &*world };
    let body = core::ptr::with_exposed_provenance::<()>(BODY.load(Ordering::SeqCst));
    // SAFETY: `handle` stored a function of this type.
    let body = unsafe { core::mem::transmute::<*const (), Body>(body) };
    // A call that is absent here makes the scenario absent, as on a thread.
    world.step.ended(body(world));
    HANDLED.fetch_add(1, Ordering::SeqCst);
}

/// Returns the address of the instructions by which a handler returns to the kernel. The other
/// architectures' kernels have them in a page of their own.
#[cfg(target_arch = "x86_64")]
fn restorer() -> usize {
    let address;
    // SAFETY: jumps over the instructions whose address it takes.
    unsafe {
        core::arch::asm!("lea {address}, [rip + 2f]", "jmp 3f", "2:", "mov eax, {number}", "syscall", "3:",
            address = out(reg) address, number = const numbers::RT_SIGRETURN, options(nomem, nostack, preserves_flags));
    }
    address
}

impl World<'_> {
    /// Lets `body` run on the thread that `USR1` is sent to.
    pub(crate) fn handle(&self, after: After, body: Body) -> Outcome {
        WORLD.store((&raw const *self).expose_provenance(), Ordering::SeqCst);
        BODY.store(body as usize, Ordering::SeqCst);
        let handler = handler as extern "C" fn(i32) as usize;
        self.act(USR1, handler, if after == After::Restart { SA_RESTART } else { 0 })
    }

    /// Lets a signal be ignored.
    pub(crate) fn ignore(&self, signal: usize) -> Outcome {
        self.act(signal, SIG_IGN, 0)
    }

    /// Lets a signal do again what it does in a new process.
    pub(crate) fn by_default(&self, signal: usize) -> Outcome {
        self.act(signal, SIG_DFL, 0)
    }

    fn act(&self, signal: usize, handler: usize, flags: usize) -> Outcome {
        let action = Action {
            handler,
            #[cfg(target_arch = "x86_64")]
            flags: flags | SA_RESTORER,
            #[cfg(not(target_arch = "x86_64"))]
            flags,
            #[cfg(target_arch = "x86_64")]
            restorer: restorer(),
            #[cfg(not(any(target_arch = "x86_64", target_arch = "riscv64")))]
            restorer: 0,
            mask: 0,
        };
        let address = (&raw const action).expose_provenance();
        // SAFETY: reads the action; the handler may run on any thread of the scenario's.
        let acts = unsafe { self.call(numbers::RT_SIGACTION, [signal, address, 0, size_of::<u64>(), 0, 0]) };
        acts.map(drop).map_err(|errno| unfit(format_args!("rt_sigaction: {errno}")))
    }

    /// Sends a signal to a thread.
    pub(crate) fn send(&self, thread: Started, signal: usize) -> Outcome {
        self.send_to(self.number_of(thread) as usize, signal)
    }

    /// Sends a signal to the thread with this number.
    pub(crate) fn send_to(&self, thread: usize, signal: usize) -> Outcome {
        // SAFETY: takes no argument.
        let process = unsafe { self.call(numbers::GETPID, [0; 6]) };
        let process = process.map_err(|errno| unfit(format_args!("getpid: {errno}")))?;
        // SAFETY: takes numbers.
        let sent = unsafe { self.call(numbers::TGKILL, [process, thread, signal, 0, 0, 0]) };
        sent.map(drop).map_err(|errno| unfit(format_args!("tgkill: {errno}")))
    }

    /// Sends `USR1` to a thread that sleeps, and waits until its handler has run. A thread whose call has
    /// ended, since there is none such, needs no signal.
    pub(crate) fn interrupt(&self, thread: Started) -> Outcome {
        let before = HANDLED.load(Ordering::SeqCst);
        if self.has_ended(thread) {
            return Ok(());
        }
        self.send(thread, USR1)?;
        self.step(&"waits until the handler of a signal has run on the thread that sleeps");
        self.wait_until(|| HANDLED.load(Ordering::SeqCst) != before || self.has_ended(thread));
        Ok(())
    }

    /// Stops a child, and waits until it has stopped. Returns its status if it has ended instead, which
    /// then has none any more.
    pub(crate) fn stop(&self, child: Child) -> Result<Option<i32>, Trouble> {
        self.kill(child, STOP);
        let mut status = 0_i32;
        let arguments = [child.0, (&raw mut status).expose_provenance(), WUNTRACED, 0, 0, 0];
        self.step(&"waits until a child that is sent SIGSTOP has stopped");
        // SAFETY: writes the status.
        let stopped = unsafe { self.call(numbers::WAIT4, arguments) };
        stopped.map_err(|errno| unfit(format_args!("wait4 of a stopped child: {errno}")))?;
        Ok((status & 0xff != 0x7f).then_some(status))
    }

    /// Lets a stopped child go on.
    pub(crate) fn go_on(&self, child: Child) {
        self.kill(child, CONT);
    }
}
