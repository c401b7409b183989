//! Reclamation: a batch of retired objects, one heavy fence, a scan of the slots, and the end of
//! the objects that no slot names.
//!
//! Maged Michael's second stage ("Hazard Pointers: Safe Memory Reclamation for Lock-Free Objects",
//! 2004) the other way round: the retired objects are hashed, in place, and each slot is looked up
//! among them, so that nothing is allocated.

use core::ptr::NonNull;

use super::list::RetiredChain;
use super::slot::HazardSlot;
use super::state::{State, state, watch};
use super::turn::Turn;
use crate::atomic::outside_model;
use crate::fence;
use crate::mutant::{check, mutated};
use crate::rcu::Head;

/// The number of retired objects from which on the thread that retires reclaims.
const THRESHOLD: usize = 256;
/// The number of lists that a batch is hashed into, a power of two.
const BUCKETS: usize = 1 << BUCKET_BITS;
const BUCKET_BITS: u32 = 1 + outside_model(7);

/// Hands an object over to be freed, and reclaims if that makes enough of them.
///
/// # Safety
/// The head is the caller's alone, who gives it up. Its object is unlinked, and may be ended on any
/// thread, at any time from now on.
pub(super) unsafe fn retire(head: NonNull<Head>) {
    watch();
    let state = state();
    // SAFETY: the caller's promise.
    let waiting = unsafe { state.list.push(RetiredChain::of_one(head)) };
    if waiting >= THRESHOLD && is_full(state) {
        reclaim_if(is_full);
    }
}

/// Frees what is retired and protected by no hazard pointer, whatever the number; returns how many
/// objects it freed.
///
/// What another thread has taken to free is not waited for. Inside a destructor that reclaims it
/// does nothing and returns 0.
///
/// ```standalone_crate
/// use leeward::hazard::{self, Cell, HazardPointer};
/// let cell = Cell::new(1);
/// let mut hazard = HazardPointer::new();
/// let one = hazard.protect(&cell).unwrap();
/// cell.store(2);
/// hazard::reclaim();              // does not free what `one` refers to
/// assert_eq!(*one, 1);
/// hazard.reset_protection();
/// assert_eq!(hazard::reclaim(), 1);
/// ```
///
/// # Cost
/// A heavy fence, and a load for each hazard pointer; nothing where nothing is retired.
///
/// # Panics
/// If a destructor panics; the objects that are left are freed by a later call.
///
/// # Signals
/// Not async-signal-safe: it runs destructors.
pub fn reclaim() -> usize {
    reclaim_if(|_| false)
}

/// Returns the number of objects that are retired and wait to be freed, approximately. Those that a
/// thread has taken to free do not count. Async-signal-safe; one load.
///
/// ```
/// use leeward::hazard::{self, Cell};
/// Cell::new(1).store(2);
/// assert_eq!(hazard::waiting(), 1);
/// ```
pub fn waiting() -> usize {
    state().list.count()
}

/// Returns true if there are so many retired objects that a thread should reclaim: the threshold,
/// and four times as many as there are slots, so that a scan, which keeps an object for each slot at
/// most, frees three quarters of them; and twice as many as when a heavy fence was last refused.
fn is_full(state: &State) -> bool {
    let waiting = state.list.count();
    let is_due = mutated!(hazard_backs_off) || waiting >= state.patience();
    waiting >= THRESHOLD && waiting >= 4 * state.slots.used() && is_due
}

/// Reclaims once, and again as long as `again` says so.
#[cold]
#[inline(never)]
fn reclaim_if(again: fn(&State) -> bool) -> usize {
    // Without a fence the batch would only go from the list and back, the longer the list is.
    if !fence::is_possible() {
        return 0;
    }
    let state = state();
    // So after a refusal, a fence is tried before the batch is taken, for its answer alone. (It orders
    // nothing: the batch may have what was unlinked after it.)
    if state.patience() != 0 && waiting() != 0 && !fence() {
        state.note_refusal();
        return 0;
    }
    let Some(_turn) = Turn::take() else { return 0 };
    let mut freed = 0;
    loop {
        let Some(mut batch) = Batch::take(state) else { return freed };
        if !fence() {
            drop(batch);
            state.note_refusal();
            return freed;
        }
        state.note_fence();
        state.slots.slots().for_each(|slot| batch.keep(slot));
        freed += batch.free();
        drop(batch);
        if !again(state) {
            return freed;
        }
    }
}

