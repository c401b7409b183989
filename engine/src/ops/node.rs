//! At which node the waiters of a word are, as all who wake it find out too. Used by `call`.

use crate::ops::call::Call;
use crate::table::word::{NO_NODE, Node};
use crate::{Access, Address, Errno, Host, Word};

impl<H: Host> Call<'_, H> {
    /// The node that a word names, if it does; may sleep. Where the host knows no nodes, a word
    /// that names one is `EINVAL`.
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
