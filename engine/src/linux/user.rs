//! User memory as bytes: checks of its range, and numbers in what was read of it. Used by the
//! decoders and by `robust`.

use crate::{Address, Host};

/// Returns true if `len` bytes of user memory can be at that address: the host is asked for the
/// first byte and the last.
pub(crate) fn in_range<H: Host>(host: &H, address: Address, len: usize) -> bool {
    let Some(last) = address.checked_add(len.saturating_sub(1) as u64) else { return false };
    host.in_range(address) && host.in_range(last)
}

/// Returns the 64-bit number at an offset.
pub(crate) fn double(bytes: &[u8], at: usize) -> u64 {
    let mut number = [0_u8; 8];
    number.copy_from_slice(&bytes[at..at + 8]);
    u64::from_ne_bytes(number)
}

/// Returns the 32-bit number at an offset.
pub(crate) fn single(bytes: &[u8], at: usize) -> u32 {
    let mut number = [0_u8; 4];
    number.copy_from_slice(&bytes[at..at + 4]);
    u32::from_ne_bytes(number)
}
