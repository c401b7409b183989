//! A simulated unikernel: tasks are threads of the test that hand one another a baton, so that one
//! runs at a time, and a test says at which points the running one is preempted. Time stands still
//! unless a test passes it or all tasks are blocked. Used by `simulated.rs`.

mod system;

use std::cell::Cell;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread;

use leeward_engine::{Config, Engine, Host, Owner, Wait, Word};
use leeward_unikernel::{Futexes, Local};

pub const ANY: u32 = u32::MAX;
/// The length of a tick in nanoseconds.
pub const TICK: u64 = 1_000_000;
const WORDS: usize = 256;

thread_local! {
    /// The number of the task that this thread plays.
    static CURRENT: Cell<usize> = const { Cell::new(0) };
}

/// What a task is doing.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Running,
    Ready,
    /// Blocked, until that tick comes.
    Blocked(Option<u64>),
    Done,
}

struct Task {
    place: Place,
    signal: bool,
    robust_head: u64,
    lent: bool,
    owner: Owner,
}

pub struct State {
    tasks: Vec<Task>,
    ready: VecDeque<usize>,
    /// The time since boot in nanoseconds.
    time: u64,
    offset: u64,
    /// The numbers of the points at which the running task is preempted.
    preempt_at: Vec<u32>,
    points: u32,
    /// How many times preemption is disabled.
    disabled: u32,
    due: bool,
    /// True when all tasks were blocked and none had a tick to wait for.
    stuck: bool,
}

/// The machine: its scheduler and its memory.
pub struct Machine {
    state: Mutex<State>,
    turn: Condvar,
    memory: [AtomicU32; WORDS],
    /// The order of the two steps that decide about lost wakes: false for a broken kernel.
    marks_first: bool,
    pub serves_membarrier: bool,
}

/// The machine as the adapter sees it.
pub struct Sim(pub Arc<Machine>);

/// A kernel: the machine, and the futexes on it.
pub struct Kernel {
    pub machine: Arc<Machine>,
    pub futexes: Futexes<Sim>,
}

/// What came out of a run.
pub struct Run {
    /// How many points there were at which a task could have been preempted.
    pub points: u32,
    /// True if all tasks were blocked for good.
    pub stuck: bool,
}

type Program<'a> = Box<dyn FnOnce(&Kernel) + Send + 'a>;

impl Machine {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// A point at which the running task may be preempted.
    pub fn point(&self) {
        let mut state = self.lock();
        let number = state.points;
        state.points += 1;
        state.due |= state.preempt_at.contains(&number);
        if state.due && state.disabled == 0 {
            state.due = false;
            let me = CURRENT.get();
            state.tasks[me].place = Place::Ready;
            state.ready.push_back(me);
            self.switch(state);
        }
    }

    /// Gives the baton to the next task, and returns when this one has it again. Its place says
    /// when that may be.
    fn switch(&self, mut state: MutexGuard<'_, State>) {
        let me = CURRENT.get();
        state.next();
        self.turn.notify_all();
        while !matches!(state.tasks[me].place, Place::Running | Place::Done) {
            state = self.turn.wait(state).unwrap();
        }
    }

    /// Lets nanoseconds pass. Ticks that come in them make tasks ready.
    pub fn pass(&self, nanos: u64) {
        let mut state = self.lock();
        state.time += nanos;
        state.expire();
    }

    pub fn time(&self) -> u64 {
        self.lock().time
    }

    /// Sets the clock: the time of day is the time since boot and this.
    pub fn set_clock(&self, offset: u64) {
        let mut state = self.lock();
        state.offset = offset;
        state.make_ready_if(|place| matches!(place, Place::Blocked(Some(_))));
    }

    /// Sends a task a signal, or kills it.
    pub fn signal(&self, task: usize) {
        let mut state = self.lock();
        state.tasks[task].signal = true;
        state.make_ready(task);
    }

    /// Returns the word with that number, as a program sees it.
    pub fn word(&self, number: usize) -> &AtomicU32 {
        &self.memory[number]
    }

    pub fn address(&self, number: usize) -> u64 {
        self.memory[number].as_ptr().expose_provenance() as u64
    }

    /// Stores a number of 64 bits at a word and the next one.
    pub fn store_double(&self, number: usize, value: u64) {
        for (at, half) in value.to_ne_bytes().chunks(4).enumerate() {
            self.memory[number + at].store(u32::from_ne_bytes(half.try_into().unwrap()), Ordering::Relaxed);
        }
    }
}

impl State {
    fn make_ready(&mut self, task: usize) {
        // A task that is not marked as blocked is not made ready, and nothing is remembered.
        if let Place::Blocked(_) = self.tasks[task].place {
            self.tasks[task].place = Place::Ready;
            self.ready.push_back(task);
        }
    }

    fn make_ready_if(&mut self, is_due: impl Fn(Place) -> bool) {
        for task in 0..self.tasks.len() {
            if is_due(self.tasks[task].place) {
                self.make_ready(task);
            }
        }
    }

