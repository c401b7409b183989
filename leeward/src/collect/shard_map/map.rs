//! The map itself: how it is made, and which shard a key is in. Its calls are in `by_hash`, `read`, `write`
//! and `shards`.

use alloc::boxed::Box;
use core::hash::{BuildHasher, Hash};
use core::sync::atomic::AtomicUsize;
use std::hash::RandomState;

use hashbrown::HashTable;

use super::shard::Shard;
use crate::atomic::Ordering;

/// The fewest and the most shards of a map for which no number is asked. Each takes 128 bytes, and
/// each that is written a heavy fence now and then. Two threads that each mix reads and writes had
/// the same rate with 8, 16, 32 and 64 shards.
const FEWEST: usize = 16;
const MOST: usize = 1024;
/// The shards for each processor: threads that write at random seldom meet.
const EACH: usize = 4;

/// Returns the number of shards of a map for which none is asked.
fn shards() -> usize {
    /// What was returned before; 0: nothing. Asking for the processors reads files. (An atomic of
    /// core's: every thread computes the same number, or may do so.)
    static KNOWN: AtomicUsize = AtomicUsize::new(0);
    // Relaxed, both: a number and nothing else.
    let known = KNOWN.load(Ordering::Relaxed);
    if known != 0 {
        return known;
    }
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let shards = (EACH * processors).next_power_of_two().clamp(FEWEST, MOST);
    KNOWN.store(shards, Ordering::Relaxed);
    shards
}

/// A concurrent hash map with dashmap's interface: hash tables behind asymmetric readers-writer
/// locks, one for each part of the keys. For programs that move over from dashmap, and for values
/// that are changed in place.
///
/// # What differs from dashmap
/// - **Reading twice in one thread never deadlocks**, whether a writer waits or not: a thread that
///   reads a shard is let in again. (In dashmap two `Ref`s of one thread may wait for each other's
///   writer.)
/// - **A write while the same thread reads the shard panics** with a sentence, before anything is
///   changed, instead of hanging: `insert` while a [`Ref`](super::Ref) of the same shard or an
///   iterator is there. So does any call while the thread holds a [`RefMut`](super::RefMut) or an
///   entry of the shard. The `try_` calls return `Locked` or none.
/// - A closure that panics leaves the map whole: [`alter`](Self::alter) loses the one entry whose
///   value it was given, where dashmap ends the process.
/// - Guards belong to their thread (`!Send`).
/// - [`shards`](Self::shards) gives [shards](super::Shard) that are walked each by itself, and not their locks
///   and tables. What programs do with those is done by the calls that take a hash
///   ([`get_by_hash`](Self::get_by_hash), [`entry_by_hash`](Self::entry_by_hash)).
/// - What look-ups take needs to be [`Equivalent`](super::super::Equivalent) to a key, as what a key can be
///   borrowed as is.
///
/// Two threads that each hold a guard and ask for a shard that the other has locked still wait for
/// each other, if one of them writes: hold no guard while you call the map.
///
/// # Which thread runs your code, and under what
/// `Hash` of a key that a call is given runs before the lock is taken; `Hash` of keys that are there
/// runs under it when a table grows. `Eq` and closures run under it. Each may panic, and may use the
/// map as far as the rules above allow. What a call takes out is returned, or dropped after
/// unlocking.
///
/// # Memory ordering
/// As of a readers-writer lock for each shard: what was done with a shard before an unlock is seen by
/// those who lock it later. Nothing is said of two shards; `len` and iteration are no snapshot.
///
/// # Cost
/// - Look-ups: a hash, a store into the thread's slot, the look-up in hashbrown's table, a store. No
///   locked instruction, and no cache line that another reader writes.
/// - Writes: an ordinary lock; a [heavy fence](crate::fence::heavy) if readers have opened the shard
///   since the last write, which they do once it pays
///   ([`asym::RwLock`](crate::asym::RwLock#cost)). Where writes are frequent the shards stay ordinary
///   locks.
/// - 128 bytes a shard, of which there are four for each processor, and 16 at least; 8 bytes and a
///   ninth of one an entry beside key and value at the best filling.
///
/// # Panics
/// As said above; if a table would be larger than memory can be; and what `Hash`, `Eq` and closures
/// panic with.
///
/// # Signals, fork
/// Not async-signal-safe. In the child of a fork, shards that other threads read are not locked;
/// those that other threads wrote stay locked ([as `asym` has it](crate::asym#fork)).
///
/// ```
/// use leeward::collect::ShardMap;
/// let ports: ShardMap<&str, u16> = ShardMap::new();
/// ports.insert("http", 80);
/// *ports.entry("https").or_insert(442) += 1;
/// std::thread::scope(|scope| {
///     scope.spawn(|| assert_eq!(*ports.get("http").unwrap(), 80));
///     scope.spawn(|| assert_eq!(*ports.get("https").unwrap(), 443));
/// });
/// let one = ports.get("http").unwrap();
/// assert_eq!(*one, *ports.get("http").unwrap());     // again: fine
/// assert!(ports.try_get_mut("http").is_locked());    // `insert` would panic
/// ```
pub struct ShardMap<K, V, S = RandomState> {
    pub(super) shards: Box<[Shard<(K, V)>]>,
    pub(super) hasher: S,
    /// Chooses the shard of a hash (`index`).
    shift: u32,
}

