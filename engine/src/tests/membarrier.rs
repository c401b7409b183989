//! membarrier over processors that write down what they are told.

use std::cell::{Cell, RefCell};
use std::vec::Vec;

use crate::linux::abi::{
    MEMBARRIER_CMD_FLAG_CPU, MEMBARRIER_CMD_GET_REGISTRATIONS, MEMBARRIER_CMD_GLOBAL, MEMBARRIER_CMD_GLOBAL_EXPEDITED,
    MEMBARRIER_CMD_PRIVATE_EXPEDITED, MEMBARRIER_CMD_PRIVATE_EXPEDITED_RSEQ,
    MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE, MEMBARRIER_CMD_QUERY, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED,
    MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_RSEQ,
    MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE, MEMBARRIER_DELAYED, MEMBARRIER_EXPEDITED, MEMBARRIER_QUERY,
    Numbers,
};
use crate::tests::host::{Nowhere, Rationed};
use crate::{Abilities, Config, Engine, Errno, Host, Interrupt, Processors, Space};
use Told::{Barrier, Grace, Here, Inspect, Pin, Registered, Send, Unpin, Wait};

/// A call of a method of the processors.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Told {
    Pin,
    Unpin,
    Barrier,
    Inspect(u32),
    Send(u32),
    Wait(u32),
    Here(Interrupt),
    Grace,
    Registered(Option<Interrupt>),
}

/// A machine of 130 processors. The caller is on processor 1. Processors 0, 3, 64 and 129 ran its
/// space; 0, 64 and 129 still do, and 3 runs another.
pub(crate) struct Recorder {
    told: RefCell<Vec<Told>>,
    abilities: Abilities,
    online: Cell<u32>,
    alone: Cell<bool>,
    refuse: Cell<bool>,
    ours: Space<Nowhere>,
    other: Space<Nowhere>,
}

const ALL: Abilities = Abilities { delayed: true, expedited: true, sync_core: true, rseq: true };
const RAN: [u32; 5] = [0, 1, 3, 64, 129];

impl Processors<Nowhere> for Recorder {
    fn abilities(&self) -> Abilities {
        self.abilities
    }
    fn count(&self) -> u32 {
        130
    }
    fn online(&self, word: u32) -> u64 {
        let there = self.online.get();
        (0..64).filter(|bit| word * 64 + bit < there).fold(0, |set, bit| set | 1 << bit)
    }
    fn alone(&self) -> bool {
        self.alone.get()
    }
    fn pin(&self) -> u32 {
        self.tell(Pin);
        1
    }
    fn unpin(&self) {
        self.tell(Unpin);
    }
    fn full_barrier(&self) {
        self.tell(Barrier);
    }
    fn ran_on(&self, word: u32) -> u64 {
        RAN.iter().filter(|&&p| p / 64 == word).fold(0, |set, p| set | 1 << (p % 64))
    }
    fn inspect(&self, processor: u32, see: &mut dyn FnMut(&Space<Nowhere>)) {
        self.tell(Inspect(processor));
        match processor {
            0 | 1 | 64 | 129 => see(&self.ours),
            3 => see(&self.other),
            _ => {}
        }
    }
    fn send(&self, processor: u32, _: Interrupt) {
        self.tell(Send(processor));
    }
    fn wait(&self, processor: u32) {
        self.tell(Wait(processor));
    }
    fn here(&self, what: Interrupt) {
        self.tell(Here(what));
    }
    fn grace_period(&self) -> Result<(), Errno> {
        self.tell(Grace);
        Ok(())
    }
    fn registered(&self, what: Option<Interrupt>) -> Result<(), Errno> {
        self.tell(Registered(what));
        if self.refuse.get() { Err(Errno::ENOMEM) } else { Ok(()) }
    }
}

impl Recorder {
    fn tell(&self, what: Told) {
        self.told.borrow_mut().push(what);
    }
}

fn setup(abilities: Abilities, blocks: i64) -> (Engine<Nowhere>, Nowhere) {
    let mut host = Nowhere::new(1, Rationed::new(blocks));
    let space = |number| Space::new(number, 0, Rationed::new(0));
    host.processors = Some(Recorder {
        told: RefCell::default(),
        abilities,
        online: Cell::new(130),
        alone: Cell::new(false),
        refuse: Cell::new(false),
        ours: space(host.space().number()),
        other: space(99),
    });
    (Engine::new(Config::small(0), Rationed::new(9)).unwrap(), host)
}

fn told(host: &Nowhere) -> Vec<Told> {
    host.processors.as_ref().unwrap().told.take()
}

