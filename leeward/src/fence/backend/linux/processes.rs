//! The heavy half that reaches other processes: `membarrier(GLOBAL_EXPEDITED)`, Linux 4.16, for words in shared memory.
//!
//! It executes a full fence in every thread of every process that has *registered*; a process that has not is passed over without a word.
//! So both sides have to agree: whoever relies on a light fence towards other processes registers before, by [`join`], and does without where that
//! is refused. A registration is the address space's: children of `fork` and raw `clone` have it, `execve` ends it (looked at on
//! Linux 6.18). Checkpoint and restore lose it, and nobody is told. Called by robust locks.

use core::sync::atomic::AtomicU8;

use rustix::io::Errno;
use rustix::thread::MembarrierCommand as Command;

use super::counts::{PROCESSES, count};
use super::{membarrier, probe};
use crate::atomic::{Ordering, fence};

const UNASKED: u8 = 0;
const JOINED: u8 = 1;
const REFUSED: u8 = 2;

/// Copied by a fork, as the registration is.
static ASKED: AtomicU8 = AtomicU8::new(UNASKED);

/// Registers this process: from now on [`heavy`] of any process reaches its threads. False where that is refused.
///
/// Asks the kernel once; with other threads running that may take milliseconds.
#[cold]
pub(crate) fn join() -> bool {
    // Relaxed, both: whoever registers twice is registered.
    match ASKED.load(Ordering::Relaxed) {
        UNASKED => {
            let answer = match try_both() {
                Ok(()) => JOINED,
                // There may be memory the next time.
                Err(Errno::NOMEM) => return false,
                Err(_) => REFUSED,
            };
            ASKED.store(answer, Ordering::Relaxed);
            answer == JOINED
        }
        answer => answer == JOINED,
    }
}

/// A kernel that registers but does not fence would be one that is of no use.
fn try_both() -> Result<(), Errno> {
    if !probe::asking_is_survived() {
        return Err(Errno::NOSYS);
    }
    membarrier::persist(Command::RegisterGlobalExpedited)?;
    membarrier::persist(Command::GlobalExpedited)
}

/// A full fence here and, before it returns, one in every thread of every process that has joined. False where that is refused:
/// then nothing is promised.
///
/// Some microseconds, and an interrupt to each processor that runs such a thread. errno is as it was.
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
