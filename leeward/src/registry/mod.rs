//! What threads have of their own and writers scan: slots that are never moved, never freed, used again. Claimed by
//! readers, scanned by grace periods (`rcu`) and by writers of asymmetric locks (`asym`).
//!
//! The first few lie in the registry itself, so that a program with few readers allocates nothing; further ones come
//! in blocks, each twice as long as the one before, so that a scan walks memory in order.

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::atomic::{AtomicPtr, AtomicU64, AtomicUsize, IS_MODEL, Ordering};
use crate::mutant::mutated;

#[cfg(all(test, leeward_loom))]
mod loom_tests;
#[cfg(all(test, not(leeward_loom)))]
mod tests;

/// What a registry is made of.
pub(crate) trait Slot: Sized {
    /// One that nobody has.
    #[cfg(not(leeward_loom))]
    const NEW: Self;

    /// The same, where atomics are not constants.
    fn fresh() -> Self;

    /// Whether nobody has it, as far as one look tells; [`claim`](Self::claim) decides.
    fn is_free(&self) -> bool;

    /// Takes it for the thread, if nobody has it. Acquires what [`free`](Self::free) released.
    fn claim(&self, owner: u64, thread: u32) -> bool;

    /// Gives it back.
    fn free(&self);
}

/// Slots in the registry itself.
const INLINE: usize = if IS_MODEL { 2 } else { 16 };
/// Blocks beyond those; the k-th has `INLINE << k` slots.
const BLOCKS: usize = if IS_MODEL { 1 } else { 24 };

/// The bits of `free_from` that are an index.
const INDEX: u64 = u32::MAX as u64;

pub(crate) struct Registry<S: Slot> {
    inline: [S; INLINE],
    blocks: [AtomicPtr<S>; BLOCKS],
    /// Every slot that was ever claimed has a lower index. Grows only.
    high: AtomicUsize,
    /// Where the search for a free slot begins.
    ///
    /// | bits | meaning |
    /// |---|---|
    /// | 0-31 | no free slot has a lower index |
    /// | 32-63 | how often slots were given back, each of which sets the lower half to 0 |
    free_from: AtomicU64,
    /// Slots that are claimed.
    claimed: AtomicUsize,
}

/// No memory, or more readers than any machine has: the reader could not be registered.
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

    /// Takes a free slot for a thread, growing where there is none.
    pub(crate) fn claim(&self, owner: u64, thread: u32) -> Result<&S, Full> {
        // Acquire: partner of the release in `release`: what was given back until then is seen to
        // be free.
        let hint = self.free_from.load(Ordering::Acquire);
        let (index, slot) = match self.claim_from((hint & INDEX) as usize, owner, thread) {
            Some(found) => found,
            None => self.claim_from(0, owner, thread).ok_or(Full)?,
        };
        let further = hint & !INDEX | (index as u64 + 1);
        // Relaxed, both: the slots in between are not free, which orders nothing. Not if a slot was
        // given back meanwhile, which the upper half tells: that one would be forgotten.
        let _ = self.free_from.compare_exchange(hint, further, Ordering::Relaxed, Ordering::Relaxed);
        // Relaxed: a count.
        self.claimed.fetch_add(1, Ordering::Relaxed);
        // Release: whoever sees the count sees the block. And it is before the reader's announcement, which pair A
        // orders before its loads: a scan that misses this index belongs to a grace period whose heavy fence
        // came first, so the reader sees what was unlinked.
        self.high.fetch_max(index + 1, Ordering::Release);
        Ok(slot)
    }

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

    /// Gives a slot back. Its reader is outside.
    pub(crate) fn release(&self, slot: &S) {
        slot.free();
        // Relaxed: a count.
        self.claimed.fetch_sub(1, Ordering::Relaxed);
        self.start_over();
    }

    /// The next claim begins at the first slot.
    fn start_over(&self) {
        if mutated!(registry_starts_over) {
            self.free_from.store(0, Ordering::Relaxed);
            return;
        }
        // Relaxed: the exchange decides.
        let mut hint = self.free_from.load(Ordering::Relaxed);
        // Release: partner of the acquire in `claim`. Relaxed on failure: tried again. (All ones
        // and one more carries into the count.)
        while let Err(now) = self.free_from.compare_exchange_weak(
            hint,
            (hint | INDEX).wrapping_add(1),
            Ordering::Release,
            Ordering::Relaxed,
        ) {
            hint = now;
        }
    }

    /// In the child of a fork: how many are claimed now.
    pub(crate) fn set_claimed(&self, count: usize) {
        // Relaxed: the child has one thread.
        self.claimed.store(count, Ordering::Relaxed);
        self.start_over();
    }

    /// How many slots are claimed.
    pub(crate) fn claimed(&self) -> usize {
        // Relaxed: a count.
        self.claimed.load(Ordering::Relaxed)
    }

    /// Every slot that a reader may be inside of.
    pub(crate) fn slots(&self) -> impl Iterator<Item = &S> {
        // Acquire: partner of the release in `claim`: the blocks below are there. Callers have issued their heavy fence
        // before.
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

    /// Block 0 is the inline one.
    fn block(&self, block: usize) -> Option<&[S]> {
        if block == 0 {
            return Some(&self.inline);
        }
        // Acquire: partner of the release in `block_or_new`: the slots are initialised.
        let slots = self.blocks[block - 1].load(Ordering::Acquire);
        if slots.is_null() {
            return None;
        }
        // SAFETY: stored by `block_or_new` with this length, initialised, and never freed nor moved while the registry
        // lives.
        Some(unsafe { core::slice::from_raw_parts(slots, length(block)) })
    }

    fn block_or_new(&self, block: usize) -> Option<&[S]> {
        if block > BLOCKS {
            return None;
        }
        if let Some(slots) = self.block(block) {
            return Some(slots);
        }
        let new = allocate(length(block))?;
        let place = &self.blocks[block - 1];
        // Release: the slots are initialised for whoever loads the pointer. Acquire on failure: somebody else's are,
        // for us.
        if place.compare_exchange(core::ptr::null_mut(), new, Ordering::Release, Ordering::Acquire).is_err() {
            let unused = core::ptr::slice_from_raw_parts_mut(new, length(block));
            // SAFETY: made by `allocate` from a box of that length, and given to nobody.
            drop(unsafe { Box::from_raw(unused) });
        }
        self.block(block)
    }
}

/// Registries that end are those of tests: a domain's is a static.
impl<S: Slot> Drop for Registry<S> {
    fn drop(&mut self) {
        for (index, place) in self.blocks.iter().enumerate() {
            // Relaxed: nobody else is here.
            let slots = place.load(Ordering::Relaxed);
            if !slots.is_null() {
                let block = core::ptr::slice_from_raw_parts_mut(slots, length(index + 1));
                // SAFETY: made by `allocate` from a box of that length; `&mut self` says that no reader has a slot.
                drop(unsafe { Box::from_raw(block) });
            }
        }
    }
}

const fn length(block: usize) -> usize {
    INLINE << block
}

/// None where there is no memory.
fn allocate<S: Slot>(length: usize) -> Option<*mut S> {
    let mut slots = Vec::new();
    slots.try_reserve_exact(length).ok()?;
    slots.resize_with(length, S::fresh);
    Some(Box::into_raw(slots.into_boxed_slice()).cast())
}
