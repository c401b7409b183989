//! A line of the table: one cache line with seven slots, their tags, and the lock of its writers.
//!
//! | bits of the word | what they say |
//! |---|---|
//! | 8 *i* to 8 *i* + 7, *i* < 7 | the tag of slot *i*: 0: free; else bit 7, and 7 bits of the node's hash |
//! | 56, `LOCKED` | a writer changes the line and its overflow lines |
//! | 57, `WAITERS` | another writer sleeps until they are unlocked |
//! | 58, `OVERFLOW` | there are overflow lines |
//! | 59, `MOVED` | the nodes are in the next table; all tags are 0 |
//!
//! Tags, lock and the state of a move are one word, so that one store of a writer publishes its
//! change and unlocks the line, and one load of a reader tells it all.

use super::tags::Matches;
use crate::atomic::{AtomicPtr, AtomicU64, IS_MODEL, Ordering, const_fn};
use crate::mutant::{mutated, order};

/// The number of slots of a line.
pub(super) const SLOTS: usize = 7;

/// The bits of tags that are set where a slot has a node.
const USED: u64 = 0x0080_8080_8080_8080;
const LOCKED: u64 = 1 << 56;
const WAITERS: u64 = 1 << 57;
const OVERFLOW: u64 = 1 << 58;
const MOVED: u64 = 1 << 59;

/// Returns the tag of nodes with this hash: never 0.
#[inline(always)]
fn tag_of(hash: u64) -> u8 {
    (hash >> 57) as u8 | if mutated!(map_tag_bit) { 0 } else { 0x80 }
}

/// The word of a line, as it was loaded.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Tags(u64);

impl Tags {
    /// Returns the slots whose nodes may have this hash.
    #[inline(always)]
    pub(super) fn matches(self, hash: u64) -> Matches {
        Matches::new(self.0, tag_of(hash))
    }

    /// Returns true if the slots are all there is: no overflow lines, no move, and no writer.
    #[inline(always)]
    pub(super) fn is_plain(self) -> bool {
        self.0 >> 56 == 0
    }

    #[inline]
    pub(super) fn is_moved(self) -> bool {
        self.0 & MOVED != 0
    }

    #[inline]
    pub(super) fn has_overflow(self) -> bool {
        self.0 & OVERFLOW != 0
    }

    /// Returns true if the slot has a node.
    #[inline]
    pub(super) fn is_used(self, slot: usize) -> bool {
        self.0 >> (8 * slot) & 0xff != 0
    }

    /// Returns the slots that have nodes.
    pub(super) fn used(self) -> impl Iterator<Item = usize> {
        (0..SLOTS).filter(move |&slot| self.is_used(slot))
    }

    /// Returns a slot that has none.
    #[inline]
    pub(super) fn free(self) -> Option<usize> {
        // The highest bit of a tag is set.
        let free = !self.0 & USED;
        (free != 0).then(|| free.trailing_zeros() as usize / 8)
    }

    /// Returns the word with a node of this hash in a slot that was free.
    #[inline]
    pub(super) fn with(self, slot: usize, hash: u64) -> Tags {
        Tags(self.0 | u64::from(tag_of(hash)) << (8 * slot))
    }

    #[inline]
    pub(super) fn without(self, slot: usize) -> Tags {
        Tags(self.0 & !(0xff << (8 * slot)))
    }

    #[inline]
    pub(super) fn with_overflow(self) -> Tags {
        Tags(self.0 | OVERFLOW)
    }

    /// Returns the word of a line without nodes.
    #[inline]
    pub(super) fn none() -> Tags {
        Tags(0)
    }

    /// Returns the word of a line whose nodes are in the next table.
    pub(super) fn moved() -> Tags {
        Tags(MOVED)
    }
}

/// What a writer found that asked for a line's lock.
pub(super) enum LineLock {
    /// It has the lock. This is the word, without the bits of the lock.
    Yes(Tags),
    /// The nodes are in the next table.
    Moved,
    /// Another writer has it.
    Waits,
}

const_fn! {
    fn null() -> AtomicPtr<()> {
        AtomicPtr::new(core::ptr::null_mut())
    }
}

