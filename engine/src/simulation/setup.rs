//! What a machine is made of, and what is left out of it.

use core::alloc::Layout;
use core::ptr::NonNull;
use std::string::String;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::vec::Vec;

use super::Thread;
use super::memory::At;
use crate::{Heap, Memory};

/// Which accesses may pass which; the table is in the module's documentation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Model {
    /// Sequentially consistent.
    Sc,
    /// Total store order: store buffers, as on x86.
    Tso,
    /// Partial store order: a store buffer a word.
    Pso,
    /// Loads may be stale, and locks only acquire and release.
    Weak,
}

/// Something of the machine that is left out.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Cut {
    /// The barrier between the outgoing thread's accesses and clearing the processor's bit.
    S1,
    /// The barrier between setting the bit and the incoming thread's accesses.
    S2,
    /// The same where a processor leaves lazy-TLB mode.
    S3,
    /// The caller's barrier before the first interrupt.
    Before,
    /// The caller's barrier after the last acknowledgment.
    After,
    /// The barrier of the interrupt's handler.
    Handler,
    /// The run-queue lock around the look at what a processor runs.
    Lock,
    /// The interrupt of one processor.
    Forget(u8),
}

/// Bytes of a page.
pub const PAGE: u64 = 4 * WORDS as u64;
/// Words of a page.
pub(crate) const WORDS: At = 8;

/// A page of a space.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Page {
    /// What is mapped there: objects of one number are the same memory.
    pub object: u16,
    /// It may be written.
    pub writable: bool,
    /// Other spaces may map it too.
    pub shared: bool,
}

impl Page {
    /// Memory of one space, of its own.
    pub const fn private(object: u16) -> Page {
        Page { object, writable: true, shared: false }
    }

    /// Memory of several.
    pub const fn shared(object: u16) -> Page {
        Page { object, writable: true, shared: true }
    }

    /// The same, not to be written.
    pub const fn read_only(self) -> Page {
        Page { writable: false, ..self }
    }
}

/// What a thread does; what it returns is its result.
pub type Program = Arc<dyn Fn(&Thread) -> u64 + Send + Sync>;

/// A thread.
#[derive(Clone)]
pub struct Spawn {
    /// For schedules.
    pub name: String,
    /// Its space's place in [`Setup::spaces`].
    pub space: u8,
    /// It runs there only.
    pub only_on: Option<u8>,
    /// It is never taken off its processor.
    pub stays: bool,
    /// What it does.
    pub program: Program,
}

impl Spawn {
    /// A thread that may run anywhere.
    pub fn new(name: &str, space: u8, program: impl Fn(&Thread) -> u64 + Send + Sync + 'static) -> Spawn {
        Spawn { name: name.into(), space, only_on: None, stays: false, program: Arc::new(program) }
    }

    /// Never taken off its processor.
    pub fn stays(self) -> Spawn {
        Spawn { stays: true, ..self }
    }

    /// On that processor only.
    pub fn only_on(self, processor: u8) -> Spawn {
        Spawn { only_on: Some(processor), ..self }
    }
}

/// What a processor does in the beginning.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Start {
    /// Nothing, and no space's page tables are loaded.
    Idle,
    /// Nothing, but its last thread's page tables are still loaded, and its bit in that space's
    /// mask is set.
    Lazy(u8),
    /// It runs that thread.
    Runs(u8),
}

/// A machine's description.
#[derive(Clone)]
pub struct Setup {
    /// What each processor does in the beginning: as many as there are.
    pub start: Vec<Start>,
    /// Nodes; the processors are split evenly.
    pub nodes: u8,
    /// How memory behaves.
    pub model: Model,
    /// What is left out.
    pub cuts: Vec<Cut>,
    /// The pages of each space, from address 0 on; `None`: nothing is mapped.
    pub spaces: Vec<Vec<Option<Page>>>,
    /// The threads.
    pub threads: Vec<Spawn>,
    /// At most so many context switches, where all schedules are tried.
    pub switches: u8,
    /// At most so many times a lazy processor is told that its space's mappings have changed: it
    /// clears its bit.
    pub shootdowns: u8,
    /// At most so many times a page is taken away, until somebody asks for it.
    pub page_outs: u8,
    /// At most so many signals.
    pub signals: u8,
    /// Where the engine gets its memory.
    pub bank: Bank,
}

impl Setup {
    /// A machine without threads: sequentially consistent, one node, one space with two pages,
    /// nothing left out, no switch.
    pub fn new(start: &[Start]) -> Setup {
        Setup {
            start: start.to_vec(),
            nodes: 1,
            model: Model::Sc,
            cuts: Vec::new(),
            spaces: std::vec![std::vec![Some(Page::private(0)), Some(Page::private(1))]],
            threads: Vec::new(),
            switches: 0,
            shootdowns: 0,
            page_outs: 0,
            signals: 0,
            bank: Bank::new(1),
        }
    }
}

/// The machine's memory for the engine's tables and masks: counted by node, and refused on demand.
#[derive(Clone, Debug)]
pub struct Bank {
    /// Bytes that are in use, by node; the last: where no node was asked for.
    nodes: Arc<[AtomicUsize]>,
    refuse: Arc<AtomicBool>,
}

impl Bank {
    /// For so many nodes.
    pub fn new(nodes: u8) -> Bank {
        Bank { nodes: (0..=nodes).map(|_| AtomicUsize::new(0)).collect(), refuse: Arc::default() }
    }

    /// From now on there is none, or there is again.
    pub fn refuse(&self, refuse: bool) {
        // Relaxed: one thread at a time.
        self.refuse.store(refuse, Ordering::Relaxed);
    }

    /// Bytes in use on a node; `None`: those for which none was asked.
    pub fn bytes(&self, node: Option<u32>) -> usize {
        // Relaxed: a statistic.
        self.nodes[self.place(node)].load(Ordering::Relaxed)
    }

    fn place(&self, node: Option<u32>) -> usize {
        let none = self.nodes.len() - 1;
        node.map_or(none, |node| (node as usize).min(none))
    }
}

/// The bytes in front of a block that say which node it is on.
const HEAD: usize = 128;

fn outer(layout: Layout) -> Option<Layout> {
    let align = layout.align().max(HEAD);
    Layout::from_size_align(layout.size().checked_add(align)?, align).ok()
}

// SAFETY: the heap's, and disjoint blocks of it.
unsafe impl Memory for Bank {
    fn allocate(&self, layout: Layout, node: Option<u32>) -> Option<NonNull<u8>> {
        // Relaxed, both: one thread at a time.
        if self.refuse.load(Ordering::Relaxed) {
            return None;
        }
        let outer = outer(layout)?;
        let block = Heap.allocate(outer, node)?;
        let place = self.place(node);
        self.nodes[place].fetch_add(layout.size(), Ordering::Relaxed);
        // SAFETY: the head is at least so large, and aligned.
        unsafe { block.cast::<usize>().write(place) };
        // SAFETY: within the block.
        Some(unsafe { block.add(outer.align()) })
    }

    unsafe fn free(&self, block: NonNull<u8>, layout: Layout) {
        let Some(outer) = outer(layout) else { return };
        // SAFETY: where `allocate` put the head.
        let head = unsafe { block.sub(outer.align()) };
        // SAFETY: written by `allocate`.
        let place = unsafe { head.cast::<usize>().read() };
        // Relaxed: a statistic.
        self.nodes[place].fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promise, and `allocate`'s layout.
        unsafe { Heap.free(head, outer) };
    }
}
