//! Registries of slots, which threads own and writers scan: never moved, never freed, and used
//! again. Readers claim them; grace periods (`rcu`), writers of asymmetric locks (`asym`) and
//! reclaimers (`hazard`) scan them.
//!
//! The first few lie in the registry itself, so that a program with few readers needs no memory.
//! The others come in blocks, each twice as long as the one before, so that a scan walks memory in
//! order. Their memory is the kernel's, not the allocator's: a thread may register in a signal
//! handler, or in the allocator itself.

use core::ptr::NonNull;

use crate::atomic::{AtomicPtr, AtomicU64, AtomicUsize, IS_MODEL, Ordering};
use crate::mutant::mutated;
use crate::process;

#[cfg(all(test, leeward_loom))]
mod loom_tests;
#[cfg(all(test, not(leeward_loom)))]
mod tests;

/// An element of a registry: the words of one thread.
pub(crate) trait RegistrySlot: Sized {
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
pub(crate) struct Registry<S: RegistrySlot> {
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
}

/// The error of a claim for which there is no memory, or no block left: more readers than any
/// machine has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Full;

impl<S: RegistrySlot> Registry<S> {
    #[cfg(not(leeward_loom))]
    pub(crate) const fn new() -> Registry<S> {
        Registry {
            inline: [const { S::NEW }; INLINE],
            blocks: [const { AtomicPtr::new(core::ptr::null_mut()) }; BLOCKS],
            high: AtomicUsize::new(0),
            free_from: AtomicU64::new(0),
        }
    }

    #[cfg(leeward_loom)]
    pub(crate) fn new() -> Registry<S> {
        Registry {
            inline: core::array::from_fn(|_| S::fresh()),
            blocks: core::array::from_fn(|_| AtomicPtr::new(core::ptr::null_mut())),
            high: AtomicUsize::new(0),
            free_from: AtomicU64::new(0),
        }
    }

    /// Takes a free slot for a thread, and adds a block if there is none.
    pub(crate) fn claim(&self, owner: u64, thread: u32) -> Result<&S, Full> {
        self.claim_at(owner, thread).map(|(_, slot)| slot)
    }

    /// Does what `claim` does, and returns the slot's index as well.
    pub(crate) fn claim_at(&self, owner: u64, thread: u32) -> Result<(usize, &S), Full> {
        // Acquire: partner of the release in `start_over`: slots that were given back before are
        // seen to be free.
        let hint = self.free_from.load(Ordering::Acquire);
        let (index, slot) = match self.claim_from((hint & INDEX) as usize, owner, thread) {
            Some(found) => found,
            None => self.claim_from(0, owner, thread).ok_or(Full)?,
        };
        // Relaxed: a greater index that this thread has seen is seen by every scan that comes after
        // a heavy fence that reaches this thread from now on.
        if self.high.load(Ordering::Relaxed) <= index {
            // Release: a scan that sees this index sees its block. The store is before the reader's
            // announcement, which pair A orders before its loads. So a scan that misses this index
            // belongs to a grace period whose heavy fence came first, and the reader sees what was
            // unlinked.
            self.high.fetch_max(index + 1, Ordering::Release);
        }
        if index >= INLINE {
            let further = hint & !INDEX | (index as u64 + 1);
            // Relaxed, both: that the slots in between are not free orders nothing. The exchange
            // fails if a slot was given back meanwhile, which the upper half counts: that slot would
            // be forgotten.
            let _ = self.free_from.compare_exchange(hint, further, Ordering::Relaxed, Ordering::Relaxed);
        }
        Ok((index, slot))
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
        // Relaxed: while there are only the inline slots, every search begins at the first. A thread
        // that does not see yet that another has just claimed the first slot beyond them leaves its
        // own to the search after the next release.
        if self.high.load(Ordering::Relaxed) > INLINE {
            self.start_over();
        }
    }

    /// Makes the next claim search from the first slot on.
    pub(crate) fn start_over(&self) {
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

    /// Returns the number of slots that were ever claimed.
    pub(crate) fn used(&self) -> usize {
        // Relaxed: a number only.
        self.high.load(Ordering::Relaxed)
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
            // SAFETY: `allocate` made it with that length, and no other thread has it.
            unsafe { deallocate(new, length(block)) };
        }
        self.block(block)
    }
}

/// Only tests drop registries: a domain's is a static.
impl<S: RegistrySlot> Drop for Registry<S> {
    fn drop(&mut self) {
        for (index, place) in self.blocks.iter().enumerate() {
            // Relaxed: the caller has the registry alone.
            let slots = place.load(Ordering::Relaxed);
            if !slots.is_null() {
                // SAFETY: `allocate` made it with that length; `&mut self` says that no reader has a
                // slot.
                unsafe { deallocate(slots, length(index + 1)) };
            }
        }
    }
}

/// Returns the number of slots in a block.
const fn length(block: usize) -> usize {
    INLINE << block
}

/// Allocates a block of free slots. Returns `None` where there is no memory.
fn allocate<S: RegistrySlot>(length: usize) -> Option<*mut S> {
    const { assert!(align_of::<S>() <= 4096) };
    let slots = process::map(length * size_of::<S>())?.cast::<S>();
    for index in 0..length {
        // SAFETY: within the memory that was mapped.
        let place = unsafe { slots.add(index) };
        // SAFETY: as above, and aligned, since pages are.
        unsafe { place.write(S::fresh()) };
    }
    Some(slots.as_ptr())
}

/// Gives the memory of a block back.
///
/// # Safety
/// `allocate` made it with that length, and no other thread has it.
unsafe fn deallocate<S: RegistrySlot>(slots: *mut S, length: usize) {
    let Some(memory) = NonNull::new(slots) else { return };
    // SAFETY: the caller's promise. Slots of models own memory.
    unsafe { core::ptr::slice_from_raw_parts_mut(slots, length).drop_in_place() };
    // SAFETY: the caller's promise.
    unsafe { process::unmap(memory.cast(), length * size_of::<S>()) };
}
