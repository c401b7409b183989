//! The linear memory of a guest, in safe code: an array of 64-bit words, with room for the largest
//! length. `evaluate` reads and writes it; the adapter sees it as a `LinearMemory`.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::SeqCst;

use leeward_wasm::{LinearMemory, Trap};

pub const PAGE: u64 = 65536;
/// The most pages that a memory may grow to here, whatever its type allows.
const MOST: u64 = 64;

pub struct Linear {
    words: Box<[AtomicU64]>,
    length: AtomicU64,
    most: u64,
    pub maximum: Option<u64>,
    shared: bool,
}

impl Linear {
    /// Makes a memory of `pages` pages; none if it is too large for this tool.
    pub fn new(pages: u64, maximum: Option<u64>, shared: bool) -> Option<Linear> {
        let most = maximum.unwrap_or(MOST).min(MOST);
        let words = (0..most * PAGE / 8).map(|_| AtomicU64::new(0)).collect();
        (pages <= most).then(|| Linear { words, length: AtomicU64::new(pages * PAGE), most, maximum, shared })
    }

    pub fn pages(&self) -> u64 {
        self.length.load(SeqCst) / PAGE
    }

    /// Serves memory.grow: returns the length before, or -1.
    pub fn grow(&self, by: u64) -> i32 {
        let grown = |length: u64| Some(length + by * PAGE).filter(|length| *length <= self.most * PAGE);
        self.length.fetch_update(SeqCst, SeqCst, grown).map_or(-1, |before| (before / PAGE) as i32)
    }

    /// Returns the effective address of an access, which may trap.
    pub fn address(&self, base: u64, offset: u64, bytes: u64, aligned: bool) -> Result<u64, Trap> {
        let address = base.checked_add(offset).ok_or(Trap::OutOfBounds)?;
        if aligned && address % bytes != 0 {
            return Err(Trap::Unaligned);
        }
        let within = address.checked_add(bytes).is_some_and(|end| end <= self.length());
        if within { Ok(address) } else { Err(Trap::OutOfBounds) }
    }

    /// Changes an aligned word of 1, 2, 4 or 8 bytes in one step; returns what it was.
    pub fn change(&self, address: u64, bytes: u64, to: impl Fn(u64) -> u64) -> u64 {
        let above = 8 * (address % 8);
        let mask = u64::MAX >> (64 - 8 * bytes);
        let changed = |word: u64| Some(word & !(mask << above) | (to(word >> above & mask) & mask) << above);
        let (Ok(was) | Err(was)) = self.words[address as usize / 8].fetch_update(SeqCst, SeqCst, changed);
        was >> above & mask
    }

    /// Reads bytes, aligned or not: together if aligned, else one after the other.
    pub fn load(&self, address: u64, bytes: u64) -> u64 {
        if address % bytes == 0 {
            let word = self.words[address as usize / 8].load(SeqCst) >> (8 * (address % 8));
            return word & u64::MAX >> (64 - 8 * bytes);
        }
        (0..bytes).rev().fold(0, |value, at| value << 8 | self.load(address + at, 1))
    }

    /// Writes bytes, aligned or not.
    pub fn store(&self, address: u64, bytes: u64, value: u64) {
        if address % bytes == 0 {
            self.change(address, bytes, |_| value);
            return;
        }
        (0..bytes).for_each(|at| self.store(address + at, 1, value >> (8 * at)));
    }
}

impl LinearMemory for Linear {
    fn length(&self) -> u64 {
        self.length.load(SeqCst)
    }

    fn is_shared(&self) -> bool {
        self.shared
    }

    fn load32(&self, offset: u64) -> Option<u32> {
        self.address(offset, 0, 4, true).ok().map(|address| self.load(address, 4) as u32)
    }

    fn load64(&self, offset: u64) -> Option<u64> {
        self.address(offset, 0, 8, true).ok().map(|address| self.load(address, 8))
    }
}
