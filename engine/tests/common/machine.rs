//! A machine's processors for membarrier, with a memory that is not asked for while the thread is
//! pinned. For programs that have `zeros.rs` with `#[macro_use]`.

// Each test program uses its part.
#![allow(dead_code)]

use std::alloc::Layout;
use std::cell::{Cell, RefCell};
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use leeward_engine::{
    Abilities, Access, Address, Clock, Deadline, Errno, Fault, Flag, Heap, Host, Interrupt, Memory, ParkEnd,
    Processors, SharedKey, Space,
};

/// Memory that may sleep: the engine must not ask for it while the thread is pinned.
#[derive(Clone, Default)]
pub struct Sleepy {
    pinned: Arc<AtomicBool>,
    pub asked: Arc<AtomicU32>,
}

impl Sleepy {
    fn ask(&self) {
        assert!(!self.pinned.load(Ordering::Relaxed), "memory was asked for, or given back, by a pinned thread");
        self.asked.fetch_add(1, Ordering::Relaxed);
    }
}

// SAFETY: the heap's.
unsafe impl Memory for Sleepy {
    fn allocate(&self, layout: Layout, node: Option<u32>) -> Option<NonNull<u8>> {
        assert_ne!(layout.size(), 0, "an empty block");
        self.ask();
        Heap.allocate(layout, node)
    }

    unsafe fn free(&self, block: NonNull<u8>, layout: Layout) {
        self.ask();
        // SAFETY: the caller's promise.
        unsafe { Heap.free(block, layout) };
    }
}

/// A machine of four processors, or of none; the caller is on 0, and its space runs on all.
pub struct Machine {
    pub space: Space<Machine>,
    pub memory: Sleepy,
    count: u32,
    pub sent: RefCell<Vec<u32>>,
    /// What the space was registered for, complete and asked for, when the host learned of it.
    pub seen: Cell<Option<(u32, u32)>>,
    pub refuse: Cell<bool>,
}

impl Machine {
    pub fn new(count: u32) -> Machine {
        let memory = Sleepy::default();
        Machine {
            space: Space::new(1, 2, memory.clone()),
            memory,
            count,
            sent: RefCell::default(),
            seen: Cell::new(None),
            refuse: Cell::new(false),
        }
    }
}

impl Processors<Machine> for Machine {
    fn abilities(&self) -> Abilities {
        Abilities { delayed: true, expedited: true, sync_core: true, rseq: true }
    }
    fn count(&self) -> u32 {
        self.count
    }
    fn online(&self, _: u32) -> u64 {
        (1 << self.count) - 1
    }
    fn alone(&self) -> bool {
        false
    }
    fn pin(&self) -> u32 {
        self.memory.pinned.store(true, Ordering::Relaxed);
        0
    }
    fn unpin(&self) {
        self.memory.pinned.store(false, Ordering::Relaxed);
    }
    fn full_barrier(&self) {}
    fn ran_on(&self, word: u32) -> u64 {
        self.online(word)
    }
    fn inspect(&self, _: u32, see: &mut dyn FnMut(&Space<Machine>)) {
        see(&self.space);
    }
    fn send(&self, processor: u32, _: Interrupt) {
        self.sent.borrow_mut().push(processor);
    }
    fn wait(&self, _: u32) {}
    fn here(&self, _: Interrupt) {}
    fn grace_period(&self) -> Result<(), Errno> {
        Ok(())
    }
    fn registered(&self, _: Option<Interrupt>) -> Result<(), Errno> {
        self.seen.set(Some((self.space.registrations(), self.space.registrations_requested())));
        if self.refuse.get() { Err(Errno::ENOMEM) } else { Ok(()) }
    }
}

impl Host for Machine {
    type Task = ();
    type Memory = Sleepy;
    type Preemption<'a> = ();

    zeros!();

    fn preempt_off(&self) {}

    fn space(&self) -> &Space<Machine> {
        &self.space
    }
    fn threads(&self) -> u32 {
        2
    }
    fn load(&self, _: Address) -> Result<u32, Fault> {
        Err(Fault)
    }
    fn park(&self, _: &Flag, _: Option<Deadline>) -> ParkEnd {
        ParkEnd::TimedOut
    }
    fn processors(&self) -> Option<&dyn Processors<Machine>> {
        Some(self)
    }
}
