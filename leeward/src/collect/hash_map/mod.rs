//! A concurrent hash map whose readers take no lock, in no state of the map: under RCU, with
//! entries that are never moved.

mod builder;
mod by_hash;
mod decision;
mod entry;
mod iter;
mod owned;
mod pinned;
mod read;
mod retired;
mod traits;
mod update;
mod write;

use core::hash::{BuildHasher, Hash};
use core::marker::PhantomData;
use core::ptr::NonNull;
use std::hash::RandomState;

pub use builder::Builder;
pub use iter::{Iter, Keys, Values};
pub use owned::{IntoIter, IterMut};
pub use pinned::Pinned;
pub use retired::Retired;
pub use update::{Compute, Operation};
pub use write::Occupied;

use super::TryReserveError;
use super::table::{Owner, RawTable, Table};
use crate::rcu::free::limbo::Limbo;
use crate::rcu::{self, Domain, Global};
use entry::{Entries, HashEntry};

/// A concurrent hash map under RCU: readers look keys up without locks, fences or atomic
/// read-modify-writes, also while writers insert, remove, and let the table grow or shrink.
///
/// A look-up returns a reference that lives as long as the guard of a read section ([`rcu::read`],
/// or [`pin`](Self::pin), which has the guard inside). A value that is in the map is never changed
/// or moved: a writer puts another into its place. What a writer takes out comes back as
/// [`Retired`], which readers may still have: it can be waited for, or is dropped, and the map
/// frees it later.
///
/// ```
/// use leeward::{collect::HashMap, rcu};
/// let ports = HashMap::new();
/// ports.insert("http", 80);
/// ports.insert("https", 443);
///
/// // A reader, on any thread.
/// let guard = rcu::read();
/// assert_eq!(ports.get("http", &guard), Some(&80));
///
/// // Writers, on any threads, beside it.
/// let old = ports.insert("http", 8080).unwrap();      // what was there
/// assert_eq!(*old, 80);
/// old.defer();                                        // or only drop it
/// ports.update("http", |port| port + 1);
/// ports.remove("https");
/// assert_eq!(ports.get("http", &guard), Some(&8081));
/// assert_eq!(ports.pin().get("https"), None);         // with a guard of its own
/// ```
///
/// A map may be a `static`, with a hasher whose constructor is `const`:
///
/// ```
/// use leeward::collect::HashMap;
/// use std::hash::{BuildHasherDefault, DefaultHasher};
/// static USERS: HashMap<u64, String, BuildHasherDefault<DefaultHasher>> =
///     HashMap::with_hasher(BuildHasherDefault::new());
/// USERS.insert(1, "root".into());
/// assert_eq!(USERS.pin().get(&1).map(String::as_str), Some("root"));
/// ```
///
/// # Which map
/// [`RcuCell`](crate::rcu::RcuCell)`<std::collections::HashMap>` for a few hundred entries that
/// seldom change; an [`asym::RwLock`](crate::asym::RwLock) around a map where writers are rare and
/// readers may wait for them; this one where readers may not wait, or values are too large to copy
/// all of them.
///
/// # Memory ordering
/// What happened before an insertion in its thread happens before what follows a look-up that finds
/// it. Each call takes effect at one instant between its beginning and its end; a walk
/// ([`iter`](Self::iter)) is not one instant.
///
/// # Panics in `Hash`, `Eq` and closures
/// No code of users runs while a lock is held, so it may use the map itself. A closure that changes
/// its own key is called again; one that does so each time panics, and a comparison (`Eq`) that adds
/// keys of the same hash each time keeps its call from ending. If users' code panics, the call
/// has changed nothing, and what it was given is dropped. If `Eq` or `Hash` lie, keys may be there
/// twice, or not be found; memory stays safe. A call asks for its key's hash once, and an entry keeps
/// the hash of the call that made it, so a `Hash` that answers differently each time harms the
/// entries of its own key only.
///
/// # When values are dropped
/// The map frees what was taken out on the threads that write it, some dozens at a time, once no
/// section is open that began before. A map that is not written any more keeps what was taken out
/// last (122 entries for each writer, and a few thousand where [heavy fences](crate::fence::heavy)
/// are dear) until it is dropped, or until [`reclaim`](Self::reclaim). A destructor that panics
/// there is caught, and counted ([`Stats::callback_panics`](crate::rcu::Stats::callback_panics)).
/// Where the map itself is dropped, everything is dropped at once; a destructor that panics leaks
/// the rest.
///
/// # Hash flooding
/// Keys with equal hashes are a list: a look-up among *n* of them compares *n* keys, in cache lines
/// of seven. A writer that moves them to another table moves all of them at once, while other writers
/// of these keys wait. [`RandomState`], the default, keeps others from choosing such keys.
///
/// # Fork
/// The child of a fork may use the map, whatever other threads were doing in it. The first writer
/// in the child looks at every line of the table once, to break the locks of threads that are not
/// there. What other threads were about to free may be leaked there.
///
/// # Async-signal-safety
/// A signal handler may look keys up, where it may [read](crate::rcu#signals). It must not write,
/// nor drop a [`Retired`].
///
/// # Cost
/// | call | common path | rare path |
/// |---|---|---|
/// | [`get`](Self::get) | a section; two cache lines, one after the other | a line more |
/// | [`insert`](Self::insert) | that, and two atomic operations on a line | an allocation; a move |
/// | [`remove`](Self::remove) | the same | freeing some dozens; a heavy fence for thousands |
/// | [`len`](Self::len) | a load for each writer | |
///
/// One entry in twenty is in an overflow line, which is one line more to look at, as is the next
/// table while nodes move. A writer that meets a move helps with eight lines.
///
/// An entry takes 8 bytes beside key and value, and 10 to 20 bytes of the table. The memory of
/// removed entries of up to 128 bytes is used again by the map, and given back when it is dropped. A
/// map that was written takes about 2 KiB beside.
///
/// # Beside papaya
/// - Entering a section executes no fence, so `pin` is cheap.
/// - What was removed can be had back ([`Retired`]).
/// - `insert`, `remove` and `update` need no guard, and return what was there before.
///
/// # Sources
/// Seven slots and their tags in one line are after SwissTable (A. Kulukundis, 2017); growing by
/// the writers that meet it is after C. Click, "A lock-free hash table", 2007; the walk in the
/// order of reversed bits is after O. Shalev and N. Shavit, "Split-ordered lists", 2003.
/// [`guide::hash_map`](crate::guide::hash_map) says why it is right.
pub struct HashMap<K, V, S = RandomState, D: Domain = Global> {
    table: RawTable<HashEntry<K, V>>,
    limbo: Limbo,
    entries: Entries<K, V>,
    hasher: S,
    /// It owns pairs; a shared map takes and returns them, so it is invariant.
    owns: PhantomData<(HashEntry<K, V>, fn(K, V) -> (K, V), fn() -> D)>,
}

