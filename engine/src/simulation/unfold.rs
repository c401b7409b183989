//! Programs as trees: what one asks next, given the answers so far. It is run again from its
//! beginning for each place that is new. `explore` and `print` use it for threads and tasks, `live`
//! for tasks alone.

use std::boxed::Box;
use std::cell::Cell;
use std::collections::{BTreeSet, HashMap};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Rc;
use std::vec::Vec;

use super::kernel::{self, Request, Task};
use super::machine::{Machine, Next, ProgramNode, Programs};
use super::thread::{Line, Thread};

/// The answers that a program gets, until it asks what has no answer yet.
pub(crate) struct Replay {
    answers: Vec<u64>,
    given: Cell<usize>,
    asked: Cell<Option<Request>>,
}

/// The panic that ends a program which has asked something new, or whose machine has stopped.
pub(crate) struct Stop;

impl Replay {
    /// Returns the next answer, or ends the program.
    pub(crate) fn ask(&self, request: Request) -> u64 {
        let given = self.given.get();
        if let Some(answer) = self.answers.get(given) {
            self.given.set(given + 1);
            return *answer;
        }
        // What is cleaned up while the program ends asks too, and gets no answer of the machine's.
        if !std::thread::panicking() {
            self.asked.set(Some(request));
            resume_unwind(Box::new(Stop));
        }
        0
    }

    /// Runs a program with these answers; returns what it asks next.
    fn run(answers: Vec<u64>, program: impl FnOnce(Rc<Replay>) -> u64) -> Next {
        let replay = Rc::new(Replay { answers, given: Cell::new(0), asked: Cell::new(None) });
        match catch_unwind(AssertUnwindSafe(|| program(Rc::clone(&replay)))) {
            Ok(result) => Next::Done(result),
            Err(panic) => match replay.asked.get() {
                Some(request) if panic.is::<Stop>() => Next::Ask(request),
                _ => resume_unwind(panic),
            },
        }
    }
}

/// A program's tree, as far as it is known.
#[derive(Default)]
struct Tree {
    /// The parent of each place, and the answer that leads from it here.
    places: Vec<(ProgramNode, u64)>,
    /// What the program does next at each place.
    next: Vec<Next>,
    children: HashMap<(ProgramNode, u64), ProgramNode>,
}

impl Tree {
    /// Returns the answers that lead to a place.
    fn path(&self, mut node: ProgramNode) -> Vec<u64> {
        let mut answers = Vec::new();
        while node != 0 {
            let (parent, answer) = self.places[node as usize];
            answers.push(answer);
            node = parent;
        }
        answers.reverse();
        answers
    }

    /// Returns what the program does next at a place.
    fn next(&mut self, node: ProgramNode, run: impl FnOnce(Vec<u64>) -> Next) -> Next {
        if self.places.is_empty() {
            self.places.push((0, 0));
        }
        // Places are looked at in the order in which they are made.
        if self.next.len() == node as usize {
            let next = run(self.path(node));
            self.next.push(next);
        }
        self.next[node as usize]
    }

    /// Returns the place to which an answer leads.
    fn child(&mut self, node: ProgramNode, answer: u64, run: impl FnOnce(Vec<u64>) -> Next) -> ProgramNode {
        if let Some(child) = self.children.get(&(node, answer)) {
            return *child;
        }
        let child = self.places.len() as ProgramNode;
        self.places.push((node, answer));
        self.children.insert((node, answer), child);
        self.next(child, run);
        child
    }
}

/// A machine's programs, unfolded.
pub(crate) struct Unfold<'m> {
    machine: &'m Machine,
    threads: HashMap<u8, Tree>,
    tasks: HashMap<Task, Tree>,
}

impl<'m> Unfold<'m> {
    pub(crate) fn new(machine: &'m Machine) -> Self {
        Unfold { machine, threads: HashMap::new(), tasks: HashMap::new() }
    }

    fn run_thread(machine: &Machine, thread: u8, answers: Vec<u64>) -> Next {
        let program = &machine.setup.threads[usize::from(thread)].program;
        Replay::run(answers, |replay| program(&Thread::new(machine, thread, Line::Replay(replay))))
    }

    fn run_task(machine: &Machine, task: Task, answers: Vec<u64>) -> Next {
        Replay::run(answers, |replay| {
            kernel::run(task, &machine.layout, &|request| replay.ask(request));
            0
        })
    }
}

impl Unfold<'_> {
    /// Returns the names of the barriers that the programs pass, in order.
    pub(crate) fn barriers(&self) -> Vec<&'static str> {
        let asked = self.threads.values().chain(self.tasks.values()).flat_map(|tree| &tree.next);
        let name = |next: &Next| match next {
            Next::Ask(Request::Fence { name } | Request::Missing { name }) if !name.is_empty() => Some(*name),
            _ => None,
        };
        asked.filter_map(name).collect::<BTreeSet<_>>().into_iter().collect()
    }
}

impl Programs for Unfold<'_> {
    fn thread(&mut self, thread: u8, node: ProgramNode) -> Next {
        let machine = self.machine;
        let tree = self.threads.entry(thread).or_default();
        tree.next(node, |answers| Self::run_thread(machine, thread, answers))
    }

    fn answer_thread(&mut self, thread: u8, node: ProgramNode, answer: u64) -> ProgramNode {
        let machine = self.machine;
        let tree = self.threads.entry(thread).or_default();
        tree.child(node, answer, |answers| Self::run_thread(machine, thread, answers))
    }

    fn task(&mut self, task: Task, node: ProgramNode) -> Next {
        let machine = self.machine;
        self.tasks.entry(task).or_default().next(node, |answers| Self::run_task(machine, task, answers))
    }

    fn answer_task(&mut self, task: Task, node: ProgramNode, answer: u64) -> ProgramNode {
        let machine = self.machine;
        let tree = self.tasks.entry(task).or_default();
        tree.child(node, answer, |answers| Self::run_task(machine, task, answers))
    }
}
