//! The slots of a ring: their memory, and what is in one.

use alloc::alloc::{alloc, dealloc};
use core::alloc::Layout;
use core::cell::UnsafeCell;
use core::mem::MaybeUninit;
use core::ptr::NonNull;

use super::position::Laps;
use crate::atomic::AtomicU64;

/// A slot. Its state names the position that it is ready for, so that a thread that comes for another
/// position sees that it is not.
#[repr(C)]
pub(super) struct RingSlot<T> {
    /// | state | the slot |
    /// |---|---|
    /// | a position | is free for the push at it |
    /// | a position and `FILLED` | has the value of the push at it |
    /// | a position and `PASSED` | will have no value at it: pops go past |
    pub(super) state: AtomicU64,
    value: UnsafeCell<MaybeUninit<T>>,
}

impl<T> RingSlot<T> {
    /// Puts a value into the slot.
    ///
    /// # Safety
    /// The caller has claimed the slot, which has no value.
    #[inline]
    pub(super) unsafe fn write(&self, value: T) {
        // SAFETY: the caller's promise.
        unsafe { self.value.get().write(MaybeUninit::new(value)) };
    }

    /// Takes the value out of the slot.
    ///
    /// # Safety
    /// The caller has claimed the slot, which has a value, and no other call takes it.
    #[inline]
    pub(super) unsafe fn read(&self) -> T {
        // SAFETY: the caller's promise.
        let value = unsafe { self.value.get().read() };
        // SAFETY: as above.
        unsafe { value.assume_init() }
    }

    /// Returns the slot's address, by which threads wait for it.
    #[inline]
    pub(super) fn address(&self) -> u64 {
        core::ptr::from_ref(self).addr() as u64
    }
}

/// The slots of a ring.
pub(super) struct Slots<T> {
    first: NonNull<RingSlot<T>>,
    laps: Laps,
}

impl<T> Slots<T> {
    /// Returns the layout of `capacity` slots; `None`: so many do not fit into memory.
    pub(super) fn layout(capacity: usize) -> Option<Layout> {
        Layout::array::<RingSlot<T>>(capacity).ok()
    }

    /// Makes free slots, of which there is one at least; `None` if there is no memory for so many.
    pub(super) fn new(capacity: usize) -> Option<Slots<T>> {
        let laps = Laps::new(capacity)?;
        let layout = Self::layout(capacity)?;
        // SAFETY: the layout is not empty: each slot has a state.
        let first = NonNull::new(unsafe { alloc(layout) })?.cast::<RingSlot<T>>();
        let mut position = 0;
        for index in 0..capacity {
            // SAFETY: an index in the memory.
            let slot = unsafe { first.add(index) };
            // SAFETY: the slot is in the memory that was allocated.
            let state = unsafe { &raw mut (*slot.as_ptr()).state };
            // SAFETY: as above.
            unsafe { state.write(AtomicU64::new(position)) };
            position = laps.next(position);
        }
        Some(Slots { first, laps })
    }

    #[inline]
    pub(super) const fn laps(&self) -> Laps {
        self.laps
    }

    /// Returns the slot of a position.
    #[inline]
    pub(super) fn at(&self, position: u64) -> &RingSlot<T> {
        // SAFETY: the index of a position is less than the capacity.
        let slot = unsafe { self.first.add(self.laps.index(position)) };
        // SAFETY: made by `new`; slots live as long as this does.
        unsafe { slot.as_ref() }
    }
}

impl<T> Drop for Slots<T> {
    /// Frees the memory, and drops no value.
    fn drop(&mut self) {
        if let Some(layout) = Self::layout(self.laps.capacity()) {
            // SAFETY: allocated with this layout.
            unsafe { dealloc(self.first.as_ptr().cast(), layout) };
        }
    }
}
