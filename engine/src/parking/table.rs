//! Lists of a host's own, in the memory that it was given: they are read and changed under a
//! `short` lock, which the engine's locks may be around, and grow with no lock held. `exits`,
//! `lending` and `robust` keep what they know of threads in them; they call [`Memory`].
//!
//! A list for which there is no memory stays as large as it is: the caller is told that there is no
//! room, and never waits for memory.

use core::alloc::Layout;
use core::ops::{Deref, DerefMut};
use core::ptr::NonNull;

use super::short::{Short, ShortGuard};
use crate::{Host, Memory};

/// A list and its lock, in a host's memory.
#[derive(Debug)]
pub(super) struct Table<M: Memory, T: Copy> {
    list: Short<List<T>>,
    memory: M,
}

/// The elements of a table, which have a fixed amount of room.
#[derive(Debug)]
pub(super) struct List<T> {
    block: NonNull<T>,
    capacity: usize,
    len: usize,
}

// SAFETY: the list is its block's only user.
unsafe impl<T: Send> Send for List<T> {}

/// A list that no table has, or has no more; freed when dropped.
struct Spare<'a, M: Memory, T> {
    memory: &'a M,
    list: List<T>,
}

impl<M: Memory, T: Copy> Table<M, T> {
    /// Makes an empty table, without memory.
    pub(super) const fn new(memory: M) -> Table<M, T> {
        Table { list: Short::new(List::EMPTY), memory }
    }

    /// Returns the memory that the table grows in.
    pub(super) fn memory(&self) -> &M {
        &self.memory
    }

    /// Returns the list of a table that no other thread can reach.
    pub(super) fn get_mut(&mut self) -> &mut List<T> {
        self.list.get_mut()
    }

    /// Locks the list.
    pub(super) fn lock<'a, H: Host>(&'a self, host: &'a H) -> ShortGuard<'a, List<T>, H> {
        self.list.lock(host)
    }

    /// Locks the list, after having made room for `count` elements in all and for one more than it
    /// has, if there is memory. The caller holds no lock, since the memory may sleep.
    pub(super) fn lock_with_room<'a, H: Host>(&'a self, host: &'a H, count: usize) -> ShortGuard<'a, List<T>, H> {
        loop {
            let list = self.lock(host);
            let wanted = count.max(list.len + 1);
            if list.capacity >= wanted {
                return list;
            }
            drop(list);
            let make = |capacity| List::allocate(&self.memory, capacity);
            let Some(list) = make(wanted.saturating_mul(2)).or_else(|| make(wanted)) else { return self.lock(host) };
            // Freed where no lock is held: it is declared before the lock is taken.
            let mut larger = Spare { memory: &self.memory, list };
            let mut list = self.lock(host);
            if larger.list.capacity > list.capacity {
                list.iter().for_each(|element| _ = larger.list.push(*element));
                core::mem::swap(&mut *list, &mut larger.list);
            }
            drop(list);
        }
    }
}

impl<M: Memory, T: Copy> Drop for Table<M, T> {
    fn drop(&mut self) {
        let list = core::mem::replace(self.list.get_mut(), List::EMPTY);
        drop(Spare { memory: &self.memory, list });
    }
}

impl<M: Memory, T> Drop for Spare<'_, M, T> {
    fn drop(&mut self) {
        if self.list.capacity != 0 {
            let layout = Layout::array::<T>(self.list.capacity).expect("it was a layout when the block was allocated");
            // SAFETY: allocated with that layout, and freed once.
            unsafe { self.memory.free(self.list.block.cast(), layout) };
        }
    }
}

impl<T> List<T> {
    /// A list without room.
    const EMPTY: List<T> = List { block: NonNull::dangling(), capacity: 0, len: 0 };

    /// Allocates an empty list. `None`: there is no memory.
    fn allocate(memory: &impl Memory, capacity: usize) -> Option<List<T>> {
        let block = memory.allocate(Layout::array::<T>(capacity).ok()?, None)?.cast();
        Some(List { block, capacity, len: 0 })
    }
}

