//! A host for unit tests: a few words of memory, and one thread that never sleeps.

use core::alloc::Layout;
use core::ptr::NonNull;
use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::vec::Vec;

use crate::{
    Access, Address, Clock, Deadline, Errno, Fault, Flag, Heap, Host, Inheritance, Memory, Nodes, Owner, ParkEnd, Part,
    Priority, SharedKey, Size, Space, Thread,
};

/// The heap, which allocates a given number of blocks and then has no memory.
#[derive(Clone)]
pub(crate) struct Rationed(pub(crate) Arc<AtomicI64>);

impl Rationed {
    pub(crate) fn new(blocks: i64) -> Rationed {
        Rationed(Arc::new(AtomicI64::new(blocks)))
    }
}

// SAFETY: the heap's.
unsafe impl Memory for Rationed {
    fn allocate(&self, layout: Layout, node: Option<u32>) -> Option<NonNull<u8>> {
        if self.0.fetch_sub(1, Ordering::Relaxed) <= 0 {
            return None;
        }
        Heap.allocate(layout, node)
    }

    unsafe fn free(&self, block: NonNull<u8>, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { Heap.free(block, layout) };
    }
}

/// A host whose words are at the addresses 0, 4, 8 and so on, and whose waits end at once as `end`
/// says.
pub(crate) struct Nowhere {
    space: Space<Nowhere>,
    pub(crate) words: Vec<Cell<u32>>,
    pub(crate) end: Cell<ParkEnd>,
    pub(crate) threads: Cell<u32>,
    pub(crate) priority: Cell<u32>,
    /// The parts that `unpark_all` was told.
    pub(crate) parts: RefCell<Vec<Part>>,
    pub(crate) processors: Option<crate::tests::membarrier::Recorder>,
    pub(crate) inherits: bool,
    /// The address at which user memory ends.
    pub(crate) range: Cell<Address>,
    /// True if the host knows two nodes.
    pub(crate) nodes: bool,
    /// True if words of every size are served.
    pub(crate) all_sizes: bool,
}

impl Nowhere {
    pub(crate) fn new(words: usize, memory: Rationed) -> Nowhere {
        Nowhere {
            space: Space::new(1, 7, memory),
            words: (0..words).map(|_| Cell::new(0)).collect(),
            end: Cell::new(ParkEnd::TimedOut),
            threads: Cell::new(1),
            priority: Cell::new(u32::MAX),
            parts: RefCell::default(),
            processors: None,
            inherits: false,
            range: Cell::new(1 << 47),
            nodes: false,
            all_sizes: false,
        }
    }

    fn word(&self, address: Address) -> Result<&Cell<u32>, Fault> {
        assert!(self.in_range(address), "{address:#x} was not asked for");
        self.words.get(address as usize / 4).ok_or(Fault)
    }
}

impl Host for Nowhere {
    type Task = ();
    type Memory = Rationed;
    type Preemption<'a> = ();

    fn space(&self) -> &Space<Nowhere> {
        &self.space
    }
    fn threads(&self) -> u32 {
        self.threads.get()
    }
    fn in_range(&self, address: Address) -> bool {
        address < self.range.get()
    }
    fn load(&self, address: Address) -> Result<u32, Fault> {
        self.word(address).map(Cell::get)
    }
    fn serves(&self, size: Size) -> bool {
        self.all_sizes || size == Size::U32
    }
    fn load_sized(&self, address: Address, size: Size) -> Result<u64, Fault> {
        assert!(self.serves(size) && address % size.bytes() == 0, "{size:?} at {address:#x} was refused");
        let mut number = [0_u8; 8];
        let bytes = &mut number[..size.bytes() as usize];
        // Little-endian, on any machine.
        for (at, byte) in (address..).zip(bytes) {
            *byte = self.word(at)?.get().to_le_bytes()[at as usize % 4];
        }
        Ok(u64::from_le_bytes(number))
    }
    fn compare_exchange(&self, address: Address, old: u32, new: u32) -> Result<u32, Fault> {
        let word = self.word(address)?;
        if word.get() == old {
            return Ok(word.replace(new));
        }
        Ok(word.get())
    }
    fn read(&self, address: Address, to: &mut [u8]) -> Result<(), Fault> {
        let last = address.checked_add(to.len() as u64 - 1);
        assert!(
            self.in_range(address) && last.is_some_and(|last| self.in_range(last)),
            "{address:#x} was not asked for"
        );
        for (at, byte) in (address..).zip(to) {
            *byte = self.word(at)?.get().to_ne_bytes()[at as usize % 4];
        }
        Ok(())
    }
    fn fault_in(&self, _: Address, _: Access) -> Result<(), Errno> {
        Err(Errno::EFAULT)
    }
    fn resolve_shared(&self, address: Address, _: Access) -> Result<SharedKey, Errno> {
        Ok(SharedKey::Object { object: 5, offset: address })
    }
    fn priority(&self) -> Priority {
        Priority(self.priority.get())
    }
    fn task(&self, _: &Flag) {}
    fn park(&self, _: &Flag, _: Option<Deadline>) -> ParkEnd {
        self.end.get()
    }
    fn unpark(&self, (): ()) {}
    fn unpark_all(&self, tasks: impl Iterator<Item = ()>, part: Part) {
        self.parts.borrow_mut().push(part);
        tasks.for_each(drop);
    }
    fn now(&self, _: Clock) -> u64 {
        0
    }
    fn preempt_off(&self) {}
    fn processors(&self) -> Option<&dyn crate::Processors<Nowhere>> {
        self.processors.as_ref().map(|processors| processors as _)
    }
    fn nodes(&self) -> Option<&dyn Nodes> {
        if self.nodes { Some(self) } else { None }
    }
    fn inheritance(&self) -> Option<&dyn Inheritance<Nowhere>> {
        self.inherits.then_some(self)
    }
}

/// Two nodes, and a memory policy for every third page.
impl Nodes for Nowhere {
    fn local(&self) -> u32 {
        1
    }
    fn has(&self, node: u32) -> bool {
        node < 2
    }
    fn policy(&self, address: Address) -> Option<u32> {
        ((address >> 12) % 3 == 0).then_some(5)
    }
}

/// Thread 3 of a system in which the number decides what it names.
impl Inheritance<Nowhere> for Nowhere {
    fn current(&self) -> Thread {
        Thread { id: 3, number: 3 }
    }
    fn find(&self, number: u32) -> Owner {
        match number % 5 {
            0 => Owner::Nobody,
            1 => Owner::Exiting,
            2 => Owner::Forbidden,
            3 => Owner::Outside(u64::from(number)),
            _ => Owner::Thread(u64::from(number)),
        }
    }
    fn priority(&self, _: u64) -> Priority {
        Priority(self.priority.get())
    }
    fn lend(&self, _: u64, _: Option<Priority>) {}
    fn await_exit(&self, number: u32) -> Result<(), Errno> {
        // Some exits are never over: the engine gives up.
        if number % 2 == 0 { Ok(()) } else { Err(Errno::EAGAIN) }
    }
}
