//! Inserting, replacing and removing nodes.

use core::ptr::NonNull;

use super::line::Tags;
use super::put::put;
use super::search::{has_unknown, locate};
use super::storage::{NoMemory, Table};
use super::{Owner, RawTable, Seen, TableNode, raw};
use crate::mutant::check;

/// What became of an insertion.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Insertion {
    Done,
    /// There is a node with this hash that the caller did not compare: search again.
    Unknown,
    /// There is no memory. Nothing was changed.
    NoMemory,
}

/// The node is not in the table any more, so nothing was changed.
pub(super) struct Absent;

impl<N: TableNode> RawTable<N> {
    /// Calls `act` with the newest table, the index of the line of `hash`, and the line's word,
    /// while it is locked. `act` returns the line's new word, or why nothing was changed.
    #[inline]
    pub(super) fn locked<E>(
        &self,
        hash: u64,
        owner: &impl Owner,
        act: impl FnOnce(&Table, usize, Tags) -> Result<Tags, E>,
    ) -> Result<(), E> {
        self.inherited.check(|| self.repair());
        let mut table = self.table();
        loop {
            table = self.advance(table, hash, owner);
            let index = table.index(hash);
            // Refused: the line was moved after `advance` looked. The next table has it.
            let Ok(tags) = self.lock(table, index) else { continue };
            let changed = act(table, index, tags);
            let word = match &changed {
                Ok(new) => *new,
                Err(_) => tags,
            };
            self.publish(table, index, word);
            return changed.map(drop);
        }
    }

    /// Inserts a node, if the table has none with its hash but those in `seen`.
    ///
    /// # Safety
    /// Inside a section. The node is in no table, and stays alive until a grace period after it was
    /// removed.
    pub(crate) unsafe fn insert(&self, node: NonNull<N>, seen: &mut Seen, owner: &impl Owner) -> Insertion {
        // SAFETY: the caller's promise.
        let hash = unsafe { node.as_ref() }.hash();
        if self.make_room().is_err() {
            return Insertion::NoMemory;
        }
        let mut is_crowded = false;
        let changed = self.locked(hash, owner, |table, index, tags| {
            // SAFETY: the caller's promise.
            if check!(map_insert_recheck, unsafe { has_unknown::<N>(table, index, tags, hash, seen) }) {
                return Err(Insertion::Unknown);
            }
            let new = put(table, index, tags, hash, raw(node)).map_err(|NoMemory| Insertion::NoMemory)?;
            // The line's own word stays as it was if an overflow line took the node.
            is_crowded = new == tags || new.has_overflow();
            Ok(new)
        });
        if let Err(why) = changed {
            return why;
        }
        let count = self.counts.add();
        self.after_insertion(count, is_crowded);
        Insertion::Done
    }

    /// Puts a node into the place of another. Returns false if that is not there any more.
    ///
    /// Readers find one of the two at any instant.
    ///
    /// # Panics
    /// If the two have different hashes. Nothing is locked or changed then.
    ///
    /// # Safety
    /// As for `insert`. The old one is the caller's if true is returned.
    pub(crate) unsafe fn replace(&self, old: NonNull<N>, new: NonNull<N>, owner: &impl Owner) -> bool {
        // SAFETY: the caller's promise.
        let hash = unsafe { common_hash(old, new) };
        let changed = self.locked(hash, owner, |table, index, tags| {
            let Some((line, _, slot)) = locate(table, index, tags, hash, old) else { return Err(Absent) };
            // The tag, which is of the hash, stays: one store, between whose two values a reader
            // finds the one node or the other.
            line.set(slot, raw(new));
            Ok(tags)
        });
        changed.is_ok()
    }

    /// Removes a node. Returns false if it is not there any more.
    ///
    /// # Safety
    /// As for `insert`. The node is the caller's if true is returned; readers may have it.
    pub(crate) unsafe fn remove(&self, node: NonNull<N>, owner: &impl Owner) -> bool {
        // SAFETY: the caller's promise.
        let hash = unsafe { node.as_ref() }.hash();
        let changed = self.locked(hash, owner, |table, index, tags| {
            let Some((line, word, slot)) = locate(table, index, tags, hash, node) else { return Err(Absent) };
            // The table's own line is published by the unlock; an overflow line has a word of its own.
            if core::ptr::eq(line, table.line(hash)) {
                return Ok(tags.without(slot));
            }
            line.publish(word.without(slot));
            Ok(tags)
        });
        self.note_removal(changed)
    }

    /// Counts a removal, if there was one; then the table may shrink. Returns true if there was one.
    #[inline]
    pub(super) fn note_removal(&self, changed: Result<(), Absent>) -> bool {
        if changed.is_ok() {
            let count = self.counts.subtract();
            self.after_removal(count);
        }
        changed.is_ok()
    }
}

/// Returns the hash of two nodes, of which one is to take the other's place.
///
/// A node of another hash would lie in a line that is not its own: it would not be found there, could
/// not be removed, and a move would put it into a line that another thread changes. So it is refused
/// here, where no line is locked yet.
///
/// # Panics
/// If their hashes differ.
///
/// # Safety
/// Both are alive.
pub(super) unsafe fn common_hash<N: TableNode>(old: NonNull<N>, new: NonNull<N>) -> u64 {
    // SAFETY: the caller's promise.
    let hash = unsafe { old.as_ref() }.hash();
    // SAFETY: as above.
    let is_another = unsafe { new.as_ref() }.hash() != hash;
    if check!(map_replace_refuses, is_another) {
        panic!("leeward: a node of one hash cannot take the place of one of another hash");
    }
    hash
}
