//! Which steps a state allows, and what a step makes of it. `explore`, `live` and `print` call it;
//! it calls `memory`.

use std::vec::Vec;

use super::kernel::{Kick, Request, Task, User};
use super::machine::{Machine, Next, Processor, Programs, Sent, State, Step};
use super::memory::At;
use super::path::Occupant;
use super::setup::{PAGE, Page};
use crate::{Access, Clock, Deadline, Errno};

/// The answer to an access that faults.
pub(crate) const FAULT: u64 = 1 << 32;
/// The answer to a park that an unpark ended.
pub(crate) const UNPARKED: u8 = 0;
/// The answer to a park whose deadline came.
pub(crate) const TIMED_OUT: u8 = 1;
/// The answer to a park that a signal ended.
pub(crate) const INTERRUPTED: u8 = 2;

impl Machine {
    /// Returns what the processor would do next, and for which thread (`None`: the kernel).
    pub(crate) fn next(&self, state: &State, programs: &mut dyn Programs, here: usize) -> Option<(Next, Option<u8>)> {
        let processor = &state.processors[here];
        if let Some((task, node)) = processor.work {
            return Some((programs.task(task, node), None));
        }
        let thread = processor.running?;
        let runner = &state.threads[usize::from(thread)];
        if runner.ended.is_some() {
            return None;
        }
        Some((programs.thread(thread, runner.node), Some(thread)))
    }

    /// Returns all steps that are possible.
    pub(crate) fn steps(&self, state: &State, programs: &mut dyn Programs) -> Vec<Step> {
        let mut steps = Vec::new();
        for processor in 0..self.layout.processors {
            let here = usize::from(processor);
            for index in 0..state.memory.buffered(here).len() {
                if state.memory.may_commit(self.setup.model, here, index) {
                    steps.push(Step::Commit { processor, index: index as u8 });
                }
            }
            if let Some((Next::Ask(request), thread)) = self.next(state, programs, here) {
                let add = |choice| steps.push(Step::Go { processor, choice });
                self.choices(state, here, thread, request, add);
            }
            self.events(state, processor, &mut steps);
        }
        // Any page that is there may go, as often as the setup says.
        if state.page_outs > 0 {
            for (space, pages) in (0..).zip(&self.setup.spaces) {
                let there = |page: u8| pages[usize::from(page)].is_some() && !state.absent.contains(&(space, page));
                let pages = (0..pages.len() as u8).filter(|page| there(*page));
                steps.extend(pages.map(|page| Step::PageOut { space, page }));
            }
        }
        // A signal may come to any thread that has not ended and has none pending.
        if state.signals > 0 {
            let alive = (0..).zip(&state.threads).filter(|(_, runner)| runner.ended.is_none() && !runner.signal);
            steps.extend(alive.map(|(thread, _)| Step::Signal { thread }));
        }
        steps
    }

    /// Adds what can happen to a processor.
    fn events(&self, state: &State, processor: u8, steps: &mut Vec<Step>) {
        let cpu = &state.processors[usize::from(processor)];
        // In a handler or a context switch, or under a run-queue lock, interrupts and switches
        // wait.
        if cpu.work.is_some() || cpu.locks > 0 {
            return;
        }
        let pinned = cpu.running.is_some_and(|thread| state.threads[usize::from(thread)].pinned > 0);
        // Interrupts arrive in any order; one that makes the processor schedule waits for a pinned
        // thread.
        for (index, sent) in (0..).zip(&cpu.arriving) {
            if sent.kick != Kick::Schedule || !pinned {
                steps.push(Step::Arrive { processor, index });
            }
        }
        // A lazy processor may be told to leave the page tables that it kept.
        if cpu.running.is_none() && cpu.lazy && !cpu.cleared && state.shootdowns > 0 {
            steps.push(Step::Shootdown { processor });
        }
        let stays = cpu.running.is_some_and(|thread| self.setup.threads[usize::from(thread)].stays);
        if pinned || stays || state.switches == 0 {
            return;
        }
        // To no thread, or to any that may run here and runs nowhere.
        if cpu.running.is_some() {
            steps.push(Step::Switch { processor, to: None });
        }
        for (to, (spawn, runner)) in (0..).zip(self.setup.threads.iter().zip(&state.threads)) {
            let may = spawn.only_on.is_none_or(|only| only == processor);
            // Where all schedules are tried, a thread that asks nothing at all runs forever.
            let idles = runner.node == 0 && state.switches != u8::MAX;
            let runs = runner.ended.is_none() || idles;
            if may && runs && runner.on.is_none() {
                steps.push(Step::Switch { processor, to: Some(to) });
            }
        }
    }

