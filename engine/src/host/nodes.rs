//! Nodes: memory that is nearer to some processors than to others. At which node the waiters of a
//! word are, as all who wake it find out too.

use crate::Address;

/// The machine's nodes, for hosts that know them ([`Host::nodes`](crate::Host::nodes)). They are numbered as those of
/// [`Config::nodes`](crate::Config::nodes) and of [`Memory::allocate`](crate::Memory::allocate).
pub trait Nodes {
    /// The node of the processor that the calling thread runs on.
    fn local(&self) -> u32;

    /// Whether there is a node with that number: any number, from user memory.
    fn has(&self, node: u32) -> bool;

    /// The node on which the memory policy of an address wants it; `None` where there is no policy,
    /// or no one node. Must not fail for addresses where nothing is.
    fn policy(&self, _address: Address) -> Option<u32> {
        None
    }
}
