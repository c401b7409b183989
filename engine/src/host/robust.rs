//! What robust lists ask of a host. Optional: a host without them has no robust lists.

use crate::{Address, Errno, Fault, Host};

/// What robust lists ask of a host, beside [`Host`].
pub trait RobustHost: Host {
    /// The calling thread's id, as its own namespace knows it: what it writes into the locks that
    /// it takes.
    fn thread_id(&self) -> u32;

    /// Where a thread's list begins, 0 for none; thread 0 is the calling one.
    ///
    /// # Errors
    /// `ESRCH`: there is no such thread. `EPERM`: the caller may not look into it.
    fn robust_head(&self, thread: u32) -> Result<Address, Errno>;

    /// Where the calling thread's list begins, from now on. A new thread has none.
    fn set_robust_head(&self, head: Address);

    /// The same for the list of a 32-bit program on a 64-bit system, which a thread has beside the
    /// other.
    ///
    /// # Errors
    /// As [`robust_head`](Self::robust_head). `ENOSYS`: the host serves no such programs.
    fn compat_robust_head(&self, _thread: u32) -> Result<Address, Errno> {
        Err(Errno::ENOSYS)
    }

    /// As [`set_robust_head`](Self::set_robust_head), for that list.
    ///
    /// # Errors
    /// `ENOSYS`: the host serves no such programs.
    fn set_compat_robust_head(&self, _head: Address) -> Result<(), Errno> {
        Err(Errno::ENOSYS)
    }

    /// Writes user memory, whose first and last byte are [in range](Host::in_range); may sleep.
    ///
    /// # Errors
    /// [`Fault`] if any of it cannot be written.
    fn write(&self, address: Address, from: &[u8]) -> Result<(), Fault>;

    /// Whether `FUTEX_ROBUST_UNLOCK` is served (Linux does from 7.2 on, which is said to close the
    /// race between giving a lock up and saying so). Otherwise it is `ENOSYS`.
    fn serves_robust_unlock(&self) -> bool {
        false
    }
}
