//! Registries of slots, which threads own and writers scan: never moved, never freed, and used
//! again. Readers claim them; grace periods (`rcu`) and writers of asymmetric locks (`asym`) scan
//! them.
//!
//! The first few lie in the registry itself, so that a program with few readers allocates nothing.
//! The others come in blocks, each twice as long as the one before, so that a scan walks memory in
//! order.

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::atomic::{AtomicPtr, AtomicU64, AtomicUsize, IS_MODEL, Ordering};
use crate::mutant::mutated;

#[cfg(all(test, leeward_loom))]
mod loom_tests;
#[cfg(all(test, not(leeward_loom)))]
mod tests;

/// An element of a registry: the words of one thread.
pub(crate) trait Slot: Sized {
    /// A free slot, as a constant.
    #[cfg(not(leeward_loom))]
    const NEW: Self;

    /// Makes a free slot, also where atomics cannot be constants.
    fn fresh() -> Self;

    /// Returns true if the slot seems to be free; [`claim`](Self::claim) decides.
    fn is_free(&self) -> bool;

    /// Takes the slot for a thread if it is free, and returns true then. Acquires what
    /// [`free`](Self::free) released.
    fn claim(&self, owner: u64, thread: u32) -> bool;

    /// Gives the slot back.
    fn free(&self);
}

/// The number of slots in the registry itself.
const INLINE: usize = if IS_MODEL { 2 } else { 16 };
/// The number of further blocks; the k-th of them has `INLINE << k` slots.
const BLOCKS: usize = if IS_MODEL { 1 } else { 24 };

/// The bits of `free_from` that are an index.
const INDEX: u64 = u32::MAX as u64;

/// All slots of one domain, or of all asymmetric locks.
pub(crate) struct Registry<S: Slot> {
    inline: [S; INLINE],
    blocks: [AtomicPtr<S>; BLOCKS],
    /// An index above that of every slot that was ever claimed. Never decreases.
    high: AtomicUsize,
    /// Where the search for a free slot begins.
    ///
    /// | bits | meaning |
    /// |---|---|
    /// | 0-31 | no free slot has a lower index |
    /// | 32-63 | how often slots were given back, each of which sets the lower half to 0 |
    free_from: AtomicU64,
    /// The number of slots that are claimed.
    claimed: AtomicUsize,
}

/// The error of a claim for which there is no memory, or no block left: more readers than any
/// machine has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Full;

impl<S: Slot> Registry<S> {
    #[cfg(not(leeward_loom))]
    pub(crate) const fn new() -> Registry<S> {
        Registry {
            inline: [const { S::NEW }; INLINE],
            blocks: [const { AtomicPtr::new(core::ptr::null_mut()) }; BLOCKS],
            high: AtomicUsize::new(0),
            free_from: AtomicU64::new(0),
            claimed: AtomicUsize::new(0),
        }
    }

    #[cfg(leeward_loom)]
    pub(crate) fn new() -> Registry<S> {
        Registry {
            inline: core::array::from_fn(|_| S::fresh()),
            blocks: core::array::from_fn(|_| AtomicPtr::new(core::ptr::null_mut())),
            high: AtomicUsize::new(0),
            free_from: AtomicU64::new(0),
            claimed: AtomicUsize::new(0),
        }
    }

    /// Takes a free slot for a thread, and adds a block if there is none.
    pub(crate) fn claim(&self, owner: u64, thread: u32) -> Result<&S, Full> {
        // Acquire: partner of the release in `start_over`: slots that were given back before are
        // seen to be free.
        let hint = self.free_from.load(Ordering::Acquire);
        let (index, slot) = match self.claim_from((hint & INDEX) as usize, owner, thread) {
            Some(found) => found,
            None => self.claim_from(0, owner, thread).ok_or(Full)?,
        };
        let further = hint & !INDEX | (index as u64 + 1);
        // Relaxed, both: that the slots in between are not free orders nothing. The exchange fails
        // if a slot was given back meanwhile, which the upper half counts: that slot would be
        // forgotten.
        let _ = self.free_from.compare_exchange(hint, further, Ordering::Relaxed, Ordering::Relaxed);
        // Relaxed: a count.
        self.claimed.fetch_add(1, Ordering::Relaxed);
        // Release: a scan that sees this index sees its block. The store is before the reader's
        // announcement, which pair A orders before its loads. So a scan that misses this index
        // belongs to a grace period whose heavy fence came first, and the reader sees what was
        // unlinked.
        self.high.fetch_max(index + 1, Ordering::Release);
        Ok(slot)
    }

    /// Takes a free slot whose index is at least `start`. Returns `None` where there is no memory
    /// for one.
    fn claim_from(&self, start: usize, owner: u64, thread: u32) -> Option<(usize, &S)> {
        let (mut block, mut first) = (0, 0);
        while let Some(slots) = self.block_or_new(block) {
            let skip = start.saturating_sub(first).min(slots.len());
            let found =
                slots.iter().enumerate().skip(skip).find(|(_, slot)| slot.is_free() && slot.claim(owner, thread));
            if let Some((at, slot)) = found {
                return Some((first + at, slot));
            }
            first += slots.len();
            block += 1;
        }
        None
    }

