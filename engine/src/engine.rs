//! The engine: its configuration and the global table. A system makes it once; `ops::call` finds
//! the buckets in it. The operations are methods of `Engine` in `ops/`, `pi/`, `robust/` and
//! `membarrier/`.

use core::ptr::NonNull;

use crate::pi::graph::Graph;
use crate::stats::Stats;
use crate::table::Table;
use crate::table::key::Key;
use crate::table::migrate;
use crate::table::plan::{self, MOST_BUCKETS, Plan};
use crate::table::resize::{self, Resize};
use crate::{Host, Space};

/// The largest number of nodes that a machine may have: the upper limit of [`Config::nodes`].
pub const MOST_NODES: usize = 64;
/// The layout of an engine: how many buckets its global table has, and which spaces use it.
///
/// [`for_processors`](Self::for_processors) and [`small`](Self::small) give the two usual layouts;
/// the fields may be changed afterwards.
///
/// ```
/// use leeward_engine::{Config, Engine, Heap, NoEngine, parking::Process};
///
/// // In production: a number from the system's random source.
/// let seed = 0x1f3a_55e0_9c27_d481;
/// // A machine of 8 processors in 2 nodes, with 2,048 buckets at each.
/// let config = Config { nodes: 2, ..Config::for_processors(8, seed) };
/// assert_eq!(config.buckets, 2048);
/// let engine = Engine::<Process>::new(config, Heap).unwrap();
/// assert_eq!(engine.config(), &config);
///
/// let wrong = Config { buckets: 100, ..Config::small(seed) };
/// assert_eq!(Engine::<Process>::new(wrong, Heap).err(), Some(NoEngine::Config));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Config {
    /// The number of the machine's nodes, between which the global table is split: 1 to
    /// [`MOST_NODES`].
    pub nodes: u32,
    /// The number of buckets of the global table at each node: a power of two up to
    /// [`MOST_BUCKETS`]. A bucket takes 128 bytes.
    pub buckets: usize,
    /// The number of buckets to which the global table may grow at each node, as more than half of
    /// its buckets have waiters. If it is not greater than `buckets`, the table does not grow.
    pub most_buckets: usize,
    /// True if each space with several threads gets a private table. If false, the global table
    /// serves all spaces: for tiny systems.
    pub private_tables: bool,
    /// A random number that programs do not know. It enters the hash of each key, so that a program
    /// that chooses addresses cannot choose buckets.
    pub seed: u64,
}

impl Config {
    /// Returns the layout for a machine with `processors` processors in one node: 256 buckets for
    /// each processor, rounded up to a power of two, 65,536 at most at first. The global table
    /// grows up to [`MOST_BUCKETS`], and spaces have private tables.
    pub const fn for_processors(processors: u32, seed: u64) -> Config {
        let wanted = if processors > 256 { 1 << 16 } else { 256 * processors as usize };
        let buckets = wanted.next_power_of_two();
        Config { nodes: 1, buckets, most_buckets: MOST_BUCKETS, private_tables: true, seed }
    }

    /// Returns the layout for tiny systems: 16 buckets (2 KiB) for all spaces together. The table
    /// never grows, and spaces have no private tables.
    pub const fn small(seed: u64) -> Config {
        Config { nodes: 1, buckets: 16, most_buckets: 16, private_tables: false, seed }
    }

    /// Returns this layout with private tables for spaces.
    pub const fn with_private_tables(self) -> Config {
        Config { private_tables: true, ..self }
    }
}

/// The reason why [`Engine::new`] made no engine.
///
/// ```
/// # #[cfg(feature = "std")] {
/// use leeward_engine::{Config, Engine, Heap, NoEngine, parking::Process};
///
/// let wrong = Config { nodes: 0, ..Config::small(7) };
/// let error = Engine::<Process>::new(wrong, Heap).unwrap_err();
/// assert_eq!(error, NoEngine::Config);
/// assert!(error.to_string().starts_with("nodes must be 1 to 64"));
/// # }
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NoEngine {
    /// A number of the [`Config`] is out of range.
    Config,
    /// The [`Memory`](crate::Memory) had no block for the global table.
    Memory,
}

