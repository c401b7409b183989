//! How keys and values lie in the tree: beside one another in its nodes, as copies, or in an entry
//! of their own, to which the nodes point.
//!
//! A writer copies the node that it changes, so readers may have two copies of what lies in a node.
//! That is sound for types that are `Copy`: they have no interior mutability and no destructor. All
//! others lie in entries, which never move.

use alloc::boxed::Box;
use core::any::TypeId;
use core::marker::PhantomData;
use core::mem::MaybeUninit;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use core::ptr::{self, NonNull};
use core::time::Duration;

use super::memory::try_box;

/// A key and its value that do not move. (Aligned, so that its address has bits for `waste.rs`.)
#[repr(align(8))]
pub(super) struct TreeEntry<K, V> {
    pub(super) key: K,
    pub(super) value: V,
}

/// What a writer took out.
pub(super) enum TakenEntry<K, V> {
    /// Its owner may have it at once: readers have copies.
    Copies(K, V),
    /// Readers may use it until a grace period is over.
    Entry(NonNull<TreeEntry<K, V>>),
}

impl<K, V> TakenEntry<K, V> {
    /// Returns the pair by value.
    ///
    /// # Safety
    /// It is the caller's alone: no reader has it any more.
    pub(super) unsafe fn into_pair(self) -> (K, V) {
        match self {
            TakenEntry::Copies(key, value) => (key, value),
            TakenEntry::Entry(entry) => {
                // SAFETY: from a box, and the caller's alone.
                let entry = *unsafe { Box::from_raw(entry.as_ptr()) };
                (entry.key, entry.value)
            }
        }
    }
}

/// The bytes of a key or a value in a node. They may be copied; the copies are one value.
pub(super) type TreeSlot<T> = MaybeUninit<T>;

/// Returns a copy of a slot.
#[inline(always)]
pub(super) fn copy_of<T>(slot: &TreeSlot<T>) -> TreeSlot<T> {
    // SAFETY: the bytes of a slot, which has no destructor of its own; its copies are one value.
    unsafe { ptr::read(slot) }
}

/// A way to lay keys and values out.
///
/// # Safety
/// `key` and `value` return what was packed, for as long as the slots and the entry live.
pub(super) unsafe trait Store<K, V> {
    /// What lies in a node for a key, also as a separator.
    type Key;
    /// What lies in a leaf for a value.
    type Value;
    /// True if separators point to entries: then a separator must be its subtree's least entry.
    const POINTS: bool;

    /// True if an entry is an allocation of its own.
    const HAS_ENTRIES: bool;

    /// Makes the slots of a pair.
    ///
    /// # Errors
    /// The pair, if there is no memory for its entry.
    fn pack(key: K, value: V) -> Result<(TreeSlot<Self::Key>, TreeSlot<Self::Value>), (K, V)>;

    /// Returns the key behind a slot.
    ///
    /// # Safety
    /// The slot is a packed pair's, and its entry lives for as long as `'a`.
    unsafe fn key<'a>(key: &'a TreeSlot<Self::Key>) -> &'a K
    where
        V: 'a;

    /// Returns the value behind a pair's slots.
    ///
    /// # Safety
    /// As for `key`; the slots are those of one pair.
    unsafe fn value<'a>(key: &'a TreeSlot<Self::Key>, value: &'a TreeSlot<Self::Value>) -> &'a V
    where
        K: 'a;

    /// Ends a pair's slots, and returns what they were made of.
    ///
    /// # Safety
    /// They are those of one pair, which no one else ends, and no new reader finds them.
    unsafe fn unpack(key: TreeSlot<Self::Key>, value: TreeSlot<Self::Value>) -> TakenEntry<K, V>;
}

/// Keys and values lie in the nodes.
pub(super) struct Both;
/// Keys lie in the nodes and, with their values, in entries.
pub(super) struct Keys;
/// Nodes point to entries.
pub(super) struct Entries;

// SAFETY: the slots are the pair.
unsafe impl<K, V> Store<K, V> for Both {
    type Key = K;
    type Value = V;
    const POINTS: bool = false;
    const HAS_ENTRIES: bool = false;

