//! A key and its value, as they lie in memory: never moved while they are in a map, and never
//! changed.

use core::mem::ManuallyDrop;
use core::ptr::NonNull;

use super::super::pool::Pool;
use super::super::table::TableNode;

/// A key, its value, and the hash that the call which made the entry was told of the key.
pub(super) struct HashEntry<K, V> {
    hash: u64,
    pub(super) key: K,
    pub(super) value: V,
}

// SAFETY: the hash is set when the entry is made.
unsafe impl<K, V> TableNode for HashEntry<K, V> {
    #[inline(always)]
    fn hash(&self) -> u64 {
        self.hash
    }
}

/// The memory of entries.
pub(super) type Entries<K, V> = Pool<HashEntry<K, V>>;

/// An entry that no map has yet.
pub(super) struct Unlinked<'m, K, V> {
    entry: NonNull<HashEntry<K, V>>,
    entries: &'m Entries<K, V>,
}

impl<'m, K, V> Unlinked<'m, K, V> {
    #[inline]
    pub(super) fn new(entries: &'m Entries<K, V>, hash: u64, key: K, value: V) -> Self {
        let entry = entries.allocate();
        // SAFETY: allocated above.
        unsafe { entry.write(HashEntry { hash, key, value }) };
        Unlinked { entry, entries }
    }

    /// Returns the address, which a map is given.
    pub(super) fn node(&self) -> NonNull<HashEntry<K, V>> {
        self.entry
    }

    /// Returns the hash that it was made with.
    #[inline]
    pub(super) fn hash(&self) -> u64 {
        // SAFETY: made by `new`, and alive until `self` is given up.
        unsafe { self.entry.as_ref().hash }
    }

    pub(super) fn key(&self) -> &K {
        // SAFETY: made by `new`, and alive until `self` is given up.
        unsafe { &self.entry.as_ref().key }
    }

    /// Gives the entry up to a map, which has its address.
    pub(super) fn linked(self) -> NonNull<HashEntry<K, V>> {
        ManuallyDrop::new(self).entry
    }

    /// Takes key and value back.
    pub(super) fn into_pair(self) -> (K, V) {
        let entries = self.entries;
        // SAFETY: no map has it.
        unsafe { take(entries, self.linked()) }
    }
}

impl<K, V> Drop for Unlinked<'_, K, V> {
    fn drop(&mut self) {
        // SAFETY: no map has it.
        unsafe { free(self.entries, self.entry) };
    }
}

/// Drops key and value of an entry, and takes its memory back.
///
/// # Safety
/// It was made by `Unlinked::new` with these entries, and no map and no reader has it.
pub(super) unsafe fn free<K, V>(entries: &Entries<K, V>, entry: NonNull<HashEntry<K, V>>) {
    /// Takes the memory back, also if a destructor panics.
    struct Memory<'m, K, V>(&'m Entries<K, V>, NonNull<HashEntry<K, V>>);
    impl<K, V> Drop for Memory<'_, K, V> {
        fn drop(&mut self) {
            // SAFETY: the caller's promise; what was in it was dropped.
            unsafe { self.0.release(self.1) };
        }
    }
    let memory = Memory(entries, entry);
    // SAFETY: the caller's promise.
    unsafe { memory.1.drop_in_place() };
}

/// Takes key and value out of an entry, and its memory back.
///
/// # Safety
/// As for `free`.
pub(super) unsafe fn take<K, V>(entries: &Entries<K, V>, entry: NonNull<HashEntry<K, V>>) -> (K, V) {
    // SAFETY: the caller's promise.
    let HashEntry { key, value, .. } = unsafe { entry.read() };
    // SAFETY: as above, and read above.
    unsafe { entries.release(entry) };
    (key, value)
}
