//! What membarrier does around its host's processors: memory only while the thread is not pinned,
//! registrations that the context switch can see in time, machines without processors.

#![allow(missing_docs)]

#[path = "../common/zeros.rs"]
#[macro_use]
mod zeros;
#[path = "../common/machine.rs"]
mod machine;

use std::sync::atomic::Ordering;

use leeward_engine::abi::{
    MEMBARRIER_CMD_GLOBAL_EXPEDITED, MEMBARRIER_CMD_PRIVATE_EXPEDITED, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED,
    MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, MEMBARRIER_EXPEDITED,
};
use leeward_engine::{Config, Engine, Errno, Space};
use machine::{Machine, Sleepy};

fn engine() -> Engine<Machine> {
    Engine::new(Config::small(1), Sleepy::default()).unwrap()
}

#[test]
fn a_pinned_thread_asks_for_no_memory_and_gives_none_back() {
    let (engine, host) = (engine(), Machine::new(4));
    assert_eq!(engine.membarrier_2010(&host, MEMBARRIER_EXPEDITED), Ok(0));
    assert_eq!(host.memory.asked.load(Ordering::Relaxed), 2);
    assert_eq!(host.sent.take(), [1, 2, 3]);
}

#[test]
fn a_machine_that_names_no_processor_is_asked_for_nothing() {
    let (engine, host) = (engine(), Machine::new(0));
    assert_eq!(engine.membarrier_2010(&host, MEMBARRIER_EXPEDITED), Ok(0));
    assert_eq!(engine.membarrier(&host, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0), Ok(0));
    assert_eq!(host.memory.asked.load(Ordering::Relaxed), 0);
    assert_eq!(host.sent.take(), []);
}

/// A context switch that does less for spaces that are not registered must see that this space is
/// about to be, before the host waits for the switches that did not see it.
#[test]
fn a_registration_is_seen_as_asked_for_before_the_host_waits_and_as_complete_behind_it() {
    let (engine, host) = (engine(), Machine::new(4));
    let register = MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED;
    assert_eq!(engine.membarrier(&host, register, 0, 0), Ok(0));
    assert_eq!(host.seen.take(), Some((0, register)));
    assert_eq!((host.space.registrations(), host.space.registrations_requested()), (register, register));
    // The host learns of it once.
    assert_eq!(engine.membarrier(&host, register, 0, 0), Ok(0));
    assert_eq!(host.seen.take(), None);
    // A refused registration: nothing may rely on it, and switches may do as if it were there.
    host.refuse.set(true);
    let global = MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED;
    assert_eq!(engine.membarrier(&host, global, 0, 0), Err(Errno::ENOMEM));
    assert_eq!((host.space.registrations(), host.space.registrations_requested()), (register, register | global));
    assert_eq!(engine.membarrier(&host, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0), Ok(0));
    let child = Space::<Machine>::new(2, 0, Sleepy::default());
    child.inherit_registrations(&host.space);
    assert_eq!((child.registrations(), child.registrations_requested()), (register, register));
}
