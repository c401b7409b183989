//! Positions in a ring: which lap, and which slot, in one word; and the bits beside them.
//!
//! Positions are words and not indices that count without end, so a capacity need not be a power of two,
//! and nothing is divided. After `ArrayQueue` of crossbeam, where a lap is counted above the index.

/// The bit of a cursor that says that a thread or task sleeps until the cursor moves, or is about to.
pub(super) const SLEEPS: u64 = 1;
/// The bit of a tail that says that the queue is closed.
pub(super) const CLOSED: u64 = 2;
/// One slot: the unit of the index.
const ONE: u64 = 4;

/// The bit of a slot's state that says that the slot has a value.
pub(super) const FILLED: u64 = 1;
/// The bit of a slot's state that says that the slot will not have a value, in the child of a fork: its
/// producer is not there.
pub(super) const PASSED: u64 = 2;

/// Returns the position in a cursor, without the bits beside it.
#[inline]
pub(super) const fn place(cursor: u64) -> u64 {
    cursor & !(SLEEPS | CLOSED)
}

/// How the positions of a ring follow one another.
///
/// | bits of a position | meaning |
/// |---|---|
/// | 0, 1 | 0; in a cursor [`SLEEPS`] and [`CLOSED`], in a slot's state [`FILLED`] and [`PASSED`] |
/// | the next, as many as an index needs | index of the slot |
/// | the others | how often the ring has been gone round, and may wrap around |
#[derive(Clone, Copy)]
pub(super) struct Laps {
    capacity: usize,
    /// The distance between two positions of one slot.
    lap: u64,
}

impl Laps {
    /// Returns how positions follow one another in a ring of `capacity` slots; `None`: there are no such
    /// rings.
    pub(super) const fn new(capacity: usize) -> Option<Laps> {
        match (capacity as u64).checked_next_power_of_two() {
            // Half of the bits that are left count laps, at least.
            Some(indices) if indices <= 1 << 32 => Some(Laps { capacity, lap: indices * ONE }),
            _ => None,
        }
    }

    #[inline]
    pub(super) const fn capacity(self) -> usize {
        self.capacity
    }

    /// Returns the index of a position's slot.
    #[inline]
    pub(super) const fn index(self, position: u64) -> usize {
        ((position & (self.lap - 1)) / ONE) as usize
    }

    /// Returns the position after this one.
    #[inline]
    pub(super) const fn next(self, position: u64) -> u64 {
        if self.index(position) + 1 < self.capacity {
            position + ONE
        } else {
            self.lap_after(position & !(self.lap - 1))
        }
    }

    /// Returns the position before this one.
    pub(super) const fn previous(self, position: u64) -> u64 {
        match self.index(position) {
            0 => self.lap_before(position) + (self.capacity as u64 - 1) * ONE,
            _ => position - ONE,
        }
    }

    /// Returns the next position of the same slot.
    #[inline]
    pub(super) const fn lap_after(self, position: u64) -> u64 {
        position.wrapping_add(self.lap)
    }

    /// Returns the position of the same slot before.
    #[inline]
    pub(super) const fn lap_before(self, position: u64) -> u64 {
        position.wrapping_sub(self.lap)
    }

    /// Returns how many positions there are from `head` on that are before `tail`, which is a lap later at
    /// most.
    pub(super) const fn distance(self, head: u64, tail: u64) -> usize {
        let (from, to) = (self.index(head), self.index(tail));
        if from < to {
            to - from
        } else if from > to || head != tail {
            self.capacity - from + to
        } else {
            0
        }
    }
}
