//! What a caller says of a futex: the word, who uses it, and at which node it is waited for. The
//! engine makes a `key` of it.

/// An address of the calling thread's space, as it came: any 64 bits.
pub type Address = u64;

/// Who uses a word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scope {
    /// One address space: the word is known by its address, and nothing is looked up.
    Private,
    /// Perhaps several: the word is known by what is mapped there, which the host looks up.
    Shared,
}

/// A futex word as an operation names it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Word {
    /// Where the calling thread sees it.
    pub address: Address,
    /// Who uses it.
    pub scope: Scope,
    /// At which of the machine's nodes it is waited for.
    pub node: Node,
}

impl Word {
    /// A word of one address space.
    pub const fn private(address: Address) -> Word {
        Word { address, scope: Scope::Private, node: Node::Hashed }
    }

    /// A word that several address spaces may map.
    pub const fn shared(address: Address) -> Word {
        Word { address, scope: Scope::Shared, node: Node::Hashed }
    }
}

/// What is mapped at a shared word's address, as the host looked it up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SharedKey {
    /// Memory that only this space has (anonymous, not shared): the space and the address.
    Anonymous,
    /// A file or a shared memory object: its number, which is never given to another object while
    /// the engine lives, and the offset into it.
    Object {
        /// Which.
        object: u64,
        /// Where in it, in bytes.
        offset: u64,
    },
}

/// At which node a shared word's waiters are. All who use a word must say the same; private words
/// are in their space's own table, which is near the thread that first needed it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Node {
    /// Wherever its hash says: nothing is looked up.
    #[default]
    Hashed,
    /// That with the number in the 32 bits behind the word, which is aligned to 8 bytes then;
    /// [`NO_NODE`] there is replaced by the calling thread's node.
    Beside,
    /// That which the memory policy of the word's address wants; by hash where there is none.
    Policy,
    /// As `Beside`, but it is replaced by the node that the policy wants, if there is one.
    BesideOrPolicy,
}

impl Node {
    pub(crate) const fn is_beside(self) -> bool {
        matches!(self, Node::Beside | Node::BesideOrPolicy)
    }

    /// The alignment of a word, less 1.
    pub(crate) const fn alignment_mask(self) -> Address {
        if self.is_beside() { 7 } else { 3 }
    }
}

/// No node yet, in the 32 bits behind a word.
pub const NO_NODE: u32 = u32::MAX;