impl core::fmt::Display for NoEngine {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            NoEngine::Config => "nodes must be 1 to 64, and buckets a power of two up to 262144",
            NoEngine::Memory => "there is no memory for the global table",
        })
    }
}

impl core::error::Error for NoEngine {}

/// A futex engine: what a kernel keeps of futexes, as a value. One engine serves any number of
/// address spaces, and any number of engines may exist.
///
/// A kernel makes one at boot and calls [`syscall`](Self::syscall) from its system call table;
/// other systems call the operations by name. Every operation takes the [`Host`] of the calling
/// thread.
///
/// ```
/// use leeward_engine::parking::Process;
/// use leeward_engine::{Config, Engine, Heap, Wait, Word};
/// use std::sync::atomic::{AtomicU32, Ordering};
///
/// let engine = Engine::new(Config::for_processors(4, 0x5eed), Heap).unwrap();
/// // SAFETY: the only word that is named is aligned, and outlives the calls.
/// let host = unsafe { Process::new(2, 0x5eed) };
/// let ready = AtomicU32::new(0);
/// let word = Word::private(ready.as_ptr().expose_provenance() as u64);
///
/// std::thread::scope(|threads| {
///     threads.spawn(|| {
///         ready.store(1, Ordering::Release);
///         engine.wake(&host, word, 1, u32::MAX).unwrap();
///     });
///     while ready.load(Ordering::Acquire) == 0 {
///         engine.wait(&host, word, 0, u32::MAX, None).unwrap();
///     }
/// });
/// assert_eq!(engine.wait(&host, word, 0, u32::MAX, None), Ok(Wait::Changed));
/// ```
///
/// # Cost
/// An engine takes 608 bytes, and 128 bytes for each bucket of the global table. Waiting allocates
/// nothing. A wake that finds no waiter takes no lock ([`wake`](Self::wake)).
///
/// # Signals
/// The host decides which operations a signal handler may call: a handler may meet a bucket's
/// lock that its own thread holds. [`Host::preempt_off`] and [`Host::defer_wake`] say what a host
/// can do about that.
///
/// # Fork
/// In a kernel a fork makes a new [`Space`] and leaves the engine alone. An engine that lies in the
/// memory of a process which forks is copied with the locks that the parent's other threads held
/// and with waiters on their stacks: the child makes a new engine and leaves the copy alone.
///
/// # Panics
/// No argument makes an operation panic. A panic of a host's callback passes through the operation
/// ([`Host`], "Panics").
pub struct Engine<H: Host> {
    /// The first table of each node.
    nodes: [Option<NonNull<Table<H>>>; MOST_NODES],
    /// The state of the global table's resizing.
    resize: Resize,
    pub(crate) config: Config,
    memory: H::Memory,
    graph: Graph<H>,
}

// SAFETY: the tables may be sent and shared, and are the engine's.
unsafe impl<H: Host> Send for Engine<H> where H::Task: Send {}
// SAFETY: as above.
unsafe impl<H: Host> Sync for Engine<H> where H::Task: Send {}

impl<H: Host> Engine<H> {
    /// Makes an engine with its global table, which is allocated node by node.
    ///
    /// # Errors
    /// [`NoEngine::Config`] if `config` is out of range, [`NoEngine::Memory`] if `memory` has no
    /// block for a node's table.
    pub fn new(config: Config, memory: H::Memory) -> Result<Engine<H>, NoEngine> {
        let nodes = config.nodes as usize;
        let buckets_fit = config.buckets.is_power_of_two() && config.buckets <= MOST_BUCKETS;
        if nodes == 0 || nodes > MOST_NODES || !buckets_fit {
            return Err(NoEngine::Config);
        }
        let mut engine =
            Engine { nodes: [None; MOST_NODES], resize: Resize::new(), config, memory, graph: Graph::new() };
        for node in 0..nodes {
            let near = (nodes > 1).then_some(node as u32);
            let plan = Plan { len: config.buckets, dense: false, node: near, rank: plan::GLOBAL, seed: config.seed };
            let table = Table::allocate(&engine.memory, plan, None);
            engine.nodes[node] = Some(table.ok_or(NoEngine::Memory)?);
        }
        Ok(engine)
    }

