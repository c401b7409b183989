//! The map itself: what it consists of, how it is made, and how it ends.

use core::marker::PhantomData;

use super::edit::Tree;
use super::store::{Layout, with_store};
use super::waste;
use crate::atomic::const_fn;
use crate::collect::backend::{Limbo, panics};
use crate::rcu::{Domain, Global};

/// An ordered map that readers walk under RCU, without a lock, a fence or an allocation: look-ups,
/// the nearest key on either side, and ranges in both directions.
///
/// A reader passes a guard of the map's domain, and gets references that live as long as the guard.
/// Writers take `&self`, too. What a writer takes out comes back as
/// [`Retired`](super::Retired): readers may still use it, so its owner waits for a grace
/// period, defers, or looks at it meanwhile.
///
/// ```
/// use leeward::collect::OrderedMap;
/// use leeward::rcu;
///
/// static PORTS: OrderedMap<u16, &str> = OrderedMap::new();
/// PORTS.insert(80, "http");
/// PORTS.insert(443, "https");
/// PORTS.insert(22, "ssh");
///
/// let guard = rcu::read();
/// assert_eq!(PORTS.get(&80, &guard), Some(&"http"));
/// assert_eq!(PORTS.floor(&400, &guard), Some((&80, &"http")));
/// let low: Vec<_> = PORTS.range(..100, &guard).map(|(port, _)| *port).collect();
/// assert_eq!(low, [22, 80]);
///
/// // A writer on any thread: readers that have the name go on using it.
/// let name = PORTS.get(&22, &guard).unwrap();
/// assert!(PORTS.remove(&22).is_some());
/// assert_eq!((*name, PORTS.get(&22, &guard)), ("ssh", None));
/// ```
///
/// # Differences from `BTreeMap`
/// - Writers share the map; there is no `get_mut` and no entry. [`update`](Self::update) computes a
///   new value from the old one.
/// - [`insert`](Self::insert) replaces the key as well as the value.
/// - [`floor`](Self::floor), [`ceiling`](Self::ceiling), [`lower_bound`](Self::lower_bound) and
///   [`upper_bound`](Self::upper_bound) return entries.
///
/// # Ordering of keys
/// A key's order must not change while it is in the map. An `Ord` that contradicts itself makes
/// look-ups fail, keys appear twice or a call go on forever; memory stays safe.
/// `Ord`, closures and destructors run under no lock of the map, so they may use it. A panic in one
/// of the first two leaves the map as it was. A writer whose leaf changes meanwhile does its work again: a
/// comparison or a closure that changes the same leaf each time keeps its own caller from ending.
///
/// # Memory ordering
/// What a writer did before it inserted a value happens before a reader's use of it. A look-up
/// returns what was in the map at some moment during the call. [`Range`](super::Range)
/// says what a scan sees.
///
/// # Cost
/// | call | common path | rare path |
/// |---|---|---|
/// | look-ups | a binary search on each level; nothing is written | |
/// | `insert`, `remove` | a copy of a leaf (32 entries) and one locked section | one inner node more, in 1 of 16 |
/// | a step of a range | two loads | a new leaf, in 1 of 16 to 32 |
///
/// Writers make their leaves beside one another, and publish them one after the other. If two
/// change the same leaf, one of them does its work again.
///
/// Keys and values that are small and `Copy` (integers, addresses and pairs of these) lie in the
/// nodes themselves; all others in an allocation for each entry, to which the nodes point. Of
/// further types that are `Copy`, [`with_copied_keys`](Self::with_copied_keys) and
/// [`with_copied_entries`](Self::with_copied_entries) put them into the nodes.
///
/// # Memory
/// What was replaced or removed is freed by later writers, after a grace period, and with the map.
/// A guard that is held for long, also by a scan, holds all of it back.
///
/// Every change of an entry takes memory, also a removal: a leaf is copied. Where there is none the
/// process ends, as with a `Box`; the calls that begin with `checked_`
/// ([`checked_insert`](Self::checked_insert) and others) return an error instead, and leave the map as it
/// was. [`clear`](Self::clear) takes no memory.
///
/// # Async-signal-safety, fork
/// In a signal handler a map may be read, if the domain may ([`rcu`](crate::rcu#signals)). In the
/// child of a fork a map is whole and may be used in every way, whatever other threads were doing
/// to it: what they had not published is not there. What they were about to free is leaked in the
/// child.
///
/// # Panics
/// Writers open a section, and panic as [`Domain::read`] does.
///
/// A destructor that panics while a later writer frees what was taken out is caught, and counted
/// ([`Stats::callback_panics`](crate::rcu::Stats::callback_panics)). Where the map itself is dropped, such
/// a panic is caught, and all other entries are dropped.
pub struct OrderedMap<K, V, D: Domain = Global> {
    pub(super) tree: Tree,
    pub(super) limbo: Limbo,
    pub(super) layout: Layout,
    /// Invariant in both; `Send` and `Sync` are said below.
    entries: PhantomData<*mut (K, V)>,
    domain: PhantomData<fn() -> D>,
}

