//! Accesses to memory of the own process that may not be there: an address that cannot be accessed
//! is a [`Fault`] and not the end of the process. For hosts in user space, whose programs name
//! addresses as they like: [`Host::load`](crate::Host::load) and its kin call it.
//!
//! The accesses are a few functions in assembly. Where one of their instructions raises `SIGSEGV`
//! or `SIGBUS`, the signal's handler lets the thread go on at the end of the function, which then
//! answers [`Fault`]; an access that succeeds makes no system call. The handler is that of
//! [`install`], or one of the program's own, which calls [`recover`] first. Without either a fault
//! ends the process, as elsewhere.
//!
//! ```
//! use leeward_engine::parking::user_memory;
//! use leeward_engine::{Access, Errno, Fault};
//!
//! user_memory::install().unwrap();
//! let word = 7_u32;
//! let address = (&raw const word).expose_provenance() as u64;
//! assert_eq!(user_memory::load_u32(address), Ok(7));
//! assert_eq!(user_memory::load_u32(8), Err(Fault));
//! assert_eq!(user_memory::fault_in(8, Access::Read), Err(Errno::EFAULT));
//! ```
//!
//! # What is a fault
//! An address where nothing is mapped, also if it was unmapped a moment ago; the kernel's part of
//! the address space, and what is no address at all; pages without the permission (`PROT_NONE`,
//! read-only ones for what writes, protection keys); a mapped file that was truncated; memory that
//! the hardware reports as broken; and a word that is not aligned to its size.
//!
//! Some accesses take long instead: a page that has to be read from a file makes the thread sleep,
//! and one that is registered with `userfaultfd` makes it wait for the program that serves it. A
//! host whose programs can map such memory looks the address up in a table of its own first.
//!
//! # Which functions are safe
//! *Reading is safe* for any address. What is read is a number like any other: where the compiler
//! knows of the memory, the number may be anything (it may keep the value in a register, or be
//! halfway through writing it), and where all accesses are atomic, it is a relaxed load's. No
//! Rust access is made, so there is no data race to be had. (A device's registers that the process
//! has mapped may change by being read; a host keeps such addresses out.)
//!
//! *Writing is unsafe*, because what is written may be any part of the program. The caller checks
//! that the address is in the memory that it has set aside for its guests.
//!
//! # Signals
//! - The functions may be called by signal handlers, and take no lock; `errno` stays as it was.
//! - `SIGSEGV` and `SIGBUS` must not be blocked in a thread that calls them, nor by the mask of a
//!   handler that does: a fault whose signal is blocked ends the process, as the kernel has it.
//! - Handlers run on the thread's alternative stack, if it has one (`sigaltstack`), so a fault
//!   takes nothing of a small stack. The signal's frame takes up to some 12 KiB where the processor
//!   has large registers (`AT_MINSIGSTKSZ` says how much).
//! - No other signal nests in the handler of [`install`] while it answers a fault, so the stack needs
//!   room for one frame.
//! - A `SIGSEGV` that a program sends (`kill`, `tgkill`) is no fault, whatever it interrupts.
//! - Under a debugger each fault stops the program (in gdb: `handle SIGSEGV nostop noprint pass`).
//!
//! # Threads, forks, libraries
//! All threads may call them, also before they have done anything else: there are no thread-local
//! variables. The child of a fork has the handlers, too; `exec` takes them away. A library that has
//! called [`install`] must not be unloaded, as the handlers are part of it.
//!
//! # Cost
//! On x86-64 a load of 32 bits is 12 instructions, one of 8 bits is 7. A fault costs a signal: 8 µs
//! where a [`fault_in`] costs 1 µs (measured in a virtual machine).
//!
//! # Other architectures
//! The assembly is for x86-64 and AArch64. Elsewhere the kernel makes or tries the accesses, for a
//! system call each: reads are `process_vm_readv`, whose words are copied and not loaded in one
//! access if the kernel copies them so; what writes asks the kernel to write first (`FUTEX_WAKE_OP`
//! that adds 0) and then does it: a page that is unmapped in between ends the process.
//!
//! # Control-flow protection
//! The handler changes the instruction at which the thread goes on, and no stack: the function
//! returns to its caller, so shadow stacks match, and nothing is unwound.

