//! The engine: its configuration and the global table. The operations are in files of their own,
//! what they have at hand in `call`.

use core::ptr::NonNull;

use crate::pi::graph::Graph;
use crate::stats::Stats;
use crate::table::Table;
use crate::table::key::Key;
use crate::table::migrate;
use crate::table::plan::{self, MOST_BUCKETS, Plan};
use crate::table::resize::{self, Resize};
use crate::{Host, Space};

/// The most nodes that a machine is split into.
pub const MOST_NODES: usize = 64;
/// How an engine is laid out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Config {
    /// Nodes of the machine, between which the global table is split; 1 to [`MOST_NODES`].
    pub nodes: u32,
    /// Buckets of the global table, for each node; a power of two up to [`MOST_BUCKETS`].
    pub buckets: usize,
    /// To how many buckets the global table may grow, for each node, when there are more waiters
    /// than it is for; no more than `buckets`: it does not.
    pub most_buckets: usize,
    /// Spaces have tables of their own. Without, the global one serves all: for tiny systems.
    pub private_tables: bool,
    /// A random number that users do not know: it keeps them from choosing buckets.
    pub seed: u64,
}

impl Config {
    /// For a machine with so many processors, in one node.
    pub const fn for_processors(processors: u32, seed: u64) -> Config {
        let wanted = if processors > 256 { 1 << 16 } else { 256 * processors as usize };
        let buckets = wanted.next_power_of_two();
        Config { nodes: 1, buckets, most_buckets: MOST_BUCKETS, private_tables: true, seed }
    }

    /// For tiny systems: 16 buckets (2 KiB) for everybody, and never more.
    pub const fn small(seed: u64) -> Config {
        Config { nodes: 1, buckets: 16, most_buckets: 16, private_tables: false, seed }
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
            NoEngine::Config => "nodes must be 1 to 64, and buckets a power of two up to 262144",
            NoEngine::Memory => "there is no memory for the global table",
        })
    }
}

impl core::error::Error for NoEngine {}

/// A futex engine: what a kernel keeps of futexes, as a value. Any number of address spaces use it,
/// and any number of engines may be.
pub struct Engine<H: Host> {
    /// The first table of each node.
    nodes: [Option<NonNull<Table<H>>>; MOST_NODES],
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

    /// How it is laid out.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// A thread of `host`'s space is about to be created, the second or a later one: the space gets
    /// its table, or a larger one, before it is needed. Needs not be called; a wait does the same.
    /// Waiters of the space in the global table put it off, and so does a thread that enlarges the
    /// space's table just then.
    pub fn reserve(&self, host: &H, threads: u32) {
        self.reserve_for(host, host.space(), threads);
    }

    pub(crate) fn reserve_for(&self, host: &H, space: &Space<H>, threads: u32) {
        if self.config.private_tables && threads > 1 {
            space.fit(host, plan::wanted(threads));
        }
    }

    /// What the global table did. Takes each bucket's lock in turn.
    pub fn stats(&self, host: &H) -> Stats {
        let mut stats = Stats { refused: self.resize.refused(), ..Stats::default() };
        for node in self.tables() {
            stats.buckets += node.len();
            stats.add_tables(node, host, host.space());
        }
        stats
    }

    /// What the global table's part at one node did; `None` if there is none with that number.
    pub fn node_stats(&self, host: &H, node: u32) -> Option<Stats> {
        let table = self.tables().nth(node as usize)?;
        let mut stats = Stats { buckets: table.len(), ..Stats::default() };
        stats.add_tables(table, host, host.space());
        Some(stats)
    }

    /// Where its memory comes from.
    pub(crate) fn memory(&self) -> &H::Memory {
        &self.memory
    }

    /// Who waits for whom with priority inheritance.
    pub(crate) fn graph(&self) -> &Graph<H> {
        &self.graph
    }

    /// The table that serves, node by node.
    fn tables(&self) -> impl Iterator<Item = &Table<H>> {
        // SAFETY: freed with the engine.
        self.nodes.iter().flatten().map(|table| unsafe { table.as_ref() }.latest().newest())
    }

    /// The first global table of a key's node: the one that the word names, else by the middle of
    /// the hash.
    #[inline]
    pub(crate) fn node(&self, key: &Key, hash: u64) -> &Table<H> {
        let hashed = || (u64::from((hash >> 16) as u32) * u64::from(self.config.nodes)) >> 32;
        let node = key.node().map_or_else(hashed, u64::from);
        let table = self.nodes[node as usize].expect("as many tables as nodes");
        // SAFETY: freed with the engine.
        unsafe { table.as_ref() }
    }

    /// Makes the global table of a key's node larger, where it is too small: the key's bucket
    /// looked crowded.
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

    /// A larger table for a node, unless it has as many buckets by now.
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
            // SAFETY: ours, with those that it replaced; whoever used it borrowed the engine.
            unsafe { Table::free(latest, &self.memory) };
        }
    }
}

impl<H: Host> core::fmt::Debug for Engine<H> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Engine").field("config", &self.config).finish_non_exhaustive()
    }
}
