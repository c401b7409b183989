//! A block of a queue: slots that are claimed one after the other, filled by their producers and
//! emptied by the consumer.

use alloc::alloc::{alloc, dealloc};
use core::alloc::Layout;
use core::cell::{Cell, UnsafeCell};
use core::mem::MaybeUninit;
use core::ptr;

use super::position::{ALIGN, is_fit};
use crate::atomic::{AtomicU32, IS_MODEL};

/// The slot has no value yet.
pub(super) const UNFILLED: u32 = 0;
/// The slot has a value.
pub(super) const FILLED: u32 = 1;
/// The consumer has passed the slot: its producer pushes the value again, if there is one.
pub(super) const ABANDONED: u32 = 2;

/// The place of one value.
#[repr(C)]
pub(super) struct QueueSlot<T> {
    /// [`UNFILLED`], [`FILLED`] or [`ABANDONED`].
    state: AtomicU32,
    /// The value: the producer's that claimed the slot until the state is `FILLED`, the consumer's
    /// from then on.
    value: UnsafeCell<MaybeUninit<T>>,
}

/// All by pointers: a producer's slot may be gone, with its block, as soon as it is filled, and no
/// reference may outlive that.
impl<T> QueueSlot<T> {
    /// Returns the state of a slot.
    ///
    /// # Safety
    /// The slot's block is there until its state says that the slot is not the caller's.
    #[inline]
    pub(super) unsafe fn state<'a>(slot: *const QueueSlot<T>) -> &'a AtomicU32 {
        // SAFETY: the caller's promise.
        unsafe { &(*slot).state }
    }

    /// Moves a value into a slot.
    ///
    /// # Safety
    /// The slot is the caller's, and has no value.
    #[inline]
    pub(super) unsafe fn write(slot: *const QueueSlot<T>, value: T) {
        // SAFETY: the caller's promise.
        let place = unsafe { &raw const (*slot).value };
        // SAFETY: as above.
        unsafe { UnsafeCell::raw_get(place).write(MaybeUninit::new(value)) };
    }

    /// Moves the value out of a slot.
    ///
    /// # Safety
    /// The slot is the caller's, and has a value.
    #[inline]
    pub(super) unsafe fn read(slot: *const QueueSlot<T>) -> T {
        // SAFETY: the caller's promise.
        let place = unsafe { &raw const (*slot).value };
        // SAFETY: as above.
        let value = unsafe { UnsafeCell::raw_get(place).read() };
        // SAFETY: the caller's promise.
        unsafe { value.assume_init() }
    }
}

/// The head of a block; its slots follow. All fields are written before the block is published, and
/// are the consumer's from then on.
#[repr(C)]
pub(super) struct Block<T> {
    /// The memory that the block lies in.
    memory: *mut u8,
    /// The block before this one; null: there is none, or the consumer is in this one.
    pub(super) previous: Cell<*mut Block<T>>,
    /// The block after this one, where the consumer has found it.
    pub(super) next: Cell<*mut Block<T>>,
    /// How many slots of the block before were claimed when this one was appended.
    pub(super) previous_length: Cell<u32>,
    /// The first slot that has, or will have, a value.
    pub(super) first: Cell<u32>,
    /// The block has an abandoned slot, whose producer may come still: it is never freed.
    pub(super) is_kept: Cell<bool>,
    /// The fork number of the process that made the block.
    pub(super) process: u32,
}

/// What allocators align to without being asked. For more, glibc's searches and cuts chunks, and
/// does not use the thread's cache: the queue had four fifths of its rate.
const USUAL_ALIGN: usize = 2 * size_of::<usize>();
/// The bytes of memory in which a block finds its place.
const SPARE: usize = ALIGN - USUAL_ALIGN;
/// The bytes that the slots of a block may take, if there are more than [`FEWEST`]. With the head
/// and `SPARE`, these are the largest pieces that glibc keeps in the thread's cache.
const BYTES: usize = 1032 - SPARE - size_of::<Block<u8>>();
const FEWEST: usize = 4;
const MOST: usize = 112;

