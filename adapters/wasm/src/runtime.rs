//! What all memories of a runtime share: the engine, the way to sleep, and numbers. Makes memories
//! and interrupts.

use alloc::sync::Arc;
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use leeward_engine::{Config, Engine, Heap, NoEngine, Space};

use crate::guest::{Guest, Linear, Raised, Shared, THREADS};
use crate::{GuestMemory, Interrupt, LinearMemory, Parker};

/// The number of the space of handles without a memory.
const INTERRUPTS: usize = 0;

/// The part of a runtime that serves waits: one engine for all linear memories whose type is `M`.
/// It is made once; clones are handles on the same.
///
/// [The crate](crate) has an example.
///
/// # Cost
/// The engine's table has [`Config::buckets`] of 128 bytes each; only waits that can be
/// interrupted use it. A memory's waiters are in a table of its own.
pub struct Runtime<M: LinearMemory, P: Parker>(Arc<Shared<M, P>>);

impl<M: LinearMemory, P: Parker> Runtime<M, P> {
    /// Makes a runtime's engine. The seed in `config` is a random number that guests do not know:
    /// it keeps them from choosing addresses whose waiters share a list. Tables of a memory's own
    /// are turned on whatever `config` says of them.
    ///
    /// # Errors
    /// [`NoEngine`]: a number in `config` is out of range, or there is no memory for the table.
    pub fn new(config: Config, parker: P) -> Result<Runtime<M, P>, NoEngine> {
        let engine = Engine::new(config.with_private_tables(), Heap)?;
        let interrupts = Space::new(INTERRUPTS as u64, config.seed, Heap);
        Ok(Runtime(Arc::new(Shared { engine, parker, interrupts, next: AtomicUsize::new(INTERRUPTS + 1) })))
    }

    /// Makes the wait lists of a linear memory: once for each memory, however many instances import
    /// it. All instances then use clones of the [`GuestMemory`]: two that are made for one memory do
    /// not meet.
    ///
    /// # Cost
    /// One allocation, and the table of a shared memory: 16 buckets of 128 bytes. It grows with the
    /// number of threads that wait at a time, never with the number of addresses.
    pub fn memory(&self, memory: M) -> GuestMemory<M, P> {
        let space = Space::new(self.number(), self.0.engine.config().seed, Heap);
        let is_shared = memory.is_shared();
        let linear = Some(Arc::new(Linear { memory, space }));
        let guest = Guest { runtime: self.0.clone(), linear, interrupt: None };
        if is_shared {
            // Before a thread waits: those that wait at once, the first time, would all use the
            // engine's table, and `stats` would not see them.
            self.0.engine.reserve(&guest, THREADS);
        }
        GuestMemory::new(guest)
    }

    /// Makes an interrupt, which ends the waits of one guest thread, or of all threads of an
    /// instance: see [`GuestMemory::interruptible`].
    pub fn interrupt(&self) -> Interrupt<M, P> {
        let raised = Raised { number: self.number(), word: AtomicU32::new(0) };
        Interrupt::new(Guest { runtime: self.0.clone(), linear: None, interrupt: Some(Arc::new(raised)) })
    }

    /// Returns a number that no other memory or interrupt has. (On a machine of 32 bits it repeats
    /// after 4 billion: waits of two memories of one number may then be woken by the wrong notify.)
    fn number(&self) -> u64 {
        // Relaxed: only the number matters.
        self.0.next.fetch_add(1, Ordering::Relaxed) as u64
    }
}

impl<M: LinearMemory, P: Parker> Clone for Runtime<M, P> {
    fn clone(&self) -> Self {
        Runtime(self.0.clone())
    }
}

impl<M: LinearMemory, P: Parker> core::fmt::Debug for Runtime<M, P> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Runtime").field("engine", &self.0.engine).finish_non_exhaustive()
    }
}
