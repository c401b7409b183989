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