// SAFETY: the map owns its entries, and what writers took out of it.
unsafe impl<K: Send, V: Send, D: Domain> Send for OrderedMap<K, V, D> {}
// SAFETY: readers share entries, and a writer on any thread may take them out and free them.
unsafe impl<K: Send + Sync, V: Send + Sync, D: Domain> Sync for OrderedMap<K, V, D> {}

impl<K, V> OrderedMap<K, V> {
    const_fn! {
        /// Makes an empty map, which is read in sections of [`Global`]. Allocates nothing.
        pub fn new() -> Self {
            Self::new_in()
        }
    }
}

impl<K, V, D: Domain> OrderedMap<K, V, D> {
    const_fn! {
        /// Makes an empty map of the domain `D`. Allocates nothing.
        ///
        /// ```
        /// use leeward::collect::OrderedMap;
        /// use leeward::rcu::Domain;
        /// leeward::rcu_domain! { struct Routes; }
        /// static TABLE: OrderedMap<u32, String, Routes> = OrderedMap::new_in();
        /// TABLE.insert(7, "eth0".into());
        /// assert_eq!(TABLE.get(&7, &Routes::read()).unwrap(), "eth0");
        /// ```
        pub fn new_in() -> Self {
            Self::with(Layout::ByType)
        }
    }

    const_fn! {
        /// Makes an empty map whose nodes have copies of the keys, so that a look-up reads no memory
        /// but nodes until it has found its entry. [`new_in`](Self::new_in) does so for small types of
        /// std; this is for others, which should be small.
        ///
        /// ```
        /// use leeward::collect::OrderedMap;
        /// #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        /// struct Prefix { address: u32, length: u8 }
        /// let routes = OrderedMap::<Prefix, String>::with_copied_keys();
        /// routes.insert(Prefix { address: 10 << 24, length: 8 }, "eth0".into());
        /// assert_eq!(routes.len(), 1);
        /// ```
        pub fn with_copied_keys() -> Self
        where
            K: Copy,
        {
            Self::with(Layout::Keys)
        }
    }

    const_fn! {
        /// Makes an empty map whose nodes have copies of the keys and the values, so that an entry takes
        /// no allocation. Both should be small: a writer copies up to 32 of them.
        ///
        /// ```
        /// use leeward::collect::OrderedMap;
        /// let squares = OrderedMap::<[u8; 5], f32>::with_copied_entries();
        /// squares.insert(*b"three", 9.0);
        /// assert_eq!(squares.remove(b"three").unwrap().synchronize(), (*b"three", 9.0));
        /// ```
        pub fn with_copied_entries() -> Self
        where
            K: Copy,
            V: Copy,
        {
            Self::with(Layout::Both)
        }
    }

    const_fn! {
        fn with(layout: Layout) -> Self {
            OrderedMap { tree: Tree::new(), limbo: Limbo::new(), layout, entries: PhantomData, domain: PhantomData }
        }
    }

    /// Returns the number of entries: exactly, while no writer is at work.
    pub fn len(&self) -> usize {
        self.tree.len()
    }

    /// Returns true if the map has no entry.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<K, V, D: Domain> Drop for OrderedMap<K, V, D> {
    /// Frees the entries, and what writers have taken out: no reader has the map.
    fn drop(&mut self) {
        let layout = self.layout;
        if let Some(root) = self.tree.take() {
            // SAFETY: the caller has the map alone.
            with_store!(layout, K, V, S => unsafe { waste::drop_tree::<K, V, S>(root) });
        }
        // A destructor that panics keeps none of the others from running.
        let free = |item| {
            // SAFETY: the limbo holds what was retired in this map, and calls this once for each.
            panics(|| _ = unsafe { waste::free::<K, V>(layout, item) });
        };
        // SAFETY: references that readers got borrowed the map.
        unsafe { self.limbo.drain::<D>(free) };
    }
}