    /// Returns the layout that the engine was made with.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Prepares the space of `host` for `threads` threads: makes its private table, or a larger
    /// one, before it is needed. A system may call this when it creates the second or a later
    /// thread of a space. It need not, since a wait does the same.
    ///
    /// Does nothing if the table is large enough, while waiters of the space are in the global
    /// table, while another thread enlarges the space's table, or if there is no memory.
    pub fn reserve(&self, host: &H, threads: u32) {
        self.reserve_for(host, host.space(), threads);
    }

    pub(crate) fn reserve_for(&self, host: &H, space: &Space<H>, threads: u32) {
        if self.config.private_tables && threads > 1 {
            space.fit(host, plan::wanted(threads));
        }
    }

    /// Returns what the global table did, all nodes together. Takes each bucket's lock in turn: for
    /// tests and operators.
    pub fn stats(&self, host: &H) -> Stats {
        let mut stats = Stats { refused: self.resize.refused(), ..Stats::default() };
        for node in self.tables() {
            stats.buckets += node.len();
            stats.add_tables(node, host, host.space());
        }
        stats
    }

    /// Returns what the global table's part at one node did; `None` if no node has that number.
    /// Takes each bucket's lock in turn.
    pub fn node_stats(&self, host: &H, node: u32) -> Option<Stats> {
        let table = self.tables().nth(node as usize)?;
        let mut stats = Stats { buckets: table.len(), ..Stats::default() };
        stats.add_tables(table, host, host.space());
        Some(stats)
    }

    /// Returns where the global table's memory comes from.
    pub(crate) fn memory(&self) -> &H::Memory {
        &self.memory
    }

    /// Returns the graph of the threads that wait with priority inheritance.
    pub(crate) fn graph(&self) -> &Graph<H> {
        &self.graph
    }

    /// Iterates over the tables that serve now, one for each node.
    fn tables(&self) -> impl Iterator<Item = &Table<H>> {
        // SAFETY: freed with the engine.
        self.nodes.iter().flatten().map(|table| unsafe { table.as_ref() }.latest().newest())
    }

    /// Returns the first global table of a key's node: the node that the word names, else one
    /// chosen by the middle of the hash.
    #[inline]
    pub(crate) fn node(&self, key: &Key, hash: u64) -> &Table<H> {
        let hashed = || (u64::from((hash >> 16) as u32) * u64::from(self.config.nodes)) >> 32;
        let node = key.node().map_or_else(hashed, u64::from);
        let table = self.nodes[node as usize].expect("as many tables as nodes");
        // SAFETY: freed with the engine.
        unsafe { table.as_ref() }
    }

    /// Enlarges the global table of a key's node if it is too small. Called when the key's bucket
    /// looks crowded.
    pub(crate) fn fit_global(&self, host: &H, key: &Key) {
        let hash = key.hash(self.config.seed);
        let first = self.node(key, hash);
        let table = first.latest();
        let len = 2 * table.len();
        if len > self.config.most_buckets.min(MOST_BUCKETS) || !self.resize.is_crowded(table, hash as usize) {
            return;
        }
        self.enlarge(host, first, len);
    }

    /// Replaces a node's table by one of `len` buckets, unless it has as many by now.
    pub(crate) fn enlarge(&self, host: &H, first: &Table<H>, len: usize) {
        self.resize.alone(|| {
            let old = first.latest();
            if old.len() >= len {
                return true;
            }
            let dense = len >= resize::LOCK_WORDS_A_LINE * self.config.buckets;
            let new = migrate::replace(host, host.space(), &self.memory, old, len, dense);
            if let Some(new) = new {
                first.set_latest(new);
            }
            new.is_some()
        });
    }
}

impl<H: Host> Drop for Engine<H> {
    fn drop(&mut self) {
        for first in self.nodes.iter_mut().filter_map(Option::take) {
            // SAFETY: freed here.
            let latest = unsafe { first.as_ref() }.latest().newest().block();
            // SAFETY: ours, with those that it replaced; every use of them borrowed the engine.
            unsafe { Table::free(latest, &self.memory) };
        }
    }
}

impl<H: Host> core::fmt::Debug for Engine<H> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Engine").field("config", &self.config).finish_non_exhaustive()
    }
}
