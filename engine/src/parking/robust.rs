//! Robust lists for a process's own threads: lists of the engine, beside the one that the kernel
//! keeps for libc. The engine's robust operations call the [`RobustHost`] here.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use super::Process;
use crate::{Address, Errno, Fault, RobustHost};

/// The head of each thread's list, by the thread's id. A thread that ends without a walk of its
/// list leaves its entry, which the next thread with that id finds.
pub(super) type Heads = Mutex<BTreeMap<u32, Address>>;

/// Returns the id of the thread that is meant: 0 is the calling one.
fn named(thread: u32) -> u32 {
    if thread != 0 {
        return thread;
    }
    // SAFETY: no arguments.
    unsafe { libc::gettid() as u32 }
}

/// The lists are the engine's: a thread calls [`exit_robust`](crate::Engine::exit_robust) at its
/// end, since neither the kernel nor libc does. Waiters are woken by the shared key: let them wait
/// by [`Word::shared`](crate::Word::shared).
///
/// A list is trusted like any other address (see [`Process::new`]): nothing is checked that the
/// process's own memory would have to lie about. The system does not tell which addresses may be
/// read without a call for each; a host that serves others, who may lie, checks.
impl RobustHost for Process {
    fn thread_id(&self) -> u32 {
        named(0)
    }

    fn robust_head(&self, thread: u32) -> Result<Address, Errno> {
        let thread = named(thread);
        let heads = self.heads.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(head) = heads.get(&thread) {
            return Ok(*head);
        }
        drop(heads);
        let process = std::process::id();
        // SAFETY: signal 0 asks whether there is such a thread.
        let there = unsafe { libc::syscall(libc::SYS_tgkill, process, thread, 0) } == 0;
        if there { Ok(0) } else { Err(Errno::ESRCH) }
    }

    fn set_robust_head(&self, head: Address) {
        let mut heads = self.heads.lock().unwrap_or_else(PoisonError::into_inner);
        if head == 0 {
            heads.remove(&named(0));
        } else {
            heads.insert(named(0), head);
        }
    }

    fn write(&self, address: Address, from: &[u8]) -> Result<(), Fault> {
        let to = core::ptr::with_exposed_provenance_mut::<u8>(address as usize);
        // SAFETY: the promise of the caller of `Process::new`.
        unsafe { to.copy_from_nonoverlapping(from.as_ptr(), from.len()) };
        Ok(())
    }
}
