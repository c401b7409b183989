//! The machine: its description made ready, its state, and where each word lies in its memory.
//! `explore` and `live` drive it; `steps` says what happens to it.

use std::string::String;
use std::sync::Arc;
use std::vec::Vec;

use super::kernel::{Kick, Request, Task};
use super::memory::{At, Memory};
use super::setup::{Cut, Setup, Start, WORDS};
use super::{SwitchPath, Thread};
use crate::Space;

/// One thing that happens. Numbers are places in lists of what is possible at that moment.
///
/// ```
/// use leeward_engine::simulation::{Machine, Model, Setup, Spawn, Start, Step};
///
/// let mut setup = Setup::new(&[Start::Runs(0)]);
/// setup.model = Model::Tso;
/// setup.threads = vec![Spawn::new("writer", 0, |thread| {
///     thread.set(0, 1);
///     0
/// })];
/// let schedule = Machine::new(setup).run(7, 100).schedule;
/// // The thread stores to the processor's buffer, and later the store reaches memory.
/// let store = Step::Go { processor: 0, choice: 0 };
/// let commit = Step::Commit { processor: 0, index: 0 };
/// let place = |wanted| schedule.iter().position(|step| *step == wanted).unwrap();
/// assert!(place(store) < place(commit));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Step {
    /// A processor's buffered store reaches memory.
    Commit {
        /// The processor's number.
        processor: u8,
        /// The place of the store in its buffer.
        index: u8,
    },
    /// A processor does the next thing of its handler, its switch or its thread.
    Go {
        /// The processor's number.
        processor: u8,
        /// The value that a load reads (0: the newest), or how a park ends.
        choice: u8,
    },
    /// An interrupt that was sent arrives.
    Arrive {
        /// The processor at which it arrives.
        processor: u8,
        /// The place of the interrupt among those on their way there.
        index: u8,
    },
    /// The scheduler takes the processor from its thread and gives it to another, or to none.
    Switch {
        /// The processor's number.
        processor: u8,
        /// The next thread.
        to: Option<u8>,
    },
    /// A lazy processor is told that the mappings it still has loaded have changed.
    Shootdown {
        /// The processor's number.
        processor: u8,
    },
    /// A page is taken away until a thread asks for it.
    PageOut {
        /// The space's number.
        space: u8,
        /// The page's number.
        page: u8,
    },
    /// A signal comes for a thread.
    Signal {
        /// The thread's number.
        thread: u8,
    },
}

/// Where each word lies, and what is left out.
#[derive(Clone)]
pub(crate) struct Layout {
    pub(crate) processors: u8,
    spaces: u8,
    threads: u8,
    objects: At,
    pub(crate) nodes: u8,
    pub(crate) cuts: Vec<Cut>,
    pub(crate) path: Arc<dyn SwitchPath>,
}

impl Layout {
    /// Returns true if that part is left out.
    pub(crate) fn cut(&self, cut: Cut) -> bool {
        self.cuts.contains(&cut)
    }

    /// Returns a processor's node.
    pub(crate) fn node(&self, processor: u8) -> u32 {
        u32::from(processor) * u32::from(self.nodes) / u32::from(self.processors)
    }

    /// Returns the number of processors.
    fn wide(&self) -> At {
        At::from(self.processors)
    }

    /// Returns a processor's run-queue lock.
    pub(crate) fn queue(&self, processor: u8) -> At {
        At::from(processor)
    }

    /// Returns the word that holds the space of the thread that a processor runs, plus one; 0: it
    /// runs none.
    pub(crate) fn current(&self, processor: u8) -> At {
        (1 + self.wide()) * self.wide() + At::from(processor)
    }

    /// Returns the word that holds the number of the last interrupt of `from` that `by` has done.
    pub(crate) fn acknowledged(&self, from: u8, by: u8) -> At {
        self.wide() + At::from(from) * self.wide() + At::from(by)
    }

    /// Returns a processor's bit in a space's mask: a word of its own.
    pub(crate) fn bit(&self, space: u8, processor: u8) -> At {
        (2 + self.wide()) * self.wide() + At::from(space) * self.wide() + At::from(processor)
    }

    /// Returns the word that holds 1 while some processor has not finished with the thread.
    pub(crate) fn on_processor(&self, thread: u8) -> At {
        (2 + self.wide() + At::from(self.spaces)) * self.wide() + At::from(thread)
    }

