//! What a machine is made of, and what is left out of it. Programs fill a [`Setup`] and give it to
//! `Machine::new`.

use core::alloc::Layout;
use core::ptr::NonNull;
use std::string::String;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::vec::Vec;

use super::memory::At;
use super::{Linux2010, SwitchPath, Thread};
use crate::{Heap, Memory};

/// The memory model of a machine: which accesses may pass which. The table is in the [module's
/// documentation](super).
///
/// ```
/// use leeward_engine::simulation::{Machine, Model, Setup, Spawn, Start};
///
/// // One thread stores a value and then a flag. May another see the flag without the value?
/// let is_stale = |model| {
///     let mut setup = Setup::new(&[Start::Runs(0), Start::Runs(1)]);
///     setup.model = model;
///     setup.threads.push(Spawn::new("writer", 0, |thread| {
///         thread.set(0, 1);
///         thread.set(4, 1);
///         0
///     }));
///     setup.threads.push(Spawn::new("reader", 0, |thread| {
///         u64::from(thread.get(4) == 1 && thread.get(0) == 0)
///     }));
///     Machine::new(setup).explore(10_000, &|results, _| results[1] == 1).found.is_some()
/// };
/// assert!(!is_stale(Model::Sc) && !is_stale(Model::Tso));
/// assert!(is_stale(Model::Pso) && is_stale(Model::Weak));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Model {
    /// Sequentially consistent: nothing passes.
    Sc,
    /// Total store order: store buffers, as on x86.
    Tso,
    /// Partial store order: a store buffer a word.
    Pso,
    /// Loads may be stale, and locks only acquire and release.
    Weak,
}

/// A part of the machine that is left out, to see what goes wrong without it.
///
/// ```
/// use leeward_engine::simulation::{Cut, Model, cases};
///
/// // Store buffering, with membarrier on one side, on a machine that has all its barriers.
/// let case = cases("private", Model::Weak).remove(0);
/// assert!(case.explore().found.is_none());
/// assert!(case.without(Cut::Before).explore().found.is_some());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Cut {
    /// The barrier between the outgoing thread's accesses and clearing the processor's bit.
    S1,
    /// The barrier between setting the bit and the incoming thread's accesses.
    S2,
    /// The barrier between setting the bit and the incoming thread's accesses where a processor
    /// leaves lazy-TLB mode.
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
    /// The barriers of a switch path that have this name.
    Barrier(&'static str),
}

impl Cut {
    /// Returns the name of the barrier that is left out; an empty one where the part is none.
    pub fn name(self) -> &'static str {
        match self {
            Cut::S1 => "S1",
            Cut::S2 => "S2",
            Cut::S3 => "S3",
            Cut::Before => "1",
            Cut::After => "6",
            Cut::Handler => "handler",
            Cut::Barrier(name) => name,
            Cut::Lock | Cut::Forget(_) => "",
        }
    }
}

/// The bytes of a page.
pub const PAGE: u64 = 4 * WORDS as u64;
/// The words of a page.
pub(crate) const WORDS: At = 8;

/// A page of a space.
///
/// ```
/// use leeward_engine::simulation::{Machine, Page, Setup, Spawn, Start};
///
/// // Two spaces map object 3, the second at its second page, which starts at 32.
/// let mut setup = Setup::new(&[Start::Runs(0), Start::Runs(1)]);
/// setup.spaces = vec![vec![Some(Page::shared(3))], vec![None, Some(Page::shared(3).read_only())]];
/// setup.threads.push(Spawn::new("writer", 0, |thread| {
///     thread.set(4, 7);
///     0
/// }));
/// setup.threads.push(Spawn::new("reader", 1, |thread| {
///     while thread.get(36) == 0 {}
///     thread.get(36).into()
/// }));
/// assert_eq!(Machine::new(setup).run(1, 10_000).results, [Some(0), Some(7)]);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Page {
    /// The number of the memory object that is mapped there: pages of one number are the same
    /// memory.
    pub object: u16,
    /// True if the page may be written.
    pub writable: bool,
    /// True if other spaces may map it too.
    pub shared: bool,
}

