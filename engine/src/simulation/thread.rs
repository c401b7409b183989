//! A thread of the machine: the host that the engine sees. Programs and the engine call it; it asks
//! its machine, by requests.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};

use super::kernel::{Kick, Request, User};
use super::machine::{Layout, Machine};
use super::path::Cpu;
use super::setup::{Bank, Cut, PAGE};
use super::steps::{FAULT, INTERRUPTED, TIMED_OUT};
use super::unfold::{Replay, Stop};
use crate::{
    Abilities, Access, Address, Clock, Deadline, Errno, Fault, Flag, Host, Interrupt, Nodes, ParkEnd, Processors,
    SharedKey, Space,
};

/// How a thread asks its machine.
pub(crate) enum Line {
    /// The thread does not run, and asks nothing.
    Outside,
    /// The thread gets the answers that its tree has.
    Replay(Rc<Replay>),
    /// The thread sends its request, and waits for the answer.
    Live(Sender<super::machine::Next>, Receiver<u64>),
}

/// A thread of a machine, as its program and the engine see it: a [`Host`] with [`Processors`] and
/// [`Nodes`]. Its address space is the [`Setup`](super::Setup)'s, from address 0 on.
///
/// Methods that access memory or the machine panic on a thread from [`Machine::outside`].
///
/// ```
/// use leeward_engine::simulation::{Machine, Setup, Spawn, Start, Thread};
/// use leeward_engine::{Config, Engine, Wait, Word};
///
/// let mut setup = Setup::new(&[Start::Runs(0)]);
/// let engine = Engine::new(Config::small(7), setup.bank.clone()).unwrap();
/// setup.threads = vec![Spawn::new("alone", 0, move |thread: &Thread| {
///     thread.set(0, 1);
///     assert_eq!(engine.wake(thread, Word::private(0), 1, u32::MAX), Ok(0));
///     assert_eq!(engine.wait(thread, Word::private(0), 0, u32::MAX, None), Ok(Wait::Changed));
///     thread.get(0).into()
/// })];
/// assert_eq!(Machine::new(setup).run(1, 1_000).results, [Some(1)]);
/// ```
pub struct Thread {
    number: u8,
    space: u8,
    /// The number of threads of its space.
    siblings: u32,
    line: Line,
    layout: Arc<Layout>,
    spaces: Arc<[Space<Thread>]>,
    pages: std::vec::Vec<Option<super::Page>>,
    /// The number of full barriers since it was pinned.
    barriers: Cell<u32>,
}

impl Thread {
    pub(crate) fn new(machine: &Machine, number: u8, line: Line) -> Thread {
        let space = machine.setup.threads[usize::from(number)].space;
        let siblings = machine.setup.threads.iter().filter(|spawn| spawn.space == space).count();
        Thread {
            number,
            space,
            siblings: siblings as u32,
            line,
            layout: Arc::clone(&machine.layout),
            spaces: Arc::clone(&machine.spaces),
            pages: machine.setup.spaces[usize::from(space)].clone(),
            barriers: Cell::new(0),
        }
    }

    /// Asks the machine, and waits for its answer.
    fn ask(&self, request: Request) -> u64 {
        match &self.line {
            Line::Outside => panic!("a thread that does not run has no part in the machine"),
            Line::Replay(replay) => replay.ask(request),
            Line::Live(to, from) => {
                let sent = to.send(super::machine::Next::Ask(request));
                // The machine has stopped: so does the thread, unless it is unwinding already.
                match from.recv() {
                    Ok(answer) if sent.is_ok() => answer,
                    _ if std::thread::panicking() => 0,
                    _ => std::panic::resume_unwind(std::boxed::Box::new(Stop)),
                }
            }
        }
    }

    /// Accesses user memory.
    fn user(&self, address: Address, access: User) -> Result<u32, Fault> {
        match self.ask(Request::User { address, access }) {
            FAULT => Err(Fault),
            value => Ok(value as u32),
        }
    }

