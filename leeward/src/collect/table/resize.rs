//! Moving the nodes to a larger or smaller table: each writer that meets the move does a few lines.
//!
//! A *unit* is what is moved in one step: the lines of both tables whose indices have the same
//! lowest bits. A larger table has several lines for one of the old table's; a table of half the
//! size has one for two. The thread that moves a unit locks all its old lines, in the order of their
//! indices, fills the new ones, and publishes `MOVED` in each old one.
//!
//! No table is replaced before the one before it was replaced entirely: there are two at a time.

use core::ptr::NonNull;

use super::line::Tags;
use super::put::fill_in;
use super::search::overflows;
use super::storage::{NoMemory, Overflow, Table};
use super::{Owner, RawTable, TableNode, start};
use crate::atomic::Ordering;
use crate::inherited;
use crate::mutant::{check, step};
use crate::no_unwind::abort;

/// The number of nodes for each line up to which a table does not grow: of seven slots. Then one
/// line in six has an overflow line, which one node in twenty is in.
const FULL: usize = 5;
/// After a removal, a table with fewer than one node per `SPARSE` lines shrinks to half.
const SPARSE: usize = 2;
/// The number of units that a writer moves beside its own.
const HELP: usize = if crate::atomic::IS_MODEL { 0 } else { 8 };
/// How often the nodes are counted: once in so many changes of one stripe.
const SAMPLE: usize = if crate::atomic::IS_MODEL { 1 } else { 16 };
/// Tables of so few lines are looked at more often.
const FEW_LINES: usize = 16;

/// Returns how many nodes a table may have before it grows.
fn most(table: &Table) -> usize {
    if table.is_fixed() { 0 } else { table.count().saturating_mul(FULL) }
}

/// Returns the number of lines that a table for so many nodes has.
fn lines_for(nodes: usize) -> Result<usize, NoMemory> {
    nodes.div_ceil(FULL).max(1).checked_next_power_of_two().ok_or(NoMemory)
}

impl<N: TableNode> RawTable<N> {
    /// Returns how many nodes find room before the table grows.
    pub(crate) fn capacity(&self) -> usize {
        most(self.table())
    }

    /// Makes the first table that has room.
    #[inline]
    pub(super) fn make_room(&self) -> Result<(), NoMemory> {
        if self.table().is_fixed() { self.make_first(1) } else { Ok(()) }
    }

    #[cold]
    fn make_first(&self, lines: usize) -> Result<(), NoMemory> {
        inherited::watch();
        let new = Table::allocate(lines)?;
        // Release: the table. Partner: the acquire in `RawTable::table`.
        let replaced = self.table.compare_exchange(start::table(), new.as_ptr(), Ordering::Release, Ordering::Relaxed);
        if replaced.is_err() {
            // SAFETY: made above, and published nowhere.
            unsafe { Table::free(new) };
        }
        Ok(())
    }

    /// Has the table grow for `more` nodes beside those that it has. An aim: while the nodes move
    /// already, it grows later.
    pub(crate) fn reserve(&self, more: usize, owner: &impl Owner) -> Result<(), NoMemory> {
        self.inherited.check(|| self.repair());
        let lines = lines_for(self.len().checked_add(more).ok_or(NoMemory)?)?;
        if self.table().is_fixed() {
            self.make_first(lines)?;
        }
        let table = self.table();
        if table.next().is_none() && lines > table.count() {
            self.begin(table, lines)?;
        }
        self.move_all(owner);
        Ok(())
    }

    /// Moves what is left of a move that is under way.
    pub(crate) fn move_all(&self, owner: &impl Owner) {
        let table = self.table();
        let Some(next) = table.next() else { return };
        for unit in 0..units(table, next) {
            let _ = self.move_unit(table, next, unit, owner);
        }
    }

    /// Begins to move the nodes of `table` to a new one, unless it was begun.
    pub(super) fn begin(&self, table: &Table, lines: usize) -> Result<(), NoMemory> {
        // Relaxed: a table that is the first one stays it until its nodes have moved.
        let is_first = core::ptr::eq(self.table.load(Ordering::Relaxed), table);
        if !is_first || table.is_fixed() || table.next().is_some() {
            return Ok(());
        }
        let new = Table::allocate(lines)?;
        // Release: the table. Partner: the acquire in `Table::next`.
        let (none, new_table) = (core::ptr::null_mut(), new.as_ptr());
        if table.next.compare_exchange(none, new_table, Ordering::Release, Ordering::Relaxed).is_err() {
            // SAFETY: made above, and published nowhere.
            unsafe { Table::free(new) };
        }
        Ok(())
    }

    /// After an insertion: lets the table grow if it is full. `count` is the writer's.
    #[inline]
    pub(super) fn after_insertion(&self, count: usize, is_crowded: bool) {
        if is_crowded {
            self.grow(count);
        }
    }

    #[cold]
    fn grow(&self, count: usize) {
        let table = self.table();
        // Adding up the counts of all stripes reads a line of each: once in `SAMPLE` insertions only. A
        // small table would be too full long before the next sample.
        let is_asked = count % SAMPLE == 0 || table.count() <= FEW_LINES;
        if is_asked && self.limits.may_grow(table.count()) && table.next().is_none() && self.len() > most(table) {
            // Where there is no memory, lines grow longer instead.
            let _ = self.begin(table, 2 * table.count());
        }
    }

    /// After a removal: lets the table shrink if it is nearly empty.
    #[inline]
    pub(super) fn after_removal(&self, count: usize) {
        // More rarely than a table grows: one that is too large costs memory, and no look-up.
        if count % (4 * SAMPLE) == 0 {
            self.shrink();
        }
    }

