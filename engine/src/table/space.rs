//! An address space: its number, and its private table once it has one. A host keeps it with its
//! own idea of an address space (process, container, instance).
//!
//! Private futexes touch nothing but this once the space has its table: no lock, count or cache
//! line that another space uses.

use core::ptr::NonNull;

use crate::Host;
use crate::atomic::{AtomicPtr, AtomicU32, Ordering};
use crate::mutant::order;
use crate::table::Table;
use crate::table::key::{Key, Spread};
use crate::table::resize::Resize;

/// One address space. A host answers it from [`Host::space`](crate::Host::space), and keeps one in
/// each process, container or instance. A space belongs to one engine at a time, and to one page
/// table: two threads see the same word at an address if they have the same space.
///
/// ```
/// use leeward_engine::parking::Process;
/// use leeward_engine::{Config, Engine, Heap, Host, Space};
///
/// // A new process. The number is never used again; the seed is random.
/// let space = Space::<Process>::new(42, 0x1f3a_55e0_9c27_d481, Heap);
/// assert_eq!(space.number(), 42);
///
/// // A space gets its table when its second thread is made, or at a wait.
/// let engine = Engine::new(Config::for_processors(1, 7), Heap).unwrap();
/// // SAFETY: no word is named.
/// let host = unsafe { Process::new(1, 7) };
/// assert_eq!(host.space().stats(&host).buckets, 0);
/// engine.reserve(&host, 2);
/// assert_eq!(host.space().stats(&host).buckets, 16);
/// ```
///
/// # Cost
/// A space takes 64 bytes with [`Heap`](crate::Heap), and nothing else as long as it has one thread
/// or no wait. Its table has four buckets of 128 bytes for each thread, 16 at least.
///
/// # Fork
/// The child of a fork is a new address space: it gets a new space, with another number, and no
/// waiter. [`inherit_registrations`](Self::inherit_registrations) takes the parent's registrations
/// with membarrier over.
///
/// # Dropping
/// Drop a space when no thread of it is left: operations borrow it, so safe code cannot drop it
/// earlier. Its tables are freed then.
pub struct Space<H: Host> {
    /// Where the waiters of private words are:
    ///
    /// | low bit | the rest | meaning |
    /// |---|---|---|
    /// | 1 | count of waiters and calls | in the global table; a private one comes only at count 0 |
    /// | 0 | address | in this table, or the ones that take over from it |
    private_table: AtomicPtr<Table<H>>,
    resize: Resize,
    number: u64,
    seed: u64,
    /// The half of the hash that the space's private keys have in common.
    spread: Spread,
    memory: H::Memory,
    /// What the space is registered for with membarrier:
    ///
    /// | bits | meaning |
    /// |---|---|
    /// | 0-15 | the bits of the registering commands that are complete |
    /// | 16-31 | the bits of those that were requested: a superset |
    pub(crate) registered: AtomicU32,
}

/// The table pin of a call: the table in which it finds the private keys of its space, from its
/// beginning to its end. A call asks once: a second time it might find another table, and then
/// waiters would be moved between tables that are not freed together.
pub(crate) enum TablePin<'a, H: Host> {
    /// The global table; the space gets no private table as long as this is there.
    Global { _user: GlobalUser<'a, H> },
    /// The private table, or the tables that take over from it.
    Private(&'a Table<H>),
}

/// The private table of a space, if it has one.
pub(crate) enum PrivateTable<'a, H: Host> {
    /// This table, or the tables that take over from it.
    Present(&'a Table<H>),
    /// No table: the space uses the global table, with this many waiters and calls.
    Absent(usize),
}

const fn is_count(address: usize) -> bool {
    address & 1 == 1
}

/// Returns the word of a space without a private table, of which `count` waiters and calls use the
/// global one.
fn users<H: Host>(count: usize) -> *mut Table<H> {
    core::ptr::without_provenance_mut(count << 1 | 1)
}

impl<H: Host> Space<H> {
    /// Makes a space without a table; allocates nothing. `number` is never another space's while
    /// the engine lives. `seed` is a random number that the space's threads do not know: it keeps
    /// them from choosing buckets.
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

    /// Returns the space's number.
    #[inline]
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Returns where the space's tables are allocated from.
    pub fn memory(&self) -> &H::Memory {
        &self.memory
    }

    /// Returns the half of the hash that the space's private keys have in common, in its private
    /// table.
    #[inline(always)]
    pub(crate) fn spread(&self) -> Spread {
        self.spread
    }

    /// Returns the hash of a private key of this space, in its private table.
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

    /// Changes the count of users of the global table by `change`; if there is a private table,
    /// returns that instead.
    fn change_users(&self, change: impl Fn(usize) -> usize) -> Option<&Table<H>> {
        // Acquire: the table's contents, as in `private_table`; where the word is a count, the
        // exchange decides.
        let mut found = self.private_table.load(Ordering::Acquire);
        while is_count(found.addr()) {
            let changed = users(change(found.addr() >> 1));
            // Release: the thread that installs a table after the last user left sees what that
            // user did. Acquire, also on failure: the table's contents are read next. Partner:
            // `adopt_first`.
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
        // Finds what `private_table` finds, and counts the call if that is no table.
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

    /// Uncounts `count` waiters or calls that used the global table.
    #[inline(never)]
    pub(crate) fn remove_global_users(&self, count: u32) {
        // Saturating: only where two spaces have one number, against the rule, would the count fall
        // below 0. That breaks their waits and nothing else, since no call asks twice (`TablePin`).
        self.change_users(|users| users.saturating_sub(count as usize));
    }

    /// Installs a table that takes over from the private one.
    pub(crate) fn adopt(&self, table: NonNull<Table<H>>) {
        // Release: the table's contents; partner: `private_table`.
        self.private_table.store(table.as_ptr(), Ordering::Release);
    }

    /// Returns the seed with which keys are hashed in the space's tables.
    pub(crate) fn seed(&self) -> u64 {
        self.seed
    }

    /// Installs a first private table. Returns false if a waiter or a call uses the global table,
    /// or there is a table.
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
            // A successor, if there is one: it may not have taken over wholly.
            let table = table.newest().block();
            // SAFETY: ours; every use of it borrowed the space.
            unsafe { Table::free(table, &self.memory) };
        }
    }
}

impl<H: Host> core::fmt::Debug for Space<H> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Space").field("number", &self.number).finish_non_exhaustive()
    }
}

/// A call that uses the global table for a space; the space counts it until this is dropped.
pub(crate) struct GlobalUser<'a, H: Host>(&'a Space<H>);

impl<H: Host> Drop for GlobalUser<'_, H> {
    fn drop(&mut self) {
        self.0.remove_global_users(1);
    }
}
