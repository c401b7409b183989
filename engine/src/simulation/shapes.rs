//! membarrier on the machine: the two-thread litmus shapes, with a rare side that calls it and a
//! frequent one that has nothing; the situations in which the call may find the frequent side's
//! processor; and what is expected of each. Tests and the example `missing_barrier` call it.

use std::boxed::Box;
use std::format;
use std::string::String;
use std::sync::Arc;
use std::vec::Vec;

use super::{Cut, Linux2010, Machine, Model, Page, Report, Setup, Spawn, Start, SwitchPath, Thread};
use crate::linux::abi::{
    MEMBARRIER_CMD_GLOBAL, MEMBARRIER_CMD_GLOBAL_EXPEDITED, MEMBARRIER_CMD_PRIVATE_EXPEDITED,
    MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED,
};
use crate::{Config, Engine};

/// The word of a shape that is called x.
const X: u64 = 0;
/// The word of a shape that is called y.
const Y: u64 = 4;

/// An access of a shape.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Access {
    Get(u64),
    Set(u64, u32),
}
use Access::{Get, Set};

/// A litmus shape: two accesses a side, and the outcome that program order forbids, which is what
/// the loads read, in their order (rare side first), and what the words hold in the end, where that
/// matters.
struct Shape {
    name: &'static str,
    rare: [Access; 2],
    frequent: [Access; 2],
    loads: &'static [u32],
    end: &'static [(u64, u32)],
}

/// The shapes that are tried, by their usual names.
const SHAPES: [Shape; 9] = [
    Shape {
        name: "store buffering",
        rare: [Set(X, 1), Get(Y)],
        frequent: [Set(Y, 1), Get(X)],
        loads: &[0, 0],
        end: &[],
    },
    Shape { name: "message to", rare: [Set(X, 1), Set(Y, 1)], frequent: [Get(Y), Get(X)], loads: &[1, 0], end: &[] },
    Shape { name: "message from", rare: [Get(Y), Get(X)], frequent: [Set(X, 1), Set(Y, 1)], loads: &[1, 0], end: &[] },
    Shape {
        name: "load buffering",
        rare: [Get(X), Set(Y, 1)],
        frequent: [Get(Y), Set(X, 1)],
        loads: &[1, 1],
        end: &[],
    },
    Shape { name: "S to", rare: [Set(X, 2), Set(Y, 1)], frequent: [Get(Y), Set(X, 1)], loads: &[1], end: &[(X, 2)] },
    Shape { name: "S from", rare: [Get(Y), Set(X, 1)], frequent: [Set(X, 2), Set(Y, 1)], loads: &[1], end: &[(X, 2)] },
    Shape { name: "R to", rare: [Set(X, 1), Set(Y, 1)], frequent: [Set(Y, 2), Get(X)], loads: &[0], end: &[(Y, 2)] },
    Shape { name: "R from", rare: [Set(Y, 2), Get(X)], frequent: [Set(X, 1), Set(Y, 1)], loads: &[0], end: &[(Y, 2)] },
    Shape {
        name: "2+2W",
        rare: [Set(X, 2), Set(Y, 1)],
        frequent: [Set(Y, 2), Set(X, 1)],
        loads: &[],
        end: &[(X, 2), (Y, 2)],
    },
];

/// How the call finds the frequent thread.
///
/// [`Case`] has an example.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Situation {
    /// It runs, on a processor that nothing else wants.
    Running,
    /// It runs; the scheduler takes the processor for a thread of another space.
    Leaving,
    /// It is about to run, on a processor that runs a thread of another space.
    Coming,
    /// It is about to run, on a processor that is lazy, and has cleared its bit or is about to.
    Lazy,
    /// It runs on the second of two other processors; the first runs a sibling.
    Second,
    /// It runs, and is moved to another processor.
    Moving,
    /// It runs; the caller is moved to another processor.
    Caller,
}

impl Situation {
    /// The list of all situations.
    pub const ALL: [Situation; 7] = [
        Situation::Running,
        Situation::Leaving,
        Situation::Coming,
        Situation::Lazy,
        Situation::Second,
        Situation::Moving,
        Situation::Caller,
    ];

    /// Returns true if a thread changes processors in it: such situations have many more states.
    pub fn moves(self) -> bool {
        matches!(self, Situation::Moving | Situation::Caller)
    }

    /// Returns where the threads are (0: rare, 1: frequent, 2: a third, of this space or another),
    /// and the numbers of switches and shoot-downs.
    fn start(self) -> (Vec<Start>, u8, u8) {
        let rare = Start::Runs(0);
        match self {
            Situation::Running => (std::vec![rare, Start::Runs(1)], 0, 0),
            Situation::Leaving => (std::vec![rare, Start::Runs(1)], 1, 0),
            Situation::Coming => (std::vec![rare, Start::Runs(2)], 1, 0),
            Situation::Lazy => (std::vec![rare, Start::Lazy(0)], 1, 1),
            Situation::Second => (std::vec![rare, Start::Runs(2), Start::Runs(1)], 0, 0),
            Situation::Caller => (std::vec![rare, Start::Runs(1), Start::Idle], 2, 0),
            Situation::Moving => (std::vec![rare, Start::Runs(1), Start::Idle], 2, 0),
        }
    }
}

