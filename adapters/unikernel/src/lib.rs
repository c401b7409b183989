//! Futexes for unikernels and library OSes with one address space: an adapter over
//! `leeward-engine`, to be copied and changed. A kernel implements [`System`], makes one
//! [`Futexes`] at boot, and calls it from its system call table and where a thread exits. Calls
//! the engine; `docs/engine/unikernel.md` walks through a port.
//!
//! The kernel's run queues and timers stay what they are: this adapter blocks the current task,
//! makes tasks ready, and counts in ticks.

#![no_std]

mod local;
mod system;

use core::sync::atomic::Ordering;

use leeward_engine::abi::Numbers;
use leeward_engine::{Config, Engine, Heap, NoEngine, ROBUST_LIST_LIMIT, RobustExit, Space, Word};

pub use local::Local;
pub use system::{BlockEnd, System};

/// The futexes of a system: one engine, and the one address space. Made at boot, and kept as long
/// as the system runs.
///
/// The example's system has one task and no program memory, so each address is refused.
///
/// ```
/// use core::{num::NonZeroU64, ops::Range};
/// use leeward_engine::{Config, abi::Numbers};
/// use leeward_unikernel::{BlockEnd, Futexes, System};
///
/// struct Tiny;
///
/// // SAFETY: the range of the program's memory is empty, and no stack is ever freed.
/// unsafe impl System for Tiny {
///     type Task = ();
///     fn current(&self) {}
///     fn thread_id(&self) -> u32 {
///         1
///     }
///     fn threads(&self) -> u32 {
///         1
///     }
///     fn block_current(&self, _: &dyn Fn() -> bool, _: Option<u64>) -> BlockEnd {
///         BlockEnd::Interrupted
///     }
///     fn make_ready(&self, (): ()) {}
///     fn ticks(&self) -> u64 {
///         0
///     }
///     fn tick_nanos(&self) -> NonZeroU64 {
///         NonZeroU64::new(1_000_000).unwrap()
///     }
///     fn disable_preemption(&self) {}
///     fn enable_preemption(&self) {}
///     fn user_range(&self) -> Range<u64> {
///         0..0
///     }
///     fn robust_head(&self, _: u32) -> Option<u64> {
///         Some(0)
///     }
///     fn set_robust_head(&self, _: u64) {}
/// }
///
/// let futexes = Futexes::new(Tiny, Config::small(7), 0x5eed).unwrap();
/// // FUTEX_WAIT at address 4096: EFAULT.
/// let answer = futexes.syscall(&Numbers::X86_64, 202, [4096, 0, 0, 0, 0, 0]);
/// assert_eq!(answer, Some(-14));
/// // write(2) is another call.
/// assert_eq!(futexes.syscall(&Numbers::X86_64, 1, [0; 6]), None);
/// assert_eq!(futexes.exit(0).marked, 0);
/// ```
///
/// # Cost
/// An engine of the configuration that was asked for, and a space. Waiting allocates nothing.
pub struct Futexes<S: System> {
    engine: Engine<Local<S>>,
    local: Local<S>,
}

impl<S: System> Futexes<S> {
    /// Makes the futexes of a system. `config` is [`Config::small`] for a single processor and few
    /// threads, else [`Config::for_processors`]. `seed` is a random number that programs do not
    /// know.
    ///
    /// # Errors
    /// Those of [`Engine::new`].
    pub fn new(system: S, config: Config, seed: u64) -> Result<Futexes<S>, NoEngine> {
        let local = Local { system, space: Space::new(1, seed, Heap) };
        Ok(Futexes { engine: Engine::new(config, Heap)?, local })
    }

    /// Serves a system call of the current task: futex, futex2, membarrier, and those about robust
    /// lists. Returns what the program gets, an error as its negative number; `None` for any other
    /// call. May block.
    pub fn syscall(&self, numbers: &Numbers, number: u64, arguments: [u64; 6]) -> Option<i64> {
        let robust = self.engine.robust_syscall(&self.local, numbers, number, arguments);
        robust.or_else(|| self.engine.syscall(&self.local, numbers, number, arguments))
    }

    /// Ends the current task for futexes: marks the locks of its robust list, hands its locks with
    /// priority inheritance on, stores 0 to the word at `clear_tid` (0 for none, as
    /// `set_tid_address` was told it) and wakes one thread that waits there for the end. Returns
    /// what the walk of the list did. The task makes no futex call after this.
    ///
    /// Memory ordering: what the task did before happens before a thread sees the 0, or takes one
    /// of its locks. The task's own stack is in use until the call returns.
    pub fn exit(&self, clear_tid: u64) -> RobustExit {
        let walk = self.engine.exit_robust(&self.local, ROBUST_LIST_LIMIT);
        self.engine.exit_pi(&self.local);
        if clear_tid != 0 {
            if let Ok(word) = self.local.word(clear_tid) {
                // Release: partner of the acquire by which a joining thread reads the 0.
                word.store(0, Ordering::Release);
                // Shared, as on Linux. An address in range is no error, and there may be no waiter.
                _ = self.engine.wake(&self.local, Word::shared(clear_tid), 1, u32::MAX);
            }
        }
        walk
    }

    /// Returns the engine, for operations by name and for counts.
    pub fn engine(&self) -> &Engine<Local<S>> {
        &self.engine
    }

    /// Returns the host: whichever task calls is the one that it stands for.
    pub fn local(&self) -> &Local<S> {
        &self.local
    }
}
