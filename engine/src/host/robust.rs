//! What robust lists ask of the system. Optional: a host without it has no robust lists. Called by
//! `robust/`.

use crate::{Address, Errno, Fault, Host};

/// A host that serves robust lists ([`Engine::robust_syscall`](crate::Engine::robust_syscall)), and
/// walks them when a thread exits ([`Engine::exit_robust`](crate::Engine::exit_robust)).
///
/// All methods are called with no lock held. `tests/common/arena.rs` has an implementation.
///
/// ```
#[doc = include_str!("required.md")]
/// use leeward_engine::{
///     Address, Config, Engine, Errno, Fault, Heap, Host, ROBUST_LIST_LIMIT, RobustHost, Space,
///     WalkEnd, abi::FUTEX_OWNER_DIED,
/// };
/// use std::cell::Cell;
/// use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
///
/// /// A program of one thread, number 7.
/// struct Program {
///     space: Space<Program>,
///     words: [AtomicU32; 16],
///     head: Cell<Address>,
/// }
///
/// impl RobustHost for Program {
///     fn thread_id(&self) -> u32 {
///         7
///     }
///     fn robust_head(&self, _: u32) -> Result<Address, Errno> {
///         Ok(self.head.get())
///     }
///     fn set_robust_head(&self, head: Address) {
///         self.head.set(head);
///     }
///     fn write(&self, _: Address, _: &[u8]) -> Result<(), Fault> {
///         Err(Fault)
///     }
/// }
///
/// impl Host for Program {
///     // The methods that each host has, as in the example of `Host`.
///     required!();
/// }
///
/// let engine = Engine::new(Config::small(7), Heap).unwrap();
/// let space = Space::new(1, 7, Heap);
/// let program = Program { space, words: Default::default(), head: Cell::new(8) };
/// # #[cfg(target_endian = "little")] {
/// // The head, at 8, leads to the entry at 32 and says that a lock is 8 bytes after its entry. The
/// // entry leads back to the head. Thread 7 owns the lock.
/// for (address, value) in [(8, 32), (16, 8), (32, 8), (40, 7)] {
///     program.words[address / 4].store(value, SeqCst);
/// }
/// let exit = engine.exit_robust(&program, ROBUST_LIST_LIMIT);
/// assert_eq!((exit.marked, exit.end), (1, WalkEnd::Whole));
/// assert_eq!(program.words[10].load(SeqCst), FUTEX_OWNER_DIED);
/// # }
/// ```
pub trait RobustHost: Host {
    /// Returns the calling thread's id, as its own namespace knows it: the number that it writes
    /// into the locks that it takes.
    fn thread_id(&self) -> u32;

    /// Returns the address at which a thread's list begins, 0 for none. Thread 0 is the calling
    /// one.
    ///
    /// # Errors
    /// `ESRCH` if there is no such thread, `EPERM` if the caller may not look into it.
    fn robust_head(&self, thread: u32) -> Result<Address, Errno>;

    /// Sets the address at which the calling thread's list begins. A new thread has none.
    fn set_robust_head(&self, head: Address);

    /// Returns the address at which a thread's list of a 32-bit program begins, on a 64-bit system;
    /// a thread has this list beside the other.
    ///
    /// # Errors
    /// As for [`robust_head`](Self::robust_head); and `ENOSYS` if the host serves no 32-bit
    /// programs, as the default method says.
    fn compat_robust_head(&self, _thread: u32) -> Result<Address, Errno> {
        Err(Errno::ENOSYS)
    }

    /// Sets the address at which the calling thread's list of a 32-bit program begins.
    ///
    /// # Errors
    /// `ENOSYS` if the host serves no 32-bit programs, as the default method says.
    fn set_compat_robust_head(&self, _head: Address) -> Result<(), Errno> {
        Err(Errno::ENOSYS)
    }

    /// Writes user memory, whose first and last byte are [in range](Host::in_range); may sleep.
    ///
    /// # Errors
    /// [`Fault`] if any of it cannot be written.
    fn write(&self, address: Address, from: &[u8]) -> Result<(), Fault>;

    /// Returns how the host serves the unlock in one call
    /// ([`FUTEX_ROBUST_UNLOCK`](crate::abi::FUTEX_ROBUST_UNLOCK)); by default not at all.
    fn robust_unlock(&self) -> RobustUnlock {
        RobustUnlock::Absent
    }
}

/// How a host serves the unlock of a robust lock in one call ([`Engine::robust_unlock`]).
///
/// ```
/// # #[cfg(feature = "std")] {
/// use leeward_engine::{Errno, RobustHost, RobustUnlock, Size, Word, parking::ParkingLot};
/// use std::sync::atomic::{AtomicU32, AtomicU64};
///
/// let lot = ParkingLot::new(2).unwrap();
/// // SAFETY: what is named outlives the call.
/// let (engine, host) = unsafe { lot.parts() };
/// let (word, pending) = (AtomicU32::new(0), AtomicU64::new(0));
/// let word = Word::private(word.as_ptr().expose_provenance() as u64);
/// let pending = pending.as_ptr().expose_provenance() as u64;
/// // A process's own threads have no such call.
/// assert_eq!(host.robust_unlock(), RobustUnlock::Absent);
/// assert_eq!(engine.robust_unlock(host, word, 1, 1, pending, Size::U64), Err(Errno::ENOSYS));
/// # }
/// ```
///
/// [`Engine::robust_unlock`]: crate::Engine::robust_unlock
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum RobustUnlock {
    /// Not served: the flags are `ENOSYS`, as on Linux before 7.2.
    #[default]
    Absent,
    /// As on Linux 7.2: the word becomes 0, also where threads go on waiting for the lock. If the
    /// woken thread is killed before it has set the waiters bit again, these may sleep forever.
    StoreZero,
    /// The word keeps [`FUTEX_WAITERS`](crate::abi::FUTEX_WAITERS), without an owner, as long as
    /// threads wait beyond those that the call wakes: none is stranded. For programs whose locks
    /// take a word with that bit and no owner for a free lock, and keep the bit when they take it.
    KeepWaiters,
}