    #[inline(always)]
    fn pack(key: K, value: V) -> Result<(TreeSlot<K>, TreeSlot<V>), (K, V)> {
        Ok((TreeSlot::new(key), TreeSlot::new(value)))
    }

    #[inline(always)]
    unsafe fn key<'a>(key: &'a TreeSlot<K>) -> &'a K
    where
        V: 'a,
    {
        // SAFETY: a packed key.
        unsafe { key.assume_init_ref() }
    }

    #[inline(always)]
    unsafe fn value<'a>(_: &'a TreeSlot<K>, value: &'a TreeSlot<V>) -> &'a V
    where
        K: 'a,
    {
        // SAFETY: a packed value.
        unsafe { value.assume_init_ref() }
    }

    unsafe fn unpack(key: TreeSlot<K>, value: TreeSlot<V>) -> TakenEntry<K, V> {
        // SAFETY: a packed key; it is `Copy`, so that readers' copies do not matter.
        let key = unsafe { key.assume_init() };
        // SAFETY: a packed value, which is `Copy`.
        TakenEntry::Copies(key, unsafe { value.assume_init() })
    }
}

/// Makes an entry of a pair; returns the pair if there is no memory.
fn entry<K, V>(key: K, value: V) -> Result<NonNull<TreeEntry<K, V>>, (K, V)> {
    match try_box(TreeEntry { key, value }) {
        Ok(entry) => Ok(NonNull::from(Box::leak(entry))),
        Err(TreeEntry { key, value }) => Err((key, value)),
    }
}

/// Returns the entry behind a slot that points to one.
///
/// # Safety
/// The slot has the pointer of an entry that lives for as long as `'a`.
#[inline(always)]
unsafe fn entry_of<'a, K, V>(slot: &TreeSlot<NonNull<TreeEntry<K, V>>>) -> &'a TreeEntry<K, V> {
    // SAFETY: the caller's promise.
    let entry = unsafe { slot.assume_init_read() };
    // SAFETY: the caller's promise.
    unsafe { entry.as_ref() }
}

// SAFETY: the key is a copy of the entry's; the value is the entry's.
unsafe impl<K, V> Store<K, V> for Keys {
    type Key = K;
    type Value = NonNull<TreeEntry<K, V>>;
    const POINTS: bool = false;
    const HAS_ENTRIES: bool = true;

    #[inline(always)]
    fn pack(key: K, value: V) -> Result<(TreeSlot<K>, TreeSlot<Self::Value>), (K, V)> {
        // SAFETY: the store is chosen for keys that are `Copy` only.
        let copy = unsafe { ptr::read((&raw const key).cast::<TreeSlot<K>>()) };
        Ok((copy, TreeSlot::new(entry(key, value)?)))
    }

    #[inline(always)]
    unsafe fn key<'a>(key: &'a TreeSlot<K>) -> &'a K
    where
        V: 'a,
    {
        // SAFETY: a packed key.
        unsafe { key.assume_init_ref() }
    }

    #[inline(always)]
    unsafe fn value<'a>(_: &'a TreeSlot<K>, value: &'a TreeSlot<Self::Value>) -> &'a V
    where
        K: 'a,
    {
        // SAFETY: a packed value; the entry lives, by the caller's promise.
        &unsafe { entry_of(value) }.value
    }

    unsafe fn unpack(_: TreeSlot<K>, value: TreeSlot<Self::Value>) -> TakenEntry<K, V> {
        // SAFETY: a packed value.
        TakenEntry::Entry(unsafe { value.assume_init() })
    }
}

// SAFETY: both are the entry's.
unsafe impl<K, V> Store<K, V> for Entries {
    type Key = NonNull<TreeEntry<K, V>>;
    type Value = ();
    const POINTS: bool = true;
    const HAS_ENTRIES: bool = true;

    #[inline(always)]
    fn pack(key: K, value: V) -> Result<(TreeSlot<Self::Key>, TreeSlot<()>), (K, V)> {
        Ok((TreeSlot::new(entry(key, value)?), TreeSlot::new(())))
    }

