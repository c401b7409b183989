//! Nodes: memory that is nearer to some processors than to others. At which node the waiters of a word are, as all who wake it find out too.

use crate::ops::call::Call;
use crate::{Access, Address, Errno, Host, Word};

/// The machine's nodes, for hosts that know them ([`Host::nodes`]). They are numbered as those of [`Config::nodes`](crate::Config::nodes) and of
/// [`Memory::allocate`](crate::Memory::allocate).
pub trait Nodes {
    /// The node of the processor that the calling thread runs on.
    fn local(&self) -> u32;

    /// Whether there is a node with that number: any number, from user memory.
    fn has(&self, node: u32) -> bool;

    /// The node on which the memory policy of an address wants it; `None` where there is no policy, or no one node. Must not fail for addresses
    /// where nothing is.
    fn policy(&self, _address: Address) -> Option<u32> {
        None
    }
}

/// At which node a shared word's waiters are. All who use a word must say the same; private words are in their space's own table, which is near
/// the thread that first needed it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Node {
    /// Wherever its hash says: nothing is looked up.
    #[default]
    Hashed,
    /// That with the number in the 32 bits behind the word, which is aligned to 8 bytes then; [`NO_NODE`] there is replaced by the calling thread's node.
    Beside,
    /// That which the memory policy of the word's address wants; by hash where there is none.
    Policy,
    /// As `Beside`, but it is replaced by the node that the policy wants, if there is one.
    BesideOrPolicy,
}

impl Node {
    const fn is_beside(self) -> bool {
        matches!(self, Node::Beside | Node::BesideOrPolicy)
    }

    /// The alignment of a word, less 1.
    pub(crate) const fn alignment_mask(self) -> Address {
        if self.is_beside() { 7 } else { 3 }
    }
}

/// No node yet, in the 32 bits behind a word.
pub const NO_NODE: u32 = u32::MAX;

impl<H: Host> Call<'_, H> {
    /// The node that a word names, if it does; may sleep. Where the host knows no nodes, a word that names one is `EINVAL`.
    pub(crate) fn named_node(&self, word: &Word) -> Result<Option<u32>, Errno> {
        if word.node == Node::Hashed {
            return Ok(None);
        }
        let nodes = self.host.nodes().ok_or(Errno::EINVAL)?;
        if !word.node.is_beside() {
            return Ok(nodes.policy(word.address).filter(|&node| nodes.has(node)));
        }
        // Not past the word alone.
        if !self.host.in_range(word.address + 4) {
            return Err(Errno::EFAULT);
        }
        let policy = if word.node == Node::BesideOrPolicy { nodes.policy(word.address) } else { None };
        let node = self.settle_node(word.address + 4, || policy.unwrap_or_else(|| nodes.local()))?;
        if nodes.has(node) { Ok(Some(node)) } else { Err(Errno::EINVAL) }
    }

    /// The number at an address, having put `instead` there if it is none.
    fn settle_node(&self, address: Address, instead: impl Fn() -> u32) -> Result<u32, Errno> {
        loop {
            let found = match self.host.load(address) {
                Ok(found) => found,
                Err(_) => {
                    self.host.fault_in(address, Access::Read)?;
                    continue;
                }
            };
            if found != NO_NODE {
                return Ok(found);
            }
            let node = instead();
            match self.host.compare_exchange(address, NO_NODE, node) {
                Ok(NO_NODE) => return Ok(node),
                // Another was quicker.
                Ok(found) => return Ok(found),
                Err(_) => self.host.fault_in(address, Access::Write)?,
            }
        }
    }
}
