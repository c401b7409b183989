//! What robust lists ask of the system. Optional: a host without it has no robust lists. Called by
//! `robust/`.

use crate::{Address, Errno, Fault, Host};

/// A host that serves robust lists ([`Engine::robust_syscall`](crate::Engine::robust_syscall)), and
/// walks them when a thread exits ([`Engine::exit_robust`](crate::Engine::exit_robust)).
///
/// All methods are called with no lock held. `tests/common/arena.rs` has an implementation.
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

    /// Returns true if `FUTEX_ROBUST_UNLOCK` is served; otherwise it is `ENOSYS`. Linux serves it
    /// from 7.2 on, which is said to close the race between giving a lock up and saying so.
    fn serves_robust_unlock(&self) -> bool {
        false
    }
}
