//! One schedule, from a seed: the programs run on threads of their own, one at a time. Tests call
//! it; it asks `steps` what a state allows.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::string::String;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::vec::Vec;

use super::kernel::{Request, Task};
use super::machine::{Machine, Next, ProgramNode, Programs, State, Step};
use super::thread::{Line, Thread};
use super::unfold::{Stop, Unfold};

/// How a run ended.
///
/// ```
/// use leeward_engine::simulation::{End, Machine, Setup, Spawn, Start};
/// use leeward_engine::{Config, Engine, Word};
///
/// let mut setup = Setup::new(&[Start::Runs(0)]);
/// let engine = Engine::new(Config::small(7), setup.bank.clone()).unwrap();
/// setup.threads = vec![Spawn::new("sleeper", 0, move |thread| {
///     engine.wait(thread, Word::private(0), 0, u32::MAX, None).unwrap();
///     0
/// })];
/// let machine = Machine::new(setup);
/// assert_eq!(machine.run(1, 2).end, End::Long);
/// // No thread wakes the sleeper.
/// assert_eq!(machine.run(1, 1_000).end, End::Stuck);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// All threads have ended.
    Over,
    /// No thread can go on, and one has not ended: a lost wake-up, a deadlock.
    Stuck,
    /// It took more steps than it was allowed.
    Long,
}

/// The outcome of a run.
///
/// [`Machine`] has an example.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Run {
    /// How it ended.
    pub end: End,
    /// What each thread returned; `None`: it has not ended.
    pub results: Vec<Option<u64>>,
    /// The steps that were taken: [`Machine::replay`] takes them again.
    pub schedule: Vec<Step>,
}

/// The programs of a run, each on a thread that runs until it asks.
struct Live<'m> {
    kernel: Unfold<'m>,
    lines: Vec<(Receiver<Next>, Sender<u64>)>,
    next: Vec<Next>,
}

impl Live<'_> {
    /// Runs a thread until it asks or ends, while no other runs.
    fn listen(&mut self, thread: usize) {
        self.next[thread] =
            self.lines[thread].0.recv().unwrap_or_else(|_| panic!("the program of thread {thread} panicked"));
    }
}

impl Programs for Live<'_> {
    fn thread(&mut self, thread: u8, _: ProgramNode) -> Next {
        self.next[usize::from(thread)]
    }

    fn answer_thread(&mut self, thread: u8, node: ProgramNode, answer: u64) -> ProgramNode {
        let thread = usize::from(thread);
        // A thread that is gone is noticed when it is listened to.
        let _ = self.lines[thread].1.send(answer);
        self.listen(thread);
        node
    }

    fn task(&mut self, task: Task, node: ProgramNode) -> Next {
        self.kernel.task(task, node)
    }

    fn answer_task(&mut self, task: Task, node: ProgramNode, answer: u64) -> ProgramNode {
        self.kernel.answer_task(task, node, answer)
    }
}

/// The nanoseconds of the machine's clock that a step takes.
const STEP: u64 = 100;

impl Machine {
    /// Runs one schedule of at most `most` steps, chosen by a seed: the same for the same seed. The
    /// setup's number of switches is no limit here.
    ///
    /// # Panics
    /// If a program panics.
    pub fn run(&self, seed: u64, most: usize) -> Run {
        let mut random = seed;
        self.drive(most, &mut |_, steps| Some(steps[weigh(steps, next(&mut random))]))
    }

    /// Runs a schedule again.
    ///
    /// # Panics
    /// If a program panics; if it is not a schedule of this machine and these programs.
    pub fn replay(&self, schedule: &[Step]) -> Run {
        self.drive(schedule.len(), &mut |taken, steps| {
            let step = *schedule.get(taken)?;
            assert!(steps.contains(&step), "step {taken}, {step:?}, is not possible: another machine's schedule");
            Some(step)
        })
    }

    /// Runs the programs by the steps that `choose` takes.
    fn drive(&self, most: usize, choose: &mut dyn FnMut(usize, &[Step]) -> Option<Step>) -> Run {
        std::thread::scope(|scope| {
            let mut live = Live { kernel: Unfold::new(self), lines: Vec::new(), next: Vec::new() };
            for number in 0..self.setup.threads.len() {
                let (asks, asked) = channel();
                let (answers, answered) = channel();
                live.lines.push((asked, answers));
                live.next.push(Next::Ask(Request::Yield));
                scope.spawn(move || {
                    let program = &self.setup.threads[number].program;
                    let thread = Thread::new(self, number as u8, Line::Live(asks.clone(), answered));
                    match catch_unwind(AssertUnwindSafe(|| program(&thread))) {
                        Ok(result) => drop(asks.send(Next::Done(result))),
                        Err(why) if why.is::<Stop>() => {}
                        Err(why) => resume_unwind(why),
                    }
                });
                live.listen(number);
            }
            let mut state = self.start();
            state.switches = u8::MAX;
            self.begin(&mut state, &mut live);
            let mut schedule = Vec::new();
            let end = loop {
                if self.is_over(&state) {
                    break End::Over;
                }
                let steps = self.steps(&state, &mut live);
                if self.is_stuck(&state, &mut live) || steps.is_empty() {
                    break End::Stuck;
                }
                let step = match choose(schedule.len(), &steps) {
                    Some(step) if schedule.len() < most => step,
                    _ => break End::Long,
                };
                self.apply(&mut state, step, &mut live);
                state.now += STEP;
                schedule.push(step);
            };
            let results = state.threads.iter().map(|runner| runner.ended).collect();
            // The threads that have not ended find their lines cut, and end.
            live.lines.clear();
            Run { end, results, schedule }
        })
    }

    /// Returns true if every thread that has not ended sleeps forever.
    fn is_stuck(&self, state: &State, live: &mut Live<'_>) -> bool {
        let quiet = state.processors.iter().all(|processor| processor.work.is_none());
        let asleep = |thread: usize| {
            let runner = &state.threads[thread];
            let waits = matches!(live.next[thread], Next::Ask(Request::Park { until: None }));
            runner.ended.is_some() || (waits && !runner.token && !runner.signal)
        };
        quiet
            && state.signals == 0
            && (0..state.threads.len()).all(asleep)
            && !self.is_over(state)
            && state.threads.iter().any(|runner| runner.ended.is_none())
    }

    /// Returns a run's end and what each thread returned, by its name, as one line for messages of
    /// tests.
    pub fn tell_run(&self, run: &Run) -> String {
        let results = self.names().into_iter().zip(&run.results);
        let results: Vec<String> = results.map(|(name, result)| std::format!("{name}: {result:?}")).collect();
        std::format!("{:?} after {} steps; {}", run.end, run.schedule.len(), results.join(", "))
    }
}

/// Returns the next random number.
fn next(random: &mut u64) -> u64 {
    *random = random.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (*random ^ *random >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

/// Returns the place of a chosen step: what programs do comes more often than what happens to them.
fn weigh(steps: &[Step], random: u64) -> usize {
    let weight = |step: &Step| match step {
        Step::Go { choice: 0, .. } | Step::Commit { .. } | Step::Arrive { .. } => 16,
        Step::Switch { to: Some(_), .. } => 2,
        _ => 1,
    };
    let all: u64 = steps.iter().map(weight).sum();
    let mut left = random % all;
    for (i, step) in steps.iter().enumerate() {
        match left.checked_sub(weight(step)) {
            Some(rest) => left = rest,
            None => return i,
        }
    }
    steps.len() - 1
}
