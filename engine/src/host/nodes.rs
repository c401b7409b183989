//! What NUMA asks of the system: the nodes of the machine, whose memory is nearer to some
//! processors than to others. Optional: without it, words that name a node are refused. Called by
//! `ops::node`.

use crate::Address;

/// The machine's nodes, for hosts that know them ([`Host::nodes`](crate::Host::nodes)). Their
/// numbers are those of [`Config::nodes`](crate::Config::nodes) and of
/// [`Memory::allocate`](crate::Memory::allocate).
///
/// A word that names a node has its waiters in the global table's part at that node
/// ([`Node`](crate::Node)), and a space's table is allocated near the thread that first needs it.
///
/// ```
#[doc = include_str!("required.md")]
/// use leeward_engine::{
///     Clock, Config, Deadline, Engine, Heap, Host, NO_NODE, Node, Nodes, Space, Wait, Word,
/// };
/// use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
///
/// /// A system of two nodes, whose one thread runs on the second.
/// struct System {
///     space: Space<System>,
///     words: [AtomicU32; 2],
/// }
///
/// impl Nodes for System {
///     fn local(&self) -> u32 {
///         1
///     }
///     fn has(&self, node: u32) -> bool {
///         node < 2
///     }
/// }
///
/// impl Host for System {
///     // The methods that each host has, as in the example of `Host`.
///     required!();
///     fn nodes(&self) -> Option<&dyn Nodes> {
///         Some(self)
///     }
/// }
///
/// let engine = Engine::new(Config { nodes: 2, ..Config::small(7) }, Heap).unwrap();
/// let words = [AtomicU32::new(0), AtomicU32::new(NO_NODE)];
/// let system = System { space: Space::new(1, 7, Heap), words };
/// let word = Word { node: Node::Beside, ..Word::shared(0) };
/// let now = Deadline { clock: Clock::Monotonic, at: 0 };
/// // The word names no node yet: it gets that of the first thread that waits.
/// assert_eq!(engine.wait(&system, word, 0, u32::MAX, Some(now)), Ok(Wait::TimedOut));
/// assert_eq!(system.words[1].load(SeqCst), 1);
/// assert_eq!(engine.node_stats(&system, 1).unwrap().queued, 1);
/// ```
pub trait Nodes {
    /// Returns the node of the processor that the calling thread runs on.
    fn local(&self) -> u32;

    /// Returns true if there is a node with that number, which comes from user memory and may be
    /// any.
    fn has(&self, node: u32) -> bool;

    /// Returns the node on which the memory policy of an address wants it; `None` where there is no
    /// policy, or not one node. Must not fail for addresses where nothing is mapped.
    fn policy(&self, _address: Address) -> Option<u32> {
        None
    }
}
