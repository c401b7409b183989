//! The engine: the global table, and what an operation has at hand. The operations are in files of their own.

use core::ptr::NonNull;

use crate::atomic::{Ordering, fence};
use crate::bucket::{Bucket, Locked};
use crate::key::Key;
use crate::mutant::mutated;
use crate::pi_graph::Graph;
use crate::space::{Home, Stray};
use crate::stats::Stats;
use crate::table::{self, Table};
use crate::waiter::{Handle, Waiter};
use crate::{Access, Address, Errno, Host, Scope, Space, Word};

/// The most nodes that a machine is split into.
pub const MOST_NODES: usize = 64;
/// The most buckets of a table.
pub const MOST_BUCKETS: usize = 1 << 16;
/// A space's first table has at least so many.
const FEWEST_BUCKETS: usize = 16;
/// Buckets for a thread of a space.
const BUCKETS_A_THREAD: usize = 4;
/// A bucket with so many waiters makes the engine ask whether the table is too small.
const CROWDED: u32 = 8;

/// How an engine is laid out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Config {
    /// Nodes of the machine, between which the global table is split; 1 to [`MOST_NODES`].
    pub nodes: u32,
    /// Buckets of the global table, for each node; a power of two up to [`MOST_BUCKETS`].
    pub buckets: usize,
    /// Spaces have tables of their own. Without, the global one serves all: for tiny systems.
    pub private_tables: bool,
    /// A random number that users do not know: it keeps them from choosing buckets.
    pub seed: u64,
}

impl Config {
    /// For a machine with so many processors, in one node.
    pub const fn for_processors(processors: u32, seed: u64) -> Config {
        let wanted = if processors > 256 { MOST_BUCKETS } else { 256 * processors as usize };
        Config { nodes: 1, buckets: wanted.next_power_of_two(), private_tables: true, seed }
    }

    /// For tiny systems: 16 buckets (2 KiB) for everybody.
    pub const fn small(seed: u64) -> Config {
        Config { nodes: 1, buckets: 16, private_tables: false, seed }
    }

    /// The same, with tables for spaces of their own.
    pub const fn with_private_tables(self) -> Config {
        Config { private_tables: true, ..self }
    }
}

/// Why there is no engine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NoEngine {
    /// The configuration's numbers are out of range.
    Config,
    /// No memory for the global table.
    Memory,
}

impl core::fmt::Display for NoEngine {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            NoEngine::Config => "nodes must be 1 to 64, and buckets a power of two up to 65536",
            NoEngine::Memory => "there is no memory for the global table",
        })
    }
}

impl core::error::Error for NoEngine {}

/// A futex engine: what a kernel keeps of futexes, as a value. Any number of address spaces use it, and any number of
/// engines may be.
pub struct Engine<H: Host> {
    nodes: [Option<NonNull<Table<H>>>; MOST_NODES],
    config: Config,
    memory: H::Memory,
    graph: Graph<H>,
}

// SAFETY: the tables may be sent and shared, and are the engine's.
unsafe impl<H: Host> Send for Engine<H> where H::Task: Send {}
// SAFETY: as above.
unsafe impl<H: Host> Sync for Engine<H> where H::Task: Send {}

impl<H: Host> Engine<H> {
    /// An engine with its global table, allocated node by node.
    ///
    /// # Errors
    /// [`NoEngine`].
    pub fn new(config: Config, memory: H::Memory) -> Result<Engine<H>, NoEngine> {
        let nodes = config.nodes as usize;
        let buckets_fit = config.buckets.is_power_of_two() && config.buckets <= MOST_BUCKETS;
        if nodes == 0 || nodes > MOST_NODES || !buckets_fit {
            return Err(NoEngine::Config);
        }
        let mut engine = Engine { nodes: [None; MOST_NODES], config, memory, graph: Graph::new() };
        for node in 0..nodes {
            let near = (nodes > 1).then_some(node as u32);
            let table = Table::allocate(&engine.memory, config.buckets, near, table::GLOBAL, None);
            engine.nodes[node] = Some(table.ok_or(NoEngine::Memory)?);
        }
        Ok(engine)
    }

    /// How it is laid out.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// A thread of `host`'s space is about to be created, the second or a later one: the space gets its table, or a
    /// larger one, before it is needed. Needs not be called; a wait does the same. Waiters of the space in the global
    /// table put it off.
    pub fn reserve(&self, host: &H, threads: u32) {
        if self.config.private_tables && threads > 1 {
            host.space().fit(host, wanted(threads));
        }
    }

