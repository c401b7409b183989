//! The heavy half that reaches other processes, for words in shared memory:
//! `membarrier(GLOBAL_EXPEDITED)`, Linux 4.16.
//!
//! It executes a full fence in every thread of every process that has *registered*, and passes over
//! all other processes silently. So both sides must agree: a process that relies on a light fence
//! towards others registers before, by [`join`], and does without where that is refused. A
//! registration belongs to the address space: children of `fork` and raw `clone` have it, `execve`
//! ends it (observed on Linux 6.18). Checkpoint and restore lose it, and no process is told. Called
//! by robust locks.

use core::sync::atomic::AtomicU8;

use rustix::io::Errno;
use rustix::thread::MembarrierCommand as Command;

use super::counts::{PROCESSES, count};
use super::{membarrier, probe};
use crate::atomic::{Ordering, fence};

const UNASKED: u8 = 0;
const JOINED: u8 = 1;
const REFUSED: u8 = 2;

/// The outcome of [`join`]. A fork copies it, as it does the registration.
static ASKED: AtomicU8 = AtomicU8::new(UNASKED);

/// Registers this process: from now on [`heavy`] of any process reaches its threads. Returns false
/// if that is refused.
///
/// The kernel is asked once; while other threads run that may take milliseconds.
#[cold]
pub(crate) fn join() -> bool {
    // Relaxed, both: a process that registers twice is registered.
    match ASKED.load(Ordering::Relaxed) {
        UNASKED => {
            let answer = match try_both() {
                Ok(()) => JOINED,
                // Not an answer to keep: there may be memory the next time.
                Err(Errno::NOMEM) => return false,
                Err(_) => REFUSED,
            };
            ASKED.store(answer, Ordering::Relaxed);
            answer == JOINED
        }
        answer => answer == JOINED,
    }
}

/// Registers, and issues one fence: a kernel that registers and does not fence is of no use.
fn try_both() -> Result<(), Errno> {
    if !probe::asking_is_survived() {
        return Err(Errno::NOSYS);
    }
    membarrier::persist(Command::RegisterGlobalExpedited)?;
    membarrier::persist(Command::GlobalExpedited)
}

/// Executes a full fence in the caller and, before it returns, one in every thread of every process
/// that has joined. Returns false if that is refused: then nothing is promised.
///
/// It costs some microseconds, and an interrupt to each processor that runs such a thread. errno is
/// left as it was.
#[cold]
pub(crate) fn heavy() -> bool {
    // SeqCst, both: the caller's own half, as in `fence::heavy`.
    fence(Ordering::SeqCst);
    let done = probe::asking_is_survived() && membarrier::persist(Command::GlobalExpedited).is_ok();
    if done {
        count(&PROCESSES);
    }
    fence(Ordering::SeqCst);
    done
}