    /// Adds the ways in which a request can be served now.
    fn choices(&self, state: &State, here: usize, thread: Option<u8>, request: Request, mut add: impl FnMut(u8)) {
        let memory = &state.memory;
        let all = |at| 0..memory.choices(here, at);
        match request {
            // A choice for each value that the model lets the processor read.
            Request::Load { at } => all(at).for_each(add),
            // Only those that end the wait.
            Request::Await { at, value } => all(at).filter(|c| memory.peek(here, at, *c) == value).for_each(add),
            Request::Acknowledged { by } => {
                let (at, last) = self.acknowledged(state, here, by);
                all(at).filter(|c| memory.peek(here, at, *c) == last).for_each(add);
            }
            // When the lock is free, and the processor may write to memory at once.
            Request::Lock { at } => {
                if memory.may_modify(self.setup.model, here, at) && memory.get(at) == 0 {
                    add(0);
                }
            }
            // When all that the processor stored is in memory.
            Request::Fence { .. } => {
                if memory.is_drained(here) {
                    add(0);
                }
            }
            Request::User { address, access } => match (self.user(state, thread, address, access), access) {
                (Some(at), User::Load) => all(at).for_each(add),
                // An exchange is a full fence: as above.
                (Some(_), User::Exchange { .. }) if !memory.is_drained(here) => {}
                // Stores go into the buffer, and faults are answered, at any time.
                _ => add(0),
            },
            // An end for each reason that there is; none: the thread sleeps on.
            Request::Park { until } => {
                let runner = thread.map(|thread| &state.threads[usize::from(thread)]);
                if runner.is_some_and(|runner| runner.token) {
                    add(UNPARKED);
                }
                if until.is_some_and(|until| until.at != u64::MAX) {
                    add(TIMED_OUT);
                }
                if runner.is_some_and(|runner| runner.signal) {
                    add(INTERRUPTED);
                }
            }
            _ => add(0),
        }
    }

    /// Returns where the last interrupt to a processor is acknowledged, and its number.
    fn acknowledged(&self, state: &State, here: usize, by: u8) -> (At, u32) {
        (self.layout.acknowledged(here as u8, by), state.processors[here].sent[usize::from(by)])
    }

    /// Returns the page of an address, in a thread's space.
    pub(crate) fn page(&self, thread: u8, address: u64) -> Option<(u8, u8, Page)> {
        let space = self.setup.threads[usize::from(thread)].space;
        let number = u8::try_from(address / PAGE).ok()?;
        let page = *self.setup.spaces[usize::from(space)].get(usize::from(number))?;
        page.map(|page| (space, number, page))
    }

    /// Returns the word of an access to user memory, if it does not fault.
    pub(crate) fn user(&self, state: &State, thread: Option<u8>, address: u64, access: User) -> Option<At> {
        let (space, number, page) = self.page(thread?, address)?;
        if (access != User::Load && !page.writable) || state.absent.contains(&(space, number)) {
            return None;
        }
        Some(self.layout.word(page.object, (address % PAGE / 4) as At))
    }

