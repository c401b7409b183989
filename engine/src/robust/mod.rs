//! Robust lists: the locks that a dying thread holds are marked, so that the threads that wait for
//! them learn of the death. The calls about the lists are here, the walk is in `walk`. Called by
//! the host.

pub(crate) mod walk;

use crate::linux::user;
use crate::ops::call::Call;
use crate::robust::walk::{Compat, Native, RobustExit, TRIES, Walk};
use crate::{Access, Address, Arithmetic, Engine, Errno, Fault, Node, RobustHost, Scope, Word, abi};

/// The number of entries that Linux follows.
pub const ROBUST_LIST_LIMIT: u32 = 2048;

impl<H: RobustHost> Engine<H> {
    /// Walks the robust list of the calling thread, which exits or becomes another program, and
    /// forgets the list. Each lock of the list that the thread still owns is marked: [owner
    /// died](crate::abi::FUTEX_OWNER_DIED) in place of the owner, the waiters bit kept. If the
    /// waiters bit was set, one waiter is woken. The pending lock comes last.
    ///
    /// The walk trusts nothing that it reads. It follows up to `cap` entries ([`ROBUST_LIST_LIMIT`]
    /// is Linux's), and ends where the list goes round. The next entry is read before a lock is
    /// given up, because the entry's memory may go with the lock. A waiter is woken up to 16 locks
    /// later than its lock is marked. Of locks that inherit priorities only the word is marked:
    /// [`exit_pi`](Engine::exit_pi), which the host calls next, hands them to their waiters. May
    /// sleep for a page.
    ///
    /// Memory ordering: what the thread did before happens before a thread takes one of its locks
    /// by the word that the walk wrote; a full fence stands between the marks and the wakes.
    ///
    /// # Panics
    /// Where a callback panics, the waiters for the locks that were marked are woken. The rest of
    /// the list is left alone; a call with the head set again goes on.
    ///
    /// # Cost
    /// For each entry a read, a load and a compare-exchange, and a shared wake where a thread
    /// waits; 16 wakes share a fence. No lock is held between entries. Where threads change the
    /// words meanwhile, at most 10,000 attempts for each word.
    pub fn exit_robust(&self, host: &H, cap: u32) -> RobustExit {
        let Ok(head @ 1..) = host.robust_head(0) else { return RobustExit::default() };
        host.set_robust_head(0);
        Walk::<H, Native>::new(Call::new(self, host), head).whole(cap)
    }

    /// Walks the calling thread's other robust list, that of a 32-bit program, whose pointers have
    /// 32 bits; otherwise like [`exit_robust`](Self::exit_robust). A host that serves such programs
    /// calls it after that one, as Linux does: a thread may have both lists.
    pub fn exit_robust_compat(&self, host: &H, cap: u32) -> RobustExit {
        let Ok(head @ 1..) = host.compat_robust_head(0) else { return RobustExit::default() };
        if host.set_compat_robust_head(0).is_err() {
            return RobustExit::default();
        }
        Walk::<H, Compat>::new(Call::new(self, host), head).whole(cap)
    }

    /// Unlocks a robust lock in one step, as seen by the death of its owner: stores 0 to `word`,
    /// then 0 to the list's pending entry at `pending`, and wakes up to `count` waiters with a bit
    /// of `bitset` in common. Returns how many were woken.
    ///
    /// Memory ordering: as [`wake`](Self::wake); a full fence stands between the stores and the
    /// look for waiters.
    ///
    /// # Errors
    /// Those of [`wake`](Self::wake), and `EFAULT` if `word` cannot be written (nothing has
    /// happened then) or `pending` cannot (no thread was woken).
    pub fn robust_unlock(&self, host: &H, word: Word, count: u32, bitset: u32, pending: Address) -> Result<u32, Errno> {
        if bitset == 0 {
            return Err(Errno::EINVAL);
        }
        let call = Call::new(self, host);
        let key = call.key(word, Access::Write)?;
        let mut tries = 0;
        // One access, which `Host::write` need not be.
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
        call.wake(&key, count, bitset)
    }

    /// Serves `set_robust_list`, `get_robust_list`, and `futex` with `FUTEX_ROBUST_UNLOCK`, by
    /// number; returns what the system call returns, an error as its negative number. Returns
    /// `None` if it is another call: ask [`syscall`](Self::syscall).
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

    /// Serves `set_robust_list` and `get_robust_list` of a 32-bit program, by number
    /// ([`Numbers::I386`](abi::Numbers::I386)); returns what the system call returns. The head has
    /// 12 bytes; the address and the size that `get_robust_list` stores have 4 each. Returns `None`
    /// if it is another call.
    pub fn compat_robust_syscall(
        &self,
        host: &H,
        numbers: &abi::Numbers,
        number: u64,
        arguments: [u64; 6],
    ) -> Option<i64> {
        // The upper halves of a 32-bit program's arguments mean nothing.
        let [a, b, c, ..] = arguments.map(|argument| argument & u64::from(u32::MAX));
        let answer = if number == numbers.set_robust_list {
            self.set_compat_robust_list(host, a, b)
        } else if number == numbers.get_robust_list {
            self.get_compat_robust_list(host, a as u32, b, c)
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

    fn set_compat_robust_list(&self, host: &H, head: Address, length: u64) -> Result<u32, Errno> {
        if length != abi::COMPAT_ROBUST_HEAD_SIZE {
            return Err(Errno::EINVAL);
        }
        host.set_compat_robust_head(head)?;
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

    fn get_compat_robust_list(&self, host: &H, thread: u32, head: Address, length: Address) -> Result<u32, Errno> {
        if thread > i32::MAX as u32 {
            return Err(Errno::ESRCH);
        }
        let found = host.compat_robust_head(thread)?;
        self.write_user(host, length, &(abi::COMPAT_ROBUST_HEAD_SIZE as u32).to_ne_bytes())?;
        self.write_user(host, head, &(found as u32).to_ne_bytes())?;
        Ok(0)
    }

    /// Serves `futex` with `FUTEX_ROBUST_UNLOCK`; returns `None` for an operation that does not
    /// take the flag.
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

    /// Writes to where an argument points.
    fn write_user(&self, host: &H, address: Address, from: &[u8]) -> Result<(), Errno> {
        if !user::in_range(host, address, from.len()) {
            return Err(Errno::EFAULT);
        }
        host.write(address, from).map_err(|_| Errno::EFAULT)
    }
}