#[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), target_pointer_width = "64"))]
#[path = "assembly.rs"]
mod accesses;
#[cfg(not(all(any(target_arch = "x86_64", target_arch = "aarch64"), target_pointer_width = "64")))]
#[path = "probed.rs"]
mod accesses;
mod handlers;
#[cfg(all(target_arch = "aarch64", target_pointer_width = "64"))]
#[path = "aarch64.rs"]
mod machine;
#[cfg(all(target_arch = "x86_64", target_pointer_width = "64"))]
#[path = "x86_64.rs"]
mod machine;
mod probe;
#[cfg(all(test, any(target_arch = "x86_64", target_arch = "aarch64"), target_pointer_width = "64"))]
mod probed;
#[cfg(test)]
mod tests;

use crate::{Access, Address, Arithmetic, Errno, Fault};

pub use handlers::{install, recover};

/// How often an operation that has no instruction of its own is tried before it gives up, because
/// other threads change the word.
const TRIES: u32 = 64;

/// Reads a byte at any address, as [`load_u32`] reads a word.
///
/// # Errors
/// [`Fault`].
#[inline]
pub fn load_u8(address: Address) -> Result<u8, Fault> {
    Ok(accesses::load_u8(address)? as u8)
}

/// Reads a word of 16 bits at any address, as [`load_u32`] reads one of 32.
///
/// # Errors
/// [`Fault`].
#[inline]
pub fn load_u16(address: Address) -> Result<u16, Fault> {
    aligned(address, 2)?;
    Ok(accesses::load_u16(address)? as u16)
}

/// Reads a word at any address in one access, without a system call: for
/// [`Host::load`](crate::Host::load).
///
/// The value is a relaxed load's where the word is accessed atomically, and else any number
/// ([module](self), "Which functions are safe"). An example is at the [module](self), which also
/// says what signal handlers have to do with it.
///
/// # Errors
/// [`Fault`] if the word cannot be read, or is not aligned.
#[inline]
pub fn load_u32(address: Address) -> Result<u32, Fault> {
    aligned(address, 4)?;
    Ok(accesses::load_u32(address)? as u32)
}

/// Reads a word of 64 bits at any address, as [`load_u32`] reads one of 32.
///
/// # Errors
/// [`Fault`].
#[inline]
pub fn load_u64(address: Address) -> Result<u64, Fault> {
    aligned(address, 8)?;
    accesses::load_u64(address)
}

/// Stores `new` at an address if the word there is `old`, in one step with full ordering; returns
/// what the word was. For [`Host::compare_exchange`](crate::Host::compare_exchange).
///
/// ```
/// use leeward_engine::{Fault, parking::user_memory};
/// use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
///
/// user_memory::install().unwrap();
/// let word = AtomicU32::new(7);
/// let address = word.as_ptr().expose_provenance() as u64;
/// // SAFETY: the word is atomic, and nothing is at the second address.
/// let answers = unsafe {
///     (user_memory::compare_exchange(address, 7, 8), user_memory::compare_exchange(8, 0, 1))
/// };
/// assert_eq!((answers, word.load(SeqCst)), ((Ok(7), Err(Fault)), 8));
/// ```
///
/// # Errors
/// [`Fault`] if the word cannot be read or written, whatever it is, or is not aligned.
///
/// # Safety
/// If there is memory at the address that can be written, it may be accessed atomically by the
/// caller: a guest's memory, or an atomic.
#[inline]
pub unsafe fn compare_exchange(address: Address, old: u32, new: u32) -> Result<u32, Fault> {
    aligned(address, 4)?;
    // SAFETY: the caller's promise.
    unsafe { accesses::compare_exchange(address, old, new) }
}