// SAFETY: sending the map sends its entries, and those in its limbo.
unsafe impl<K: Send, V: Send, S: Send, D: Domain> Send for HashMap<K, V, S, D> {}
// SAFETY: readers of many threads share the entries (`Sync`); the thread that removes one, or frees
// it after a grace period, takes it away (`Send`).
unsafe impl<K: Send + Sync, V: Send + Sync, S: Sync, D: Domain> Sync for HashMap<K, V, S, D> {}

impl<K, V> HashMap<K, V> {
    /// Makes an empty map, in the domain [`Global`]. Allocates nothing.
    ///
    /// ```
    /// let map = leeward::collect::HashMap::<u32, String>::new();
    /// assert!(map.is_empty() && map.capacity() == 0);
    /// ```
    pub fn new() -> Self {
        Self::with_hasher(RandomState::new())
    }

    /// Makes an empty map with room for so many entries.
    ///
    /// ```
    /// let map = leeward::collect::HashMap::<u32, String>::with_capacity(1000);
    /// assert!(map.capacity() >= 1000);
    /// ```
    ///
    /// # Panics
    /// As [`reserve`](Self::reserve).
    pub fn with_capacity(capacity: usize) -> Self {
        Self::with_capacity_and_hasher(capacity, RandomState::new())
    }
}

impl<K, V, S> HashMap<K, V, S> {
    /// Makes an empty map with this hasher, in the domain [`Global`]. Allocates nothing, so a map
    /// may be a `static` ([`HashMap`] has an example).
    pub const fn with_hasher(hasher: S) -> Self {
        Self::with_hasher_in(hasher)
    }

    /// Makes an empty map with this hasher and room for so many entries.
    ///
    /// # Panics
    /// As [`reserve`](Self::reserve).
    pub fn with_capacity_and_hasher(capacity: usize, hasher: S) -> Self {
        let map = Self::with_hasher_in(hasher);
        map.reserve(capacity);
        map
    }
}

impl<K, V, S, D: Domain> HashMap<K, V, S, D> {
    /// Makes an empty map with this hasher, in the domain `D`: its readers' sections are of that
    /// domain, and its writers are held up by no other.
    ///
    /// ```
    /// use leeward::{collect::HashMap, rcu::Domain};
    /// use std::hash::RandomState;
    /// leeward::rcu_domain! { struct Zones; }
    /// let zones = HashMap::<String, u32, RandomState, Zones>::with_hasher_in(RandomState::new());
    /// zones.insert("example.org".into(), 1);
    /// assert_eq!(zones.get("example.org", &Zones::read()), Some(&1));
    /// ```
    pub const fn with_hasher_in(hasher: S) -> Self {
        HashMap { table: RawTable::new(), limbo: Limbo::new(), entries: Entries::new(), hasher, owns: PhantomData }
    }

