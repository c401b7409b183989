//! What a caller says of a futex: the word, which spaces use it, and at which node it is waited
//! for. `ops::call` makes a `Key` of it.

/// An address of the calling thread's space, as the program passed it: any 64 bits.
pub type Address = u64;

/// The address spaces that use a word. All operations on a word must say the same: a private wait
/// and a shared wake do not meet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scope {
    /// One address space uses the word, which is known by its address. Nothing is looked up.
    Private,
    /// Several address spaces may use the word, which is known by what is mapped there. The host
    /// looks that up ([`Host::resolve_shared`](crate::Host::resolve_shared)).
    Shared,
}

/// A futex word as an operation names it: 32 bits, aligned to 4 bytes.
///
/// ```
/// use leeward_engine::{Node, Scope, Word};
///
/// let word = Word::private(0x7f00_0000_1000);
/// assert_eq!((word.scope, word.node), (Scope::Private, Node::Hashed));
/// // A word of shared memory whose waiters are at the node that the next 32 bits name.
/// let near = Word { node: Node::Beside, ..Word::shared(0x7f00_0000_2000) };
/// assert_ne!(word, near);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Word {
    /// The address at which the calling thread sees the word.
    pub address: Address,
    /// The address spaces that use the word.
    pub scope: Scope,
    /// The one of the machine's nodes at which the word is waited for.
    pub node: Node,
}

impl Word {
    /// Returns a word that one address space uses.
    pub const fn private(address: Address) -> Word {
        Word { address, scope: Scope::Private, node: Node::Hashed }
    }

    /// Returns a word that several address spaces may map.
    pub const fn shared(address: Address) -> Word {
        Word { address, scope: Scope::Shared, node: Node::Hashed }
    }
}

/// What is mapped at a shared word's address: the answer of
/// [`Host::resolve_shared`](crate::Host::resolve_shared).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SharedKey {
    /// Memory that only this space has (anonymous, not shared): the word is known by the space and
    /// the address.
    Anonymous,
    /// A file or a shared memory object, by which the word is known in every space that maps it.
    Object {
        /// The object's number, which is never given to another object while the engine lives.
        object: u64,
        /// The word's offset in the object, in bytes.
        offset: u64,
    },
}

/// The choice of the node at which a shared word's waiters are. All operations on a word must say
/// the same. Private words are in their space's own table, which is near the thread that first
/// needed it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Node {
    /// The node that the hash says; nothing is looked up.
    #[default]
    Hashed,
    /// The node whose number is in the 32 bits after the word, which is then aligned to 8 bytes.
    /// [`NO_NODE`] there is replaced by the calling thread's node.
    Beside,
    /// The node that the memory policy of the word's address wants; the one that the hash says
    /// where there is none.
    Policy,
    /// The node whose number is in the 32 bits after the word, as for `Beside`. [`NO_NODE`] there
    /// is replaced by the node that the policy wants, or by the calling thread's where there is no
    /// policy.
    BesideOrPolicy,
}

impl Node {
    pub(crate) const fn is_beside(self) -> bool {
        matches!(self, Node::Beside | Node::BesideOrPolicy)
    }

    /// Returns the alignment of a word, less 1.
    pub(crate) const fn alignment_mask(self) -> Address {
        if self.is_beside() { 7 } else { 3 }
    }
}

/// The value of the 32 bits after a word that name no node yet.
pub const NO_NODE: u32 = u32::MAX;
