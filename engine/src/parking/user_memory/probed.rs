//! The accesses where there is no assembly for them: the kernel makes or tries them, by a system
//! call each. The functions of the module call it; on other architectures only its tests do.

use core::ffi::c_void;
use core::sync::atomic::{AtomicU32, Ordering};

use super::probe::probe;
use crate::{Access, Address, Fault};

/// No fault is a signal here.
#[cfg_attr(test, allow(dead_code))]
pub(super) const ARE_SIGNALS: bool = false;

/// No signal is a fault of these accesses.
///
/// # Safety
/// None is asked for: it does nothing.
#[cfg_attr(test, allow(dead_code))]
pub(super) unsafe fn leave(_: *mut c_void) -> bool {
    false
}

/// Returns an empty mask: no handler is installed that could ask.
///
/// # Safety
/// None is asked for.
#[cfg_attr(test, allow(dead_code))]
pub(super) unsafe fn interrupted_mask(_: *mut c_void) -> libc::sigset_t {
    // SAFETY: all zeroes is an empty mask.
    unsafe { core::mem::zeroed() }
}

pub(super) fn load_u8(address: Address) -> Result<u64, Fault> {
    let mut bytes = [0; 1];
    read(address, &mut bytes)?;
    Ok(bytes[0].into())
}

pub(super) fn load_u16(address: Address) -> Result<u64, Fault> {
    let mut bytes = [0; 2];
    read(address, &mut bytes)?;
    Ok(u16::from_ne_bytes(bytes).into())
}

pub(super) fn load_u32(address: Address) -> Result<u64, Fault> {
    let mut bytes = [0; 4];
    read(address, &mut bytes)?;
    Ok(u32::from_ne_bytes(bytes).into())
}

pub(super) fn load_u64(address: Address) -> Result<u64, Fault> {
    let mut bytes = [0; 8];
    read(address, &mut bytes)?;
    Ok(u64::from_ne_bytes(bytes))
}

/// Returns the aligned word at an address, which the kernel could write a moment ago.
///
/// # Safety
/// Memory there may be accessed atomically.
unsafe fn writable<'a>(address: Address) -> Result<&'a AtomicU32, Fault> {
    probe(address, Access::Write).map_err(|_| Fault)?;
    let word = core::ptr::with_exposed_provenance_mut(address as usize);
    // SAFETY: the caller's promise, for memory that is there. If it was unmapped since, the access
    // ends the process.
    Ok(unsafe { AtomicU32::from_ptr(word) })
}

/// Compares the aligned word at an address, and exchanges it.
///
/// # Safety
/// Memory there may be accessed atomically.
pub(super) unsafe fn compare_exchange(address: Address, old: u32, new: u32) -> Result<u32, Fault> {
    // SAFETY: the caller's promise.
    let word = unsafe { writable(address) }?;
    // SeqCst, both: full ordering is promised.
    let (Ok(was) | Err(was)) = word.compare_exchange(old, new, Ordering::SeqCst, Ordering::SeqCst);
    Ok(was)
}

/// Exchanges the aligned word at an address.
///
/// # Safety
/// Memory there may be accessed atomically.
pub(super) unsafe fn swap(address: Address, new: u32) -> Result<u32, Fault> {
    // SAFETY: the caller's promise. SeqCst: full ordering is promised.
    Ok(unsafe { writable(address) }?.swap(new, Ordering::SeqCst))
}

/// Adds to the aligned word at an address.
///
/// # Safety
/// Memory there may be accessed atomically.
pub(super) unsafe fn fetch_add(address: Address, argument: u32) -> Result<u32, Fault> {
    // SAFETY: the caller's promise. SeqCst: full ordering is promised.
    Ok(unsafe { writable(address) }?.fetch_add(argument, Ordering::SeqCst))
}

/// Reads bytes at an address.
pub(super) fn read(address: Address, to: &mut [u8]) -> Result<(), Fault> {
    copy(libc::SYS_process_vm_readv, to.as_mut_ptr(), address, to.len())
}

/// Writes bytes at an address.
///
/// # Safety
/// Memory there may be written.
pub(super) unsafe fn write(address: Address, from: &[u8]) -> Result<(), Fault> {
    copy(libc::SYS_process_vm_writev, from.as_ptr().cast_mut(), address, from.len())
}

/// Has the kernel copy between bytes of the caller's and memory at an address. Leaves `errno`.
fn copy(call: libc::c_long, own: *mut u8, address: Address, len: usize) -> Result<(), Fault> {
    let start = usize::try_from(address).map_err(|_| Fault)?;
    let own = libc::iovec { iov_base: own.cast(), iov_len: len };
    let other = libc::iovec { iov_base: core::ptr::with_exposed_provenance_mut(start), iov_len: len };
    // SAFETY: returns the address of the calling thread's variable, which is valid as long as the
    // thread lives.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: as above.
    let before = unsafe { errno.read() };
    // SAFETY: no arguments.
    let process = unsafe { libc::getpid() };
    // SAFETY: the caller's bytes, and memory that the kernel checks and the caller may access.
    let copied = unsafe { libc::syscall(call, process, &raw const own, 1_usize, &raw const other, 1_usize, 0_usize) };
    // SAFETY: as above.
    unsafe { errno.write(before) };
    if copied as usize == len { Ok(()) } else { Err(Fault) }
}
