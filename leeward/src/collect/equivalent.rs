//! What may be looked up in a map beside its keys.

use core::borrow::Borrow;

/// A value that a map's key may be equal to: what look-ups take. It has the hash of the key that it is
/// equal to.
///
/// Each type that a key can be borrowed as is one, so `map.get("a")` looks a `String` up. An implementation
/// of one's own looks up what no key can be borrowed as, and makes no key for it: the parts of a pair, or a
/// number in its two spellings.
///
/// ```
/// use leeward::{collect::{Equivalent, HashMap}, rcu};
/// #[derive(Hash)]
/// struct Pair<'a>(&'a str, &'a str);
/// impl Equivalent<(String, String)> for Pair<'_> {
///     fn equivalent(&self, key: &(String, String)) -> bool {
///         self.0 == key.0 && self.1 == key.1
///     }
/// }
/// let zones = HashMap::from([(("org".to_string(), "example".to_string()), 1)]);
/// assert_eq!(zones.get(&Pair("org", "example"), &rcu::read()), Some(&1));
/// ```
///
/// An implementation that is wrong loses what it looks up, and breaks nothing else.
pub trait Equivalent<K: ?Sized> {
    /// Returns true if `key` is the one that is looked up.
    fn equivalent(&self, key: &K) -> bool;
}

impl<Q: Eq + ?Sized, K: Borrow<Q> + ?Sized> Equivalent<K> for Q {
    #[inline(always)]
    fn equivalent(&self, key: &K) -> bool {
        self == key.borrow()
    }
}
