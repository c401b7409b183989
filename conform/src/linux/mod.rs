//! The system calls of the process that this runs in, made without a C library, and scenarios in child
//! processes.

mod apart;
mod calls;
#[cfg(feature = "sequences")]
mod sequences;

use core::ptr::NonNull;

pub use apart::{apart, apart_with};
#[cfg(feature = "sequences")]
pub use sequences::{sequences_apart, sequences_apart_with};

use crate::errno::{Answer, Errno, answer};
use crate::numbers;
use crate::syscalls::{Syscalls, THREAD};

/// The size of a thread's stack, in bytes.
const STACK: usize = 64 * 1024;
const PROT_READ_WRITE: usize = 3;
const MAP_PRIVATE: usize = 2;
const MAP_ANONYMOUS: usize = 0x20;
/// Commands of `reboot`.
const CONTROL_ALT_DELETE_IS_A_SIGNAL: usize = 0;
const POWER_OFF: usize = 0x4321_fedc;

/// The kernel below this process.
#[derive(Clone, Copy, Debug, Default)]
pub struct Linux;

impl Syscalls for Linux {
    unsafe fn call(&self, number: usize, arguments: [usize; 6]) -> isize {
        // SAFETY: the caller's promise.
        unsafe { calls::call(number, arguments) }
    }

    unsafe fn spawn(&self, body: extern "C" fn(usize), argument: usize) -> Result<(), Errno> {
        // SAFETY: the caller's promise; nothing is written.
        unsafe { self.spawn_as(THREAD, [0; 2], body, argument) }.map(drop)
    }

    unsafe fn spawn_as(
        &self,
        flags: usize,
        [parent, child]: [usize; 2],
        body: extern "C" fn(usize),
        argument: usize,
    ) -> Answer {
        // The stack stays mapped: no call tells when its thread has left it.
        let stack = map(STACK, MAP_PRIVATE)?;
        let task = calls::Task { flags, parent, child, top: stack.addr().get() + STACK };
        // SAFETY: a stack of its own; the caller's promise.
        answer(unsafe { calls::start(task, body, argument) })
    }
}

fn map(size: usize, how: usize) -> Result<NonNull<u8>, Errno> {
    let arguments = [0, size, PROT_READ_WRITE, how | MAP_ANONYMOUS, usize::MAX, 0];
    // SAFETY: a new mapping.
    let memory = call(numbers::MMAP, arguments)?;
    NonNull::new(core::ptr::with_exposed_provenance_mut(memory)).ok_or(Errno::NOMEM)
}

/// Makes a system call that gets no address of Rust's.
fn call(number: usize, arguments: [usize; 6]) -> Answer {
    // SAFETY: see above.
    answer(unsafe { calls::call(number, arguments) })
}

/// Ends the process with this code.
pub fn exit(code: i32) -> ! {
    loop {
        // It does not return.
        let _ = call(numbers::EXIT_GROUP, [code as usize, 0, 0, 0, 0, 0]);
    }
}

/// Returns true if this process is the first of a machine that it may power off: not of a namespace, in a container.
pub fn is_init() -> bool {
    // In a namespace of processes no command but those that end it is known; this one is about a keyboard.
    call(numbers::GETPID, [0; 6]) == Ok(1) && reboot(CONTROL_ALT_DELETE_IS_A_SIGNAL).is_ok()
}

/// Powers the machine off. Returns why it cannot.
pub fn power_off() -> Errno {
    reboot(POWER_OFF).err().unwrap_or(Errno::NOSYS)
}

fn reboot(command: usize) -> Answer {
    const MAGIC: [usize; 2] = [0xfee1_dead, 0x2812_1969];
    call(numbers::REBOOT, [MAGIC[0], MAGIC[1], command, 0, 0, 0])
}

/// Writes bytes to a descriptor.
///
/// # Errors
/// Those of `write`.
pub fn write(descriptor: i32, mut bytes: &[u8]) -> Result<(), Errno> {
    while !bytes.is_empty() {
        let written =
            call(numbers::WRITE, [descriptor as usize, bytes.as_ptr().expose_provenance(), bytes.len(), 0, 0, 0])?;
        bytes = &bytes[written.min(bytes.len())..];
    }
    Ok(())
}
