//! The NUMA node at which the waiters of a word are queued, which a wake of the word finds too.

use crate::mutant::check;
use crate::ops::call::Call;
use crate::table::word::{NO_NODE, Node};
use crate::{Access, Address, Errno, Host, Size, Word};

impl<H: Host> Call<'_, H> {
    /// Returns the node that a word names, or `None` if the host may choose it by a hash. May
    /// sleep.
    ///
    /// # Errors
    /// `EINVAL`: the word names a node where the host knows none, or one that the machine does not
    /// have; or the node is beside a word that has not 32 bits. `EFAULT`: the node number after the
    /// word is not accessible.
    pub(crate) fn named_node(&self, word: &Word) -> Result<Option<u32>, Errno> {
        if word.node == Node::Hashed {
            return Ok(None);
        }
        let nodes = self.host.nodes().ok_or(Errno::EINVAL)?;
        if word.node.is_beside() && check!(node_beside_size, word.size != Size::U32) {
            return Err(Errno::EINVAL);
        }
        if !word.node.is_beside() {
            return Ok(nodes.policy(word.address).filter(|&node| nodes.has(node)));
        }
        // The caller has checked the word's own address only.
        if !self.host.in_range(word.address + 4) {
            return Err(Errno::EFAULT);
        }
        let policy = if word.node == Node::BesideOrPolicy { nodes.policy(word.address) } else { None };
        let node = self.settle_node(word.address + 4, || policy.unwrap_or_else(|| nodes.local()))?;
        if nodes.has(node) { Ok(Some(node)) } else { Err(Errno::EINVAL) }
    }

    /// Returns the node number at an address. If there is none yet, stores `instead()` there first.
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
                // Another thread stored a number first.
                Ok(found) => return Ok(found),
                Err(_) => self.host.fault_in(address, Access::Write)?,
            }
        }
    }
}