/// Executes the heavy fence between the unlinking of a batch and the scan. Returns false if none is
/// possible: then nothing may be freed.
fn fence() -> bool {
    // Pair N, heavy half. Partner: the light fence in `HazardSlot::protect`.
    // - If the reader's store comes first, the scan sees the hazard and keeps the object.
    // - If this fence comes first, the reader sees that the object was unlinked, and tries again.
    mutated!(hazard_heavy) || fence::try_heavy().is_ok()
}

/// Returns true if a hazard pointer names the object at `address`, which its caller has unlinked,
/// or if that cannot be found out.
pub(super) fn is_protected(address: *mut ()) -> bool {
    // The heavy half of pair N, as for a batch.
    !fence() || state().slots.slots().any(|slot| slot.names() == address)
}

/// Objects that one thread has taken from the list. What is left of them when it is dropped, by a
/// panic or because it is protected, goes back to the list.
struct Batch {
    state: &'static State,
    /// The objects that may be freed, by a hash of their address; each list is linked by the heads.
    buckets: [*mut Head; BUCKETS],
    /// The objects that are protected.
    kept: Option<RetiredChain>,
}

impl Batch {
    /// Takes all that is retired.
    fn take(state: &'static State) -> Option<Batch> {
        let mut next = state.list.take();
        if next.is_null() {
            return None;
        }
        let mut batch = Batch { state, buckets: [core::ptr::null_mut(); BUCKETS], kept: None };
        let mut taken = 0;
        while let Some(head) = NonNull::new(next) {
            taken += 1;
            // SAFETY: the batch's alone, and whole.
            let head_ref = unsafe { head.as_ref() };
            next = head_ref.next();
            let bucket = &mut batch.buckets[bucket_of(head.as_ptr().cast())];
            head_ref.set_next(*bucket);
            *bucket = head.as_ptr();
        }
        state.list.note_taken(taken);
        Some(batch)
    }

    /// Keeps the object that a slot names, if it is in the batch.
    fn keep(&mut self, slot: &HazardSlot) {
        let named = slot.names();
        if named.is_null() {
            return;
        }
        let bucket = bucket_of(named);
        let (mut before, mut next) = (None::<NonNull<Head>>, self.buckets[bucket]);
        while let Some(head) = NonNull::new(next) {
            // SAFETY: the batch's alone, and whole.
            next = unsafe { head.as_ref() }.next();
            if check!(hazard_keeps, head.as_ptr().cast() == named) {
                match before {
                    // SAFETY: as above.
                    Some(before) => unsafe { before.as_ref() }.set_next(next),
                    None => self.buckets[bucket] = next,
                }
                // SAFETY: as above, and out of its list.
                self.kept = Some(unsafe { RetiredChain::before(head, self.kept) });
                return;
            }
            before = Some(head);
        }
    }

    /// Ends all objects that are not kept; returns how many.
    fn free(&mut self) -> usize {
        let mut freed = 0;
        for bucket in 0..BUCKETS {
            while let Some(head) = self.pop(bucket) {
                freed += 1;
                // SAFETY: the head is out of the batch, and not called yet. It was unlinked before
                // the heavy fence, and no slot named it after that: no reader has it, or can get
                // it.
                unsafe { Head::call(head) };
            }
        }
        freed
    }

    /// Takes one object out of a list.
    fn pop(&mut self, bucket: usize) -> Option<NonNull<Head>> {
        let head = NonNull::new(self.buckets[bucket])?;
        // SAFETY: the batch's alone, and whole.
        self.buckets[bucket] = unsafe { head.as_ref() }.next();
        Some(head)
    }
}

impl Drop for Batch {
    fn drop(&mut self) {
        for bucket in 0..BUCKETS {
            while let Some(head) = self.pop(bucket) {
                if !mutated!(hazard_unwinds) {
                    // SAFETY: the batch's alone, and out of its list.
                    self.kept = Some(unsafe { RetiredChain::before(head, self.kept) });
                }
            }
        }
        if let Some(kept) = self.kept.take() {
            // SAFETY: the batch's alone, which ends.
            unsafe { self.state.list.push(kept) };
        }
    }
}

/// Returns the list in which an object lies: the upper bits of a product with 2^64 divided by the
/// golden ratio, which spread what differs in any bits.
fn bucket_of(address: *mut ()) -> usize {
    (((address.addr() as u64) >> 4).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - BUCKET_BITS)) as usize
}
