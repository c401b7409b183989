//! One place for each index, made when it is first used, and never moved.

use alloc::alloc::{Layout, alloc, handle_alloc_error};
use alloc::boxed::Box;
use core::ptr;

use crate::atomic::{AtomicPtr, IS_MODEL, Ordering, const_fn};

/// What a place has at first.
pub(crate) trait Fresh {
    fn fresh() -> Self;
}

/// The number of places of the first block; the next one has twice as many, and so on.
const FIRST: usize = 4;
/// The number of blocks: for more threads than any process has.
const BLOCKS: usize = if IS_MODEL { 2 } else { 21 };

/// A place, on cache lines of its own.
#[repr(align(128))]
pub(crate) struct Place<T>(T);

/// The places of one container.
pub(crate) struct PerWriter<T> {
    blocks: [AtomicPtr<Place<T>>; BLOCKS],
}

impl<T: Fresh> PerWriter<T> {
    const_fn! {
        pub(crate) fn new() -> Self {
            PerWriter { blocks: blocks() }
        }
    }

    /// Returns the place of an index. Ends the process where there is no memory for it.
    #[inline(always)]
    pub(crate) fn get(&self, index: usize) -> &T {
        self.try_get(index).unwrap_or_else(|| handle_alloc_error(Layout::new::<Place<T>>()))
    }

    /// Returns the place of an index; `None`: there is no memory for it.
    #[inline(always)]
    pub(crate) fn try_get(&self, index: usize) -> Option<&T> {
        let (block, first) = place_of(index);
        // Acquire: partner of the release in `make`.
        let mut places = self.blocks[block].load(Ordering::Acquire);
        if places.is_null() {
            places = self.make(block)?;
        }
        // SAFETY: a block has so many places, and is freed with `self`.
        let place = unsafe { places.add(index - first) };
        // SAFETY: as above.
        Some(unsafe { &(*place).0 })
    }

    /// Returns all places that were made.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.blocks.iter().enumerate().flat_map(|(block, places)| {
            // Acquire: partner of the release in `make`.
            let places = places.load(Ordering::Acquire);
            let length = if places.is_null() { 0 } else { FIRST << block };
            // SAFETY: a block has so many places, which are made with it and freed with `self`.
            unsafe { core::slice::from_raw_parts(start(places), length) }.iter().map(|place| &place.0)
        })
    }

    /// Returns all places that were made, to a caller that has the container alone.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.blocks.iter().enumerate().flat_map(|(block, places)| {
            // Relaxed: no other thread has it.
            let places = places.load(Ordering::Relaxed);
            let length = if places.is_null() { 0 } else { FIRST << block };
            // SAFETY: as in `iter`; `self` is borrowed whole, and each block is returned once.
            unsafe { core::slice::from_raw_parts_mut(start(places), length) }.iter_mut().map(|place| &mut place.0)
        })
    }

    /// Makes a block, unless another thread did; `None`: there is no memory.
    #[cold]
    #[inline(never)]
    fn make(&self, block: usize) -> Option<*mut Place<T>> {
        let length = FIRST << block;
        let layout = Layout::array::<Place<T>>(length).ok()?;
        // SAFETY: the layout is not empty: a place has a cache line at least.
        let first = unsafe { alloc(layout) }.cast::<Place<T>>();
        if first.is_null() {
            return None;
        }
        for index in 0..length {
            // SAFETY: within the memory.
            let place = unsafe { first.add(index) };
            // SAFETY: as above, for a place.
            unsafe { place.write(Place(T::fresh())) };
        }
        // Release: the places. Partners: the acquires above. Acquire: those of another thread.
        let made = self.blocks[block].compare_exchange(ptr::null_mut(), first, Ordering::AcqRel, Ordering::Acquire);
        Some(made.map_or_else(
            |others| {
                let places = ptr::slice_from_raw_parts_mut(first, length);
                // SAFETY: allocated above as a box of this slice is, whole, and published nowhere.
                drop(unsafe { Box::from_raw(places) });
                others
            },
            |_| first,
        ))
    }
}

impl<T> Drop for PerWriter<T> {
    fn drop(&mut self) {
        for (block, places) in self.blocks.iter().enumerate() {
            // Relaxed: no other thread has it.
            let first = places.load(Ordering::Relaxed);
            if !first.is_null() {
                let places = ptr::slice_from_raw_parts_mut(first, FIRST << block);
                // SAFETY: allocated in `make` as a box of this slice is, with this length.
                drop(unsafe { Box::from_raw(places) });
            }
        }
    }
}

/// Returns the address of a block's places, or one that is good for none.
fn start<T>(places: *mut Place<T>) -> *mut Place<T> {
    if places.is_null() { ptr::dangling_mut() } else { places }
}

/// Returns the block of an index, and the index of the block's first place.
#[inline(always)]
fn place_of(index: usize) -> (usize, usize) {
    let block = (index / FIRST + 1).ilog2() as usize;
    (block, FIRST * ((1 << block) - 1))
}

#[cfg(not(leeward_loom))]
const fn blocks<T>() -> [AtomicPtr<Place<T>>; BLOCKS] {
    [const { AtomicPtr::new(ptr::null_mut()) }; BLOCKS]
}

#[cfg(leeward_loom)]
fn blocks<T>() -> [AtomicPtr<Place<T>>; BLOCKS] {
    core::array::from_fn(|_| AtomicPtr::new(ptr::null_mut()))
}

#[cfg(test)]
mod tests {
    use super::{BLOCKS, FIRST, place_of};

    #[test]
    fn every_index_has_a_place_of_its_own() {
        let mut places = (0..10_000).map(|index| (place_of(index), index));
        assert!(
            places.all(|((block, first), index)| block < BLOCKS && (first..first + (FIRST << block)).contains(&index))
        );
    }
}
