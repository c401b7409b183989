//! How many inner nodes a change needs, at most. They are reserved before it begins (`memory.rs`).

use super::edit::Change;
use super::node::{CAPACITY, FEW, Inner};
use super::path::Path;
use super::store::Store;
use crate::mutant::mutated;

/// Returns how many inner nodes `Tree::commit` makes at most, if it puts the change in the place of the
/// path's leaf.
///
/// It goes the way that `commit` goes, from the leaf up. An inner node on the path is what it is now, if
/// the path is linked then. What may change is how full its children are, so what is merged is not known:
/// each node that may be merged is taken for one that is.
///
/// # Safety
/// The path's section is open, and the change's nodes are new; all is of this kind.
#[inline]
pub(super) unsafe fn inner_nodes<K, V, S: Store<K, V>>(path: &Path, change: &Change<S::Key>) -> usize {
    if change.is_simple() {
        return 0;
    }
    let mut nodes = 0;
    // How many nodes take a child's place, whether they may be merged, how full the one is then at least,
    // and whether the separator before it is another one.
    let (mut count, mut has_shrunk) = (change.count(), change.has_shrunk);
    let mut has_separator = change.new_separator.is_some();
    // SAFETY: a new node.
    let mut len = change.left.map_or(0, |left| unsafe { left.as_ref() }.len());
    for level in (0..path.depth()).rev() {
        let (node, index) = path.inner(level);
        // SAFETY: an inner node of this kind, which lives until the section ends.
        let inner = unsafe { Inner::<K, V, S>::of(node) };
        let may_merge = has_shrunk && count == 1 && len < FEW;
        if count == 1 && !may_merge && (!has_separator || index == 0) {
            // The node stays; what is above it changes only for a separator.
            if !has_separator {
                break;
            }
            has_shrunk = false;
            continue;
        }
        let total = inner.len() - 1 + count;
        let made = total.div_ceil(CAPACITY);
        nodes += made;
        // (Where the first child goes, the next one's least key is the node's.)
        has_separator = index == 0 && (has_separator || count == 0);
        has_shrunk = may_merge || total < inner.len();
        len = total - usize::from(may_merge);
        count = made;
    }
    // A root above two.
    nodes += usize::from(count == 2);
    nodes.saturating_sub(usize::from(mutated!(ordered_reserve)))
}
