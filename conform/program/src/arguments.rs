//! The command line.

/// What the program prints when it is asked how it is used.
pub const USAGE: &str = "\
Asks the kernel that it runs on how its futexes and membarrier answer, and compares with Linux.

usage: leeward-conform [--list | --explain | --seed N] [--only GLOB]... [--seconds N] [--no-fork] [--json | --tap]

  --list        print the scenarios' names
  --explain     print what each scenario sets up, what Linux answers, and what another answer costs
  --only GLOB   these scenarios alone; `*` is any text (several: those that one of them names)
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

/// The most `--only`.
const MOST: usize = 16;

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
    only: [&'static str; MOST],
    count: usize,
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
            only: [""; MOST],
            count: 0,
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
                    Some(glob) if arguments.count < MOST => {
                        arguments.only[arguments.count] = glob;
                        arguments.count += 1;
                    }
                    Some(_) => problem = Some("--only is given more than 16 times"),
                    None => problem = Some("--only wants a name"),
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
        if arguments.problem.is_none() && !leeward_conform::scenarios().any(|scenario| arguments.chooses(scenario.name))
        {
            arguments.problem = Some("no scenario has such a name");
        }
        arguments
    }

    /// Returns true if a scenario of this name is asked for.
    pub fn chooses(&self, name: &str) -> bool {
        self.count == 0 || self.only[..self.count].iter().any(|glob| matches(glob.as_bytes(), name.as_bytes()))
    }
}

fn matches(glob: &[u8], name: &[u8]) -> bool {
    match (glob, name) {
        ([], []) => true,
        ([b'*', rest @ ..], _) => (0..=name.len()).any(|at| matches(rest, &name[at..])),
        ([first, glob @ ..], [letter, name @ ..]) => first == letter && matches(glob, name),
        _ => false,
    }
}