    /// What the global table did. Takes each bucket's lock in turn.
    pub fn stats(&self, host: &H) -> Stats {
        let mut stats = Stats::default();
        for node in self.tables() {
            stats.buckets += node.len();
            stats.add_table(node, host, host.space());
        }
        stats
    }

    /// Where its memory comes from.
    pub(crate) fn memory(&self) -> &H::Memory {
        &self.memory
    }

    /// Who waits for whom with priority inheritance.
    pub(crate) fn graph(&self) -> &Graph<H> {
        &self.graph
    }

    fn tables(&self) -> impl Iterator<Item = &Table<H>> {
        // SAFETY: freed with the engine.
        self.nodes.iter().flatten().map(|table| unsafe { table.as_ref() })
    }

    /// The global table's bucket: the node by the hash's upper half, the bucket by the lower.
    fn global(&self, key: &Key) -> &Bucket<H> {
        let hash = key.hash(self.config.seed);
        let node = (hash >> 32) % u64::from(self.config.nodes);
        let table = self.nodes[node as usize].expect("as many tables as nodes");
        // SAFETY: freed with the engine.
        unsafe { table.as_ref() }.bucket(hash as usize)
    }
}

impl<H: Host> Drop for Engine<H> {
    fn drop(&mut self) {
        for table in self.nodes.iter_mut().filter_map(Option::take) {
            // SAFETY: ours; whoever used it borrowed the engine.
            unsafe { Table::free(table, &self.memory) };
        }
    }
}

impl<H: Host> core::fmt::Debug for Engine<H> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Engine").field("config", &self.config).finish_non_exhaustive()
    }
}

/// How large a space's table is for so many threads.
fn wanted(threads: u32) -> usize {
    let buckets = (threads as usize).saturating_mul(BUCKETS_A_THREAD).min(MOST_BUCKETS);
    buckets.next_power_of_two().max(FEWEST_BUCKETS)
}

/// One call: the engine, the calling thread, its space. Operations are its methods.
pub(crate) struct Call<'a, H: Host> {
    pub(crate) engine: &'a Engine<H>,
    pub(crate) host: &'a H,
    pub(crate) space: &'a Space<H>,
}

impl<H: Host> Clone for Call<'_, H> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<H: Host> Copy for Call<'_, H> {}

/// A bucket's lock, and what keeps the bucket the right one.
pub(crate) struct Held<'a, H: Host> {
    // First: given up before the stray is.
    pub(crate) locked: Locked<'a, H>,
    _stray: Option<Stray<'a, H>>,
}

/// The locks of two keys' buckets, taken in order.
pub(crate) struct HeldTwo<'a, H: Host> {
    pub(crate) first: Locked<'a, H>,
    /// None where both keys have the same bucket.
    pub(crate) second: Option<Locked<'a, H>>,
    _stray: Option<Stray<'a, H>>,
}

