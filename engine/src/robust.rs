//! Robust lists: what a dying thread held is marked, so that whoever waits for it learns of the death. The list lies in user memory
//! and is read as such: every pointer may lie, every word may change meanwhile, any page may be missing.

use crate::abi::{FUTEX_OWNER_DIED as OWNER_DIED, FUTEX_TID_MASK as OWNER, FUTEX_WAITERS as WAITERS};
use crate::engine::Call;
use crate::mutant::mutated;
use crate::{Access, Address, Arithmetic, Errno, Fault, Host, Node, Scope, Word};
use crate::{Engine, abi};

/// The bit of an entry's pointer that says that its lock inherits priorities.
const INHERITS: u64 = 1;
/// How many entries Linux follows.
pub const ROBUST_LIST_LIMIT: u32 = 2048;
/// How often one word is tried that others change, or whose page comes and goes, before it counts as missing.
const TRIES: u32 = 10_000;

/// What robust lists ask of a host, beside [`Host`].
pub trait RobustHost: Host {
    /// The calling thread's id, as its own namespace knows it: what it writes into the locks that it takes.
    fn thread_id(&self) -> u32;

    /// Where a thread's list begins, 0 for none; thread 0 is the calling one.
    ///
    /// # Errors
    /// `ESRCH`: there is no such thread. `EPERM`: the caller may not look into it.
    fn robust_head(&self, thread: u32) -> Result<Address, Errno>;

    /// Where the calling thread's list begins, from now on. A new thread has none.
    fn set_robust_head(&self, head: Address);

    /// Writes user memory; may sleep.
    ///
    /// # Errors
    /// [`Fault`] if any of it cannot be written.
    fn write(&self, address: Address, from: &[u8]) -> Result<(), Fault>;

    /// Whether `FUTEX_ROBUST_UNLOCK` is served (Linux does from 7.2 on, which is said to close the race between giving a lock up and
    /// saying so). Otherwise it is `ENOSYS`.
    fn serves_robust_unlock(&self) -> bool {
        false
    }
}

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
    /// A pointer leads nowhere, a word is misaligned or cannot be written, or would not hold still: the rest was left alone, and the pending
    /// entry too.
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

/// A list's entry, or its head's pointer.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Entry {
    address: Address,
    inherits: bool,
}

impl Entry {
    fn new(pointer: u64) -> Entry {
        if mutated!(entry_mask) {
            return Entry { address: pointer, inherits: false };
        }
        Entry { address: pointer & !INHERITS, inherits: pointer & INHERITS != 0 }
    }
}

impl<H: RobustHost> Engine<H> {
    /// The calling thread exits, or becomes another program: each lock of its list that it still owns is marked ([owner died](crate::abi::FUTEX_OWNER_DIED) in
    /// place of the owner, the waiters bit kept), and one waiter woken if that bit was set; the pending one last. The
    /// list is forgotten.
    ///
    /// Trusts nothing that it reads. Follows up to `cap` entries ([`ROBUST_LIST_LIMIT`] is Linux's), and stops where the list goes round. The next entry is read before
    /// a lock is given up, with which its memory may go. Of locks that inherit priorities only the word is marked.
    ///
    /// # Cost
    /// For each entry a read, a load and a compare-exchange, and a shared wake where somebody waits. No lock is held between entries. With
    /// threads that change the words meanwhile at most 10,000 tries a word.
    pub fn exit_robust(&self, host: &H, cap: u32) -> RobustExit {
        let Ok(head @ 1..) = host.robust_head(0) else { return RobustExit::default() };
        host.set_robust_head(0);
        let mut walk =
            Walk { call: Call::new(self, host), thread: host.thread_id(), offset: 0, exit: RobustExit::default() };
        if walk.list(head, cap).is_err() {
            walk.exit.end = WalkEnd::Fault;
        }
        walk.exit
    }

    /// Gives a robust lock up in one step as far as its owner's death goes: stores 0 to `word`, then 0 to the list's pending entry at
    /// `pending`, and wakes up to `count` with a bit of `bitset` in common.
    ///
    /// # Errors
    /// As [`wake`](Self::wake), and `EFAULT` where `word` (nothing has happened then) or `pending` (nobody was woken) cannot be written.
    pub fn robust_unlock(&self, host: &H, word: Word, count: u32, bitset: u32, pending: Address) -> Result<u32, Errno> {
        if bitset == 0 {
            return Err(Errno::EINVAL);
        }
        let call = Call::new(self, host);
        let key = call.key(word, Access::Write)?;
        let mut tries = 0;
        // In one access, which a plain write need not be.
        loop {
            match host.fetch_op(word.address, Arithmetic::Set, 0) {
                Ok(Some(_)) => break,
                Ok(None) => host.spin(tries),
                Err(Fault) => host.fault_in(word.address, Access::Write)?,
            }
            tries += 1;
            if tries == TRIES {
                return Err(Errno::EFAULT);
            }
        }
        self.write_user(host, pending, &0_u64.to_ne_bytes())?;
        Ok(call.wake(&key, count, bitset))
    }

    /// `set_robust_list`, `get_robust_list`, and `futex` with `FUTEX_ROBUST_UNLOCK`, by number: what a system call returns. `None` if it is another: ask
    /// [`syscall`](Self::syscall).
    pub fn robust_syscall(&self, host: &H, numbers: &abi::Numbers, number: u64, arguments: [u64; 6]) -> Option<i64> {
        let [a, b, c, ..] = arguments;
        let answer = if number == numbers.set_robust_list {
            self.set_robust_list(host, a, b)
        } else if number == numbers.get_robust_list {
            self.get_robust_list(host, a as u32, b, c)
        } else if number == numbers.futex && b as u32 & abi::FUTEX_ROBUST_UNLOCK != 0 && host.serves_robust_unlock() {
            self.futex_robust_unlock(host, arguments)?
        } else {
            return None;
        };
        Some(answer.map_or_else(Errno::answer, i64::from))
    }