    fn expire(&mut self) {
        let now = self.time / TICK;
        self.make_ready_if(|place| matches!(place, Place::Blocked(Some(tick)) if tick <= now));
    }

    /// Runs the next task. If all are blocked, passes the time until the next tick that one waits
    /// for; if there is none, all that are blocked are interrupted, and the run has failed.
    fn next(&mut self) {
        if self.ready.is_empty() {
            let ticks = self.tasks.iter().filter_map(|task| match task.place {
                Place::Blocked(until) => until,
                _ => None,
            });
            if let Some(tick) = ticks.min() {
                self.time = self.time.max(tick * TICK);
                self.expire();
            } else if self.tasks.iter().any(|task| task.place != Place::Done) {
                self.stuck = true;
                self.make_ready_if(|_| true);
            }
        }
        if let Some(task) = self.ready.pop_front() {
            self.tasks[task].place = Place::Running;
        }
    }
}

impl Kernel {
    pub fn new() -> Kernel {
        Kernel::with(true, false)
    }

    pub fn with(marks_first: bool, serves_membarrier: bool) -> Kernel {
        let state = State {
            tasks: Vec::new(),
            ready: VecDeque::new(),
            time: 0,
            offset: 0,
            preempt_at: Vec::new(),
            points: 0,
            disabled: 0,
            due: false,
            stuck: false,
        };
        let machine = Arc::new(Machine {
            state: Mutex::new(state),
            turn: Condvar::new(),
            memory: [const { AtomicU32::new(0) }; WORDS],
            marks_first,
            serves_membarrier,
        });
        let futexes = Futexes::new(Sim(Arc::clone(&machine)), Config::small(7), 0x5eed).unwrap();
        Kernel { machine, futexes }
    }

    /// Runs programs, each as a task; the first runs first. The running task is preempted at the
    /// points with those numbers.
    pub fn run<const N: usize>(&self, preempt_at: &[u32], programs: [Program<'_>; N]) -> Run {
        let mut state = self.machine.lock();
        (state.points, state.stuck, state.due) = (0, false, false);
        state.preempt_at = preempt_at.to_vec();
        let task = |number| Task {
            place: if number == 0 { Place::Running } else { Place::Ready },
            signal: false,
            robust_head: 0,
            lent: false,
            owner: Owner::Thread(number as u64 + 1),
        };
        state.tasks = (0..N).map(task).collect();
        state.ready = (1..N).collect();
        drop(state);
        thread::scope(|scope| {
            for (number, program) in programs.into_iter().enumerate() {
                scope.spawn(move || self.play(number, program));
            }
        });
        let state = self.machine.lock();
        assert_eq!(state.disabled, 0, "preemption is enabled as often as it was disabled");
        Run { points: state.points, stuck: state.stuck }
    }

    fn play(&self, number: usize, program: Program<'_>) {
        CURRENT.set(number);
        let mut state = self.machine.lock();
        while state.tasks[number].place != Place::Running {
            state = self.machine.turn.wait(state).unwrap();
        }
        drop(state);
        // Passed on also by a failed assertion: the others end, and the test fails.
        let _baton = Baton(&self.machine);
        program(self);
    }

    pub fn word(&self, number: usize) -> Word {
        Word::private(self.machine.address(number))
    }

    pub fn engine(&self) -> &Engine<Local<Sim>> {
        self.futexes.engine()
    }

    /// Waits on a word that should be 0, without a deadline.
    pub fn wait(&self, number: usize) -> Wait {
        self.engine().wait(self.futexes.local(), self.word(number), 0, ANY, None).unwrap()
    }

    /// Waits by the system call, for nanoseconds from now on.
    pub fn wait_for(&self, number: usize, nanos: u64) -> i64 {
        // The time lies at the end of the memory, four words for each task.
        let at = WORDS - 4 * (CURRENT.get() + 1);
        self.machine.store_double(at, nanos / 1_000_000_000);
        self.machine.store_double(at + 2, nanos % 1_000_000_000);
        let time = self.machine.address(at);
        self.call([self.machine.address(number), 128, 0, time, 0, 0])
    }

    /// Calls futex by its number.
    pub fn call(&self, arguments: [u64; 6]) -> i64 {
        self.futexes.syscall(&leeward_engine::abi::Numbers::X86_64, 202, arguments).unwrap()
    }

    pub fn wake(&self, number: usize, count: u32) -> u32 {
        self.engine().wake(self.futexes.local(), self.word(number), count, ANY).unwrap()
    }

    /// Returns how many waiters are in lists.
    pub fn waiting(&self) -> u64 {
        let local = self.futexes.local();
        self.engine().stats(local).waiters + local.space().stats(local).waiters
    }
}

/// A task's end: the next one runs.
struct Baton<'a>(&'a Machine);

impl Drop for Baton<'_> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.tasks[CURRENT.get()].place = Place::Done;
        self.0.switch(state);
    }
}