/// Seven slots and their word.
#[repr(C, align(64))]
pub(super) struct Line {
    tags: AtomicU64,
    nodes: [AtomicPtr<()>; SLOTS],
}

impl Line {
    const_fn! {
        /// Makes a line without nodes, which is made of zeros.
        pub(super) fn new() -> Line {
            Line { tags: AtomicU64::new(0), nodes: [null(), null(), null(), null(), null(), null(), null()] }
        }
    }

    /// Loads the word.
    #[inline(always)]
    pub(super) fn tags(&self) -> Tags {
        // Acquire: partner of the release in `publish`: the nodes' addresses and what they have, the
        // overflow lines, the next table and the line in it.
        Tags(self.tags.load(order!(Acquire, map_tags_acquire)))
    }

    /// Returns the node in a slot that had one when the word was loaded: that one, or one that was
    /// put there since.
    #[inline(always)]
    pub(super) fn node(&self, slot: usize) -> *mut () {
        // SAFETY: callers have slots from `Tags`, which are below 7.
        let node = unsafe { self.nodes.get_unchecked(slot) };
        // Acquire: partner of the release in `set`: what the node has, if it took the place of another.
        let node = node.load(order!(Acquire, map_node_acquire));
        assert!(!IS_MODEL || !node.is_null(), "Causality violation: a tag is seen before its node");
        node
    }

    /// Puts a node into a slot, for a writer that has the lock. Readers look at it once the word
    /// has the slot's tag, or at once if it takes the place of another.
    #[inline]
    pub(super) fn set(&self, slot: usize, node: *mut ()) {
        // Release: what the node has. Partner: the acquire in `node`.
        self.nodes[slot].store(node, order!(Release, map_node_release));
    }

    /// Tries to take the lock. `marks`: if another writer has it, that writer will see that this
    /// one waits.
    #[inline]
    pub(super) fn try_lock(&self, marks: bool) -> LineLock {
        // Acquire, here and where the exchange fails: partner of the release in `publish`: a writer that
        // finds the line moved finds the next table.
        let mut now = self.tags.load(order!(Acquire, map_lock_acquire));
        loop {
            if now & MOVED != 0 {
                return LineLock::Moved;
            }
            let wanted = if now & LOCKED == 0 { now | LOCKED } else { now | WAITERS };
            if wanted == now || (now & LOCKED != 0 && !marks) {
                return LineLock::Waits;
            }
            // Acquire: as above, and what the last writer did.
            let order = order!(Acquire, map_lock_acquire);
            match self.tags.compare_exchange(now, wanted, order, order) {
                Ok(_) if now & LOCKED == 0 => return LineLock::Yes(Tags(now & !WAITERS)),
                Ok(_) => return LineLock::Waits,
                Err(found) => now = found,
            }
        }
    }

    /// Returns true if a writer has the lock and knows that another one waits.
    pub(super) fn is_awaited(&self) -> bool {
        // Acquire: partner of the release in `publish`: of its two changes, to this word and to the room's,
        // the room's is not seen alone.
        self.tags.load(Ordering::Acquire) & (LOCKED | WAITERS) == LOCKED | WAITERS
    }

    /// Publishes a new word, which unlocks the line. Returns true if a writer waits.
    #[inline]
    pub(super) fn publish(&self, tags: Tags) -> bool {
        // Release: the slots' nodes, and what the tags stand for. Partners: the acquires in `tags` and
        // `try_lock`.
        self.tags.swap(tags.0, order!(Release, map_publish_release)) & WAITERS != 0
    }

    /// Sets the word of a line that no other thread has.
    #[inline]
    pub(super) fn prepare(&self, tags: Tags) {
        // Relaxed: published with the line.
        self.tags.store(tags.0, Ordering::Relaxed);
    }

    /// Unlocks the line in the child of a fork, whose writer may not be there. What the word says
    /// is right at any instant: a writer changes it in one step.
    pub(super) fn break_lock(&self) {
        // Relaxed: no other thread of the child reaches the line before this.
        self.tags.fetch_and(!(LOCKED | WAITERS), Ordering::Relaxed);
    }
}