    /// Returns a word of an object.
    pub(crate) fn word(&self, object: u16, word: u16) -> At {
        self.on_processor(self.threads) + object * WORDS + word
    }

    /// Returns the number of words.
    fn words(&self) -> usize {
        usize::from(self.word(self.objects, 0))
    }

    /// Returns a word's name.
    pub(crate) fn name(&self, at: At) -> String {
        let (wide, user) = (self.wide(), self.word(0, 0));
        let of = |what: &str, base: At| std::format!("{what}[{}]", at - base);
        if at >= user {
            let (object, word) = ((at - user) / WORDS, (at - user) % WORDS);
            return match (object, word) {
                (0, 0) => "x".into(),
                (0, 1) => "y".into(),
                _ => std::format!("object {object} word {word}"),
            };
        }
        match at {
            at if at < wide => of("run queue", 0),
            at if at >= self.current(0) && at < self.bit(0, 0) => of("current", self.current(0)),
            at if at < self.current(0) => {
                let pair = at - wide;
                std::format!("ack[cpu {} of cpu {}]", pair % wide, pair / wide)
            }
            at if at < self.on_processor(0) => {
                let pair = at - (2 + wide) * wide;
                std::format!("mask of space {}[cpu {}]", pair / wide, pair % wide)
            }
            at => std::format!("on_cpu[thread {}]", at - self.on_processor(0)),
        }
    }
}

/// A place in a program: a node of its tree.
pub(crate) type ProgramNode = u32;

/// What a program does next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Next {
    Ask(Request),
    /// The program has ended, with this result.
    Done(u64),
}

/// The programs that a machine runs, as the machine sees them.
pub(crate) trait Programs {
    /// Returns what a thread does next at a place in its program.
    fn thread(&mut self, thread: u8, node: ProgramNode) -> Next;
    /// Answers a thread's request; returns the place to which that leads.
    fn answer_thread(&mut self, thread: u8, node: ProgramNode, answer: u64) -> ProgramNode;
    /// Returns what a task of the kernel's does next.
    fn task(&mut self, task: Task, node: ProgramNode) -> Next;
    /// Answers a task's request; returns the place to which that leads.
    fn answer_task(&mut self, task: Task, node: ProgramNode, answer: u64) -> ProgramNode;
}

/// An interrupt on its way.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Sent {
    pub(crate) from: u8,
    pub(crate) number: u32,
    pub(crate) kick: Kick,
}

/// A processor of the machine.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Processor {
    /// The thread that it runs.
    pub(crate) running: Option<u8>,
    /// The space whose page tables are loaded.
    pub(crate) active: Option<u8>,
    /// True if it runs no thread and has kept the page tables of the last one.
    pub(crate) lazy: bool,
    /// True if its bit was cleared while it was lazy.
    pub(crate) cleared: bool,
    /// The task of the kernel's own that it is in.
    pub(crate) work: Option<(Task, ProgramNode)>,
    /// The interrupts that are on their way to it.
    pub(crate) arriving: Vec<Sent>,
    /// The number of the last interrupt that it sent, by processor.
    pub(crate) sent: Vec<u32>,
    /// The number of locks that its thread holds.
    pub(crate) locks: u8,
}

/// A thread's state.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Runner {
    pub(crate) node: ProgramNode,
    /// The processor that runs it, or is about to, or has not finished with it.
    pub(crate) on: Option<u8>,
    /// The number of times that it is pinned to its processor.
    pub(crate) pinned: u8,
    /// True if it was unparked.
    pub(crate) token: bool,
    /// True if a signal is pending.
    pub(crate) signal: bool,
    /// What it returned.
    pub(crate) ended: Option<u64>,
}

/// All that decides what can happen.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct State {
    pub(crate) memory: Memory,
    pub(crate) processors: Vec<Processor>,
    pub(crate) threads: Vec<Runner>,
    /// The (space, page)s that were taken away.
    pub(crate) absent: Vec<(u8, u8)>,
    /// The switches that are left; `u8::MAX`: they are not counted.
    pub(crate) switches: u8,
    pub(crate) shootdowns: u8,
    pub(crate) page_outs: u8,
    pub(crate) signals: u8,
    /// Nanoseconds; the clock stands still where all schedules are tried.
    pub(crate) now: u64,
}

