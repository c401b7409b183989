//! Accesses that the kernel tries, by futex calls: for `fault_in`, and on architectures without
//! assembly before each write. It calls the kernel's futex.

use core::sync::atomic::AtomicU32;

use crate::parking::call;
use crate::{Access, Address, Errno};

/// The kernel's operation that compares a word, then wakes and moves threads: none here.
const READ: i32 = libc::FUTEX_CMP_REQUEUE | libc::FUTEX_PRIVATE_FLAG;
/// The kernel's operation that changes a word atomically.
const WRITE: i32 = libc::FUTEX_WAKE_OP | libc::FUTEX_PRIVATE_FLAG;
/// The change: adds 0; and the condition under which a thread on the word is woken: it was
/// -2,048, which no lock's word and no small counter is.
const ADD_NOTHING: u32 = (libc::FUTEX_OP_ADD as u32) << 28 | (libc::FUTEX_OP_CMP_EQ as u32) << 24 | 0x800;

/// A word on which no thread sleeps: the calls take two.
static OTHER: AtomicU32 = AtomicU32::new(0);

/// Accesses the aligned word at an address, or around it, and leaves its value.
pub(super) fn probe(address: Address, access: Access) -> Result<(), Errno> {
    let Ok(word) = usize::try_from(address & !3) else { return Err(Errno::EFAULT) };
    let other = core::ptr::from_ref(&OTHER).addr();
    let answer = match access {
        // It wakes none and moves none, and says EAGAIN if the word is not that of all bits.
        Access::Read => call::futex([word, READ as usize, 0, 0, other, u32::MAX as usize]),
        Access::Write => call::futex([other, WRITE as usize, 0, 0, word, ADD_NOTHING as usize]),
    };
    match answer {
        Ok(_) | Err(libc::EAGAIN) => Ok(()),
        Err(why) => Err(Errno::from_number(why as u16)),
    }
}
