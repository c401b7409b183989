//! What a caller says of a futex: the word and its size, which spaces use it, and at which node it
//! is waited for. `ops::call` makes a `Key` of it.

/// An address of the calling thread's space, as the program passed it: any 64 bits.
///
/// ```
/// use leeward_engine::{Address, Word};
/// use std::sync::atomic::AtomicU32;
///
/// // In a process that serves itself an address is a pointer's.
/// let value = AtomicU32::new(0);
/// let address = value.as_ptr().expose_provenance() as Address;
/// assert_eq!(Word::private(address).address % 4, 0);
/// ```
pub type Address = u64;

/// The address spaces that use a word. All operations on a word must say the same: a private wait
/// and a shared wake do not meet.
///
/// ```
/// # #[cfg(feature = "std")] {
/// use leeward_engine::{Config, Engine, Heap, Scope, Word, parking::Process};
/// use std::pin::pin;
/// use std::sync::atomic::AtomicU32;
/// use std::task::{Context, Waker};
///
/// let engine = Engine::new(Config::small(7).with_private_tables(), Heap).unwrap();
/// // SAFETY: the word that is named is aligned, and outlives the calls.
/// let host = unsafe { Process::new(2, 7) };
/// let value = AtomicU32::new(0);
/// let private = Word::private(value.as_ptr().expose_provenance() as u64);
/// let mut wait = pin!(engine.wait_async(&host, private, 0, u32::MAX));
/// assert!(wait.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
/// let shared = Word { scope: Scope::Shared, ..private };
/// assert_eq!(engine.wake(&host, shared, 1, u32::MAX), Ok(0));
/// assert_eq!(engine.wake(&host, private, 1, u32::MAX), Ok(1));
/// # }
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scope {
    /// One address space uses the word, which is known by its address. Nothing is looked up.
    Private,
    /// Several address spaces may use the word, which is known by what is mapped there. The host
    /// looks that up ([`Host::resolve_shared`](crate::Host::resolve_shared)).
    Shared,
}

/// The size of a futex word. Every host serves words of 32 bits; which others it serves, it says by
/// [`Host::serves`](crate::Host::serves). A word of a size that the host does not serve is
/// `EINVAL`, as on Linux, where that is so for all sizes but 32 bits.
///
/// The size says what a wait compares and how the word is aligned. It is no part of a word's
/// identity: a wake of an address wakes the waiters of every size that wait at that address.
///
/// ```
/// # #[cfg(feature = "std")] {
/// use leeward_engine::{Clock, Deadline, Size, Wait, Word, parking::ParkingLot};
/// use std::sync::atomic::AtomicU64;
///
/// let lot = ParkingLot::new(2).unwrap();
/// // SAFETY: the word that is named is aligned, and outlives the calls.
/// let (engine, host) = unsafe { lot.parts() };
/// let value = AtomicU64::new(1 << 32);
/// let word = Word::private(value.as_ptr().expose_provenance() as u64).sized(Size::U64);
/// // The upper half differs from that of the expected value.
/// assert_eq!(engine.wait(host, word, 0, u32::MAX, None), Ok(Wait::Changed));
/// let past = Some(Deadline { clock: Clock::Monotonic, at: 0 });
/// assert_eq!(engine.wait(host, word, 1 << 32, u32::MAX, past), Ok(Wait::TimedOut));
/// # }
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Size {
    /// A word of 8 bits, a byte, at any address.
    U8,
    /// A word of 16 bits, aligned to 2 bytes.
    U16,
    /// A word of 32 bits, aligned to 4 bytes.
    U32,
    /// A word of 64 bits, aligned to 8 bytes.
    U64,
}

impl Size {
    /// Returns the number of bytes, to which such a word is also aligned: 1, 2, 4 or 8.
    ///
    /// ```
    /// use leeward_engine::Size;
    ///
    /// assert_eq!([Size::U8, Size::U16, Size::U32, Size::U64].map(Size::bytes), [1, 2, 4, 8]);
    /// ```
    pub const fn bytes(self) -> u64 {
        // The variants are numbered by their sizes' logarithms.
        1 << self as u32
    }

