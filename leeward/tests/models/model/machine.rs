//! The machine: which steps a state allows, and what a step makes of it.
//!
//! A step is one access performed, a guess at a branch, a signal, or a futex wait that returns
//! for no reason. Everything that no other thread can see happens between steps (`settle`):
//! fetching into the window, registers, branches that are decided, accesses to private words.
//!
//! A heavy fence reaches a thread at the first moment at which nothing of what the thread does
//! later has begun (`Thread::passed == 0`): its fence then stands just before the thread's oldest
//! pending access. Reaching it does not change the thread and only lets the caller go on (sooner,
//! never forced), so the first moment allows everything that a later one would, in whatever order
//! the threads are reached. `Machine::plain` does without this and without early fetching: fetching
//! is a step, reaching a thread is a step and needs an empty window, no word is private. It has
//! many more states; `litmus` and `reductions` run both and compare.

use super::lang::{Op, Pc, Program};
use super::memory::{self, Model};
use super::state::{Entry, State, THREADS, Val};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Act {
    /// The pending access at this place in the window is performed; a wake of one sleeper takes
    /// that thread.
    Perform { at: u8, sleeper: u8 },
    /// The undecided branch is predicted; true: it is taken.
    Guess(bool),
    /// The next instruction is fetched (only where that is a schedule point).
    Fetch,
    /// A signal arrives before the next instruction.
    Signal,
    /// The futex wait returns, by a signal (EINTR) or a time-out.
    Return,
    /// The thread's heavy fence reaches that thread (only in a plain machine).
    Reach(u8),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Step {
    pub thread: u8,
    pub act: Act,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    Running,
    /// A branch was guessed wrong: this state never existed.
    Squashed,
    Violated(&'static str),
}

pub struct Machine {
    pub model: Model,
    pub programs: Vec<Program>,
    pub memory: Vec<(u8, u8)>,
    /// How many pending accesses a thread may have.
    pub window: u8,
    /// True if futex waits may return for no reason.
    pub spurious: bool,
    pub plain: bool,
    /// True if a futex wake may come before the thread's own store to the word, which no kernel
    /// does.
    pub loose_wake: bool,
}

impl Machine {
    pub fn start(&self) -> State {
        let mut state = State { memory: [0; super::state::WORDS], threads: Default::default() };
        for &(word, value) in &self.memory {
            state.memory[usize::from(word)] = value;
        }
        for (thread, program) in state.threads.iter_mut().zip(&self.programs) {
            thread.signals = program.signals;
        }
        assert!(self.programs.len() <= THREADS, "too many threads");
        let all = (0..self.threads()).fold(0, |bits, t| bits | 1 << t);
        assert_eq!(self.settle(&mut state, all), Outcome::Running, "a violation before the first step");
        state
    }

    pub fn threads(&self) -> usize {
        self.programs.len()
    }

    pub fn op(&self, t: usize, pc: Pc) -> Op {
        self.programs[t].ops[usize::from(pc)]
    }

    pub fn finished(&self, state: &State, t: usize) -> bool {
        let thread = &state.threads[t];
        thread.len == 0 && thread.heavy == 0 && self.op(t, thread.pc) == Op::End
    }

    pub fn all_finished(&self, state: &State) -> bool {
        (0..self.threads()).all(|t| self.finished(state, t))
    }

    pub fn steps(&self, state: &State) -> Vec<Step> {
        let mut steps = Vec::with_capacity(8);
        for t in 0..self.threads() {
            let thread = u8::try_from(t).expect("few threads");
            let mut add = |act| steps.push(Step { thread, act });
            if state.threads[t].asleep != 0 {
                if self.spurious {
                    add(Act::Return);
                }
                continue;
            }
            for at in 0..state.threads[t].len {
                self.ways_to_perform(state, t, at, &mut add);
            }
            self.ways_to_fetch(state, t, &mut add);
            if self.plain {
                self.ways_to_reach(state, t, &mut add);
            }
        }
        steps
    }

    fn ways_to_fetch(&self, state: &State, t: usize, add: &mut impl FnMut(Act)) {
        let thread = &state.threads[t];
        if self.at_undecided_branch(state, t) {
            if memory::speculates(self.model) && thread.len < self.window {
                add(Act::Guess(false));
                add(Act::Guess(true));
            }
        } else if self.fetches_by_steps(state, t) && self.fetch(&mut state.clone(), t) {
            add(Act::Fetch);
        }
        if self.may_be_interrupted(state, t) {
            add(Act::Signal);
        }
    }

    fn ways_to_reach(&self, state: &State, t: usize, add: &mut impl FnMut(Act)) {
        for other in 0..self.threads() {
            if state.threads[t].heavy >> other & 1 == 1 && self.stands_still(state, other) {
                add(Act::Reach(u8::try_from(other).expect("few threads")));
            }
        }
    }

    /// Returns true if nothing of the thread is under way: its window is empty except for a lock
    /// that it waits for.
    fn stands_still(&self, state: &State, t: usize) -> bool {
        let blocking = |pc| matches!(self.op(t, pc), Op::Lock { .. } | Op::AwaitAsleep { .. });
        state.threads[t].entries().iter().all(|e| blocking(e.pc))
    }

    /// Returns true if fetching is a schedule point: where a signal may come between two
    /// instructions.
    fn fetches_by_steps(&self, state: &State, t: usize) -> bool {
        self.plain || self.may_be_interrupted(state, t)
    }

    fn may_be_interrupted(&self, state: &State, t: usize) -> bool {
        let thread = &state.threads[t];
        thread.signals > 0
            && thread.asleep == 0
            && usize::from(thread.depth) < self.programs[t].handlers.len()
            && self.op(t, thread.pc) != Op::End
            && self.op(t, thread.pc) != Op::SigReturn
    }

    pub fn apply(&self, state: &mut State, step: Step) -> Outcome {
        let t = usize::from(step.thread);
        let mut changed = 1 << t;
        match step.act {
            Act::Perform { at, sleeper } => {
                changed |= self.perform(state, t, usize::from(at), sleeper);
            }
            Act::Guess(taken) => self.guess(state, t, taken),
            Act::Fetch => {
                self.fetch(state, t);
            }
            Act::Signal => self.signal(state, t),
            Act::Return => state.threads[t].asleep = 0,
            Act::Reach(other) => state.threads[t].heavy &= !(1 << other),
        }
        self.settle(state, changed)
    }

    fn guess(&self, state: &mut State, t: usize, taken: bool) {
        let thread = &mut state.threads[t];
        let pc = thread.pc;
        let Op::Branch { a, b, to, .. } = self.op(t, pc) else { unreachable!("only branches are guessed") };
        let (val, other) = (thread.read(a), thread.read(b));
        thread.push(Entry { pc, val, other, guess: taken, ..Entry::default() });
        thread.pc = if taken { to } else { pc + 1 };
    }

    fn signal(&self, state: &mut State, t: usize) {
        let thread = &mut state.threads[t];
        let depth = usize::from(thread.depth);
        thread.frames[depth] = thread.pc;
        thread.depth += 1;
        thread.signals -= 1;
        thread.pc = self.programs[t].handlers[depth];
    }

    /// Does everything that no other thread can see, in the threads (bits) that may have something
    /// to do.
    fn settle(&self, state: &mut State, mut changed: u8) -> Outcome {
        while changed != 0 {
            for t in (0..self.threads()).filter(|t| changed >> t & 1 == 1) {
                let outcome = self.settle_thread(state, t);
                if outcome != Outcome::Running {
                    return outcome;
                }
            }
            changed = if self.plain { 0 } else { self.reach_all(state) };
        }
        Outcome::Running
    }

    fn settle_thread(&self, state: &mut State, t: usize) -> Outcome {
        loop {
            let outcome = self.decide(state, t);
            if outcome != Outcome::Running {
                return outcome;
            }
            if self.fetches_by_steps(state, t) || !self.fetch(state, t) {
                break;
            }
        }
        self.forget_dead_registers(state, t);
        Outcome::Running
    }

    /// Decides the branches and properties whose registers are known. A property after an undecided
    /// branch may never have been reached.
    fn decide(&self, state: &mut State, t: usize) -> Outcome {
        let mut at = 0;
        let mut undecided = false;
        while at < usize::from(state.threads[t].len) {
            let entry = state.threads[t].window[at];
            let (Some(a), Some(b)) = (entry.val.get(), entry.other.get()) else {
                undecided |= matches!(self.op(t, entry.pc), Op::Branch { .. });
                at += 1;
                continue;
            };
            match self.op(t, entry.pc) {
                Op::Branch { cond, .. } if cond.holds(a, b) != entry.guess => {
                    return Outcome::Squashed;
                }
                Op::Check { cond, what, .. } if !undecided && !cond.holds(a, b) => {
                    return Outcome::Violated(what);
                }
                Op::Check { .. } if undecided => at += 1,
                Op::Branch { .. } | Op::Check { .. } => state.threads[t].retire(at, 0),
                _ => at += 1,
            }
        }
        Outcome::Running
    }

    /// Lets heavy fences reach the threads that they can; returns those that became complete, as
    /// bits.
    fn reach_all(&self, state: &mut State) -> u8 {
        let mut complete = 0;
        for t in 0..self.threads() {
            if state.threads[t].heavy == 0 {
                continue;
            }
            let reached = (0..self.threads()).filter(|&o| state.threads[o].passed == 0);
            let reached = reached.fold(0u8, |bits, o| bits | 1 << o);
            state.threads[t].heavy &= !reached;
            if state.threads[t].heavy == 0 {
                complete |= 1 << t;
            }
        }
        complete
    }

    fn forget_dead_registers(&self, state: &mut State, t: usize) {
        let thread = &mut state.threads[t];
        let live = &self.programs[t].live;
        let frames = &thread.frames[..usize::from(thread.depth)];
        let alive = frames.iter().fold(live[usize::from(thread.pc)], |bits, &pc| bits | live[usize::from(pc)]);
        for (r, val) in thread.regs.iter_mut().enumerate() {
            if alive >> r & 1 == 0 {
                *val = Val::default();
            }
        }
        for frame in &mut thread.frames[usize::from(thread.depth)..] {
            *frame = 0;
        }
    }
}