impl Page {
    /// Returns a writable page of memory that one space has for itself.
    pub const fn private(object: u16) -> Page {
        Page { object, writable: true, shared: false }
    }

    /// Returns a writable page of memory that several spaces may map.
    pub const fn shared(object: u16) -> Page {
        Page { object, writable: true, shared: true }
    }

    /// Returns the page, not to be written.
    pub const fn read_only(self) -> Page {
        Page { writable: false, ..self }
    }
}

/// A thread's program; what it returns is the thread's result. Where all schedules are tried it is
/// called many times, and must do the same whenever it gets the same answers.
///
/// [`Spawn`] has an example.
pub type Program = Arc<dyn Fn(&Thread) -> u64 + Send + Sync>;

/// A thread's description.
///
/// ```
/// use leeward_engine::simulation::{Machine, Program, Setup, Spawn, Start};
/// use std::sync::Arc;
///
/// let program: Program = Arc::new(|thread| thread.node().into());
/// let first = Spawn { program, ..Spawn::new("first", 0, |_| 0).only_on(0) };
/// let second = Spawn { name: "second".into(), ..first.clone() }.only_on(1);
/// // Two processors, each on a node of its own.
/// let mut setup = Setup::new(&[Start::Idle, Start::Idle]);
/// setup.nodes = 2;
/// setup.threads = vec![first, second];
/// assert_eq!(Machine::new(setup).run(1, 1_000).results, [Some(0), Some(1)]);
/// ```
#[derive(Clone)]
pub struct Spawn {
    /// The thread's name in printed schedules.
    pub name: String,
    /// Its space's place in [`Setup::spaces`].
    pub space: u8,
    /// The only processor that the thread runs on; `None`: it may run on any.
    pub only_on: Option<u8>,
    /// True if the thread is never taken off its processor.
    pub stays: bool,
    /// The thread's program.
    pub program: Program,
}

impl Spawn {
    /// Returns a thread that may run anywhere.
    pub fn new(name: &str, space: u8, program: impl Fn(&Thread) -> u64 + Send + Sync + 'static) -> Spawn {
        Spawn { name: name.into(), space, only_on: None, stays: false, program: Arc::new(program) }
    }

    /// Returns the thread, never taken off its processor.
    pub fn stays(self) -> Spawn {
        Spawn { stays: true, ..self }
    }

    /// Returns the thread, which runs on that processor only.
    pub fn only_on(self, processor: u8) -> Spawn {
        Spawn { only_on: Some(processor), ..self }
    }
}

/// What a processor does in the beginning.
///
/// ```
/// use leeward_engine::simulation::{Machine, Setup, Spawn, Start};
///
/// let mut setup = Setup::new(&[Start::Runs(0), Start::Lazy(0), Start::Idle]);
/// setup.threads = vec![Spawn::new("first", 0, |_| 0)];
/// let title = Machine::new(setup).print(&[]);
/// assert!(title.starts_with("cpu 0: runs first (space 0)"));
/// assert!(title.contains("cpu 1: idle, lazy in space 0"));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Start {
    /// It runs no thread, and no space's page tables are loaded.
    Idle,
    /// It runs no thread, but the page tables of that space, its last thread's, are still loaded,
    /// and its bit in that space's mask is set.
    Lazy(u8),
    /// It runs that thread.
    Runs(u8),
}