    /// Returns the thread's number, which is its place in
    /// [`Setup::threads`](super::Setup::threads).
    pub fn number(&self) -> u8 {
        self.number
    }

    /// Returns the node of the processor that the thread runs on at this moment.
    pub fn node(&self) -> u32 {
        let processor = self.ask(Request::Pin) as u8;
        self.ask(Request::Unpin);
        self.layout.node(processor)
    }

    /// Loads a word, plainly. Its page must be there.
    ///
    /// # Panics
    /// If the page is not there.
    pub fn get(&self, address: Address) -> u32 {
        self.user(address, User::Load).expect("a page that is there")
    }

    /// Stores a word, plainly.
    ///
    /// # Panics
    /// If its page is not there, or not to be written.
    pub fn set(&self, address: Address, value: u32) {
        self.user(address, User::Store(value)).expect("a page that is there, and writable");
    }

    /// Makes a full barrier.
    pub fn fence(&self) {
        self.ask(Request::Fence { name: "" });
    }

    /// Serves membarrier for the thread as [`Setup::path`](super::Setup::path) does, and not by an
    /// engine.
    pub fn membarrier(&self) {
        let here = self.ask(Request::Pin) as u8;
        let ask = |request| self.ask(request);
        let cpu = Cpu { here, loaded: Some(self.space), lazy: false, serves: None, layout: &self.layout, ask: &ask };
        self.layout.path.membarrier(&cpu, self.space);
        self.ask(Request::Unpin);
    }
}

impl core::fmt::Debug for Thread {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Thread").field("number", &self.number).field("space", &self.space).finish_non_exhaustive()
    }
}

/// A time in which the thread is not taken off its processor.
pub struct Pinned<'a>(&'a Thread);

impl Drop for Pinned<'_> {
    fn drop(&mut self) {
        if !matches!(self.0.line, Line::Outside) {
            self.0.ask(Request::Unpin);
        }
    }
}

impl Host for Thread {
    type Task = u8;
    type Memory = Bank;
    type Preemption<'a> = Pinned<'a>;

    fn space(&self) -> &Space<Thread> {
        &self.spaces[usize::from(self.space)]
    }

    fn threads(&self) -> u32 {
        self.siblings
    }

    fn in_range(&self, address: Address) -> bool {
        address >> 47 == 0
    }

    fn load(&self, address: Address) -> Result<u32, Fault> {
        self.user(address, User::Load)
    }

    fn compare_exchange(&self, address: Address, old: u32, new: u32) -> Result<u32, Fault> {
        self.user(address, User::Exchange { old, new })
    }

    fn read(&self, address: Address, to: &mut [u8]) -> Result<(), Fault> {
        for (place, byte) in (address..).zip(to) {
            if self.fault_in(place, Access::Read).is_err() {
                return Err(Fault);
            }
            *byte = self.user(place & !3, User::Load)?.to_ne_bytes()[(place & 3) as usize];
        }
        Ok(())
    }

    fn fault_in(&self, address: Address, access: Access) -> Result<(), Errno> {
        match self.ask(Request::FaultIn { address, access }) {
            0 => Ok(()),
            errno => Err(Errno::from_number(errno as u16)),
        }
    }

    fn resolve_shared(&self, address: Address, access: Access) -> Result<SharedKey, Errno> {
        self.fault_in(address, access)?;
        let page = usize::try_from(address / PAGE).ok().and_then(|page| *self.pages.get(page)?);
        match page {
            Some(page) if page.shared => Ok(SharedKey::Object { object: page.object.into(), offset: address % PAGE }),
            Some(page) if page.writable => Ok(SharedKey::Anonymous),
            _ => Err(Errno::EFAULT),
        }
    }

    fn task(&self, _: &Flag) -> u8 {
        self.number
    }

    fn park(&self, flag: &Flag, until: Option<Deadline>) -> ParkEnd {
        if !flag.is_waiting() {
            return ParkEnd::Unparked;
        }
        match self.ask(Request::Park { until }) as u8 {
            TIMED_OUT => ParkEnd::TimedOut,
            INTERRUPTED => ParkEnd::Interrupted,
            _ => ParkEnd::Unparked,
        }
    }