/// The command that stands for the membarrier of the switch path itself.
const OWN: u32 = 0;

/// The calls that the rare side may make, by their names.
const COMMANDS: [(&str, u32); 4] = [
    ("own", OWN),
    ("private", MEMBARRIER_CMD_PRIVATE_EXPEDITED),
    ("global", MEMBARRIER_CMD_GLOBAL_EXPEDITED),
    ("delayed", MEMBARRIER_CMD_GLOBAL),
];

/// A litmus shape in a situation.
///
/// ```
/// use leeward_engine::simulation::{Cut, Model, Situation, cases};
///
/// let case = cases("private", Model::Weak).remove(0);
/// assert_eq!((case.shape(), case.situation()), ("store buffering", Situation::Running));
/// // Without the barrier of the interrupt's handler some schedule goes wrong.
/// let without = case.without(Cut::Handler);
/// let found = without.explore().found.unwrap();
/// assert!(without.machine().print(&found.schedule).starts_with("cpu 0: runs rare (space 0)"));
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Case {
    shape: usize,
    situation: Situation,
    command: u32,
    /// The memory model.
    pub model: Model,
    /// The parts that are left out.
    pub cuts: Vec<Cut>,
    /// True if the engine finds no memory for the mask.
    pub no_memory: bool,
}

/// Returns all shapes in all situations, with one of the engine's three commands: "private",
/// "global" or "delayed"; or "own", the membarrier of the switch path.
///
/// # Panics
/// If it is none of these.
pub fn cases(command: &str, model: Model) -> Vec<Case> {
    let command = COMMANDS.iter().find(|(name, _)| *name == command).expect("a command by its name").1;
    let case = |situation, shape| Case { shape, situation, command, model, cuts: Vec::new(), no_memory: false };
    Situation::ALL.iter().flat_map(|s| (0..SHAPES.len()).map(move |shape| case(*s, shape))).collect()
}

impl Case {
    /// Returns the case without a part.
    pub fn without(&self, cut: Cut) -> Case {
        let mut case = self.clone();
        case.cuts.push(cut);
        case
    }

    /// Returns the case where the engine finds no memory for the mask.
    pub fn without_memory(&self) -> Case {
        Case { no_memory: true, ..self.clone() }
    }

    /// Returns how the call finds the frequent thread.
    pub fn situation(&self) -> Situation {
        self.situation
    }