    /// Takes a step that [`steps`](Self::steps) allows.
    pub(crate) fn apply(&self, state: &mut State, step: Step, programs: &mut dyn Programs) {
        match step {
            // A store leaves the processor's buffer.
            Step::Commit { processor, index } => {
                state.memory.commit(self.setup.model, usize::from(processor), usize::from(index));
            }
            Step::Go { processor, choice } => self.go(state, usize::from(processor), choice, programs),
            // The handler of an interrupt begins.
            Step::Arrive { processor, index } => {
                let cpu = &mut state.processors[usize::from(processor)];
                let Sent { from, number, kick } = cpu.arriving.remove(usize::from(index));
                cpu.work = Some((Task::Handler { here: processor, from, number, kick }, 0));
            }
            // A context switch begins: the kernel's code for it runs step by step, and `finish`
            // ends it.
            Step::Switch { processor, to } => {
                // `u8::MAX`: they are not counted.
                if state.switches != u8::MAX {
                    state.switches -= 1;
                }
                let cpu = &mut state.processors[usize::from(processor)];
                let Processor { active, lazy, running: from, .. } = *cpu;
                let occupant = |thread| Occupant { thread, space: self.setup.threads[usize::from(thread)].space };
                let (from, next) = (from.map(occupant), to.map(occupant));
                cpu.work = Some((Task::Switch { here: processor, active, lazy, from, to: next }, 0));
                // From here on no other processor may run the thread.
                if let Some(to) = to {
                    state.threads[usize::from(to)].on = Some(processor);
                }
            }
            Step::Shootdown { processor } => {
                state.shootdowns -= 1;
                let cpu = &mut state.processors[usize::from(processor)];
                if let Some(active) = cpu.active {
                    cpu.work = Some((Task::Shootdown { here: processor, active }, 0));
                }
            }
            Step::PageOut { space, page } => {
                state.page_outs -= 1;
                state.absent.push((space, page));
                // One order, so that equal states are equal.
                state.absent.sort_unstable();
            }
            Step::Signal { thread } => {
                state.signals -= 1;
                state.threads[usize::from(thread)].signal = true;
            }
        }
        self.settle(state, programs);
    }

    /// Serves a processor's next request.
    fn go(&self, state: &mut State, here: usize, choice: u8, programs: &mut dyn Programs) {
        let Some((Next::Ask(request), thread)) = self.next(state, programs, here) else { return };
        // The thread's part of the request, if there is one, else memory's and the interrupts'.
        let answer = match thread {
            Some(thread) => self.perform_thread(state, here, thread, request, choice),
            None => None,
        };
        let answer = answer.unwrap_or_else(|| self.perform(state, here, request, choice));
        // The answer takes the program, or the task that interrupted it, to its next node.
        match (thread, state.processors[here].work) {
            (Some(thread), _) => {
                let node = state.threads[usize::from(thread)].node;
                state.threads[usize::from(thread)].node = programs.answer_thread(thread, node, answer);
            }
            (None, Some((task, node))) => {
                state.processors[here].work = Some((task, programs.answer_task(task, node, answer)));
            }
            (None, None) => {}
        }
    }

    /// Serves a request that concerns memory and interrupts; returns the answer.
    fn perform(&self, state: &mut State, here: usize, request: Request, choice: u8) -> u64 {
        let model = self.setup.model;
        match request {
            Request::Load { at } => u64::from(state.memory.load(here, at, choice, false)),
            Request::Await { at, .. } => u64::from(state.memory.load(here, at, choice, true)),
            // `choices` has offered only loads that see the last interrupt acknowledged.
            Request::Acknowledged { by } => {
                let (at, _) = self.acknowledged(state, here, by);
                u64::from(state.memory.load(here, at, choice, false))
            }
            Request::Store { at, value, release } => {
                state.memory.store(model, here, at, value, release);
                0
            }
            Request::Lock { at } => {
                state.memory.modify(model, here, at, 1);
                0
            }
            // A release.
            Request::Unlock { at } => {
                state.memory.store(model, here, at, 0, true);
                0
            }
            Request::Fence { .. } => {
                state.memory.fence(here);
                0
            }
            // Numbered, so that the acknowledgment of this one can be told from that of an earlier
            // one.
            Request::Send { to, kick } => {
                let number = &mut state.processors[here].sent[usize::from(to)];
                *number += 1;
                let sent = Sent { from: here as u8, number: *number, kick };
                state.processors[usize::from(to)].arriving.push(sent);
                0
            }
            _ => 0,
        }
    }

