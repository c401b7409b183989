//! The command line.

use leeward_conform::sequences::Operations;
use leeward_conform::{Scenario, scenarios};

/// What the program prints when it is asked how it is used.
pub const USAGE: &str = "\
Asks the kernel that it runs on how its futexes and membarrier answer, and compares with Linux.

usage: leeward-conform [--list | --explain | --seed N] [--only GLOB]... [--without NAME]... [--seconds N] [--no-fork]
                       [--json | --tap]

  --list        print the scenarios' names, and what each needs
  --explain     print what each scenario sets up, what Linux answers, and what another answer costs
  --only GLOB   these scenarios alone; `*` is any text (several: those that one of them names)
  --without NAME  leave out scenarios that need this (faults, fork, signals, ptrace, processors, hugepages), or
                those of an operation; with --seed, the calls of an operation (FUTEX_WAKE_OP, futex_waitv ...),
                or errors (several)
  --seed N      instead of scenarios, random sequences of calls from seed N on, beside a model of Linux; the
                first on which the kernel differs is printed as a script and as a program in C
  --seconds N   how long a scenario may stay at one step before it is said to hang, or for how long sequences are
                asked (10)
  --no-fork     ask in this process, one scenario after the other: for a kernel without fork
  --json        a line of JSON for each scenario
  --tap         TAP version 13

exit code: 0: no answer was wrong; 1: some were; 2: the arguments are; 3: nothing can be written";

/// How the verdicts are written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Form {
    Table,
    Json,
    Tap,
}

/// The most `--only`, and the most `--without`.
const MOST: usize = 16;

/// Names that an option gave.
struct Names {
    names: [&'static str; MOST],
    count: usize,
}

impl Names {
    const NONE: Names = Names { names: [""; MOST], count: 0 };

    /// Returns false if there are too many.
    fn push(&mut self, name: &'static str) -> bool {
        let place = self.names.get_mut(self.count);
        self.count += usize::from(place.is_some());
        place.map(|place| *place = name).is_some()
    }

    fn all(&self) -> &[&'static str] {
        &self.names[..self.count]
    }
}

/// What the command line asks for.
pub struct Arguments {
    pub problem: Option<&'static str>,
    pub helps: bool,
    pub lists: bool,
    pub explains: bool,
    pub forks: bool,
    pub seed: Option<u64>,
    pub seconds: u32,
    pub form: Form,
    only: Names,
    without: Names,
}

impl Arguments {
    /// Reads the arguments, without the program's name.
    pub fn read(mut given: impl Iterator<Item = &'static str>) -> Arguments {
        let mut arguments = Arguments {
            problem: None,
            helps: false,
            lists: false,
            explains: false,
            forks: true,
            seed: None,
            seconds: 10,
            form: Form::Table,
            only: Names::NONE,
            without: Names::NONE,
        };
        while let Some(argument) = given.next() {
            let mut problem = None;
            match argument {
                "--help" | "-h" => arguments.helps = true,
                "--list" => arguments.lists = true,
                "--explain" => arguments.explains = true,
                "--no-fork" => arguments.forks = false,
                "--json" => arguments.form = Form::Json,
                "--tap" => arguments.form = Form::Tap,
                "--only" => match given.next() {
                    Some(glob) if arguments.only.push(glob) => {}
                    Some(_) => problem = Some("--only is given more than 16 times"),
                    None => problem = Some("--only wants a name"),
                },
                "--without" => match given.next() {
                    Some(name) if !is_known(name) => problem = Some("--without names no need and no operation"),
                    Some(name) if arguments.without.push(name) => {}
                    Some(_) => problem = Some("--without is given more than 16 times"),
                    None => problem = Some("--without wants a name"),
                },
                "--seed" => match given.next().and_then(|number| number.parse().ok()) {
                    Some(seed) => arguments.seed = Some(seed),
                    None => problem = Some("--seed wants a number"),
                },
                "--seconds" => {
                    match given.next().and_then(|number| number.parse().ok()).filter(|number| *number != 0) {
                        Some(seconds) => arguments.seconds = seconds,
                        None => problem = Some("--seconds wants a number from 1"),
                    }
                }
                _ => problem = Some("there is an argument that it does not know"),
            }
            arguments.problem = arguments.problem.or(problem);
        }
        if arguments.problem.is_none() && !scenarios().any(|scenario| arguments.chooses(scenario)) {
            arguments.problem = Some("no scenario has such a name");
        }
        arguments
    }

    /// Returns true if a scenario is asked for.
    pub fn chooses(&self, scenario: &Scenario) -> bool {
        let only = self.only.all();
        let is_named = only.is_empty() || only.iter().any(|glob| matches(glob.as_bytes(), scenario.name.as_bytes()));
        is_named && !self.without.all().iter().any(|name| is_of(scenario, name))
    }

    /// Returns the operations that sequences leave out.
    pub fn operations_left_out(&self) -> Operations {
        let named = self.without.all().iter().filter_map(|name| Operations::named(name));
        named.fold(Operations::default(), Operations::and)
    }
}

/// Returns true if a scenario asks this operation, or needs this.
fn is_of(scenario: &Scenario, name: &str) -> bool {
    scenario.operation() == name || scenario.needs().iter().any(|need| need.word() == name)
}

/// Returns true for the names that `--without` takes.
fn is_known(name: &str) -> bool {
    Operations::named(name).is_some() || scenarios().any(|scenario| is_of(scenario, name))
}

fn matches(glob: &[u8], name: &[u8]) -> bool {
    match (glob, name) {
        ([], []) => true,
        ([b'*', rest @ ..], _) => (0..=name.len()).any(|at| matches(rest, &name[at..])),
        ([first, glob @ ..], [letter, name @ ..]) => first == letter && matches(glob, name),
        _ => false,
    }
}