/// A machine's description. An example is in the [module's documentation](super).
///
/// ```
/// use leeward_engine::simulation::{Machine, Model, Setup, Spawn, Start};
///
/// let mut setup = Setup::new(&[Start::Runs(0), Start::Idle]);
/// assert_eq!((setup.model, setup.nodes, setup.spaces.len()), (Model::Sc, 1, 1));
/// setup.threads = vec![Spawn::new("alone", 0, |thread| thread.number().into())];
/// assert_eq!(Machine::new(setup).run(1, 1_000).results, [Some(0)]);
/// ```
#[derive(Clone)]
pub struct Setup {
    /// What each processor does in the beginning: one entry a processor.
    pub start: Vec<Start>,
    /// The number of nodes, between which the processors are split evenly.
    pub nodes: u8,
    /// The memory model.
    pub model: Model,
    /// The parts that are left out.
    pub cuts: Vec<Cut>,
    /// What the kernel does in a context switch and in its handlers.
    pub path: Arc<dyn SwitchPath>,
    /// The pages of each space, from address 0 on; `None`: nothing is mapped.
    pub spaces: Vec<Vec<Option<Page>>>,
    /// The threads' programs.
    pub threads: Vec<Spawn>,
    /// The most context switches where all schedules are tried.
    pub switches: u8,
    /// The most times that a lazy processor is told that its space's mappings have changed, so that
    /// it clears its bit.
    pub shootdowns: u8,
    /// The most times that a page is taken away, until a thread asks for it.
    pub page_outs: u8,
    /// The most signals.
    pub signals: u8,
    /// The memory that the engine's tables and masks come from.
    pub bank: Bank,
}

impl Setup {
    /// Returns a machine without threads: sequentially consistent, one node, one space with two
    /// pages, nothing left out, no switch, the switch path that was proposed in 2010.
    pub fn new(start: &[Start]) -> Setup {
        Setup {
            start: start.to_vec(),
            nodes: 1,
            model: Model::Sc,
            cuts: Vec::new(),
            path: Arc::new(Linux2010),
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
/// Clones are the same memory.
///
/// ```
/// use leeward_engine::simulation::{Bank, Thread};
/// use leeward_engine::{Config, Engine, NoEngine};
///
/// let bank = Bank::new(1);
/// let engine = Engine::<Thread>::new(Config::small(7), bank.clone()).unwrap();
/// assert!(bank.bytes(None) >= 16 * 128);
/// drop(engine);
/// assert_eq!(bank.bytes(None), 0);
/// bank.refuse(true);
/// let error = Engine::<Thread>::new(Config::small(7), bank).unwrap_err();
/// assert_eq!(error, NoEngine::Memory);
/// ```
#[derive(Clone, Debug)]
pub struct Bank {
    /// The bytes that are in use, by node; the last: where no node was asked for.
    nodes: Arc<[AtomicUsize]>,
    /// True while there is no memory.
    refuse: Arc<AtomicBool>,
}

impl Bank {
    /// Returns memory of `nodes` nodes.
    pub fn new(nodes: u8) -> Bank {
        Bank { nodes: (0..=nodes).map(|_| AtomicUsize::new(0)).collect(), refuse: Arc::default() }
    }

    /// Refuses all memory from now on, or gives it again.
    pub fn refuse(&self, refuse: bool) {
        // Relaxed: one thread at a time.
        self.refuse.store(refuse, Ordering::Relaxed);
    }

    /// Returns the bytes in use on a node; `None`: those for which no node was asked.
    pub fn bytes(&self, node: Option<u32>) -> usize {
        // Relaxed: a statistic.
        self.nodes[self.place(node)].load(Ordering::Relaxed)
    }

    /// Returns a node's place in the list.
    fn place(&self, node: Option<u32>) -> usize {
        let none = self.nodes.len() - 1;
        node.map_or(none, |node| (node as usize).min(none))
    }
}

/// The bytes in front of a block that say which node it is on.
const HEAD: usize = 128;

/// Returns the layout of a block and its head.
fn outer(layout: Layout) -> Option<Layout> {
    let align = layout.align().max(HEAD);
    Layout::from_size_align(layout.size().checked_add(align)?, align).ok()
}

// SAFETY: the blocks are the heap's, and disjoint.
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
        // SAFETY: the head is at least as large as a `usize`, and aligned.
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