#[test]
fn a_private_barrier_interrupts_who_still_runs_the_space() {
    let (engine, host) = setup(ALL, 9);
    let call = |command| engine.membarrier(&host, command, 0, 0);
    assert_eq!(call(MEMBARRIER_CMD_PRIVATE_EXPEDITED), Err(Errno::EPERM));
    assert_eq!(call(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED), Ok(0));
    assert_eq!(told(&host), [Registered(Some(Interrupt::Barrier))]);
    assert_eq!(call(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED), Ok(0));
    assert_eq!(told(&host), []);
    assert_eq!(call(MEMBARRIER_CMD_PRIVATE_EXPEDITED), Ok(0));
    let inspections = [Inspect(0), Inspect(3), Inspect(64), Inspect(129)];
    let sent = [Send(0), Send(64), Send(129), Wait(0), Wait(64), Wait(129)];
    assert_eq!(told(&host), [&[Pin, Barrier], &inspections[..], &sent, &[Barrier, Unpin]].concat());
    assert_eq!(call(MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE), Err(Errno::EPERM));
    assert_eq!(call(MEMBARRIER_CMD_GET_REGISTRATIONS), Ok(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED));
}

#[test]
fn without_memory_processors_are_visited_singly() {
    let (engine, host) = setup(ALL, 0);
    assert_eq!(engine.membarrier_2010(&host, MEMBARRIER_EXPEDITED), Ok(0));
    let visits =
        [Inspect(0), Send(0), Wait(0), Inspect(3), Inspect(64), Send(64), Wait(64), Inspect(129), Send(129), Wait(129)];
    assert_eq!(told(&host), [&[Pin, Barrier], &visits[..], &[Barrier, Unpin]].concat());
}

#[test]
fn the_global_one_reaches_registered_spaces_and_needs_no_registration() {
    let (engine, host) = setup(ALL, 9);
    let other = &host.processors.as_ref().unwrap().other;
    let parent = Space::<Nowhere>::new(5, 0, Rationed::new(0));
    assert_eq!(engine.membarrier(&host, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0), Ok(0));
    let nobody = told(&host);
    assert_eq!(nobody.iter().filter(|told| matches!(told, Inspect(_))).count(), 129);
    assert!(!nobody.iter().any(|told| matches!(told, Send(_))));
    parent.registered.store(MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, std::sync::atomic::Ordering::Relaxed);
    other.inherit_registrations(&parent);
    assert_eq!(engine.membarrier(&host, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0), Ok(0));
    let sent = told(&host);
    assert_eq!(sent.iter().filter(|told| matches!(told, Send(_))).collect::<Vec<_>>(), [&Send(3)]);
}

#[test]
fn one_thread_or_one_processor_needs_no_barrier_but_its_arguments_are_checked() {
    let (engine, host) = setup(ALL, 9);
    let processors = host.processors.as_ref().unwrap();
    for command in [MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE] {
        assert_eq!(engine.membarrier(&host, command, 0, 0), Ok(0));
    }
    told(&host);
    for (online, alone) in [(1, false), (130, true)] {
        processors.online.set(online);
        processors.alone.set(alone);
        assert_eq!(engine.membarrier(&host, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0), Ok(0));
        assert_eq!(engine.membarrier(&host, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 1, 0), Err(Errno::EINVAL));
        assert_eq!(engine.membarrier_2010(&host, MEMBARRIER_EXPEDITED), Ok(0));
        assert_eq!(engine.membarrier_2010(&host, MEMBARRIER_DELAYED), Ok(0));
        assert_eq!(engine.membarrier_2010(&host, MEMBARRIER_EXPEDITED | MEMBARRIER_DELAYED), Err(Errno::EINVAL));
        assert_eq!(told(&host), []);
        // The caller's own processor serializes: another process may have written what it executes.
        assert_eq!(engine.membarrier(&host, MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0), Ok(0));
        assert!(told(&host).contains(&Here(Interrupt::Core)));
    }
    processors.alone.set(false);
    assert_eq!(engine.membarrier(&host, MEMBARRIER_CMD_GLOBAL, 0, 0), Ok(0));
    assert_eq!(told(&host), [Grace]);
    processors.online.set(1);
    assert_eq!(engine.membarrier(&host, MEMBARRIER_CMD_GLOBAL, 0, 0), Ok(0));
    assert_eq!(told(&host), []);
}