impl<T> Block<T> {
    /// How many slots a block has.
    pub(super) const CAPACITY: usize = {
        let count = BYTES / size_of::<QueueSlot<T>>();
        if IS_MODEL {
            2
        } else if count < FEWEST {
            FEWEST
        } else if count > MOST {
            MOST
        } else {
            count
        }
    };

    /// Returns the layout of a block's memory: of the alignment that the slots need, and with room
    /// to place the block at a multiple of [`ALIGN`].
    fn layout() -> Option<Layout> {
        let block = Layout::new::<Block<T>>().extend(Layout::array::<QueueSlot<T>>(Self::CAPACITY).ok()?).ok()?.0;
        if block.align() > USUAL_ALIGN {
            return block.align_to(ALIGN).ok();
        }
        Layout::from_size_align(block.size() + SPARE, USUAL_ALIGN).ok()
    }

    /// Makes a block of unfilled slots, in `process`; null if there is no memory for it.
    pub(super) fn new(process: u32) -> *mut Block<T> {
        let Some(layout) = Self::layout() else { return ptr::null_mut() };
        // SAFETY: the layout is not empty: it has the head.
        let memory = unsafe { alloc(layout) };
        if memory.is_null() {
            return ptr::null_mut();
        }
        let place = memory.addr().wrapping_neg() % ALIGN;
        // SAFETY: the layout has room for this, or its alignment makes it 0.
        let block = unsafe { memory.add(place) }.cast::<Block<T>>();
        if !is_fit(block.addr()) {
            // SAFETY: allocated above, with this layout.
            unsafe { dealloc(memory, layout) };
            return ptr::null_mut();
        }
        // SAFETY: the memory is new.
        unsafe { Self::write(block, memory, process) };
        block
    }

    /// Makes a block that nobody else knows a new one, in `process`.
    ///
    /// # Safety
    /// [`new`](Self::new) made it.
    pub(super) unsafe fn renew(block: *mut Block<T>, process: u32) {
        // SAFETY: the caller's promise.
        let memory = unsafe { &*block }.memory;
        // SAFETY: as above.
        unsafe { Self::write(block, memory, process) };
    }

    /// Writes the head and the slots' states of a block.
    ///
    /// # Safety
    /// The block is allocated, and nobody else knows it.
    unsafe fn write(block: *mut Block<T>, memory: *mut u8, process: u32) {
        let null = Cell::new(ptr::null_mut());
        let head = Block {
            memory,
            previous: null.clone(),
            next: null,
            previous_length: Cell::new(0),
            first: Cell::new(0),
            is_kept: Cell::new(false),
            process,
        };
        // SAFETY: the caller's memory, with room for it.
        unsafe { block.write(head) };
        for index in 0..Self::CAPACITY {
            // SAFETY: an index in the block.
            let slot = unsafe { Self::slot(block, index) };
            // SAFETY: the slot is in the block.
            let state = unsafe { &raw mut (*slot.cast_mut()).state };
            // SAFETY: as above.
            unsafe { state.write(AtomicU32::new(UNFILLED)) };
        }
    }

    /// Returns the address of a slot.
    ///
    /// # Safety
    /// The block is allocated, and `index` is less than [`CAPACITY`](Self::CAPACITY).
    #[inline]
    pub(super) unsafe fn slot(block: *mut Block<T>, index: usize) -> *const QueueSlot<T> {
        let offset = const {
            match Layout::new::<Block<T>>().extend(Layout::new::<QueueSlot<T>>()) {
                Ok((_, offset)) => offset,
                Err(_) => panic!("leeward: a block of a queue is larger than the address space"),
            }
        };
        // SAFETY: the slots lie at this offset.
        let slots = unsafe { block.byte_add(offset) }.cast::<QueueSlot<T>>();
        // SAFETY: the caller's promise.
        unsafe { slots.add(index) }
    }

    /// Frees a block, and no value.
    ///
    /// # Safety
    /// [`new`](Self::new) made it, and nothing uses it.
    pub(super) unsafe fn free(block: *mut Block<T>) {
        if let Some(layout) = Self::layout() {
            // SAFETY: the caller's promise.
            let memory = unsafe { &*block }.memory;
            // SAFETY: allocated with this layout; the caller's promise.
            unsafe { dealloc(memory, layout) };
        }
    }
}
