//! Memory that may be refused, and a stock of it. What a change needs (`need.rs`) is reserved before the
//! writers' lock is taken, so a change that has begun never fails, and the lock's holder does not call the
//! allocator.

use alloc::alloc::{Layout, alloc};
use alloc::boxed::Box;
use core::marker::PhantomData;
use core::mem::MaybeUninit;
use core::ptr::{self, NonNull};

use crate::no_unwind::abort;

/// Returns memory as that of a box, if there is any.
pub(super) fn try_uninit<T>() -> Option<Box<MaybeUninit<T>>> {
    if size_of::<T>() == 0 {
        return Some(Box::new(MaybeUninit::uninit()));
    }
    // SAFETY: the layout is not empty.
    let memory = NonNull::new(unsafe { alloc(Layout::new::<T>()) })?;
    // SAFETY: allocated as a box is; nothing need be initialized.
    Some(unsafe { Box::from_raw(memory.as_ptr().cast()) })
}

/// Makes a box; returns the value if there is no memory.
pub(super) fn try_box<T>(value: T) -> Result<Box<T>, T> {
    let Some(mut memory) = try_uninit::<T>() else { return Err(value) };
    memory.write(value);
    // SAFETY: written above.
    Ok(unsafe { memory.assume_init() })
}

/// Memory for inner nodes, `T`, that a change may use.
pub(super) struct Stock<T> {
    first: *mut Unused,
    nodes: PhantomData<T>,
}

/// The beginning of memory that is not used: the next piece.
struct Unused(*mut Unused);

impl<T> Stock<T> {
    /// Reserves memory for so many nodes; `None`: there is not so much.
    #[inline]
    pub(super) fn new(count: usize) -> Option<Self> {
        let mut stock = Stock { first: ptr::null_mut(), nodes: PhantomData };
        for _ in 0..count {
            stock.put(try_uninit()?);
        }
        Some(stock)
    }

    /// Takes memory for a node.
    pub(super) fn take(&mut self) -> Box<MaybeUninit<T>> {
        self.try_take().unwrap_or_else(|| abort!("a change of an ordered map takes more memory than it has reserved"))
    }

    fn try_take(&mut self) -> Option<Box<MaybeUninit<T>>> {
        let first = NonNull::new(self.first)?;
        // SAFETY: put in by `put`, which wrote it.
        self.first = unsafe { first.read() }.0;
        // SAFETY: the memory of a box, which `put` took over.
        Some(unsafe { Box::from_raw(first.as_ptr().cast()) })
    }

    /// Puts memory back that no node uses.
    pub(super) fn put(&mut self, memory: Box<MaybeUninit<T>>) {
        const { assert!(size_of::<T>() >= size_of::<Unused>() && align_of::<T>() >= align_of::<Unused>()) };
        let memory = Box::into_raw(memory).cast::<Unused>();
        // SAFETY: the caller's, and large enough.
        unsafe { memory.write(Unused(self.first)) };
        self.first = memory;
    }
}

impl<T> Drop for Stock<T> {
    #[inline]
    fn drop(&mut self) {
        while let Some(memory) = self.try_take() {
            drop(memory);
        }
    }
}