    /// Returns the hasher.
    pub fn hasher(&self) -> &S {
        &self.hasher
    }

    /// Returns the number of entries, which is exact while no thread writes.
    ///
    /// # Cost
    /// A load for each thread that ever wrote.
    pub fn len(&self) -> usize {
        self.table.len()
    }

    /// Returns true if the map has no entry, as [`len`](Self::len) counts them.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns how many entries find room before the table grows.
    pub fn capacity(&self) -> usize {
        let _guard = D::read();
        self.table.capacity()
    }

    /// Lets the table grow for so many entries more, at once. Other writers may go on meanwhile. If
    /// a move is under way already, the table grows as entries come.
    ///
    /// # Panics
    /// Where there is no memory, or can be none, for so many. Nothing is lost.
    #[track_caller]
    pub fn reserve(&self, additional: usize) {
        if let Err(error) = self.try_reserve(additional) {
            panic!("leeward: {error}");
        }
    }

    /// Does what [`reserve`](Self::reserve) does, and returns an error where that panics.
    ///
    /// ```
    /// let map = leeward::collect::HashMap::<u32, u32>::new();
    /// assert!(map.try_reserve(100).is_ok() && map.try_reserve(usize::MAX).is_err());
    /// ```
    ///
    /// # Errors
    /// [`TryReserveError`], and nothing has changed.
    pub fn try_reserve(&self, additional: usize) -> Result<(), TryReserveError> {
        let _guard = D::read();
        self.table.reserve(additional, self).map_err(|_| TryReserveError(()))
    }

    /// Frees what this thread has taken out, and what others have that is queued, as far as no
    /// reader can hold it. Never waits for a reader: what one may still have stays until a
    /// later call, or a later writer.
    ///
    /// ```
    /// use leeward::{collect::HashMap, rcu};
    /// use std::sync::Arc;
    /// leeward::rcu_domain! { struct Own; }        // no reader of other code is in the way
    /// let map = HashMap::<u8, Arc<()>, std::hash::RandomState, Own>::default();
    /// let value = Arc::new(());
    /// map.insert(1, value.clone());
    /// map.remove(&1);                             // a reader may have found it
    /// assert_eq!(Arc::strong_count(&value), 2);
    /// map.reclaim();
    /// assert_eq!(Arc::strong_count(&value), 1);
    /// ```
    ///
    /// # Cost
    /// A [heavy fence](crate::fence::heavy), and a load for each reader.
    pub fn reclaim(&self) {
        // SAFETY: everything in the limbo was retired by this map.
        unsafe { self.limbo.reclaim::<D>(|item| self.free(item)) };
    }

    /// Retires an entry that was removed.
    ///
    /// # Safety
    /// No section that begins from now on finds it, and it is retired once.
    unsafe fn retire_entry(&self, entry: NonNull<HashEntry<K, V>>) {
        // SAFETY: the caller's promise; `free` is for all that this map retires.
        unsafe { self.limbo.retire::<D>(entry.cast(), |item| self.free(item)) };
    }

    /// Frees what the limbo has.
    fn free(&self, item: NonNull<()>) {
        // SAFETY: retired by `retire_entry`, and no reader has it any more.
        unsafe { entry::free(&self.entries, item.cast::<HashEntry<K, V>>()) };
    }
}

impl<K, V, S, D: Domain> Owner for HashMap<K, V, S, D> {
    /// Leaves a table to the domain's worker: it may be large, and what is in it is not dropped.
    fn retire(&self, table: NonNull<Table>) {
        // SAFETY: alive until it is freed.
        let bytes = unsafe { table.as_ref() }.bytes();
        // SAFETY: no section that begins from now on finds it; it is freed once, on any thread.
        unsafe { rcu::Retired::<Table, D>::from_raw_in(table, Table::free) }.defer_bytes(bytes);
    }
}

impl<K: Hash, V, S: BuildHasher, D: Domain> HashMap<K, V, S, D> {
    #[inline(always)]
    fn hash<Q: Hash + ?Sized>(&self, key: &Q) -> u64 {
        self.hasher.hash_one(key)
    }
}

impl<K, V, S, D: Domain> Drop for HashMap<K, V, S, D> {
    /// Drops all entries, and what was taken out and not freed yet. There is no reader any more:
    /// what they hold borrows the map.
    fn drop(&mut self) {
        // SAFETY: no other thread has the map.
        let mut walk = unsafe { self.table.walk() };
        while let Some(entry) = walk.next() {
            // SAFETY: each is in the map once, and the walk does not look at it again.
            unsafe { entry::free(&self.entries, entry) };
        }
        let entries = &self.entries;
        // SAFETY: no reader is left.
        let free = |item: NonNull<()>| unsafe { entry::free(entries, item.cast::<HashEntry<K, V>>()) };
        // SAFETY: as above.
        unsafe { self.limbo.drain::<D>(free) };
    }
}