    #[inline(always)]
    unsafe fn key<'a>(key: &'a TreeSlot<Self::Key>) -> &'a K
    where
        V: 'a,
    {
        // SAFETY: a packed key; the entry lives, by the caller's promise.
        &unsafe { entry_of(key) }.key
    }

    #[inline(always)]
    unsafe fn value<'a>(key: &'a TreeSlot<Self::Key>, _: &'a TreeSlot<()>) -> &'a V
    where
        K: 'a,
    {
        // SAFETY: a packed key; the entry lives, by the caller's promise.
        &unsafe { entry_of(key) }.value
    }

    unsafe fn unpack(key: TreeSlot<Self::Key>, _: TreeSlot<()>) -> TakenEntry<K, V> {
        // SAFETY: a packed key.
        TakenEntry::Entry(unsafe { key.assume_init() })
    }
}

/// Which store a map uses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Layout {
    /// That of the types, as `of` says.
    ByType,
    /// `Keys`, whatever the types: the map's maker has shown that keys are `Copy`.
    Keys,
    /// `Both`, whatever the types: the map's maker has shown that keys and values are `Copy`.
    Both,
    /// `Entries`, whatever the types.
    Entries,
}

impl Layout {
    /// Returns the store of a map with these types.
    #[inline(always)]
    pub(super) fn of<K, V>(self) -> Layout {
        match self {
            Layout::ByType if !is_plain::<K>() => Layout::Entries,
            Layout::ByType if !is_plain::<V>() => Layout::Keys,
            Layout::ByType => Layout::Both,
            chosen => chosen,
        }
    }
}

/// Returns true if `T` is one of the small types that are known to be `Copy`. The compiler works it
/// out: nothing of this runs in an optimized build.
#[inline(always)]
fn is_plain<T>() -> bool {
    /// Compares with each type of a list.
    macro_rules! is_one_of {
        ($($type:ty),* $(,)?) => { { let id = id_of::<T>(); $(id == TypeId::of::<$type>())||* } };
    }
    is_one_of!(
        u8,
        u16,
        u32,
        u64,
        u128,
        usize,
        i8,
        i16,
        i32,
        i64,
        i128,
        isize,
        bool,
        char,
        (),
        [u8; 2],
        [u8; 3],
        [u8; 4],
        [u8; 6],
        [u8; 8],
        [u8; 12],
        [u8; 16],
        [u8; 20],
        [u8; 32],
        [u32; 2],
        [u32; 4],
        [u64; 2],
        (u8, u8),
        (u16, u16),
        (u32, u8),
        (u32, u32),
        (u64, u8),
        (u64, u32),
        (u64, u64),
        (u128, u8),
        (i32, i32),
        (i64, i64),
        (usize, usize),
        Ipv4Addr,
        Ipv6Addr,
        IpAddr,
        (Ipv4Addr, u8),
        (Ipv6Addr, u8),
        Duration,
    )
}

/// Returns the id of a type that may borrow. The id is that of the type with all lifetimes `'static`,
/// so it is equal to that of a type without lifetimes for this very type only.
#[inline(always)]
fn id_of<T>() -> TypeId {
    trait Named {
        fn id(&self) -> TypeId
        where
            Self: 'static;
    }
    impl<T> Named for PhantomData<T> {
        #[inline(always)]
        fn id(&self) -> TypeId
        where
            Self: 'static,
        {
            TypeId::of::<T>()
        }
    }
    let marker = PhantomData::<T>;
    let named: &dyn Named = &marker;
    // SAFETY: only the lifetime of what the marker names is changed, and a marker has no value of it;
    // `id` uses the type and no value. (David Tolnay's crate `typeid` does so.)
    let named = unsafe { core::mem::transmute::<&dyn Named, &(dyn Named + 'static)>(named) };
    named.id()
}

/// Calls a function that is generic over the store with the map's store.
macro_rules! with_store {
    ($layout:expr, $k:ty, $v:ty, $store:ident => $call:expr) => {
        match $layout.of::<$k, $v>() {
            $crate::collect::ordered_map::store::Layout::Both => {
                type $store = $crate::collect::ordered_map::store::Both;
                $call
            }
            $crate::collect::ordered_map::store::Layout::Keys => {
                type $store = $crate::collect::ordered_map::store::Keys;
                $call
            }
            _ => {
                type $store = $crate::collect::ordered_map::store::Entries;
                $call
            }
        }
    };
}
pub(super) use with_store;
