//! The walk of a dying thread's robust list. The list lies in user memory and is read as such:
//! every pointer may lie, every word may change meanwhile, any page may be missing.

use core::marker::PhantomData;

use crate::linux::abi::{FUTEX_OWNER_DIED as OWNER_DIED, FUTEX_TID_MASK as OWNER, FUTEX_WAITERS as WAITERS};
use crate::linux::user;
use crate::mutant::{check, mutated};
use crate::ops::call::Call;
use crate::table::key::Key;
use crate::{Access, Address, Fault, RobustHost, Word};

/// The number of attempts at one word that other threads change, or whose page comes and goes,
/// before it counts as missing.
pub(crate) const TRIES: u32 = 10_000;
/// The number of locks with waiters that are marked before these are woken, all after one fence.
const BATCH: usize = 16;

/// The bit of an entry's pointer that says that its lock inherits priorities.
const INHERITS: u64 = 1;

/// Why the walk of a list ended.
///
/// ```
/// # #[cfg(feature = "std")] {
/// use leeward_engine::{ROBUST_LIST_LIMIT, RobustHost, WalkEnd, parking::ParkingLot};
/// use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
///
/// let lot = ParkingLot::new(2).unwrap();
/// let list: [AtomicU64; 5] = Default::default();
/// let head = list.as_ptr().expose_provenance() as u64;
/// // The head leads to the entry and says that a lock is 8 bytes after its entry. The entry leads
/// // back to the head.
/// for (i, value) in [(0, head + 24), (1, 8), (3, head)] {
///     list[i].store(value, Relaxed);
/// }
/// // SAFETY: the list outlives the walks.
/// let (engine, host) = unsafe { lot.parts() };
/// for (cap, end) in [(0, WalkEnd::Truncated), (ROBUST_LIST_LIMIT, WalkEnd::Whole)] {
///     host.set_robust_head(head);
///     assert_eq!(engine.exit_robust(host, cap).end, end);
/// }
/// # }
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum WalkEnd {
    /// The list led back to its head, or the thread has no list.
    #[default]
    Whole,
    /// The list has more entries than the cap.
    Truncated,
    /// The list goes round without leading back to its head.
    Cycle,
    /// A pointer leads nowhere; or a lock's word is misaligned, cannot be written, or kept
    /// changing. The rest of the list was left alone, and the pending entry too.
    Fault,
}

/// The outcome of the walk of a list.
///
/// ```
/// # #[cfg(feature = "std")] {
/// use leeward_engine::{ROBUST_LIST_LIMIT, RobustExit, RobustHost, WalkEnd, parking::ParkingLot};
/// use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
///
/// #[derive(Default)]
/// #[repr(C)]
/// struct List {
///     head: [AtomicU64; 3],
///     entry: AtomicU64,
///     lock: AtomicU32,
/// }
///
/// let lot = ParkingLot::new(2).unwrap();
/// // SAFETY: the list outlives the walk.
/// let (engine, host) = unsafe { lot.parts() };
/// let list = List::default();
/// let head = (&raw const list).expose_provenance() as u64;
/// // The head leads to the entry and says that a lock is 8 bytes after its entry. The entry leads
/// // back to the head.
/// list.head[0].store(head + 24, Relaxed);
/// list.head[1].store(8, Relaxed);
/// list.entry.store(head, Relaxed);
/// list.lock.store(host.thread_id(), Relaxed);
/// host.set_robust_head(head);
/// let exit = engine.exit_robust(host, ROBUST_LIST_LIMIT);
/// assert_eq!(exit, RobustExit { entries: 1, marked: 1, woken: 0, end: WalkEnd::Whole });
/// # }
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RobustExit {
    /// The number of entries that were met, without the pending one.
    pub entries: u32,
    /// The number of locks that were marked as those of a dead owner.
    pub marked: u32,
    /// The number of threads that were woken.
    pub woken: u32,
    /// Why the walk ended.
    pub end: WalkEnd,
}

/// A layout of lists in memory. The head of a list is the pointer to the first entry, the offset
/// from an entry to its lock's word, and the pointer to the pending entry; an entry is a pointer to
/// the next one.
pub(crate) trait Layout {
    /// The size of a pointer and of the offset, in bytes.
    const SIZE: u64;

