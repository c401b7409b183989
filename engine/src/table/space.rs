//! An address space: its number, and its own table of buckets, once it has one. A host keeps it
//! with its own idea of an address space (process, container, instance).
//!
//! Private futexes touch nothing but this: no lock, count or line that another space uses.

use core::ptr::NonNull;

use crate::Host;
use crate::atomic::{AtomicPtr, AtomicU32, Ordering};
use crate::mutant::order;
use crate::table::Table;
use crate::table::key::{Key, Spread};
use crate::table::resize::Resize;

/// One address space. Belongs to one engine at a time.
pub struct Space<H: Host> {
    /// Where private waiters are:
    ///
    /// | low bit | the rest | meaning |
    /// |---|---|---|
    /// | 1 | count of waiters and calls | in the global table: the space has none of its own (yet), and gets none as long as the count is not 0 |
    /// | 0 | address | in this table, or the ones that take over from it |
    private_table: AtomicPtr<Table<H>>,
    resize: Resize,
    number: u64,
    seed: u64,
    /// Of its private keys.
    spread: Spread,
    memory: H::Memory,
    /// What it is registered for with membarrier:
    ///
    /// | bits | meaning |
    /// |---|---|
    /// | 0-15 | the bits of the registering commands that are complete |
    /// | 16-31 | the same for those that were asked for: a superset |
    pub(crate) registered: AtomicU32,
}

/// The table in which a call finds the private keys of its space, from its beginning to its end. A
/// call asks once: a second time it might find another table, and then waiters would be moved
/// between tables that are not freed together.
pub(crate) enum TablePin<'a, H: Host> {
    /// The global table; the space gets no other as long as this is there.
    Global { _user: GlobalUser<'a, H> },
    /// The private table, or those that take over from it.
    Private(&'a Table<H>),
}

/// The private table of a space, if it has one.
pub(crate) enum PrivateTable<'a, H: Host> {
    /// This one, or those that take over from it.
    Present(&'a Table<H>),
    /// None: the space uses the global table, with this many waiters and calls.
    Absent(usize),
}

const fn is_count(address: usize) -> bool {
    address & 1 == 1
}

/// The word for a space without a private table, of which `count` waiters and calls use the global
/// one.
fn users<H: Host>(count: usize) -> *mut Table<H> {
    core::ptr::without_provenance_mut(count << 1 | 1)
}

impl<H: Host> Space<H> {
    /// A space without a table. `number` is never another space's while the engine lives; `seed` is
    /// a random number that its threads do not know: it keeps them from choosing buckets. Allocates
    /// nothing.
    pub fn new(number: u64, seed: u64, memory: H::Memory) -> Space<H> {
        Space {
            private_table: AtomicPtr::new(users(0)),
            resize: Resize::new(),
            number,
            seed,
            spread: Spread::new(number, seed),
            memory,
            registered: AtomicU32::new(0),
        }
    }

    /// Its number.
    #[inline]
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Where its tables come from.
    pub fn memory(&self) -> &H::Memory {
        &self.memory
    }

    /// What its private keys' hashes have in common, in its own table.
    #[inline(always)]
    pub(crate) fn spread(&self) -> Spread {
        self.spread
    }

    /// The hash of a private key of its own, in its own table.
    #[inline(always)]
    pub(crate) fn hash(&self, key: &Key) -> u64 {
        key.hash_with(self.spread)
    }

    pub(crate) fn resize(&self) -> &Resize {
        &self.resize
    }

    #[inline]
    pub(crate) fn private_table(&self) -> PrivateTable<'_, H> {
        // Acquire: the table's contents; partners: the exchanges in `adopt_first` and `adopt`.
        let found = self.private_table.load(Ordering::Acquire);
        if is_count(found.addr()) {
            return PrivateTable::Absent(found.addr() >> 1);
        }
        // SAFETY: not a count, so a table; it is freed with the space.
        PrivateTable::Present(unsafe { &*found })
    }

    /// Changes the count by `change`, unless there is a table: that.
    fn change_users(&self, change: impl Fn(usize) -> usize) -> Option<&Table<H>> {
        // Acquire: the table's contents, as in `private_table`; where it is a count, the exchange
        // decides.
        let mut found = self.private_table.load(Ordering::Acquire);
        while is_count(found.addr()) {
            let changed = users(change(found.addr() >> 1));
            // Release: a table that comes after the last one left sees what it did; Acquire, also
            // on failure: the table's contents are read next. Partner: `adopt_first`.
            match self.private_table.compare_exchange(found, changed, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return None,
                Err(now) => found = now,
            }
        }
        // SAFETY: not a count, so a table; it is freed with the space.
        Some(unsafe { &*found })
    }

    /// Begins a call that uses the space's private keys. If there is no private table, none appears
    /// until the call ends.
    #[inline]
    pub(crate) fn pin_table(&self) -> TablePin<'_, H> {
        match self.private_table() {
            PrivateTable::Present(table) => TablePin::Private(table),
            PrivateTable::Absent(_) => self.pin_global(),
        }
    }

    #[inline(never)]
    fn pin_global(&self) -> TablePin<'_, H> {
        // The same as `private_table`, but for the count.
        match self.change_users(|count| count + 1) {
            None => TablePin::Global { _user: GlobalUser(self) },
            Some(table) => TablePin::Private(table),
        }
    }

    /// Counts a waiter that is queued in the global table, by a call that holds a [`GlobalUser`].
    #[cold]
    pub(crate) fn add_global_user(&self) {
        self.change_users(|count| count + 1);
    }

    /// Counts `count` waiters or calls less that use the global table.
    #[inline(never)]
    pub(crate) fn remove_global_users(&self, count: u32) {
        // Saturating: wrong for spaces with one number only, which breaks their waits and nothing
        // else, since no call asks twice (`TablePin`).
        self.change_users(|users| users.saturating_sub(count as usize));
    }

    /// A table that takes over from the one that is there.
    pub(crate) fn adopt(&self, table: NonNull<Table<H>>) {
        // Release: the table's contents; partner: `private_table`.
        self.private_table.store(table.as_ptr(), Ordering::Release);
    }

    /// What its tables' keys are hashed with.
    pub(crate) fn seed(&self) -> u64 {
        self.seed
    }

    /// A first table, if nobody is in the global one.
    pub(crate) fn adopt_first(&self, table: NonNull<Table<H>>) -> bool {
        // Release: the table's contents; partner: `private_table`. Acquire: what the last user of
        // the global table did. Relaxed on failure.
        self.private_table
            .compare_exchange(users(0), table.as_ptr(), order!(AcqRel, first_release => Acquire), Ordering::Relaxed)
            .is_ok()
    }
}

impl<H: Host> Drop for Space<H> {
    fn drop(&mut self) {
        if let PrivateTable::Present(table) = self.private_table() {
            // The next one, if it never took over wholly.
            let table = table.newest().block();
            // SAFETY: ours; whoever used it borrowed the space.
            unsafe { Table::free(table, &self.memory) };
        }
    }
}

impl<H: Host> core::fmt::Debug for Space<H> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Space").field("number", &self.number).finish_non_exhaustive()
    }
}

/// A call that uses the global table for a space: counted as long as this is there.
pub(crate) struct GlobalUser<'a, H: Host>(&'a Space<H>);

impl<H: Host> Drop for GlobalUser<'_, H> {
    fn drop(&mut self) {
        self.0.remove_global_users(1);
    }
}