    /// Returns the name of its shape.
    pub fn shape(&self) -> &'static str {
        SHAPES[self.shape].name
    }

    /// Returns in one line what program order forbids in the case: what the loads read, and what the
    /// words hold in the end, where that matters.
    pub fn forbidden(&self) -> String {
        let Shape { rare, frequent, loads, end, .. } = &SHAPES[self.shape];
        let name = |word: u64| if word == X { "x" } else { "y" };
        let sides = [("rare", rare), ("frequent", frequent)];
        let read = sides.iter().flat_map(|(side, accesses)| {
            accesses.iter().filter_map(move |access| match access {
                Get(word) => Some(format!("{side} reads {}", name(*word))),
                Set(..) => None,
            })
        });
        let read = read.zip(*loads).map(|(read, value)| format!("{read} = {value}"));
        let end = end.iter().map(|(word, value)| format!("{} is {value} in the end", name(*word)));
        read.chain(end).collect::<Vec<String>>().join(", ")
    }

    /// Returns the case in one line.
    pub fn title(&self) -> String {
        let (command, _) = COMMANDS.iter().find(|(_, command)| *command == self.command).expect("one of them");
        let memory = if self.no_memory { ", no memory" } else { "" };
        let Case { situation, model, cuts, .. } = self;
        format!("{command}, {}, {situation:?}, {model:?}, without {cuts:?}{memory}", self.shape())
    }

    /// Returns true if the call is for all processes.
    fn is_global(&self) -> bool {
        matches!(self.command, MEMBARRIER_CMD_GLOBAL_EXPEDITED | MEMBARRIER_CMD_GLOBAL)
    }

    /// Makes the machine that runs the case.
    ///
    /// # Panics
    /// Never, but for a fault of the machine's.
    pub fn machine(&self) -> Machine {
        let path: Arc<dyn SwitchPath> = Arc::new(Linux2010);
        self.machine_on(&path)
    }

    /// Makes the machine that runs the case on another switch path.
    ///
    /// # Panics
    /// Never, but for a fault of the machine's.
    pub fn machine_on(&self, path: &Arc<dyn SwitchPath>) -> Machine {
        let (start, switches, shootdowns) = self.situation.start();
        let global = self.is_global();
        let mut setup = Setup::new(&start);
        setup.path = Arc::clone(path);
        setup.model = self.model;
        setup.cuts.clone_from(&self.cuts);
        setup.switches = switches;
        setup.shootdowns = shootdowns;
        // If the call is for all processes, the frequent side is another process with the same
        // memory.
        let page = Some(Page::shared(0));
        setup.spaces = std::vec![std::vec![page], std::vec![page]];
        if self.situation == Situation::Lazy && global {
            setup.start[1] = Start::Lazy(1);
        }
        let engine = Arc::new(Engine::<Thread>::new(Config::small(0), setup.bank.clone()).expect("memory for it"));
        setup.threads = self.threads(&engine);
        let bank = setup.bank.clone();
        let machine = Machine::new(setup);
        for (thread, register) in
            [(0, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED), (1, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED)]
        {
            engine.membarrier(&machine.outside(thread), register, 0, 0).expect("the machine refuses no thread");
        }
        bank.refuse(self.no_memory);
        machine
    }

    /// Returns the threads of the case.
    fn threads(&self, engine: &Arc<Engine<Thread>>) -> Vec<Spawn> {
        let Shape { rare, frequent, .. } = &SHAPES[self.shape];
        let (rare, frequent, command) = (*rare, *frequent, self.command);
        let global = self.is_global();
        let engine = Arc::clone(engine);
        let rare = Spawn::new("rare", 0, move |thread| {
            let first = access(thread, rare[0]);
            match command {
                OWN => thread.membarrier(),
                _ => _ = engine.membarrier(thread, command, 0, 0).expect("the machine refuses no thread"),
            }
            result(first, access(thread, rare[1]))
        });
        let frequent = Spawn::new("frequent", u8::from(global), move |thread| {
            let first = access(thread, frequent[0]);
            result(first, access(thread, frequent[1]))
        });
        // The third thread is a sibling of the rare one, so that this is never alone; elsewhere it
        // is a thread of another space.
        let ours = self.situation == Situation::Second;
        let third = Spawn::new("other", u8::from(!ours && !global), |_: &Thread| 0);
        let mut threads = std::vec![rare, frequent, third];
        threads[0].stays = self.situation != Situation::Caller;
        threads[1].stays = self.situation == Situation::Caller;
        if self.situation != Situation::Moving {
            threads[1].only_on = Some(if ours { 2 } else { 1 });
        }
        threads[2].only_on = Some(1);
        if self.situation.moves() {
            threads.truncate(2);
        }
        threads
    }

    /// Tries all schedules, for the outcome that program order forbids.
    ///
    /// # Panics
    /// Never, but for a fault of the machine's.
    pub fn explore(&self) -> Report {
        let path: Arc<dyn SwitchPath> = Arc::new(Linux2010);
        self.explore_on(&path)
    }

    /// Tries all schedules on another switch path, for the outcome that program order forbids.
    ///
    /// # Panics
    /// If the path panics, or has more than four million states.
    pub fn explore_on(&self, path: &Arc<dyn SwitchPath>) -> Report {
        let shape = &SHAPES[self.shape];
        let is_load = |access: &&Access| matches!(access, Get(_));
        let counts = [shape.rare, shape.frequent].map(|side| side.iter().filter(is_load).count());
        let bad = move |results: &[u64], look: &dyn Fn(u16, u16) -> u32| {
            let loads: Vec<u32> = (0..2).flat_map(|side| loaded(results[side], counts[side])).collect();
            loads == shape.loads && shape.end.iter().all(|(word, value)| look(0, (*word / 4) as u16) == *value)
        };
        self.machine_on(path).explore(LIMIT, &bad)
    }
}

/// More states than any case has.
const LIMIT: usize = 4_000_000;

/// Makes an access; returns what a load read.
fn access(thread: &Thread, access: Access) -> Option<u32> {
    match access {
        Get(word) => Some(thread.get(word)),
        Set(word, value) => {
            thread.set(word, value);
            None
        }
    }
}

/// Returns what was loaded as a number: the last in the lowest byte.
fn result(first: Option<u32>, second: Option<u32>) -> u64 {
    [first, second].into_iter().flatten().fold(0, |sum, value| sum << 8 | u64::from(value))
}

/// Returns what was loaded, by a number and how many loads there were.
fn loaded(result: u64, count: usize) -> Box<dyn Iterator<Item = u32>> {
    Box::new((0..count).rev().map(move |i| (result >> (8 * i) & 0xff) as u32))
}

/// Returns a case that goes wrong where one part is left out, under the strongest model in which
/// any does, and its search; `None` where none does. The cases in which a thread moves are not
/// tried.
pub fn missing_barrier(cut: Option<Cut>, no_memory: bool) -> Option<(Case, Report)> {
    [Model::Sc, Model::Tso, Model::Pso, Model::Weak].into_iter().find_map(|model| {
        let small = cases("private", model).into_iter().filter(|case| !case.situation.moves());
        small.map(|case| Case { cuts: cut.into_iter().collect(), no_memory, ..case }).find_map(|case| {
            let report = case.explore();
            report.found.is_some().then_some((case, report))
        })
    })
}
