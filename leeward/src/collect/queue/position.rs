//! A place in a queue of blocks, as one word: a block and an index.

/// The alignment of a block: its address ends with this many zeros, as a power of two, and an
/// address has 48 bits. What is left of a word of 64 bits counts.
pub(super) const ALIGN: usize = 1 << ALIGN_BITS;
const ALIGN_BITS: u32 = 7;
const ADDRESS_BITS: u32 = 48;
/// The bits below the block.
const LOW_BITS: u32 = 64 - (ADDRESS_BITS - ALIGN_BITS);

/// The bit that says that the consumer sleeps, or is about to.
pub(super) const SLEEPS: u64 = 1;
/// One slot: the unit of the index.
pub(super) const ONE: u64 = 2;

/// A block and the index of a slot.
///
/// | bits | meaning |
/// |---|---|
/// | 0 | in a tail: the consumer sleeps, or is about to |
/// | 1-22 | index: of the slot that is pushed or popped next; more than a block has: it is full |
/// | 23-63 | bits 7 to 47 of the block's address; 0: no block |
///
/// The index of a tail may pass a block's capacity, by one for each thread that found the block full,
/// and takes that back if there is no memory for the next.
/// Linux has fewer than 2^22 threads, and not all of them are of one process, so it does not reach
/// 2^22.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Position(u64);

impl Position {
    /// Returns the position `index` in the block at `block`, which [`is_fit`] holds for.
    pub(super) fn new<B>(block: *mut B, index: usize) -> Position {
        let address = block.expose_provenance() as u64;
        Position((address >> ALIGN_BITS << LOW_BITS) + index as u64 * ONE)
    }

    /// Returns the position in a queue without a block, whose capacity is `index`.
    pub(super) const fn nowhere(index: usize) -> Position {
        Position(index as u64 * ONE)
    }

    pub(super) const fn of_word(word: u64) -> Position {
        Position(word)
    }

    pub(super) const fn word(self) -> u64 {
        self.0
    }

    /// Returns the block; null: there is none.
    pub(super) fn block<B>(self) -> *mut B {
        core::ptr::with_exposed_provenance_mut((self.0 >> LOW_BITS << ALIGN_BITS) as usize)
    }

    pub(super) const fn index(self) -> usize {
        (self.0 & ((1 << LOW_BITS) - 1)) as usize >> 1
    }

    /// Returns true if the consumer sleeps, or is about to.
    pub(super) const fn sleeps(self) -> bool {
        self.0 & SLEEPS != 0
    }

    pub(super) const fn with_sleeper(self) -> Position {
        Position(self.0 | SLEEPS)
    }

    /// Returns the position of the next slot.
    pub(super) const fn next(self) -> Position {
        Position(self.0 + ONE)
    }

    /// Returns the position of the slot before.
    pub(super) const fn previous(self) -> Position {
        Position(self.0 - ONE)
    }

    /// Returns true if this is the same place as `other`, where a block has `capacity` slots: not
    /// heeding a sleeper, nor by how much an index passes the capacity.
    pub(super) const fn is_at(self, other: Position, capacity: usize) -> bool {
        let (left, right) = (self.index(), other.index());
        self.0 >> LOW_BITS == other.0 >> LOW_BITS && (left == right || (left >= capacity && right >= capacity))
    }
}

/// Returns true if a block may lie at `address`: a [`Position`] has room for it.
pub(super) const fn is_fit(address: usize) -> bool {
    address % ALIGN == 0 && (address as u64) >> ADDRESS_BITS == 0
}
