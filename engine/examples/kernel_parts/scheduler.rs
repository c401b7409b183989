//! A scheduler for `kernel_host`: one processor, which the most urgent thread that can run has.
//! Threads give it up where a kernel's do: when they sleep, end, or at a tick of the clock. It
//! lends priorities, so the kernel serves locks that inherit them (`Inheritance`).

use std::sync::{Condvar, Mutex, MutexGuard};

use leeward_engine::{Inheritance, Owner, Priority, Thread as Identity};

use super::Thread;

/// The kernel's one.
pub static SCHEDULER: Scheduler = Scheduler {
    state: Mutex::new(State { threads: Vec::new(), running: None, ticks: String::new() }),
    changed: Condvar::new(),
};

pub struct Scheduler {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    /// By number, from 1 on: a kernel's table of tasks. Numbers are not used again, so they are the
    /// engine's ids too.
    threads: Vec<Scheduled>,
    running: Option<u32>,
    /// Who had the processor, tick by tick.
    ticks: String,
}

struct Scheduled {
    name: char,
    process: u64,
    /// Lower is more urgent.
    own: u32,
    lent: Option<u32>,
    can_run: bool,
    /// What `find` answers.
    owner: Owner,
}

impl State {
    fn thread(&mut self, number: u32) -> &mut Scheduled {
        &mut self.threads[number as usize - 1]
    }

    /// The most urgent thread that can run has the processor.
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

    /// A new thread, which cannot run yet; its number.
    pub fn add(&self, name: char, process: u64, own: u32) -> u32 {
        let mut state = self.state();
        let number = state.threads.len() as u32 + 1;
        let owner = Owner::Thread(u64::from(number));
        state.threads.push(Scheduled { name, process, own, lent: None, can_run: false, owner });
        number
    }

    /// A thread can run from now on: it is woken, or begins. It gets the processor when the one
    /// that has it comes to a tick, or gives it up.
    pub fn wake(&self, number: u32) {
        let mut state = self.state();
        state.thread(number).can_run = true;
        if state.running.is_none() {
            state.choose();
        }
        self.changed.notify_all();
    }

    /// The calling thread goes on as soon as it has the processor.
    pub fn resume(&self, number: u32) {
        let state = self.state();
        drop(self.changed.wait_while(state, |state| state.running != Some(number)).expect("as above"));
    }

    /// The calling thread gives the processor up, to sleep or to end.
    pub fn give_up(&self, number: u32) {
        let mut state = self.state();
        state.thread(number).can_run = false;
        state.choose();
        self.changed.notify_all();
    }

    /// The calling thread computes for so many ticks of the clock; at each, a more urgent one comes
    /// first.
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

    /// What its number names from now on.
    pub fn set_owner(&self, number: u32, owner: Owner) {
        self.state().thread(number).owner = owner;
    }

    /// Who had the processor since the last question.
    pub fn ticks(&self) -> String {
        std::mem::take(&mut self.state().ticks)
    }
}

/// In a kernel: the id is the task's address (and a count), and `lend` moves the task in its run
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