impl<'a, H: Host> Call<'a, H> {
    pub(crate) fn new(engine: &'a Engine<H>, host: &'a H) -> Call<'a, H> {
        Call { engine, host, space: host.space() }
    }

    /// What a word is known by. May sleep, for shared words.
    pub(crate) fn key(&self, word: Word, access: Access) -> Result<Key, Errno> {
        self.check(word.address)?;
        match word.scope {
            Scope::Private => Ok(Key::private(self.space.number(), word.address)),
            Scope::Shared => {
                let what = self.host.resolve_shared(word.address, access)?;
                Ok(Key::shared(self.space.number(), word.address, what))
            }
        }
    }

    /// What an operation on two words, of which the second is written, answers before it does anything.
    pub(crate) fn check_two(&self, word: Word, on: Word) -> Result<(), Errno> {
        self.key(word, Access::Read)?;
        self.key(on, Access::Write)?;
        Ok(())
    }

    fn check(&self, address: Address) -> Result<(), Errno> {
        if address & 3 != 0 {
            return Err(Errno::EINVAL);
        }
        if !self.host.in_range(address) {
            return Err(Errno::EFAULT);
        }
        Ok(())
    }

    /// The bucket of a key, as far as that is known without a lock.
    #[inline]
    pub(crate) fn bucket(&self, key: &Key) -> &'a Bucket<H> {
        if !key.is_private() {
            return self.engine.global(key);
        }
        match self.space.home() {
            Home::Global(_) => self.engine.global(key),
            Home::Own(table) => {
                let hash = key.hash(self.space.seed()) as usize;
                let mut table = table;
                loop {
                    let bucket = table.bucket(hash);
                    // In this order: what has moved has somewhere to go.
                    if !bucket.has_moved() {
                        return bucket;
                    }
                    let Some(next) = table.next() else { return bucket };
                    table = next;
                }
            }
        }
    }

    /// Holds the space where it is, if its private waiters are in the global table.
    fn stay(&self, key: &Key) -> Option<Stray<'a, H>> {
        if key.is_private() { self.space.stray() } else { None }
    }

    /// Locks a key's bucket.
    pub(crate) fn lock(&self, key: &Key) -> Held<'a, H> {
        let stray = self.stay(key);
        loop {
            let locked = self.bucket(key).lock(self.host, self.space);
            if !locked.bucket().has_moved() || mutated!(moved_recheck) {
                return Held { locked, _stray: stray };
            }
        }
    }

    /// Enters a key's bucket and locks it, to queue there; with the number of waiters that were there before.
    pub(crate) fn enter(&self, key: &Key) -> Entered<'a, H> {
        let stray = self.stay(key);
        loop {
            let bucket = self.bucket(key);
            let before = bucket.enter();
            let entry = Entry { bucket };
            // Pair W, the waiter's half: `waiters` was raised; the word is read next.
            if !mutated!(wait_fence) {
                fence(Ordering::SeqCst);
            }
            let locked = bucket.lock(self.host, self.space);
            if !bucket.has_moved() || mutated!(moved_recheck) {
                return Entered { locked, entry, before, _stray: stray };
            }
        }
    }

    /// Locks two keys' buckets: smaller ranks first, then by address.
    pub(crate) fn lock_two(&self, first: &Key, second: &Key) -> HeldTwo<'a, H> {
        let stray = self.stay(first).or_else(|| self.stay(second));
        loop {
            let (a, b) = (self.bucket(first), self.bucket(second));
            let lock = |bucket: &'a Bucket<H>| bucket.lock(self.host, self.space);
            let (first, second) = match a.order().cmp(&b.order()) {
                core::cmp::Ordering::Equal => (lock(a), None),
                core::cmp::Ordering::Less => {
                    let first = lock(a);
                    (first, Some(lock(b)))
                }
                core::cmp::Ordering::Greater => {
                    let second = lock(b);
                    (lock(a), Some(second))
                }
            };
            if !a.has_moved() && !b.has_moved() {
                return HeldTwo { first, second, _stray: stray };
            }
        }
    }

    /// Sees to it that the space's table fits its threads.
    #[inline]
    pub(crate) fn fit(&self, key: &Key) {
        if key.is_private() {
            self.engine.reserve(self.host, self.host.threads());
        }
    }

    /// So many waiters were in the bucket before: perhaps there are more than threads (futures wait too), and the table is too
    /// small for them. At most four buckets for a waiter.
    pub(crate) fn fit_waiters(&self, key: &Key, before: u32) {
        let ask = before >= CROWDED && before.is_power_of_two();
        if !ask || !key.is_private() || !self.engine.config.private_tables {
            return;
        }
        if let Home::Own(table) = self.space.home() {
            let len = table.len();
            if self.space.waiters() > len && len < MOST_BUCKETS {
                self.space.fit(self.host, (4 * len).min(MOST_BUCKETS));
            }
        }
    }
}

/// A waiter's place in a bucket's count, given back unless it is used.
struct Entry<'a, H: Host> {
    bucket: &'a Bucket<H>,
}

impl<H: Host> Drop for Entry<'_, H> {
    fn drop(&mut self) {
        self.bucket.exit(1);
    }
}

/// An entered and locked bucket.
pub(crate) struct Entered<'a, H: Host> {
    // In this order: lock, count, stray.
    pub(crate) locked: Locked<'a, H>,
    entry: Entry<'a, H>,
    before: u32,
    _stray: Option<Stray<'a, H>>,
}

impl<H: Host> Entered<'_, H> {
    /// Queues a node; how many waiters there were before.
    ///
    /// # Safety
    /// It is idle, and stays where it is until it was woken or has been taken out.
    pub(crate) unsafe fn queue(mut self, node: &Waiter<H>, handle: Handle<H>, key: Key) -> u32 {
        // The node has the place now.
        core::mem::forget(self.entry);
        // SAFETY: the caller's promise.
        unsafe { self.locked.queue(node, handle, key) };
        self.before
    }

    /// [`queue`](Self::queue) for a node that keeps its handle elsewhere.
    ///
    /// # Safety
    /// The same.
    pub(crate) unsafe fn place(mut self, node: &Waiter<H>, key: Key) -> u32 {
        // The node has the place now.
        core::mem::forget(self.entry);
        // SAFETY: the caller's promise.
        unsafe { self.locked.place(node, key) };
        self.before
    }
}