    /// Serves a request that concerns the thread itself; `None`: [`perform`](Self::perform) serves
    /// it, or the rest of it.
    fn perform_thread(&self, state: &mut State, here: usize, thread: u8, request: Request, choice: u8) -> Option<u64> {
        let runner = &mut state.threads[usize::from(thread)];
        match request {
            // Counted only: `perform` does the rest, in memory.
            Request::Lock { .. } => state.processors[here].locks += 1,
            Request::Unlock { .. } => state.processors[here].locks -= 1,
            Request::Pin => {
                runner.pinned += 1;
                return Some(here as u64);
            }
            Request::Unpin => runner.pinned -= 1,
            Request::Unpark { thread } => state.threads[usize::from(thread)].token = true,
            Request::Now { clock } => return Some(state.now + if clock == Clock::Realtime { 1 << 50 } else { 0 }),
            Request::Park { until } => {
                end_park(state, thread, until, choice);
                return Some(u64::from(choice));
            }
            Request::User { address, access } => {
                let at = self.user(state, Some(thread), address, access);
                return Some(at.map_or(FAULT, |at| self.access(state, here, at, access, choice)));
            }
            Request::FaultIn { address, access } => {
                let error = self.fault_in(state, thread, address, access).err();
                return Some(error.map_or(0, |errno| u64::from(errno.number())));
            }
            _ => {}
        }
        None
    }

    /// Accesses a word of user memory; returns the value that was read, or 0 for a store.
    fn access(&self, state: &mut State, here: usize, at: At, access: User, choice: u8) -> u64 {
        let model = self.setup.model;
        match access {
            User::Load => u64::from(state.memory.load(here, at, choice, false)),
            User::Store(value) => {
                state.memory.store(model, here, at, value, false);
                0
            }
            User::Exchange { old, new } => {
                let was = state.memory.get(at);
                // Only an exchange that succeeds writes; a full fence is both.
                if was == old {
                    state.memory.modify(model, here, at, new);
                }
                state.memory.fence(here);
                u64::from(was)
            }
        }
    }

    /// Makes a page accessible that a thread's access found absent.
    fn fault_in(&self, state: &mut State, thread: u8, address: u64, access: Access) -> Result<(), Errno> {
        let (space, number, page) = self.page(thread, address).ok_or(Errno::EFAULT)?;
        if access == Access::Write && !page.writable {
            return Err(Errno::EFAULT);
        }
        state.absent.retain(|absent| *absent != (space, number));
        Ok(())
    }

    /// Ends programs that have nothing more to do.
    fn settle(&self, state: &mut State, programs: &mut dyn Programs) {
        for here in 0..state.processors.len() {
            match self.next(state, programs, here) {
                Some((Next::Done(result), Some(thread))) => state.threads[usize::from(thread)].ended = Some(result),
                Some((Next::Done(_), None)) => finish(state, here),
                _ => {}
            }
        }
    }

    /// Returns true if nothing more can come of a state: all threads have ended, and what they
    /// stored is in memory.
    pub(crate) fn is_over(&self, state: &State) -> bool {
        let quiet = (0..state.processors.len()).all(|here| state.memory.is_drained(here));
        quiet && state.threads.iter().all(|runner| runner.ended.is_some())
    }
}

/// Ends a thread's park for the reason that was chosen.
fn end_park(state: &mut State, thread: u8, until: Option<Deadline>, choice: u8) {
    let runner = &mut state.threads[usize::from(thread)];
    match choice {
        UNPARKED => runner.token = false,
        // Time passes: the clock is at the deadline, at the least.
        TIMED_OUT => {
            let at = until.map_or(0, |until| match until.clock {
                Clock::Monotonic => until.at,
                Clock::Realtime => until.at.saturating_sub(1 << 50),
            });
            state.now = state.now.max(at);
        }
        _ => runner.signal = false,
    }
}

/// Ends a task of a processor's.
fn finish(state: &mut State, here: usize) {
    let cpu = &mut state.processors[here];
    match cpu.work.take() {
        // The processor runs the next thread. To none: it keeps the page tables of the space that
        // it ran last, and is lazy.
        Some((Task::Switch { from, to, active, .. }, _)) => {
            cpu.running = to.map(|to| to.thread);
            cpu.active = to.map_or(active, |to| Some(to.space));
            cpu.lazy = to.is_none() && active.is_some();
            cpu.cleared = false;
            // Now others may run the thread that ran here.
            if let Some(from) = from {
                state.threads[usize::from(from.thread)].on = None;
            }
        }
        Some((Task::Shootdown { .. }, _)) => cpu.cleared = true,
        _ => {}
    }
}