impl<T: Copy> List<T> {
    /// Returns true if the list has room for `count` elements in all.
    pub(super) fn has_room(&self, count: usize) -> bool {
        self.capacity >= count
    }

    /// Appends an element; returns false if there is no room.
    pub(super) fn push(&mut self, element: T) -> bool {
        self.insert(self.len, element)
    }

    /// Inserts an element before the one with that index, or at the end; returns false if there is
    /// no room.
    pub(super) fn insert(&mut self, index: usize, element: T) -> bool {
        if self.len == self.capacity {
            return false;
        }
        assert!(index <= self.len, "an index of the list's, or its end");
        // SAFETY: within the block, or at the end of what is there.
        let place = unsafe { self.block.add(index) };
        // SAFETY: the block has room for one more.
        let next = unsafe { place.add(1) };
        // SAFETY: what moves is initialized, and ends where the list then does.
        unsafe { place.copy_to(next, self.len - index) };
        // SAFETY: within the block.
        unsafe { place.write(element) };
        self.len += 1;
        true
    }

    /// Takes out the element with that index; those behind it move up.
    pub(super) fn remove(&mut self, index: usize) -> T {
        let element = self[index];
        self.copy_within(index + 1.., index);
        self.len -= 1;
        element
    }

    /// Takes out the element with that index; the last one moves there.
    pub(super) fn swap_remove(&mut self, index: usize) -> T {
        let (element, last) = (self[index], self[self.len - 1]);
        self[index] = last;
        self.len -= 1;
        element
    }
}

impl<T> Deref for List<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: `len` elements were written, and this borrows them.
        unsafe { core::slice::from_raw_parts(self.block.as_ptr(), self.len) }
    }
}

impl<T> DerefMut for List<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: `len` elements were written, and this borrows them.
        unsafe { core::slice::from_raw_parts_mut(self.block.as_ptr(), self.len) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Heap;
    use crate::parking::Process;

    fn host() -> Process {
        // SAFETY: no engine serves it.
        unsafe { Process::new(2, 1) }
    }

    #[test]
    fn a_list_has_the_room_that_was_asked_for_and_keeps_what_it_has() {
        let (host, table) = (host(), Table::<Heap, u32>::new(Heap));
        for i in 0..100 {
            let mut locked = table.lock_with_room(&host, 0);
            let before = locked.capacity;
            assert!(locked.push(i));
            assert_eq!(locked.capacity, before);
        }
        assert!(table.lock_with_room(&host, 5_000).has_room(5_000));
        assert!(table.lock(&host).iter().copied().eq(0..100));
    }

    #[test]
    fn elements_are_put_in_and_taken_out_where_it_is_said() {
        let (host, table) = (host(), Table::<Heap, u32>::new(Heap));
        let mut list = table.lock_with_room(&host, 4);
        for (index, element) in [(0, 3), (0, 1), (1, 2), (3, 4)] {
            assert!(list.insert(index, element));
        }
        assert_eq!(**list, [1, 2, 3, 4]);
        assert_eq!((list.remove(1), list.swap_remove(0)), (2, 1));
        assert_eq!(**list, [4, 3]);
    }

    #[test]
    fn a_list_without_memory_stays_as_large_as_it_is() {
        #[derive(Clone)]
        struct Nothing;

        // SAFETY: no block is ever allocated.
        unsafe impl Memory for Nothing {
            fn allocate(&self, _: Layout, _: Option<u32>) -> Option<NonNull<u8>> {
                None
            }
            unsafe fn free(&self, _: NonNull<u8>, _: Layout) {}
        }

        let (host, table) = (host(), Table::<Nothing, u32>::new(Nothing));
        assert!(!table.lock_with_room(&host, 3).push(1));
        assert!(table.lock(&host).is_empty());
    }
}