impl<K: Eq + Hash, V> ShardMap<K, V, RandomState> {
    /// Returns an empty map, which has allocated its shards only.
    pub fn new() -> Self {
        Self::with_hasher(RandomState::new())
    }

    /// Returns an empty map with room for about this many entries.
    pub fn with_capacity(capacity: usize) -> Self {
        Self::with_capacity_and_hasher(capacity, RandomState::new())
    }

    /// Returns an empty map with this many shards: fewer for maps that are written rarely (each
    /// shard that is written costs a heavy fence of its own), more for threads that write beside
    /// each other.
    ///
    /// # Panics
    /// If the number is not a power of two.
    #[track_caller]
    pub fn with_shard_amount(shards: usize) -> Self {
        Self::with_capacity_and_shard_amount(0, shards)
    }

    /// Returns an empty map with room for about this many entries, and this many shards.
    ///
    /// # Panics
    /// If the number of shards is not a power of two.
    #[track_caller]
    pub fn with_capacity_and_shard_amount(capacity: usize, shards: usize) -> Self {
        Self::with_capacity_and_hasher_and_shard_amount(capacity, RandomState::new(), shards)
    }
}

impl<K: Eq + Hash, V, S: BuildHasher> ShardMap<K, V, S> {
    /// Returns an empty map that hashes by `hasher`.
    pub fn with_hasher(hasher: S) -> Self {
        Self::with_capacity_and_hasher(0, hasher)
    }

    /// Returns an empty map that hashes by `hasher`, with room for about this many entries.
    pub fn with_capacity_and_hasher(capacity: usize, hasher: S) -> Self {
        Self::with_capacity_and_hasher_and_shard_amount(capacity, hasher, shards())
    }

    /// Returns an empty map that hashes by `hasher`, with this many shards.
    ///
    /// # Panics
    /// If the number of shards is not a power of two.
    #[track_caller]
    pub fn with_hasher_and_shard_amount(hasher: S, shards: usize) -> Self {
        Self::with_capacity_and_hasher_and_shard_amount(0, hasher, shards)
    }

    /// Returns an empty map that hashes by `hasher`, with room for about this many entries, and this
    /// many shards.
    ///
    /// # Panics
    /// If the number of shards is not a power of two.
    #[track_caller]
    pub fn with_capacity_and_hasher_and_shard_amount(capacity: usize, hasher: S, shards: usize) -> Self {
        assert!(shards.is_power_of_two(), "leeward: a ShardMap has a power of two of shards");
        let each = capacity.div_ceil(shards);
        let shard = |_| Shard::new(if each == 0 { HashTable::new() } else { HashTable::with_capacity(each) });
        Self::of_shards((0..shards).map(shard).collect(), hasher)
    }

    /// Returns the hash of a key, as the shards' tables have it.
    #[inline(always)]
    pub(super) fn hash<Q: Hash + ?Sized>(&self, key: &Q) -> u64 {
        self.hasher.hash_one(key)
    }
}

impl<K, V, S> ShardMap<K, V, S> {
    /// Returns the hasher.
    pub fn hasher(&self) -> &S {
        &self.hasher
    }

    /// Returns the shard of the keys with this hash.
    #[inline(always)]
    pub(super) fn shard(&self, hash: u64) -> &Shard<(K, V)> {
        &self.shards[self.index(hash)]
    }

    /// Returns the number of the shard of the keys with this hash.
    #[inline(always)]
    pub(super) fn index(&self, hash: u64) -> usize {
        index(hash, self.shift, self.shards.len())
    }

    /// Returns a map with these shards; their number is a power of two.
    pub(super) fn of_shards(shards: Box<[Shard<(K, V)>]>, hasher: S) -> Self {
        let shift = shift(shards.len());
        ShardMap { shards, hasher, shift }
    }
}

/// Returns what chooses among so many shards, which are a power of two: 63 less its binary logarithm.
pub(super) fn shift(shards: usize) -> u32 {
    63 - shards.ilog2()
}

/// Returns the number of the shard of the keys with this hash, among so many, by their `shift`. hashbrown
/// takes the upper seven bits and the lower ones for itself, so the shard is chosen by those between.
#[inline(always)]
pub(super) fn index(hash: u64, shift: u32, shards: usize) -> usize {
    let index = ((hash << 7) >> 1 >> shift) as usize;
    // The number of shards is a power of two: the compiler sees no panic where they are indexed.
    index & (shards - 1)
}