#[test]
fn a_restart_may_be_for_one_processor() {
    let (engine, host) = setup(ALL, 9);
    let rseq = |flags, cpu| engine.membarrier(&host, MEMBARRIER_CMD_PRIVATE_EXPEDITED_RSEQ, flags, cpu);
    assert_eq!(rseq(MEMBARRIER_CMD_FLAG_CPU, 64), Err(Errno::EPERM));
    assert_eq!(engine.membarrier(&host, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_RSEQ, 0, 0), Ok(0));
    let sent = |flags, cpu| {
        told(&host);
        assert_eq!(rseq(flags, cpu), Ok(0));
        told(&host).into_iter().filter(|told| matches!(told, Send(_))).collect::<Vec<_>>()
    };
    assert_eq!(sent(MEMBARRIER_CMD_FLAG_CPU, 64), [Send(64)]);
    assert_eq!(sent(MEMBARRIER_CMD_FLAG_CPU, 3), []);
    assert_eq!(sent(MEMBARRIER_CMD_FLAG_CPU, 130), []);
    assert_eq!(sent(MEMBARRIER_CMD_FLAG_CPU, i32::MAX), []);
    assert_eq!(sent(MEMBARRIER_CMD_FLAG_CPU, -1), [Send(0), Send(64), Send(129)]);
    assert_eq!(sent(0, 64), [Send(0), Send(64), Send(129)]);
    assert_eq!(rseq(2, 0), Err(Errno::EINVAL));
}

#[test]
fn what_the_host_cannot_do_is_refused() {
    let query = |abilities| {
        let (engine, host) = setup(abilities, 9);
        let supported = engine.membarrier(&host, MEMBARRIER_CMD_QUERY, 0, 0).unwrap();
        for bit in 0..32 {
            let answer = engine.membarrier(&host, 1 << bit, 0, 0);
            assert_eq!(answer == Err(Errno::EINVAL), supported >> bit & 1 == 0, "{abilities:?} {bit} {answer:?}");
        }
        let old = |flags| engine.membarrier_2010(&host, flags);
        for (flags, can) in [(MEMBARRIER_DELAYED, abilities.delayed), (MEMBARRIER_EXPEDITED, abilities.expedited)] {
            let expected = if can { Ok(0) } else { Err(Errno::EINVAL) };
            told(&host);
            assert_eq!(old(flags | MEMBARRIER_QUERY | 1 << 31), expected);
            assert_eq!(told(&host), []);
            assert_eq!(old(flags | 1 << 30), expected, "hints are ignored");
            assert_eq!(old(flags | 1 << 15), Err(Errno::EINVAL));
        }
        assert_eq!(old(MEMBARRIER_QUERY), Err(Errno::EINVAL));
        supported
    };
    let none = Abilities::default();
    assert_eq!(query(ALL), 0x3ff);
    assert_eq!(query(none), 1 << 9);
    assert_eq!(query(Abilities { delayed: true, ..none }), 1 << 9 | 1);
    assert_eq!(query(Abilities { expedited: true, ..none }), 1 << 9 | 0x1e);
    assert_eq!(query(Abilities { expedited: true, rseq: true, ..none }), 1 << 9 | 0x19e);
    assert_eq!(query(Abilities { sync_core: true, rseq: true, ..none }), 1 << 9);
}

#[test]
fn a_registration_that_the_host_refuses_is_none() {
    let (engine, host) = setup(ALL, 9);
    host.processors.as_ref().unwrap().refuse.set(true);
    let register = MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED;
    assert_eq!(engine.membarrier(&host, register, 0, 0), Err(Errno::ENOMEM));
    assert_eq!(host.space().registrations(), 0);
}

#[test]
fn calls_by_number() {
    let (engine, host) = setup(ALL, 9);
    let numbers = Numbers { membarrier_2010: Some(1000), ..Numbers::X86_64 };
    let call = |host: &Nowhere, number, first: u64| engine.syscall(host, &numbers, number, [first, 0, 0, 0, 0, 0]);
    assert_eq!(call(&host, 324, 0), Some(0x3ff));
    assert_eq!(call(&host, 324, 3), Some(-22));
    assert_eq!(call(&host, 1000, 2), Some(0));
    assert_eq!(call(&host, 1000, 3), Some(-22));
    assert_eq!(call(&host, 1001, 2), None);
    let without = Nowhere::new(1, Rationed::new(0));
    assert_eq!(call(&without, 324, 0), Some(-38));
    assert_eq!(call(&without, 1000, 1), Some(-38));
}

#[test]
fn any_arguments_end_in_a_number() {
    let (engine, host) = setup(ALL, i64::MAX);
    let numbers = Numbers { membarrier_2010: Some(1000), ..Numbers::X86_64 };
    let mut random = 1_u64;
    let mut any = || {
        random = random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        match random >> 62 {
            0 => random,
            1 => 1 << (random >> 32 & 63),
            2 => random >> 32 & 3,
            _ => 0,
        }
    };
    for round in 0..20_000 {
        let arguments = [any(), any(), any(), any(), any(), any()];
        let number = if round % 2 == 0 { numbers.membarrier } else { 1000 };
        let answer = engine.syscall(&host, &numbers, number, arguments);
        assert!(matches!(answer, Some(-22 | -1 | 0..=0x3ff)), "{answer:?} for {arguments:#x?}");
        let told = told(&host);
        let pins = told.iter().filter(|told| **told == Pin).count();
        assert_eq!(pins, told.iter().filter(|told| **told == Unpin).count());
    }
}