    /// Reads a pointer at an address.
    fn pointer<H: RobustHost>(host: &H, at: Address) -> Result<u64, Fault>;

    /// Returns the address of the word of an entry's lock.
    fn lock(entry: Address, offset: u64) -> Address;
}

/// The layout of a program with addresses of 64 bits.
pub(crate) enum Native {}

impl Layout for Native {
    const SIZE: u64 = 8;

    #[inline(always)]
    fn pointer<H: RobustHost>(host: &H, at: Address) -> Result<u64, Fault> {
        let mut bytes = [0; 8];
        host.read(at, &mut bytes)?;
        Ok(u64::from_ne_bytes(bytes))
    }

    #[inline(always)]
    fn lock(entry: Address, offset: u64) -> Address {
        entry.wrapping_add(offset)
    }
}

/// The layout of a program with addresses of 32 bits; sums of addresses wrap around at 32 bits.
pub(crate) enum Compat {}

impl Layout for Compat {
    const SIZE: u64 = 4;

    #[inline(always)]
    fn pointer<H: RobustHost>(host: &H, at: Address) -> Result<u64, Fault> {
        let mut bytes = [0; 4];
        host.read(at, &mut bytes)?;
        Ok(u64::from(u32::from_ne_bytes(bytes)))
    }

    #[inline(always)]
    fn lock(entry: Address, offset: u64) -> Address {
        u64::from((entry as u32).wrapping_add(offset as u32))
    }
}

/// A pointer of a list, decoded: an entry's address, and whether its lock inherits priorities.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Entry {
    address: Address,
    inherits: bool,
}

impl Entry {
    #[inline(always)]
    fn new(pointer: u64) -> Entry {
        if mutated!(entry_mask) {
            return Entry { address: pointer, inherits: false };
        }
        Entry { address: pointer & !INHERITS, inherits: pointer & INHERITS != 0 }
    }
}

/// The walk of one thread's list.
pub(crate) struct Walk<'a, H: RobustHost, L: Layout> {
    call: Call<'a, H>,
    head: Address,
    thread: u32,
    /// The offset from an entry to its lock's word.
    offset: u64,
    exit: RobustExit,
    /// The keys of marked locks of which one waiter each is still to be woken, in the order in
    /// which they were marked: those from `next` to `len`.
    keys: [Key; BATCH],
    /// The number of keys.
    len: usize,
    /// The index of the first key whose waiter was not woken yet.
    next: usize,
    layout: PhantomData<L>,
}