    #[cold]
    fn shrink(&self) {
        let table = self.table();
        if self.limits.may_shrink(table.count())
            && table.count() > 1
            && table.next().is_none()
            && self.len() * SPARSE < table.count()
        {
            // Where there is no memory, it stays as it is.
            let _ = self.begin(table, table.count() / 2);
        }
    }

    /// Returns the newest table, in which the line of `hash` may be changed: moves it there, if it
    /// was not moved, and some other lines.
    #[inline]
    pub(super) fn advance<'t>(&'t self, mut table: &'t Table, hash: u64, owner: &impl Owner) -> &'t Table {
        while let Some(next) = table.next() {
            if self.advance_one(table, next, hash, owner).is_err() {
                // There is no memory for the move: the line stays where it is.
                return table;
            }
            table = next;
        }
        table
    }

    #[cold]
    #[inline(never)]
    fn advance_one(&self, table: &Table, next: &Table, hash: u64, owner: &impl Owner) -> Result<(), NoMemory> {
        let count = units(table, next);
        // First the caller's own line, without which it cannot go on.
        if !table.line(hash).tags().is_moved() {
            self.move_unit(table, next, hash as usize & (count - 1), owner)?;
        }
        // Relaxed, all: which units are left is known by their lines.
        if table.cursor.load(Ordering::Relaxed) < count {
            let first = table.cursor.fetch_add(HELP, Ordering::Relaxed);
            for unit in first..count.min(first + HELP) {
                if self.move_unit(table, next, unit, owner).is_err() {
                    // The unit stays: a later writer begins with the first one again, and finds it.
                    table.cursor.store(0, Ordering::Relaxed);
                }
            }
        }
        Ok(())
    }

    /// Moves one unit, unless it was moved.
    fn move_unit(&self, table: &Table, next: &Table, unit: usize, owner: &impl Owner) -> Result<(), NoMemory> {
        let lines = || (unit..table.count()).step_by(units(table, next));
        if lines().all(|index| table.line(index as u64).tags().is_moved()) {
            return Ok(());
        }
        // A unit that was moved has no line that can be locked; who waits for a line of one that is being
        // moved finds it moved.
        let mut words = [None; 2];
        for (word, index) in
            words.iter_mut().zip(lines()).filter(|(_, index)| check!(map_move_locks_all, true) || *index == unit)
        {
            *word = self.lock(table, index).ok();
        }
        if words[0].is_none() {
            // Another thread moved the unit after the look above.
            return Ok(());
        }
        let filled = fill::<N>(table, next, unit, &words);
        // Moved, or as they were where there was no memory: either way, this unlocks them.
        for (word, index) in words.into_iter().zip(lines()) {
            let old = word.unwrap_or(Tags::moved());
            let new = if filled.is_ok() { Tags::moved() } else { old };
            self.publish(table, index, new);
        }
        filled?;
        // AcqRel: what others moved, for the thread that moves the last unit.
        if table.moved.fetch_add(1, Ordering::AcqRel) + 1 == units(table, next) {
            self.replace_table(table, owner);
        }
        Ok(())
    }

    /// Replaces a table whose nodes were all moved.
    ///
    /// A table is freed by the pointer that its allocation returned, which is the one that was
    /// published: one that is made of a `&Table` may only read.
    fn replace_table(&self, table: &Table, owner: &impl Owner) {
        let (old, new) = (core::ptr::from_ref(table).cast_mut(), table.next_pointer());
        // Release: the table. Partner: the acquire in `RawTable::table`.
        let replaced = self.table.compare_exchange(old, new, Ordering::Release, Ordering::Relaxed);
        if let Some(replaced) = replaced.ok().and_then(NonNull::new) {
            owner.retire(replaced);
        }
    }
}

/// Returns the number of units of a move.
pub(super) fn units(table: &Table, next: &Table) -> usize {
    table.count().min(next.count())
}

/// Fills the lines of a unit in the next table, which no other thread looks at. The old ones are
/// locked, and these are their words.
///
/// A node moves by the hash that is stored in it, which no code of users is asked for, and which is
/// that of the line where it lies (`common_hash`). So it moves within its unit. If it does not, its
/// memory was changed by others: the process ends, since the lines of another unit may be another
/// thread's, and since a panic would leave the old ones locked.
fn fill<N: TableNode>(table: &Table, next: &Table, unit: usize, words: &[Option<Tags>; 2]) -> Result<(), NoMemory> {
    let step = units(table, next);
    for index in (unit..next.count()).step_by(step) {
        // An attempt that failed for want of memory, or in the parent of a fork, may have left something.
        let is_linked = overflows(next, index).map(Overflow::renew).count() != 0;
        let none = if is_linked { Tags::none().with_overflow() } else { Tags::none() };
        step!(map_move_anew, next.line(index as u64).prepare(none));
    }
    for (word, index) in words.iter().zip((unit..table.count()).step_by(step)) {
        // The line's own word has the lock's bit: its tags are those that the lock returned. The words of
        // overflow lines are changed under that lock only.
        let home = word.map(|tags| (table.line(index as u64), tags));
        let further = overflows(table, index).map(|overflow| (&overflow.line, overflow.line.tags()));
        for (line, tags) in home.into_iter().chain(further) {
            for node in tags.used().map(|slot| line.node(slot)) {
                // SAFETY: in the table, and callers are in a section.
                let hash = unsafe { &*node.cast::<N>() }.hash();
                let target = next.index(hash);
                if check!(map_move_unit, target & (step - 1) != unit) {
                    abort!("the hash of a node has changed while the node was in a map");
                }
                let new = next.line(target as u64);
                new.prepare(fill_in(next, target, new.tags(), hash, node)?);
            }
        }
    }
    Ok(())
}
