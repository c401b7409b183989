//! The key of a futex: the identity by which a wake finds the waiters of a word. Made by
//! `ops::call` from a `Word`. Keys are of three kinds, which never match one another.

use crate::atomic::behind;
use crate::table::word::{Address, SharedKey};

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(u32)]
enum Kind {
    Private,
    Anonymous,
    Object,
}

/// The identity of a futex. The struct has no padding: it is copied and compared in whole words.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Key {
    /// The number of the space or of the object.
    owner: u64,
    /// The address in the space, or the offset in the object.
    place: u64,
    kind: Kind,
    /// The node that the word names, of those that the engine has, or [`ANY_NODE`].
    node: u32,
}

/// The node of a key whose word names none.
const ANY_NODE: u32 = u32::MAX;

impl Key {
    #[inline]
    pub(crate) const fn private(space: u64, address: Address) -> Key {
        Key { owner: space, place: address, kind: Kind::Private, node: ANY_NODE }
    }

    #[inline]
    pub(crate) const fn shared(space: u64, address: Address, what: SharedKey) -> Key {
        match what {
            SharedKey::Anonymous => Key { owner: space, place: address, kind: Kind::Anonymous, node: ANY_NODE },
            SharedKey::Object { object, offset } => {
                Key { owner: object, place: offset, kind: Kind::Object, node: ANY_NODE }
            }
        }
    }

    /// Returns this key at a node that the word names, one of the engine's.
    #[inline]
    pub(crate) const fn at(self, node: u32) -> Key {
        Key { node, ..self }
    }

    /// Returns the node that the word names, if it names one.
    #[inline]
    pub(crate) const fn node(&self) -> Option<u32> {
        if self.node == ANY_NODE { None } else { Some(self.node) }
    }

    #[inline]
    pub(crate) const fn is_private(&self) -> bool {
        matches!(self.kind, Kind::Private)
    }

    /// Returns the hash that spreads keys over buckets. The seed keeps a program that chooses
    /// addresses from choosing buckets. The kind is left out, since keys that differ in it alone
    /// are rare and are told apart by comparison.
    #[inline]
    pub(crate) const fn hash(&self, seed: u64) -> u64 {
        self.hash_with(Spread::new(self.owner, seed))
    }

    /// Returns the hash of a key with the spread of its owner.
    #[inline]
    pub(crate) const fn hash_with(&self, spread: Spread) -> u64 {
        spread.hash(self.place)
    }
}

/// The half of a hash that the keys of one owner have in common, made once for a space.
#[derive(Clone, Copy)]
pub(crate) struct Spread {
    owner: u64,
    factor: u64,
}

impl Spread {
    #[inline]
    pub(crate) const fn new(owner: u64, seed: u64) -> Spread {
        let owner = fold(owner ^ seed, 0x9e37_79b9_7f4a_7c15);
        Spread { owner, factor: 0xd6e8_feb8_6659_fd93 ^ seed.rotate_left(32) }
    }

    /// Returns the hash of a place, computed after whatever comes before this in the program: a
    /// processor computes while it waits for a fence.
    #[inline(always)]
    pub(crate) fn hash_behind(self, place: u64) -> u64 {
        self.hash(behind(place))
    }

    #[inline(always)]
    const fn hash(self, place: u64) -> u64 {
        // Most words are aligned to 4 bytes: their low two bits say nothing. Smaller words share
        // the hash of the 4 bytes that they are in, and are told apart by comparison.
        fold(self.owner ^ (place >> 2), self.factor)
    }
}

/// Returns both halves of the product of two numbers, combined by exclusive or.
#[inline]
const fn fold(a: u64, b: u64) -> u64 {
    let product = a as u128 * b as u128;
    product as u64 ^ (product >> 64) as u64
}

#[cfg(all(test, not(leeward_loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_three_kinds_never_match_one_another() {
        let keys = [
            Key::private(7, 64),
            Key::shared(7, 64, SharedKey::Anonymous),
            Key::shared(9, 4096, SharedKey::Object { object: 7, offset: 64 }),
        ];
        for (i, a) in keys.iter().enumerate() {
            for (j, b) in keys.iter().enumerate() {
                assert_eq!(a == b, i == j, "{a:?} {b:?}");
            }
        }
    }

    #[test]
    fn an_object_is_the_same_from_every_space() {
        let what = SharedKey::Object { object: 3, offset: 8 };
        assert_eq!(Key::shared(1, 4096, what), Key::shared(2, 8192, what));
    }

    #[test]
    fn neighbouring_words_spread_over_a_small_table() {
        for seed in [0, 1, 0x1234_5678_9abc_def0] {
            let mut seen = [0_u32; 16];
            for word in 0..1024 {
                seen[Key::private(1, 0x7f00_0000_0000 + 4 * word).hash(seed) as usize & 15] += 1;
            }
            assert!(seen.iter().all(|&count| (32..=96).contains(&count)), "{seed:#x}: {seen:?}");
        }
    }
}
