//! Look-ups of the first entry after a place and of the last one before it, with the way there.

use core::borrow::Borrow;
use core::ops::Bound::{self, Excluded, Included, Unbounded};

use super::edit::Tree;
use super::path::{Path, Side};
use super::store::Store;

/// The way to an entry, and its index in the leaf.
pub(super) type FoundPath = Option<(Path, usize)>;

/// Returns the way to the first entry that is not before `bound`.
///
/// # Safety
/// The tree is of this kind, and a section of its domain is open while the path is used.
pub(super) unsafe fn first<K, V, S, Q>(tree: &Tree, bound: Bound<&Q>) -> FoundPath
where
    K: Borrow<Q>,
    S: Store<K, V>,
    Q: Ord + ?Sized,
{
    let root = tree.root()?;
    let (Included(key) | Excluded(key)) = bound else {
        // SAFETY: the caller's promise.
        return Some((unsafe { Path::to_end::<K, V, S>(root, Side::First) }, 0));
    };
    // SAFETY: as above.
    let mut path = unsafe { Path::go::<K, V, S>(root, |inner| inner.find(key)) };
    // SAFETY: as above.
    let leaf = unsafe { path.leaf::<K, V, S>() };
    let index = match (leaf.find(key), bound) {
        (Ok(index), Excluded(_)) => index + 1,
        (Ok(index) | Err(index), _) => index,
    };
    if index < leaf.len() {
        return Some((path, index));
    }
    // SAFETY: as above.
    unsafe { path.step::<K, V, S>(Side::Last) }.then_some((path, 0))
}

/// Returns the way to the last entry that is not after `bound`.
///
/// # Safety
/// As for `first`.
pub(super) unsafe fn last<K, V, S, Q>(tree: &Tree, bound: Bound<&Q>) -> FoundPath
where
    K: Borrow<Q>,
    S: Store<K, V>,
    Q: Ord + ?Sized,
{
    let root = tree.root()?;
    let mut path = match bound {
        // SAFETY: the caller's promise.
        Unbounded => unsafe { Path::to_end::<K, V, S>(root, Side::Last) },
        // SAFETY: the caller's promise.
        Included(key) | Excluded(key) => unsafe { Path::go::<K, V, S>(root, |inner| inner.find(key)) },
    };
    // SAFETY: as above.
    let leaf = unsafe { path.leaf::<K, V, S>() };
    let end = match bound {
        Unbounded => leaf.len(),
        Included(key) => leaf.not_greater(key),
        Excluded(key) => leaf.find(key).unwrap_or_else(|index| index),
    };
    if end > 0 {
        return Some((path, end - 1));
    }
    // SAFETY: as above.
    if !unsafe { path.step::<K, V, S>(Side::First) } {
        return None;
    }
    // SAFETY: as above.
    let end = unsafe { path.leaf::<K, V, S>() }.len();
    Some((path, end - 1))
}