/// A machine, ready to run. Each run starts from its description; only what the engine keeps in the
/// spaces stays.
///
/// ```
/// use leeward_engine::simulation::{End, Machine, Setup, Spawn, Start};
///
/// let mut setup = Setup::new(&[Start::Runs(0)]);
/// setup.threads = vec![Spawn::new("alone", 0, |thread| {
///     thread.set(0, 7);
///     thread.get(0).into()
/// })];
/// let machine = Machine::new(setup);
/// let run = machine.run(1, 1_000);
/// assert_eq!((run.end, run.results.as_slice()), (End::Over, [Some(7)].as_slice()));
/// // The schedule of the run shows the same again.
/// assert_eq!(machine.replay(&run.schedule).results, run.results);
/// ```
pub struct Machine {
    pub(crate) setup: Setup,
    pub(crate) layout: Arc<Layout>,
    pub(crate) spaces: Arc<[Space<Thread>]>,
}

impl Machine {
    /// Makes a machine from its description.
    ///
    /// # Panics
    /// If the description names a space or a thread that there is not, or has no or too many
    /// processors, or more than one processor runs a thread.
    pub fn new(setup: Setup) -> Machine {
        let count = |len: usize, what: &str| u8::try_from(len).unwrap_or_else(|_| panic!("too many {what}"));
        let processors = count(setup.start.len(), "processors");
        assert!((1..=64).contains(&processors), "a machine has 1 to 64 processors");
        let objects = setup.spaces.iter().flatten().flatten().map(|page| page.object + 1).max().unwrap_or(0);
        let layout = Layout {
            processors,
            spaces: count(setup.spaces.len(), "spaces"),
            threads: count(setup.threads.len(), "threads"),
            objects,
            nodes: setup.nodes,
            cuts: setup.cuts.clone(),
            path: Arc::clone(&setup.path),
        };
        let spaces = (0..u64::from(layout.spaces)).map(|i| Space::new(i + 1, i, setup.bank.clone())).collect();
        Machine { layout: Arc::new(layout), setup, spaces }
    }

    /// Returns a thread's own view of the machine, to call the engine with before the thread runs:
    /// only for calls that ask nothing of the machine.
    pub fn outside(&self, thread: u8) -> Thread {
        Thread::new(self, thread, super::thread::Line::Outside)
    }

    /// Returns a space.
    ///
    /// # Panics
    /// If there is none with that number.
    pub fn space(&self, space: u8) -> &Space<Thread> {
        &self.spaces[usize::from(space)]
    }

    /// Returns the state in the beginning.
    pub(crate) fn start(&self) -> State {
        let wide = self.setup.start.len();
        let mut memory = Memory::new(self.layout.words(), self.layout.current(0), wide);
        let idle = Runner { node: 0, on: None, pinned: 0, token: false, signal: false, ended: None };
        let mut threads = std::vec![idle; self.setup.threads.len()];
        let mut processors = Vec::new();
        for (here, start) in (0_u8..).zip(&self.setup.start) {
            let (running, active) = match *start {
                Start::Idle => (None, None),
                Start::Lazy(space) => (None, Some(space)),
                Start::Runs(thread) => (Some(thread), Some(self.setup.threads[usize::from(thread)].space)),
            };
            if let Some(space) = active {
                memory.set(self.layout.bit(space, here), 1);
            }
            if let (Some(thread), Some(space)) = (running, active) {
                memory.set(self.layout.current(here), u32::from(space) + 1);
                memory.set(self.layout.on_processor(thread), 1);
                let before = threads[usize::from(thread)].on.replace(here);
                assert_eq!(before, None, "a thread runs on one processor");
            }
            processors.push(Processor {
                running,
                active,
                lazy: running.is_none() && active.is_some(),
                cleared: false,
                work: None,
                arriving: Vec::new(),
                sent: std::vec![0; wide],
                locks: 0,
            });
        }
        let Setup { switches, shootdowns, page_outs, signals, .. } = self.setup;
        State { memory, processors, threads, absent: Vec::new(), switches, shootdowns, page_outs, signals, now: 0 }
    }
}

impl core::fmt::Debug for Machine {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let Setup { start, model, cuts, .. } = &self.setup;
        f.debug_struct("Machine")
            .field("start", start)
            .field("model", model)
            .field("cuts", cuts)
            .finish_non_exhaustive()
    }
}