    fn unpark(&self, thread: u8) {
        self.ask(Request::Unpark { thread });
    }

    fn now(&self, clock: Clock) -> u64 {
        self.ask(Request::Now { clock })
    }

    fn preempt_off(&self) -> Pinned<'_> {
        if !matches!(self.line, Line::Outside) {
            self.ask(Request::Pin);
        }
        Pinned(self)
    }

    fn spin(&self, _: u32) {
        self.ask(Request::Yield);
    }

    fn nodes(&self) -> Option<&dyn Nodes> {
        Some(self)
    }

    fn processors(&self) -> Option<&dyn Processors<Thread>> {
        Some(self)
    }
}

impl Nodes for Thread {
    fn local(&self) -> u32 {
        if matches!(self.line, Line::Outside) { 0 } else { self.node() }
    }

    fn has(&self, node: u32) -> bool {
        node < u32::from(self.layout.nodes)
    }
}

impl Processors<Thread> for Thread {
    fn abilities(&self) -> Abilities {
        // The processors have no instruction streams to serialize, and the threads no restartable
        // sequences.
        Abilities { delayed: true, expedited: true, sync_core: false, rseq: false }
    }

    fn count(&self) -> u32 {
        self.layout.processors.into()
    }

    fn online(&self, word: u32) -> u64 {
        if word == 0 { u64::MAX >> (64 - self.count()) } else { 0 }
    }

    fn alone(&self) -> bool {
        self.siblings == 1
    }

    fn pin(&self) -> u32 {
        self.barriers.set(0);
        self.ask(Request::Pin) as u32
    }

    fn unpin(&self) {
        self.ask(Request::Unpin);
    }

    fn full_barrier(&self) {
        let before = self.barriers.replace(self.barriers.get() + 1);
        let cut = if before == 0 { Cut::Before } else { Cut::After };
        let name = cut.name();
        self.ask(if self.layout.cut(cut) { Request::Missing { name } } else { Request::Fence { name } });
    }

    fn ran_on(&self, word: u32) -> u64 {
        let here = |processor: u8| self.ask(Request::Load { at: self.layout.bit(self.space, processor) });
        let all = if word == 0 { self.layout.processors } else { 0 };
        (0..all).fold(0, |set, processor| set | here(processor) << processor)
    }

    fn inspect(&self, processor: u32, see: &mut dyn FnMut(&Space<Thread>)) {
        let (queue, current) = (self.layout.queue(processor as u8), self.layout.current(processor as u8));
        let locks = !self.layout.cut(Cut::Lock);
        if locks {
            self.ask(Request::Lock { at: queue });
        }
        let runs = self.ask(Request::Load { at: current });
        // Number 0 is no space's; else it is the space's, and one.
        if let Some(space) = (runs as usize).checked_sub(1) {
            see(&self.spaces[space]);
        }
        if locks {
            self.ask(Request::Unlock { at: queue });
        }
    }

    fn send(&self, processor: u32, what: Interrupt) {
        let to = processor as u8;
        if !self.layout.cut(Cut::Forget(to)) {
            self.ask(Request::Send { to, kick: Kick::Interrupt(what) });
        }
    }

    fn wait(&self, processor: u32) {
        self.ask(Request::Acknowledged { by: processor as u8 });
    }

    fn here(&self, _: Interrupt) {
        self.ask(Request::Fence { name: "" });
    }

    fn grace_period(&self) -> Result<(), Errno> {
        // Each processor in turn, the caller's own included: it sleeps meanwhile.
        self.ask(Request::Fence { name: "" });
        for to in 0..self.layout.processors {
            self.ask(Request::Pin);
            self.ask(Request::Send { to, kick: Kick::Schedule });
            self.ask(Request::Unpin);
            self.ask(Request::Acknowledged { by: to });
        }
        self.ask(Request::Fence { name: "" });
        Ok(())
    }
}