    fn set_robust_list(&self, host: &H, head: Address, length: u64) -> Result<u32, Errno> {
        if length != abi::ROBUST_HEAD_SIZE {
            return Err(Errno::EINVAL);
        }
        host.set_robust_head(head);
        Ok(0)
    }

    fn get_robust_list(&self, host: &H, thread: u32, head: Address, length: Address) -> Result<u32, Errno> {
        if thread > i32::MAX as u32 {
            return Err(Errno::ESRCH);
        }
        let found = host.robust_head(thread)?;
        self.write_user(host, length, &abi::ROBUST_HEAD_SIZE.to_ne_bytes())?;
        self.write_user(host, head, &found.to_ne_bytes())?;
        Ok(0)
    }

    /// `None`: not with that operation.
    fn futex_robust_unlock(&self, host: &H, arguments: [u64; 6]) -> Option<Result<u32, Errno>> {
        let [address, operation, count, _, pending, bitset] = arguments;
        let operation = operation as u32 & !abi::FUTEX_ROBUST_UNLOCK;
        let scope = if operation & abi::FUTEX_PRIVATE_FLAG != 0 { Scope::Private } else { Scope::Shared };
        let bitset = match operation & !abi::FUTEX_PRIVATE_FLAG {
            abi::FUTEX_WAKE => abi::FUTEX_BITSET_MATCH_ANY,
            abi::FUTEX_WAKE_BITSET => bitset as u32,
            _ => return None,
        };
        let count = (count as i32).max(1) as u32;
        Some(self.robust_unlock(host, Word { address, scope, node: Node::Hashed }, count, bitset, pending))
    }

    fn write_user(&self, host: &H, address: Address, from: &[u8]) -> Result<(), Errno> {
        if !host.in_range(address) {
            return Err(Errno::EFAULT);
        }
        host.write(address, from).map_err(|_| Errno::EFAULT)
    }
}

/// One thread's walk.
struct Walk<'a, H: RobustHost> {
    call: Call<'a, H>,
    thread: u32,
    /// From an entry to its lock's word.
    offset: u64,
    exit: RobustExit,
}

impl<H: RobustHost> Walk<'_, H> {
    /// Head: first entry, offset, pending entry.
    fn list(&mut self, head: Address, cap: u32) -> Result<(), Fault> {
        let mut entry = Entry::new(self.number(head)?);
        self.offset = self.number(head.wrapping_add(8))?;
        let pending = Entry::new(self.number(head.wrapping_add(16))?);
        // Cycles by Brent's method: an entry is remembered, a later one at each power of two, and met again (R. P. Brent, An improved Monte Carlo
        // factorization algorithm, 1980).
        let mut landmark = head;
        while entry.address != head {
            if entry.address == landmark {
                self.exit.end = WalkEnd::Cycle;
                break;
            }
            if self.exit.entries >= cap.saturating_add(u32::from(mutated!(cap_off_by_one))) {
                self.exit.end = WalkEnd::Truncated;
                break;
            }
            if self.exit.entries.is_power_of_two() {
                landmark = entry.address;
            }
            self.exit.entries += 1;
            // Before the lock is given up: with it the entry may be gone.
            let early = if mutated!(next_after_death) { None } else { Some(self.number(entry.address)) };
            if entry.address != pending.address {
                self.die(entry, false)?;
            }
            let next = early.unwrap_or_else(|| self.number(entry.address));
            entry = Entry::new(next?);
        }
        if pending.address != 0 {
            self.die(pending, true)?;
        }
        Ok(())
    }

    /// A pointer or an offset.
    fn number(&self, at: Address) -> Result<u64, Fault> {
        if !self.call.host.in_range(at) {
            return Err(Fault);
        }
        let mut bytes = [0; 8];
        self.call.host.read(at, &mut bytes)?;
        Ok(u64::from_ne_bytes(bytes))
    }

    /// The owner of an entry's lock has died, if it is this thread.
    fn die(&mut self, entry: Entry, pending: bool) -> Result<(), Fault> {
        let host = self.call.host;
        let address = entry.address.wrapping_add(self.offset);
        if address & 3 != 0 || !host.in_range(address) {
            return Err(Fault);
        }
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
            if value & OWNER != self.thread && !mutated!(death_owner) {
                return Ok(());
            }
            let waiters = if mutated!(death_waiters) { 0 } else { value & WAITERS };
            match host.compare_exchange(address, value, waiters | OWNER_DIED) {
                Ok(was) if was == value => {
                    self.exit.marked += 1;
                    if !entry.inherits && value & WAITERS != 0 {
                        self.wake(address);
                    }
                    return Ok(());
                }
                Ok(_) => host.spin(tries),
                Err(Fault) => host.fault_in(address, Access::Write).map_err(|_| Fault)?,
            }
        }
        Err(Fault)
    }

    /// Wakes one by the shared key: whether waiters are of this space alone, nobody told.
    fn wake(&mut self, address: Address) {
        if let Ok(key) = self.call.key(Word::shared(address), Access::Read) {
            self.exit.woken += self.call.wake(&key, 1, u32::MAX);
        }
    }
}
