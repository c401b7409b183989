//! What membarrier does around its host's processors: memory only while the thread is not pinned,
//! registrations that the context switch can see in time, machines without processors.

#![allow(missing_docs)]

#[path = "common/zeros.rs"]
#[macro_use]
mod zeros;

use std::alloc::Layout;
use std::cell::{Cell, RefCell};
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use leeward_engine::abi::{
    MEMBARRIER_CMD_GLOBAL_EXPEDITED, MEMBARRIER_CMD_PRIVATE_EXPEDITED, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED,
    MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, MEMBARRIER_EXPEDITED,
};
use leeward_engine::{
    Abilities, Access, Address, Clock, Config, Deadline, Engine, Errno, Fault, Flag, Heap, Host, Interrupt, Memory,
    ParkEnd, Processors, SharedKey, Space,
};

/// Memory that may sleep: the engine must not ask for it while the thread is pinned.
#[derive(Clone, Default)]
struct Sleepy {
    pinned: Arc<AtomicBool>,
    asked: Arc<AtomicU32>,
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
struct Machine {
    space: Space<Machine>,
    memory: Sleepy,
    count: u32,
    sent: RefCell<Vec<u32>>,
    /// What the space was registered for, complete and asked for, when the host learned of it.
    seen: Cell<Option<(u32, u32)>>,
    refuse: Cell<bool>,
}

impl Machine {
    fn new(count: u32) -> Machine {
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

    zeros!();

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

fn engine() -> Engine<Machine> {
    Engine::new(Config::small(1), Sleepy::default()).unwrap()
}

#[test]
fn a_pinned_thread_asks_for_no_memory_and_gives_none_back() {
    let (engine, host) = (engine(), Machine::new(4));
    assert_eq!(engine.membarrier_2010(&host, MEMBARRIER_EXPEDITED), Ok(0));
    assert_eq!(host.memory.asked.load(Ordering::Relaxed), 2);
    assert_eq!(host.sent.take(), [1, 2, 3]);
}

#[test]
fn a_machine_that_names_no_processor_is_asked_for_nothing() {
    let (engine, host) = (engine(), Machine::new(0));
    assert_eq!(engine.membarrier_2010(&host, MEMBARRIER_EXPEDITED), Ok(0));
    assert_eq!(engine.membarrier(&host, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0), Ok(0));
    assert_eq!(host.memory.asked.load(Ordering::Relaxed), 0);
    assert_eq!(host.sent.take(), []);
}

/// A context switch that does less for spaces that are not registered must see that this space is
/// about to be, before the host waits for the switches that did not see it.
#[test]
fn a_registration_is_seen_as_asked_for_before_the_host_waits_and_as_complete_behind_it() {
    let (engine, host) = (engine(), Machine::new(4));
    let register = MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED;
    assert_eq!(engine.membarrier(&host, register, 0, 0), Ok(0));
    assert_eq!(host.seen.take(), Some((0, register)));
    assert_eq!((host.space.registrations(), host.space.registrations_requested()), (register, register));
    // The host learns of it once.
    assert_eq!(engine.membarrier(&host, register, 0, 0), Ok(0));
    assert_eq!(host.seen.take(), None);
    // A refused registration: nothing may rely on it, and switches may do as if it were there.
    host.refuse.set(true);
    let global = MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED;
    assert_eq!(engine.membarrier(&host, global, 0, 0), Err(Errno::ENOMEM));
    assert_eq!((host.space.registrations(), host.space.registrations_requested()), (register, register | global));
    assert_eq!(engine.membarrier(&host, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0), Ok(0));
    let child = Space::<Machine>::new(2, 0, Sleepy::default());
    child.inherit_registrations(&host.space);
    assert_eq!((child.registrations(), child.registrations_requested()), (register, register));
}
