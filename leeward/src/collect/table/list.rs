//! Tables with lists: several nodes with one hash, in an order, of which some may have the same key.
//! What C's tables are made of.
//!
//! A slot of the table has the first node of a list (`link.rs`), so that the table's lines have each
//! hash once.
//!
//! # Why writers lose nothing
//! Lists are changed under the lock of the line that they belong to. As elsewhere in this folder, no
//! code of users runs under it: a writer compares the list's nodes without the lock, and notes the
//! first and the last one (`Looked`). With the lock it looks whether they are still the first and the
//! last one. Then no node came that it did not compare: nodes come to the ends of a list, and one
//! that replaces another has that one's key.
//!
//! # Where nodes come to
//! One that is added whatever there is comes last, so that nodes of one key are in the order in which
//! they were added. One that is added only if its key is absent comes first: a reader in the midst of
//! the list that met the key before, and whose node was removed, does not meet the key again.
//!
//! # Fork
//! A node is taken out by one store, the one that marks it; then the link before it passes it by. The
//! child of a fork may find a node between the two, which readers do not take. `survivor` passes it by
//! before the child's first change.

use core::ptr::{self, NonNull};

use super::change::{Absent, common_hash};
use super::find::Looked;
use super::limits::Limits;
use super::line::{Line, Tags};
use super::link::{Linked, follow};
use super::put::put;
use super::search::overflows;
use super::storage::{NoMemory, Table};
use super::{Insertion, Owner, RawTable, raw};
use crate::atomic::AtomicPtr;
use crate::inherited;
use crate::mutant::{check, mutated, step};

/// Where a list is, for a writer that has the line's lock.
struct List<'t, N> {
    line: &'t Line,
    tags: Tags,
    slot: usize,
    first: NonNull<N>,
}

impl<N: Linked> RawTable<N> {
    /// Makes a table of `lines` lines, a power of two, that stays within limits.
    pub(crate) fn with_lines(lines: usize, limits: Limits) -> Result<Self, NoMemory> {
        inherited::watch();
        let mut new = RawTable::new();
        new.table = AtomicPtr::new(Table::allocate(lines)?.as_ptr());
        new.limits = limits;
        Ok(new)
    }

    /// Adds a node behind all others with its hash. Returns false if the node itself is among those: then
    /// nothing was changed. (The list would have no end.)
    ///
    /// # Safety
    /// Inside a section. The node is in no table, or in this one with this hash; else no reader has it, and
    /// it stays alive until a grace period after it was removed.
    pub(crate) unsafe fn add_last(&self, node: NonNull<N>, owner: &impl Owner) -> Result<bool, NoMemory> {
        // SAFETY: the caller's promise.
        let hash = unsafe { node.as_ref() }.hash();
        // The way to the end of a long list is gone without the lock.
        // SAFETY: the caller's promise.
        let Err(Looked { last, .. }) = (unsafe { self.look(hash, |there| check!(cmap_add_twice, there == node)) })
        else {
            return Ok(false);
        };
        let add = |table: &Table, index, tags| {
            // SAFETY: the line is locked; the node is the caller's.
            match unsafe { last_of(table, index, tags, hash, last) } {
                Some(last) => {
                    // SAFETY: as above.
                    unsafe { link_behind(last, node) };
                    Ok(None)
                }
                // SAFETY: as above.
                None => unsafe { put_first(table, index, tags, hash, node) }.map(Some),
            }
        };
        self.add_with(hash, owner, add).map(|_| true).map_err(|_| NoMemory)
    }

    /// Adds a node before all others with its hash, if these are the ones that the caller compared.
    ///
    /// # Safety
    /// As for `add_last`.
    pub(crate) unsafe fn add_if(&self, node: NonNull<N>, looked: &Looked<N>, owner: &impl Owner) -> Insertion {
        // SAFETY: the caller's promise.
        let hash = unsafe { node.as_ref() }.hash();
        let added = self.add_with(hash, owner, |table, index, tags| {
            // SAFETY: the line is locked.
            let list = unsafe { list_of::<N>(table, index, tags, hash) };
            let first = list.as_ref().map_or(ptr::null_mut(), |list| list.first.as_ptr());
            // SAFETY: as above; the node was compared in this section.
            if check!(cmap_add_recheck, first != looked.first || !unsafe { is_last(looked.last) }) {
                return Err(Insertion::Unknown);
            }
            let Some(list) = list else {
                // SAFETY: as above; the node is the caller's.
                return unsafe { put_first(table, index, tags, hash, node) }.map(Some);
            };
            // SAFETY: the node is the caller's.
            unsafe { node.as_ref() }.link().prepare(first);
            list.line.set(list.slot, raw(node));
            Ok(None)
        });
        added.err().unwrap_or(Insertion::Done)
    }