    /// Returns true if a word of this size can hold `value`.
    ///
    /// ```
    /// use leeward_engine::Size;
    ///
    /// assert!(Size::U8.holds(255) && !Size::U8.holds(256));
    /// assert!(Size::U64.holds(u64::MAX));
    /// ```
    pub const fn holds(self, value: u64) -> bool {
        // Without a branch, for waits that find another value. In two shifts: one by 64 bits is
        // none.
        value >> (8 * self.bytes() - 1) >> 1 == 0
    }
}

/// A futex word as an operation names it: 32 bits unless another [`Size`] is chosen, and aligned to
/// its size.
///
/// ```
/// use leeward_engine::{Node, Scope, Size, Word};
///
/// let word = Word::private(0x7f00_0000_1000);
/// assert_eq!((word.scope, word.node, word.size), (Scope::Private, Node::Hashed, Size::U32));
/// // A word of shared memory whose waiters are at the node that the next 32 bits name.
/// let near = Word { node: Node::Beside, ..Word::shared(0x7f00_0000_2000) };
/// assert_ne!(word, near);
/// // A byte of shared memory.
/// assert_eq!(Word::shared(0x7f00_0000_2001).sized(Size::U8).size, Size::U8);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Word {
    /// The address at which the calling thread sees the word.
    pub address: Address,
    /// The address spaces that use the word.
    pub scope: Scope,
    /// The one of the machine's nodes at which the word is waited for.
    pub node: Node,
    /// The number of the word's bits.
    pub size: Size,
}

impl Word {
    /// Returns a word of 32 bits that one address space uses.
    pub const fn private(address: Address) -> Word {
        Word { address, scope: Scope::Private, node: Node::Hashed, size: Size::U32 }
    }

    /// Returns a word of 32 bits that several address spaces may map.
    pub const fn shared(address: Address) -> Word {
        Word { address, scope: Scope::Shared, node: Node::Hashed, size: Size::U32 }
    }

    /// Returns this word with another size.
    pub const fn sized(self, size: Size) -> Word {
        Word { size, ..self }
    }

    /// Returns the alignment of the word, less 1.
    #[inline(always)]
    pub(crate) const fn alignment_mask(&self) -> Address {
        match (self.node, self.size) {
            (Node::Hashed, Size::U32) => 3,
            (node, size) => unusual_mask(node, size),
        }
    }
}

/// Returns the alignment, less 1, of a word that has another size than 32 bits or names a node. A
/// word with its node beside it is refused later if it has not 32 bits.
#[cold]
const fn unusual_mask(node: Node, size: Size) -> Address {
    if node.is_beside() { 7 } else { size.bytes() - 1 }
}

/// What is mapped at a shared word's address: the answer of
/// [`Host::resolve_shared`](crate::Host::resolve_shared).
///
/// ```
/// # #[cfg(feature = "simulation")] {
/// use leeward_engine::simulation::{Machine, Page, Setup, Spawn, Start};
/// use leeward_engine::{Access, Host, SharedKey};
///
/// let mut setup = Setup::new(&[Start::Runs(0)]);
/// // A page has 32 bytes.
/// setup.spaces = vec![vec![Some(Page::private(5)), Some(Page::shared(6))]];
/// setup.threads = vec![Spawn::new("caller", 0, |thread| {
///     assert_eq!(thread.resolve_shared(8, Access::Read), Ok(SharedKey::Anonymous));
///     let object = SharedKey::Object { object: 6, offset: 8 };
///     u64::from(thread.resolve_shared(40, Access::Read) == Ok(object))
/// })];
/// assert_eq!(Machine::new(setup).run(7, 100).results, [Some(1)]);
/// # }
/// ```
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
///
/// [`Word`] and [`Nodes`](crate::Nodes) have examples.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Node {
    /// The node that the hash says; nothing is looked up.
    #[default]
    Hashed,
    /// The node whose number is in the 32 bits after the word, which is then aligned to 8 bytes.
    /// [`NO_NODE`] there is replaced by the calling thread's node. Only for words of 32 bits: word
    /// and node are of one size on Linux, which defines the pair for 32 bits alone.
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
}

/// The value of the 32 bits after a word that name no node yet.
pub const NO_NODE: u32 = u32::MAX;
