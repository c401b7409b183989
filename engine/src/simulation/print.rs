//! A schedule as text, a column a processor. Tests and the example `missing_barrier` call it.

use std::format;
use std::string::{String, ToString};
use std::vec::Vec;

use super::kernel::{Kick, Request, Task, User};
use super::machine::{Machine, Next, Programs, State, Step};
use super::unfold::Unfold;

/// The columns of text that a processor has.
const WIDTH: usize = 56;

impl Machine {
    /// Replays a schedule and returns it as text: a line a step, a column a processor. Loads say
    /// what they read, and which were stale.
    ///
    /// # Panics
    /// If it is not a schedule of this machine's.
    pub fn print(&self, schedule: &[Step]) -> String {
        let mut programs = Unfold::new(self);
        let mut state = self.start();
        self.begin(&mut state, &mut programs);
        let mut text = String::new();
        for (here, start) in self.setup.start.iter().enumerate() {
            let title = match start {
                super::Start::Runs(thread) => format!("cpu {here}: runs {}", self.thread_name(*thread)),
                super::Start::Idle => format!("cpu {here}: idle"),
                super::Start::Lazy(space) => format!("cpu {here}: idle, lazy in space {space}"),
            };
            text.push_str(&format!("{title:WIDTH$}"));
        }
        text = text.trim_end().to_string() + "\n";
        for &step in schedule {
            let (here, what) = self.tell(&state, step, &mut programs);
            if !what.is_empty() {
                text.push_str(&format!("{:indent$}{what}\n", "", indent = usize::from(here) * WIDTH));
            }
            self.apply(&mut state, step, &mut programs);
        }
        text
    }

    /// Returns a thread's name and its space.
    fn thread_name(&self, thread: u8) -> String {
        let spawn = &self.setup.threads[usize::from(thread)];
        format!("{} (space {})", spawn.name, spawn.space)
    }

    /// Returns the column of a step, and its line; an empty one is left out.
    fn tell(&self, state: &State, step: Step, programs: &mut dyn Programs) -> (u8, String) {
        match step {
            Step::Commit { processor, index } => {
                let pending = state.memory.buffered(usize::from(processor))[usize::from(index)];
                let early = if index == 0 { "" } else { " before older ones" };
                let name = self.layout.name(pending.at);
                (processor, format!("  {name} = {} reaches memory{early}", pending.value))
            }
            Step::Go { processor, choice } => {
                let next = self.next(state, programs, usize::from(processor));
                let Some((Next::Ask(request), thread)) = next else { return (processor, String::new()) };
                let who = match (thread, state.processors[usize::from(processor)].work) {
                    (Some(thread), _) => format!("{}: ", self.setup.threads[usize::from(thread)].name),
                    (None, Some((Task::Handler { .. }, _))) => "handler: ".to_string(),
                    (None, Some((Task::Shootdown { .. }, _))) => "shoot-down: ".to_string(),
                    _ => "switch: ".to_string(),
                };
                let what = self.tell_request(state, processor, thread, request, choice);
                (processor, if what.is_empty() { what } else { who + &what })
            }
            Step::Arrive { processor, index } => {
                let sent = state.processors[usize::from(processor)].arriving[usize::from(index)];
                (processor, format!("INTERRUPT from cpu {}", sent.from))
            }
            Step::Switch { processor, to } => {
                let name = to.map_or("idle".to_string(), |to| self.thread_name(to));
                (processor, format!("SWITCH to {name}"))
            }
            Step::Shootdown { processor } => (processor, "SHOOT-DOWN, while lazy".to_string()),
            Step::PageOut { space, page } => (0, format!("PAGE {page} of space {space} is taken away")),
            Step::Signal { thread } => (0, format!("SIGNAL for {}", self.thread_name(thread))),
        }
    }

    /// Returns what a request does at this moment.
    fn tell_request(&self, state: &State, here: u8, thread: Option<u8>, request: Request, choice: u8) -> String {
        let load = |at| {
            let value = state.memory.peek(usize::from(here), at, choice);
            let stale = if choice == 0 { "" } else { ", stale" };
            format!("{} -> {value}{stale}", self.layout.name(at))
        };
        let store = |at, value: u32| {
            let own = if self.setup.model == super::Model::Sc { "" } else { ", into the buffer" };
            format!("{} = {value}{own}", self.layout.name(at))
        };
        match request {
            Request::Load { at } | Request::Await { at, .. } => load(at),
            Request::Store { at, value, .. } => store(at, value),
            Request::Lock { at } => format!("locks {}", self.layout.name(at)),
            Request::Unlock { at } => format!("unlocks {}", self.layout.name(at)),
            Request::Fence { name: "" } => "full barrier".to_string(),
            Request::Fence { name } => format!("full barrier {name}"),
            Request::Missing { name } => format!("NO BARRIER {name} HERE"),
            Request::Send { to, kick: Kick::Schedule } => format!("asks cpu {to} to schedule"),
            Request::Send { to, .. } => format!("interrupts cpu {to}"),
            Request::Acknowledged { by } if state.processors[usize::from(here)].sent[usize::from(by)] != 0 => {
                format!("cpu {by} has acknowledged")
            }
            Request::User { address, access } => match (self.user(state, thread, address, access), access) {
                (None, _) => format!("[{address:#x}] faults"),
                (Some(at), User::Load) => load(at),
                (Some(at), User::Store(value)) => store(at, value),
                (Some(at), User::Exchange { old, new }) => format!("{} {old} -> {new}?", self.layout.name(at)),
            },
            Request::Park { .. } => ["is unparked", "times out", "is interrupted"][usize::from(choice)].to_string(),
            Request::Unpark { thread } => format!("unparks {}", self.thread_name(thread)),
            _ => String::new(),
        }
    }

    /// Returns the threads' names, in the order of a run's results.
    pub fn names(&self) -> Vec<String> {
        self.setup.threads.iter().map(|spawn| spawn.name.clone()).collect()
    }
}
