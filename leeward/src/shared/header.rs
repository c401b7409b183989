//! The header of a region, and what a file looks like whose maker was killed. Called by
//! [`raw_region`](super::raw_region); calls [`file`](super::file).

use core::sync::atomic::AtomicU32;

use rustix::fd::OwnedFd;
use rustix::io::Errno;

use super::file::read_at;

/// "lwrd" in the machine's byte order, so a file of a machine of the other order is not a region
/// here.
pub(super) const MAGIC: u32 = 0x6c77_7264;
/// The number of the layout of this header and of the lock words.
pub(super) const LAYOUT: u32 = 1;
pub(super) const READY: u32 = 1;
/// The value's offset, and the most that it may be aligned to.
pub(super) const VALUE: usize = 64;

/// The beginning of a region; the value follows at [`VALUE`].
#[repr(C)]
pub(super) struct Header {
    /// `MAGIC`; written first.
    pub(super) magic: AtomicU32,
    /// The value of `LAYOUT`.
    pub(super) layout: AtomicU32,
    /// The version that the user gave.
    pub(super) version: AtomicU32,
    /// `READY` when the value has been made, else 0; written last.
    pub(super) state: AtomicU32,
}

const MAGIC_AT: usize = core::mem::offset_of!(Header, magic);
const STATE_AT: usize = core::mem::offset_of!(Header, state);

/// Returns true if a file of `found` bytes is what a killed maker leaves: nothing; zeroes (its
/// memory was being allocated, which some file systems do piece by piece); or a header of ours that
/// does not say that the value is ready.
///
/// A file of zeroes that is longer than `length` was left by no maker of this value: it may be
/// another program's.
pub(super) fn is_unfinished(file: &OwnedFd, found: u64, length: u64) -> Result<bool, Errno> {
    let mut room = [0; 4096];
    let header = read_at(file, &mut room[..16], 0)?;
    let word = |place: usize| u32::from_ne_bytes([room[place], room[place + 1], room[place + 2], room[place + 3]]);
    if header == 16 && word(MAGIC_AT) == MAGIC {
        return Ok(word(STATE_AT) == 0);
    }
    let mut place = 0;
    while found <= length && place < found {
        match read_at(file, &mut room, place)? {
            0 => break,
            count if room[..count].iter().all(|&byte| byte == 0) => place += count as u64,
            _ => return Ok(false),
        }
    }
    Ok(found <= length)
}
