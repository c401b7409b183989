//! Robust lists: the locks that a dying thread holds are marked, so that the threads that wait for
//! them learn of the death. The calls about the lists are here, the walk is in `walk`, the unlock
//! in one call in `unlock`.

mod unlock;
pub(crate) mod walk;

use crate::linux::user;
use crate::ops::call::Call;
use crate::robust::unlock::UNLOCK_FLAGS;
use crate::robust::walk::{Compat, Native, RobustExit, Walk};
use crate::{Address, Engine, Errno, RobustHost, RobustUnlock, abi};

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

    /// Serves `set_robust_list`, `get_robust_list`, and `futex` with the flags of Linux 7.2
    /// ([`FUTEX_ROBUST_UNLOCK`](abi::FUTEX_ROBUST_UNLOCK),
    /// [`FUTEX_ROBUST_LIST32`](abi::FUTEX_ROBUST_LIST32)), by number; returns what the system call
    /// returns, an error as its negative number. Returns `None` if it is another call, and for
    /// those flags where the host does not [serve](RobustHost::robust_unlock) them: ask
    /// [`syscall`](Self::syscall).
    pub fn robust_syscall(&self, host: &H, numbers: &abi::Numbers, number: u64, arguments: [u64; 6]) -> Option<i64> {
        let [a, b, c, ..] = arguments;
        let answer = if number == numbers.set_robust_list {
            self.set_robust_list(host, a, b)
        } else if number == numbers.get_robust_list {
            self.get_robust_list(host, a as u32, b, c)
        } else if number == numbers.futex && Self::has_unlock_flags(host, b) {
            self.futex_robust(host, arguments)
        } else {
            return None;
        };
        Some(answer.map_or_else(Errno::answer, i64::from))
    }

    /// Serves what [`robust_syscall`](Self::robust_syscall) serves for a 32-bit program, by number
    /// ([`Numbers::I386`](abi::Numbers::I386)); returns what the system call returns. The head has
    /// 12 bytes; the address and the size that `get_robust_list` stores have 4 each. The pending
    /// entry of an unlock has the width that the flags say. Returns `None` if it is another call.
    pub fn compat_robust_syscall(
        &self,
        host: &H,
        numbers: &abi::Numbers,
        number: u64,
        arguments: [u64; 6],
    ) -> Option<i64> {
        // The upper halves of a 32-bit program's arguments mean nothing.
        let arguments = arguments.map(|argument| argument & u64::from(u32::MAX));
        let [a, b, c, ..] = arguments;
        let answer = if number == numbers.set_robust_list {
            self.set_compat_robust_list(host, a, b)
        } else if number == numbers.get_robust_list {
            self.get_compat_robust_list(host, a as u32, b, c)
        } else if number == numbers.futex && Self::has_unlock_flags(host, b) {
            self.futex_robust(host, arguments)
        } else {
            return None;
        };
        Some(answer.map_or_else(Errno::answer, i64::from))
    }

    /// Returns true if an operation of `futex` has flags of Linux 7.2, and the host serves them.
    fn has_unlock_flags(host: &H, operation: u64) -> bool {
        operation as u32 & UNLOCK_FLAGS != 0 && host.robust_unlock() != RobustUnlock::Absent
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

    /// Writes to where an argument points.
    pub(crate) fn write_user(&self, host: &H, address: Address, from: &[u8]) -> Result<(), Errno> {
        if !user::in_range(host, address, from.len()) {
            return Err(Errno::EFAULT);
        }
        host.write(address, from).map_err(|_| Errno::EFAULT)
    }
}