    /// Has the table have `lines` lines, a power of two. An aim: other writers may change its size
    /// meanwhile. `in_section` calls its argument in a section of its own.
    pub(crate) fn resize(
        &self,
        lines: usize,
        owner: &impl Owner,
        in_section: impl Fn(&mut dyn FnMut()),
    ) -> Result<(), NoMemory> {
        // A table shrinks by half at a time. One more step for a move that was under way.
        for _ in 0..=usize::BITS {
            let (mut is_done, mut begun) = (false, Ok(()));
            in_section(&mut || {
                self.inherited.check(|| self.repair());
                self.move_all(owner);
                let table = self.table();
                is_done = table.count() == lines;
                if !is_done {
                    begun = self.begin(table, lines.max(table.count() / 2));
                    self.move_all(owner);
                }
            });
            begun?;
            if is_done {
                break;
            }
        }
        Ok(())
    }

    /// Adds a node by `add`, which is called with the line locked and returns its new word, or `None` if
    /// the node is in a list that was there; counts it, and lets a table grow that has no room.
    fn add_with(
        &self,
        hash: u64,
        owner: &impl Owner,
        add: impl FnOnce(&Table, usize, Tags) -> Result<Option<Tags>, Insertion>,
    ) -> Result<(), Insertion> {
        let mut is_crowded = false;
        self.locked(hash, owner, |table, index, tags| {
            let Some(new) = add(table, index, tags)? else { return Ok(tags) };
            is_crowded = new == tags || new.has_overflow();
            Ok(new)
        })?;
        let count = self.counts.add();
        self.after_insertion(count, is_crowded);
        Ok(())
    }

    /// Puts a node into the place of another. Returns false if that is not in the table any more.
    ///
    /// # Panics
    /// If the two have different hashes. Nothing is locked or changed then.
    ///
    /// # Safety
    /// As for `add_last`; the two have the same key. The old one is the caller's if true is returned,
    /// and readers may have it.
    pub(crate) unsafe fn replace_linked(&self, old: NonNull<N>, new: NonNull<N>, owner: &impl Owner) -> bool {
        // SAFETY: the caller's promise.
        let this = unsafe { old.as_ref() };
        // SAFETY: as above.
        let hash = unsafe { common_hash(old, new) };
        let changed = self.locked(hash, owner, |table, index, tags| {
            // SAFETY: the line is locked.
            let Some(place) = (unsafe { place_of(table, index, tags, old) }) else { return Err(Absent) };
            // SAFETY: the node is the caller's.
            unsafe { new.as_ref() }.link().prepare(place.next);
            step!(cmap_replace_marks, this.link().replace_by(new));
            Ok(place.lead_to(table, index, tags, new.as_ptr()))
        });
        changed.is_ok()
    }

    /// Removes a node. Returns false if it is not in the table any more.
    ///
    /// # Safety
    /// Inside a section, in which the node was in the table. It is the caller's if true is returned,
    /// and readers may have it.
    pub(crate) unsafe fn remove_linked(&self, node: NonNull<N>, owner: &impl Owner) -> bool {
        // SAFETY: the caller's promise.
        let this = unsafe { node.as_ref() };
        let changed = self.locked(this.hash(), owner, |table, index, tags| {
            // SAFETY: the line is locked.
            let Some(place) = (unsafe { place_of(table, index, tags, node) }) else { return Err(Absent) };
            step!(cmap_remove_marks, this.link().remove(place.next));
            Ok(place.lead_to(table, index, tags, place.next))
        });
        self.note_removal(changed)
    }
}

/// Where a node is, for a writer that has the line's lock.
struct Place<'t, N> {
    list: List<'t, N>,
    /// The node before it; `None`: it is the first one.
    before: Option<NonNull<N>>,
    /// The node behind it, or null.
    next: *mut N,
}

impl<N: Linked> Place<'_, N> {
    /// Has what leads to the node lead to `to`, or to nothing if that is null. Returns the new word of
    /// the line `index`, which was `home`.
    fn lead_to(&self, table: &Table, index: usize, home: Tags, to: *mut N) -> Tags {
        let List { line, tags, slot, .. } = self.list;
        match (self.before, NonNull::new(to)) {
            // SAFETY: in the list, whose line is locked.
            (Some(before), _) => unsafe { before.as_ref() }.link().append(to),
            (None, Some(first)) => line.set(slot, raw(first)),
            (None, None) if ptr::eq(line, table.line(index as u64)) => return home.without(slot),
            (None, None) => {
                line.publish(tags.without(slot));
            }
        }
        home
    }
}