impl<'a, H: RobustHost, L: Layout> Walk<'a, H, L> {
    pub(crate) fn new(call: Call<'a, H>, head: Address) -> Walk<'a, H, L> {
        let exit = RobustExit::default();
        let keys = [const { Key::private(0, 0) }; BATCH];
        Walk { call, head, thread: call.host.thread_id(), offset: 0, exit, keys, len: 0, next: 0, layout: PhantomData }
    }

    /// Walks the list from its head on, up to `cap` entries and the pending one.
    pub(crate) fn whole(mut self, cap: u32) -> RobustExit {
        if self.list(cap).is_err() {
            self.exit.end = WalkEnd::Fault;
        }
        self.flush();
        self.exit
    }

    /// Marks the locks of the list and the pending one; a fault ends it.
    fn list(&mut self, cap: u32) -> Result<(), Fault> {
        let head = self.head;
        let mut entry = Entry::new(self.pointer(head)?);
        self.offset = self.pointer(head.wrapping_add(L::SIZE))?;
        let pending = Entry::new(self.pointer(head.wrapping_add(2 * L::SIZE))?);
        let cap = cap.saturating_add(u32::from(mutated!(cap_off_by_one)));
        // Cycles are found by Brent's method: an entry is remembered, a later one at each power of
        // two, and met again (R. P. Brent, An improved Monte Carlo factorization algorithm, 1980).
        let (mut landmark, mut next_landmark) = (head, 1_u32);
        while entry.address != head {
            if entry.address == landmark {
                self.exit.end = WalkEnd::Cycle;
                break;
            }
            if self.exit.entries >= cap {
                self.exit.end = WalkEnd::Truncated;
                break;
            }
            if self.exit.entries == next_landmark {
                landmark = entry.address;
                next_landmark = next_landmark.saturating_mul(2);
            }
            self.exit.entries += 1;
            // Read before the lock is given up, because the entry's memory may go with the lock.
            let early = if mutated!(next_after_death) { None } else { Some(self.pointer(entry.address)) };
            if entry.address != pending.address {
                self.die(entry, false)?;
            }
            let next = early.unwrap_or_else(|| self.pointer(entry.address));
            entry = Entry::new(next?);
        }
        if pending.address != 0 {
            self.die(pending, true)?;
        }
        Ok(())
    }

    /// Reads a pointer or an offset.
    #[inline(always)]
    fn pointer(&self, at: Address) -> Result<u64, Fault> {
        if !user::in_range(self.call.host, at, L::SIZE as usize) {
            return Err(Fault);
        }
        L::pointer(self.call.host, at)
    }

    /// Marks an entry's lock, if the dying thread owns it.
    #[inline(always)]
    fn die(&mut self, entry: Entry, pending: bool) -> Result<(), Fault> {
        let host = self.call.host;
        let address = L::lock(entry.address, self.offset);
        if address & 3 != 0 || !host.in_range(address) {
            return Err(Fault);
        }
        // The usual lock, at the first attempt: it is not pending, its page is there, and its word
        // does not change.
        if !pending {
            if let Ok(value) = host.load(address) {
                if check!(death_owner, value & OWNER != self.thread) {
                    return Ok(());
                }
                if let Ok(was) = host.compare_exchange(address, value, Self::dead(value)) {
                    if was == value {
                        self.marked(entry, value, address);
                        return Ok(());
                    }
                }
            }
        }
        self.die_slowly(entry, address, pending)
    }

    /// Returns the word of a lock whose owner has died.
    #[inline(always)]
    fn dead(value: u32) -> u32 {
        let waiters = if mutated!(death_waiters) { 0 } else { value & WAITERS };
        waiters | OWNER_DIED
    }

    /// Counts a lock whose word, formerly `value`, was marked, and notes its waiter to be woken.
    #[inline(always)]
    fn marked(&mut self, entry: Entry, value: u32, address: Address) {
        self.exit.marked += 1;
        if !entry.inherits && value & WAITERS != 0 {
            self.wake(address);
        }
    }

    /// Marks an entry's lock like [`die`](Self::die), with faults, with other threads that change
    /// the word, and with what the pending lock needs.
    #[cold]
    #[inline(never)]
    fn die_slowly(&mut self, entry: Entry, address: Address, pending: bool) -> Result<(), Fault> {
        // The host may sleep for a page: the waiters that are noted must not wait for that.
        self.flush();
        let host = self.call.host;
        for tries in 0..TRIES {
            let Ok(value) = host.load(address) else {
                host.fault_in(address, Access::Read).map_err(|_| Fault)?;
                continue;
            };
            if pending && !entry.inherits && value & OWNER == 0 {
                // The lock was given up already, and perhaps no waiter was woken yet.
                self.wake(address);
                return Ok(());
            }
            if check!(death_owner, value & OWNER != self.thread) {
                return Ok(());
            }
            match host.compare_exchange(address, value, Self::dead(value)) {
                Ok(was) if was == value => {
                    self.marked(entry, value, address);
                    return Ok(());
                }
                Ok(_) => host.spin(tries),
                Err(Fault) => host.fault_in(address, Access::Write).map_err(|_| Fault)?,
            }
        }
        Err(Fault)
    }

    /// Notes that a waiter of a word is to be woken, by the shared key: no field of the list says
    /// that the waiters are of this space alone.
    fn wake(&mut self, address: Address) {
        if let Ok(key) = self.call.key(Word::shared(address), Access::Read) {
            self.keys[self.len] = key;
            self.len += 1;
            if self.len == BATCH {
                self.flush();
            }
        }
    }

    /// Wakes the waiters that are noted.
    fn flush(&mut self) {
        self.exit.woken += self.call.wake_each(&self.keys[..self.len], &mut self.next);
        (self.len, self.next) = (0, 0);
    }
}

impl<H: RobustHost, L: Layout> Drop for Walk<'_, H, L> {
    fn drop(&mut self) {
        // Runs only when a host callback unwound: locks are marked whose waiters no other thread
        // will wake. A panic here is a double panic and aborts.
        if check!(walk_rest, self.next != self.len) {
            self.flush();
        }
    }
}