/// Does `op` to the word at an address, in one step with full ordering; returns what the word was,
/// or `None` where other threads changed it 64 times meanwhile. For
/// [`Host::fetch_op`](crate::Host::fetch_op).
///
/// ```
/// use leeward_engine::{Arithmetic, parking::user_memory};
/// use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
///
/// user_memory::install().unwrap();
/// let word = AtomicU32::new(7);
/// let address = word.as_ptr().expose_provenance() as u64;
/// // SAFETY: the word is atomic.
/// let was = unsafe { user_memory::fetch_op(address, Arithmetic::Add, 3) };
/// assert_eq!((was, word.load(SeqCst)), (Ok(Some(7)), 10));
/// ```
///
/// # Errors
/// [`Fault`] if the word cannot be read or written, or is not aligned.
///
/// # Safety
/// That of [`compare_exchange`].
pub unsafe fn fetch_op(address: Address, op: Arithmetic, argument: u32) -> Result<Option<u32>, Fault> {
    aligned(address, 4)?;
    match op {
        // SAFETY: the caller's promise.
        Arithmetic::Set => unsafe { accesses::swap(address, argument) }.map(Some),
        // SAFETY: as above.
        Arithmetic::Add => unsafe { accesses::fetch_add(address, argument) }.map(Some),
        // SAFETY: as above.
        Arithmetic::Or | Arithmetic::AndNot | Arithmetic::Xor => unsafe { exchange_op(address, op, argument) },
    }
}

/// Does `op` to a word by compare-exchanges.
///
/// # Safety
/// That of [`compare_exchange`].
unsafe fn exchange_op(address: Address, op: Arithmetic, argument: u32) -> Result<Option<u32>, Fault> {
    let mut old = accesses::load_u32(address)? as u32;
    for _ in 0..TRIES {
        // SAFETY: the caller's promise.
        let now = unsafe { accesses::compare_exchange(address, old, op.apply(old, argument)) }?;
        if now == old {
            return Ok(Some(old));
        }
        old = now;
    }
    Ok(None)
}

/// Reads bytes at any address, in no particular accesses: for [`Host::read`](crate::Host::read).
///
/// ```
/// use leeward_engine::{Fault, parking::user_memory};
///
/// user_memory::install().unwrap();
/// let (from, mut to) = (*b"waiters", [0; 7]);
/// assert_eq!(user_memory::read(from.as_ptr().expose_provenance() as u64, &mut to), Ok(()));
/// assert_eq!(&to, b"waiters");
/// assert_eq!(user_memory::read(8, &mut to), Err(Fault));
/// ```
///
/// # Errors
/// [`Fault`] if one of them cannot be read; `to` may have some of those before it.
pub fn read(address: Address, to: &mut [u8]) -> Result<(), Fault> {
    accesses::read(address, to)
}

/// Writes bytes at an address, in no particular accesses: for
/// [`RobustHost::write`](crate::RobustHost::write).
///
/// ```
/// use leeward_engine::{Fault, parking::user_memory};
///
/// user_memory::install().unwrap();
/// let mut to = [0; 7];
/// let address = to.as_mut_ptr().expose_provenance() as u64;
/// // SAFETY: the caller's own bytes; nothing is at the second address.
/// let answers = unsafe {
///     (user_memory::write(address, b"waiters"), user_memory::write(8, b"waiters"))
/// };
/// assert_eq!((answers, &to), ((Ok(()), Err(Fault)), b"waiters"));
/// ```
///
/// # Errors
/// [`Fault`] if one of them cannot be written; those before it may have been.
///
/// # Safety
/// If there is memory at these addresses that can be written, the caller may write it: no other
/// thread accesses it meanwhile, or all such accesses are those of guests, as by these functions.
pub unsafe fn write(address: Address, from: &[u8]) -> Result<(), Fault> {
    // SAFETY: the caller's promise.
    unsafe { accesses::write(address, from) }
}

/// Has the kernel bring in the page of a word, as an access to it does: for
/// [`Host::fault_in`](crate::Host::fault_in). The word keeps its value.
///
/// The kernel is asked by futex calls that access the word themselves and do nothing else (a
/// comparing requeue of no thread, an atomic addition of 0). So the answer is the one that its own
/// futex operations give, on every kernel, and a sandbox that permits futexes permits it. (A thread
/// that sleeps on the word by the kernel's futex, and not by the engine, may wake for no reason.)
///
/// It takes no handler, works with signals blocked, and may be called by a signal handler; `errno`
/// stays as it was. It costs one system call.
///
/// # Errors
/// `EFAULT` where the page cannot be accessed; the kernel's answer, if it refuses the call.
pub fn fault_in(address: Address, access: Access) -> Result<(), Errno> {
    probe::probe(address, access)
}

/// Returns an error unless an address is a multiple of `size`.
#[inline(always)]
fn aligned(address: Address, size: u64) -> Result<(), Fault> {
    if address % size == 0 { Ok(()) } else { Err(Fault) }
}