/// Returns where a node is, if it is in the table.
///
/// # Safety
/// As for `list_of`. The node was in a table in this section.
unsafe fn place_of<N: Linked>(table: &Table, index: usize, tags: Tags, node: NonNull<N>) -> Option<Place<'_, N>> {
    // SAFETY: alive, by the caller's promise.
    let this = unsafe { node.as_ref() };
    let next = this.link().load();
    if next.is_removed() {
        return None;
    }
    // SAFETY: the caller's promise.
    let list = unsafe { list_of::<N>(table, index, tags, this.hash()) }?;
    let (mut before, mut here) = (None, list.first);
    while here != node {
        // SAFETY: in the list.
        let next = NonNull::new(unsafe { here.as_ref() }.link().load().node::<N>())?;
        (before, here) = (Some(here), next);
    }
    Some(Place { list, before, next: next.node() })
}

/// Returns the list of a hash, among the line `index`, whose word is `tags`, and its overflow lines.
///
/// # Safety
/// The line is locked, inside a section.
unsafe fn list_of<N: Linked>(table: &Table, index: usize, tags: Tags, hash: u64) -> Option<List<'_, N>> {
    let home = table.line(index as u64);
    let further = overflows(table, index).map(|overflow| (&overflow.line, overflow.line.tags()));
    core::iter::once((home, tags)).chain(further).find_map(|(line, tags)| {
        tags.matches(hash).find_map(|slot| {
            let first = NonNull::new(line.node(slot).cast::<N>())?;
            // SAFETY: in the table.
            (unsafe { first.as_ref() }.hash() == hash).then_some(List { line, tags, slot, first })
        })
    })
}

/// Returns the last node of the list of a hash, beginning at one that was the last, or null.
///
/// # Safety
/// As for `list_of`. `was_last` was in the table in this section.
unsafe fn last_of<N: Linked>(
    table: &Table,
    index: usize,
    tags: Tags,
    hash: u64,
    was_last: *mut N,
) -> Option<NonNull<N>> {
    // SAFETY: alive, by the caller's promise.
    let is_there = |node: &NonNull<N>| !unsafe { node.as_ref() }.link().load().is_removed();
    let was_last = NonNull::new(was_last).filter(|node| is_there(node) || mutated!(cmap_last_recheck));
    // SAFETY: the caller's promise.
    let mut last = was_last.or_else(|| unsafe { list_of::<N>(table, index, tags, hash) }.map(|list| list.first))?;
    // SAFETY: nodes of a list are alive, and its links do not change while the line is locked.
    while let Some(next) = NonNull::new(unsafe { last.as_ref() }.link().load().node::<N>()) {
        last = next;
    }
    Some(last)
}

/// Returns true if the node is the last of its list. Null is, where there is none.
///
/// # Safety
/// The line is locked; the node was in the table in this section.
unsafe fn is_last<N: Linked>(node: *mut N) -> bool {
    // SAFETY: alive, by the caller's promise.
    NonNull::new(node)
        .map(|node| unsafe { node.as_ref() }.link().load())
        .is_none_or(|next| !next.is_removed() && next.node::<N>().is_null())
}

/// Links a node behind the last one of its list.
///
/// # Safety
/// The line is locked; the node is the caller's.
unsafe fn link_behind<N: Linked>(last: NonNull<N>, node: NonNull<N>) {
    // SAFETY: the caller's promise.
    unsafe { node.as_ref() }.link().prepare(ptr::null_mut::<N>());
    // SAFETY: in the table.
    unsafe { last.as_ref() }.link().append(node.as_ptr());
}

/// Begins a list with a node, and returns the line's new word.
///
/// # Safety
/// As for `link_behind`.
unsafe fn put_first<N: Linked>(
    table: &Table,
    index: usize,
    tags: Tags,
    hash: u64,
    node: NonNull<N>,
) -> Result<Tags, Insertion> {
    // SAFETY: the caller's promise.
    unsafe { node.as_ref() }.link().prepare(ptr::null_mut::<N>());
    put(table, index, tags, hash, raw(node)).map_err(|NoMemory| Insertion::NoMemory)
}

/// In the child of a fork: passes by the nodes of a list that were removed, and returns its first
/// one and their number; `None` if none is left.
///
/// # Safety
/// No other thread changes the table; inside a section.
pub(crate) unsafe fn survivor<N: Linked>(first: NonNull<N>) -> Option<(NonNull<N>, usize)> {
    // SAFETY: the caller's promise.
    let start = unsafe { follow(first.as_ptr(), |_| true) }?;
    let (mut here, mut next, mut length) = (start.node, start.next, 1);
    // SAFETY: as above.
    while let Some(stand) = unsafe { follow(next, |_| true) } {
        if stand.node.as_ptr() != next {
            // SAFETY: in the list.
            unsafe { here.as_ref() }.link().append(stand.node.as_ptr());
        }
        (here, next, length) = (stand.node, stand.next, length + 1);
    }
    if !next.is_null() {
        // SAFETY: as above.
        unsafe { here.as_ref() }.link().append(ptr::null_mut::<N>());
    }
    Some((start.node, length))
}