    /// Gives a slot back, whose reader is outside.
    pub(crate) fn release(&self, slot: &S) {
        slot.free();
        // Relaxed: a count.
        self.claimed.fetch_sub(1, Ordering::Relaxed);
        self.start_over();
    }

    /// Makes the next claim search from the first slot on.
    fn start_over(&self) {
        if mutated!(registry_starts_over) {
            self.free_from.store(0, Ordering::Relaxed);
            return;
        }
        // Relaxed: the exchange decides.
        let mut hint = self.free_from.load(Ordering::Relaxed);
        // Release: partner of the acquire in `claim`. Relaxed on failure: the loop tries again.
        // (The lower half is set to all ones, and the addition carries into the count.)
        while let Err(now) = self.free_from.compare_exchange_weak(
            hint,
            (hint | INDEX).wrapping_add(1),
            Ordering::Release,
            Ordering::Relaxed,
        ) {
            hint = now;
        }
    }

    /// Sets the number of slots that are claimed. For the child of a fork.
    pub(crate) fn set_claimed(&self, count: usize) {
        // Relaxed: the child has one thread.
        self.claimed.store(count, Ordering::Relaxed);
        self.start_over();
    }

    /// Returns how many slots are claimed.
    pub(crate) fn claimed(&self) -> usize {
        // Relaxed: a count.
        self.claimed.load(Ordering::Relaxed)
    }

    /// Returns the slots up to the highest that was ever claimed: all that a reader may be inside
    /// of.
    pub(crate) fn slots(&self) -> impl Iterator<Item = &S> {
        // Acquire: partner of the release in `claim`: the blocks of these slots are there. Callers
        // have issued their heavy fence before.
        let high = self.high.load(Ordering::Acquire);
        (0..=BLOCKS)
            .map_while(|block| self.block(block))
            .scan(high, |left, slots| {
                let used = slots.len().min(*left);
                *left -= used;
                Some(&slots[..used])
            })
            .take_while(|used| !used.is_empty())
            .flatten()
    }

    /// Returns the slots of a block, if it is there. Block 0 is the inline one.
    fn block(&self, block: usize) -> Option<&[S]> {
        if block == 0 {
            return Some(&self.inline);
        }
        // Acquire: partner of the release in `block_or_new`: the slots are initialized.
        let slots = self.blocks[block - 1].load(Ordering::Acquire);
        if slots.is_null() {
            return None;
        }
        // SAFETY: `block_or_new` stored it, with this length and initialized, and it is neither
        // freed nor moved while the registry lives.
        Some(unsafe { core::slice::from_raw_parts(slots, length(block)) })
    }

    /// Returns the slots of a block, which it allocates if it is not there. Returns `None` where
    /// there is no memory, or no such block.
    fn block_or_new(&self, block: usize) -> Option<&[S]> {
        if block > BLOCKS {
            return None;
        }
        if let Some(slots) = self.block(block) {
            return Some(slots);
        }
        let new = allocate(length(block))?;
        let place = &self.blocks[block - 1];
        // Release: the slots are initialized for a thread that loads the pointer. Acquire on
        // failure: another thread's slots are initialized for us.
        if place.compare_exchange(core::ptr::null_mut(), new, Ordering::Release, Ordering::Acquire).is_err() {
            let unused = core::ptr::slice_from_raw_parts_mut(new, length(block));
            // SAFETY: `allocate` made it from a box of that length, and no other thread has it.
            drop(unsafe { Box::from_raw(unused) });
        }
        self.block(block)
    }
}

/// Only tests drop registries: a domain's is a static.
impl<S: Slot> Drop for Registry<S> {
    fn drop(&mut self) {
        for (index, place) in self.blocks.iter().enumerate() {
            // Relaxed: the caller has the registry alone.
            let slots = place.load(Ordering::Relaxed);
            if !slots.is_null() {
                let block = core::ptr::slice_from_raw_parts_mut(slots, length(index + 1));
                // SAFETY: `allocate` made it from a box of that length; `&mut self` says that no
                // reader has a slot.
                drop(unsafe { Box::from_raw(block) });
            }
        }
    }
}

/// Returns the number of slots in a block.
const fn length(block: usize) -> usize {
    INLINE << block
}

/// Allocates a block of free slots. Returns `None` where there is no memory.
fn allocate<S: Slot>(length: usize) -> Option<*mut S> {
    let mut slots = Vec::new();
    slots.try_reserve_exact(length).ok()?;
    slots.resize_with(length, S::fresh);
    Some(Box::into_raw(slots.into_boxed_slice()).cast())
}
