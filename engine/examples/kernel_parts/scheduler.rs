//! A scheduler for `kernel_host`: it has one processor, and gives it to the most urgent thread that
//! can run. Threads give the processor up where a kernel's threads do: when they sleep, when they
//! end, or at a tick of the clock. The scheduler lends priorities, so the kernel serves locks that
//! inherit them (`Inheritance`).

use std::sync::{Condvar, Mutex, MutexGuard};

use leeward_engine::{Inheritance, Owner, Priority, Thread as Identity};

use super::Thread;

/// The kernel's one scheduler.
pub static SCHEDULER: Scheduler = Scheduler {
    state: Mutex::new(State { threads: Vec::new(), running: None, ticks: String::new() }),
    changed: Condvar::new(),
};

/// A scheduler of one processor.
pub struct Scheduler {
    state: Mutex<State>,
    changed: Condvar,
}

/// The state of a scheduler, under its lock.
struct State {
    /// The threads by number, from 1 on: a kernel's table of tasks. Numbers are not used again, so
    /// they are the engine's ids too.
    threads: Vec<Scheduled>,
    /// The number of the thread that has the processor.
    running: Option<u32>,
    /// The name of the thread that had the processor, for each tick.
    ticks: String,
}

/// A thread of the scheduler.
struct Scheduled {
    name: char,
    process: u64,
    /// The thread's own priority; lower is more urgent.
    own: u32,
    /// The priority that the thread is lent.
    lent: Option<u32>,
    can_run: bool,
    /// The answer of `find` for the thread's number.
    owner: Owner,
}

impl State {
    /// Returns a thread by its number.
    fn thread(&mut self, number: u32) -> &mut Scheduled {
        &mut self.threads[number as usize - 1]
    }

    /// Gives the processor to the most urgent thread that can run.
    fn choose(&mut self) {
        let urgency = |thread: &Scheduled| thread.lent.map_or(thread.own, |lent| thread.own.min(lent));
        let able = (1..).zip(&self.threads).filter(|(_, thread)| thread.can_run);
        self.running = able.min_by_key(|(_, thread)| urgency(thread)).map(|(number, _)| number);
    }
}

impl Scheduler {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nobody panics in here")
    }

    /// Adds a thread, which cannot run yet; returns its number.
    pub fn add(&self, name: char, process: u64, own: u32) -> u32 {
        let mut state = self.state();
        let number = state.threads.len() as u32 + 1;
        let owner = Owner::Thread(u64::from(number));
        state.threads.push(Scheduled { name, process, own, lent: None, can_run: false, owner });
        number
    }

    /// Lets a thread run from now on, which is woken or begins. It gets the processor when the
    /// thread that has it comes to a tick, or gives it up.
    pub fn wake(&self, number: u32) {
        let mut state = self.state();
        state.thread(number).can_run = true;
        if state.running.is_none() {
            state.choose();
        }
        self.changed.notify_all();
    }

    /// Waits until the calling thread has the processor.
    pub fn resume(&self, number: u32) {
        let state = self.state();
        drop(self.changed.wait_while(state, |state| state.running != Some(number)).expect("as above"));
    }

    /// Takes the processor from the calling thread, which is about to sleep or to end.
    pub fn give_up(&self, number: u32) {
        let mut state = self.state();
        state.thread(number).can_run = false;
        state.choose();
        self.changed.notify_all();
    }

    /// Has the calling thread compute for that many ticks of the clock; at each of them a more
    /// urgent thread comes first.
    pub fn compute(&self, number: u32, ticks: u32) {
        for _ in 0..ticks {
            let mut state = self.state();
            state.choose();
            self.changed.notify_all();
            state = self.changed.wait_while(state, |state| state.running != Some(number)).expect("as above");
            let name = state.thread(number).name;
            state.ticks.push(name);
        }
    }

    /// Sets the answer of `find` for a thread's number.
    pub fn set_owner(&self, number: u32, owner: Owner) {
        self.state().thread(number).owner = owner;
    }

    /// Returns the names of the threads that had the processor since the last call, tick by tick.
    pub fn ticks(&self) -> String {
        std::mem::take(&mut self.state().ticks)
    }
}

/// In a kernel, the id is the task's address (with a count), and `lend` moves the task in its run
/// queue.
impl Inheritance<Thread> for Thread {
    fn current(&self) -> Identity {
        Identity { id: u64::from(self.number), number: self.number }
    }

    fn find(&self, number: u32) -> Owner {
        let state = SCHEDULER.state();
        let Some(thread) = state.threads.get(number as usize - 1) else { return Owner::Nobody };
        match thread.owner {
            Owner::Thread(id) if thread.process != self.process.number => Owner::Outside(id),
            owner => owner,
        }
    }

    fn priority(&self, thread: u64) -> Priority {
        Priority(SCHEDULER.state().thread(thread as u32).own)
    }

    fn lend(&self, thread: u64, priority: Option<Priority>) {
        SCHEDULER.state().thread(thread as u32).lent = priority.map(|priority| priority.0);
    }
}
