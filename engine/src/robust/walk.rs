//! The walk of a dying thread's robust list. The list lies in user memory and is read as such:
//! every pointer may lie, every word may change meanwhile, any page may be missing.

use core::marker::PhantomData;

use crate::linux::abi::{FUTEX_OWNER_DIED as OWNER_DIED, FUTEX_TID_MASK as OWNER, FUTEX_WAITERS as WAITERS};
use crate::linux::user;
use crate::mutant::{check, mutated};
use crate::ops::call::Call;
use crate::table::key::Key;
use crate::{Access, Address, Fault, RobustHost, Word};

/// How often one word is tried that others change, or whose page comes and goes, before it counts
/// as missing.
pub(crate) const TRIES: u32 = 10_000;
/// So many locks that are waited for are marked before their waiters are woken: all behind one
/// fence.
const BATCH: usize = 16;

/// The bit of an entry's pointer that says that its lock inherits priorities.
const INHERITS: u64 = 1;

/// Why the walk of a list ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum WalkEnd {
    /// It came back to its head, or there is none.
    #[default]
    Whole,
    /// There were more entries than the cap.
    Truncated,
    /// It goes round without coming back to its head.
    Cycle,
    /// A pointer leads nowhere, a word is misaligned or cannot be written, or would not hold still:
    /// the rest was left alone, and the pending entry too.
    Fault,
}

/// What the walk of a list did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RobustExit {
    /// Entries that it came by, the pending one not counted.
    pub entries: u32,
    /// Locks that were marked: their owner died.
    pub marked: u32,
    /// Threads that were woken.
    pub woken: u32,
    /// Why it ended.
    pub end: WalkEnd,
}

/// How a list lies in memory: its head is the first entry's pointer, the offset from an entry to
/// its lock's word, and the pending entry's pointer; an entry is a pointer.
pub(crate) trait Layout {
    /// Bytes of a pointer, and of the offset.
    const SIZE: u64;

    /// A pointer at an address.
    fn pointer<H: RobustHost>(host: &H, at: Address) -> Result<u64, Fault>;

    /// Where the word of an entry's lock is.
    fn lock(entry: Address, offset: u64) -> Address;
}

/// Of a program with addresses of 64 bits.
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

/// Of a program with addresses of 32 bits, which end where those do.
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

/// A list's entry, or its head's pointer.
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

/// One thread's walk.
pub(crate) struct Walk<'a, H: RobustHost, L: Layout> {
    call: Call<'a, H>,
    head: Address,
    thread: u32,
    /// From an entry to its lock's word.
    offset: u64,
    exit: RobustExit,
    /// Of the first so many one is still to be woken: words in the order in which they were marked.
    keys: [Key; BATCH],
    len: usize,
    /// The first of them that is.
    next: usize,
    layout: PhantomData<L>,
}

impl<'a, H: RobustHost, L: Layout> Walk<'a, H, L> {
    pub(crate) fn new(call: Call<'a, H>, head: Address) -> Walk<'a, H, L> {
        let exit = RobustExit::default();
        let keys = [const { Key::private(0, 0) }; BATCH];
        Walk { call, head, thread: call.host.thread_id(), offset: 0, exit, keys, len: 0, next: 0, layout: PhantomData }
    }

    /// From the head on, up to `cap` entries.
    pub(crate) fn whole(mut self, cap: u32) -> RobustExit {
        if self.list(cap).is_err() {
            self.exit.end = WalkEnd::Fault;
        }
        self.flush();
        self.exit
    }

    fn list(&mut self, cap: u32) -> Result<(), Fault> {
        let head = self.head;
        let mut entry = Entry::new(self.pointer(head)?);
        self.offset = self.pointer(head.wrapping_add(L::SIZE))?;
        let pending = Entry::new(self.pointer(head.wrapping_add(2 * L::SIZE))?);
        let cap = cap.saturating_add(u32::from(mutated!(cap_off_by_one)));
        // Cycles by Brent's method: an entry is remembered, a later one at each power of two, and
        // met again (R. P. Brent, An improved Monte Carlo factorization algorithm, 1980).
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
            // Before the lock is given up: with it the entry may be gone.
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

    /// A pointer or an offset.
    #[inline(always)]
    fn pointer(&self, at: Address) -> Result<u64, Fault> {
        if !user::in_range(self.call.host, at, L::SIZE as usize) {
            return Err(Fault);
        }
        L::pointer(self.call.host, at)
    }

    /// The owner of an entry's lock has died, if it is this thread.
    #[inline(always)]
    fn die(&mut self, entry: Entry, pending: bool) -> Result<(), Fault> {
        let host = self.call.host;
        let address = L::lock(entry.address, self.offset);
        if address & 3 != 0 || !host.in_range(address) {
            return Err(Fault);
        }
        // The usual lock, at the first try: nothing pending, the page there, and the word holds
        // still.
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

    /// What a dead owner leaves of a word.
    #[inline(always)]
    fn dead(value: u32) -> u32 {
        let waiters = if mutated!(death_waiters) { 0 } else { value & WAITERS };
        waiters | OWNER_DIED
    }

    #[inline(always)]
    fn marked(&mut self, entry: Entry, value: u32, address: Address) {
        self.exit.marked += 1;
        if !entry.inherits && value & WAITERS != 0 {
            self.wake(address);
        }
    }

    /// The same with faults, others that change the word, and what is left to do for the pending
    /// lock.
    #[cold]
    #[inline(never)]
    fn die_slowly(&mut self, entry: Entry, address: Address, pending: bool) -> Result<(), Fault> {
        // The host may sleep for a page: nobody waits for that.
        self.flush();
        let host = self.call.host;
        for tries in 0..TRIES {
            let Ok(value) = host.load(address) else {
                host.fault_in(address, Access::Read).map_err(|_| Fault)?;
                continue;
            };
            if pending && !entry.inherits && value & OWNER == 0 {
                // Given up already, and perhaps nobody was woken yet.
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

    /// One is to be woken by the shared key: whether waiters are of this space alone, nobody told.
    fn wake(&mut self, address: Address) {
        if let Ok(key) = self.call.key(Word::shared(address), Access::Read) {
            self.keys[self.len] = key;
            self.len += 1;
            if self.len == BATCH {
                self.flush();
            }
        }
    }

    /// Wakes who is to be woken.
    fn flush(&mut self) {
        self.exit.woken += self.call.wake_each(&self.keys[..self.len], &mut self.next);
        (self.len, self.next) = (0, 0);
    }
}

impl<H: RobustHost, L: Layout> Drop for Walk<'_, H, L> {
    fn drop(&mut self) {
        // Does something where the host panicked: their locks are marked, so nobody else will wake
        // them. Then a second panic aborts.
        if check!(walk_rest, self.next != self.len) {
            self.flush();
        }
    }
}
