//! The accesses, by functions in assembly (`x86_64`, `aarch64`) whose instructions that may fault
//! stand in a table; and the way out of a fault at one of them. The functions of the module and its
//! handlers call it.

use core::ffi::c_void;

use super::machine;
use crate::{Address, Fault};

/// Returns the name of a function or a table in assembly. It has the crate's version, so that
/// several versions fit into one program.
macro_rules! symbol {
    ($name:literal) => {
        concat!("leeward_engine_", env!("CARGO_PKG_VERSION_MAJOR"), "_", env!("CARGO_PKG_VERSION_MINOR"), "_", $name)
    };
}
pub(super) use symbol;

/// What a function in assembly returns, in two registers.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Answer {
    value: u64,
    /// 0, or 1 where an instruction faulted.
    fault: u64,
}

impl Answer {
    #[inline(always)]
    fn value(self) -> Result<u64, Fault> {
        if self.fault == 0 { Ok(self.value) } else { Err(Fault) }
    }
}

// Each of these is a leaf: it uses no stack, and changes only registers that its caller does not
// keep. At each instruction of the table it may be left for `leeward_engine_..._faulted`, which
// returns to the same caller.
unsafe extern "C" {
    #[link_name = symbol!("load_u8")]
    safe fn by_load_u8(address: u64) -> Answer;
    #[link_name = symbol!("load_u16")]
    safe fn by_load_u16(address: u64) -> Answer;
    #[link_name = symbol!("load_u32")]
    safe fn by_load_u32(address: u64) -> Answer;
    #[link_name = symbol!("load_u64")]
    safe fn by_load_u64(address: u64) -> Answer;
    #[link_name = symbol!("compare_exchange")]
    fn by_compare_exchange(address: u64, old: u32, new: u32) -> Answer;
    #[link_name = symbol!("swap")]
    fn by_swap(address: u64, new: u32) -> Answer;
    #[link_name = symbol!("fetch_add")]
    fn by_fetch_add(address: u64, argument: u32) -> Answer;
    /// Copies bytes upwards.
    #[link_name = symbol!("copy")]
    fn by_copy(to: u64, from: u64, len: usize) -> Answer;
    /// Where a function goes on whose instruction faulted. Not called.
    #[link_name = symbol!("faulted")]
    fn faulted();
    /// The instructions that may fault: each by its distance from the entry.
    #[link_name = symbol!("faults")]
    static FAULTS: [i32; machine::FAULTS];
}

/// Faults are signals here: handlers are needed.
pub(super) const ARE_SIGNALS: bool = true;

#[inline(always)]
pub(super) fn load_u8(address: Address) -> Result<u64, Fault> {
    by_load_u8(address).value()
}

#[inline(always)]
pub(super) fn load_u16(address: Address) -> Result<u64, Fault> {
    by_load_u16(address).value()
}

#[inline(always)]
pub(super) fn load_u32(address: Address) -> Result<u64, Fault> {
    by_load_u32(address).value()
}

#[inline(always)]
pub(super) fn load_u64(address: Address) -> Result<u64, Fault> {
    by_load_u64(address).value()
}

/// Compares the aligned word at an address, and exchanges it.
///
/// # Safety
/// Memory there may be accessed atomically.
#[inline(always)]
pub(super) unsafe fn compare_exchange(address: Address, old: u32, new: u32) -> Result<u32, Fault> {
    // SAFETY: the caller's promise; a fault is answered.
    Ok(unsafe { by_compare_exchange(address, old, new) }.value()? as u32)
}

/// Exchanges the aligned word at an address.
///
/// # Safety
/// Memory there may be accessed atomically.
#[inline]
pub(super) unsafe fn swap(address: Address, new: u32) -> Result<u32, Fault> {
    // SAFETY: the caller's promise; a fault is answered.
    Ok(unsafe { by_swap(address, new) }.value()? as u32)
}

/// Adds to the aligned word at an address.
///
/// # Safety
/// Memory there may be accessed atomically.
#[inline]
pub(super) unsafe fn fetch_add(address: Address, argument: u32) -> Result<u32, Fault> {
    // SAFETY: the caller's promise; a fault is answered.
    Ok(unsafe { by_fetch_add(address, argument) }.value()? as u32)
}

/// Reads bytes at an address.
pub(super) fn read(address: Address, to: &mut [u8]) -> Result<(), Fault> {
    let place = to.as_mut_ptr().expose_provenance() as u64;
    // SAFETY: writes the caller's bytes; a fault of the reads is answered.
    unsafe { by_copy(place, address, to.len()) }.value()?;
    Ok(())
}

/// Writes bytes at an address.
///
/// # Safety
/// Memory there may be written.
pub(super) unsafe fn write(address: Address, from: &[u8]) -> Result<(), Fault> {
    let place = from.as_ptr().expose_provenance() as u64;
    // SAFETY: the caller's promise; a fault of the writes is answered.
    unsafe { by_copy(address, place, from.len()) }.value()?;
    Ok(())
}

/// Returns where the instructions of the table are.
pub(super) fn instructions() -> impl Iterator<Item = usize> {
    // SAFETY: the table is as long as its type says, and never changes.
    let faults: &'static [i32; machine::FAULTS] = unsafe { &FAULTS };
    faults.iter().map(|distance| core::ptr::from_ref(distance).addr().wrapping_add_signed(*distance as isize))
}

/// Has the interrupted thread go on behind its access, if that is where it was interrupted;
/// returns true then.
///
/// # Safety
/// `context` is that of a signal handler, or a copy.
pub(super) unsafe fn leave(context: *mut c_void) -> bool {
    // SAFETY: the caller's promise.
    let next = unsafe { machine::next_instruction(context) };
    // SAFETY: a field of the context.
    let interrupted = unsafe { next.read() };
    if !instructions().any(|instruction| instruction as u64 == interrupted as u64) {
        return false;
    }
    // SAFETY: a field of the context. The function that was interrupted returns from there to its
    // caller: it had no stack, and its answer is in registers that it may change.
    unsafe { next.write(faulted as *const () as u64 as machine::Register) };
    true
}

/// Returns the mask that the interrupted thread had.
///
/// # Safety
/// `context` is that of a signal handler, or a copy.
pub(super) unsafe fn interrupted_mask(context: *mut c_void) -> libc::sigset_t {
    let mut mask = core::mem::MaybeUninit::<libc::sigset_t>::zeroed();
    // SAFETY: within the context.
    let kept = unsafe { &raw const (*context.cast::<libc::ucontext_t>()).uc_sigmask };
    // SAFETY: the kernel's context has 64 signals, where the C library's type has room for more.
    unsafe { mask.as_mut_ptr().cast::<[u8; 8]>().copy_from_nonoverlapping(kept.cast(), 1) };
    // SAFETY: all zeroes is an empty mask, and any bits are one.
    unsafe { mask.assume_init() }
}
