//! User memory as bytes: whether it can be there, and what lies in what was read of it.

use crate::{Address, Host};

/// Whether user memory can be at all of so many bytes: the first and the last are asked for.
pub(crate) fn in_range<H: Host>(host: &H, address: Address, len: usize) -> bool {
    let Some(last) = address.checked_add(len.saturating_sub(1) as u64) else { return false };
    host.in_range(address) && host.in_range(last)
}

/// The 64 bits at an offset.
pub(crate) fn double(bytes: &[u8], at: usize) -> u64 {
    let mut number = [0_u8; 8];
    number.copy_from_slice(&bytes[at..at + 8]);
    u64::from_ne_bytes(number)
}

/// The 32 bits at an offset.
pub(crate) fn single(bytes: &[u8], at: usize) -> u32 {
    let mut number = [0_u8; 4];
    number.copy_from_slice(&bytes[at..at + 4]);
    u32::from_ne_bytes(number)
}
