//! A host of one's own on Linux threads: a guest whose addresses are offsets into an array, with
//! the exits and the lending of the module `parking`.

#![cfg(target_os = "linux")]
#![allow(missing_docs)]

#[path = "../common/bounded.rs"]
mod bounded;
#[path = "../common/exits.rs"]
mod exits;
#[path = "../common/realtime.rs"]
mod realtime;

use std::sync::Barrier;
use std::sync::atomic::{AtomicU32, Ordering};

use bounded::Bounded;
use exits::stayer;
use leeward_engine::abi::FUTEX_WAITERS;
use leeward_engine::parking::{self, Exits, Lending, Parked};
use leeward_engine::{
    Access, Address, Clock, Config, Deadline, Engine, Errno, Fault, Flag, Host, Inheritance, LockPi, Owner, ParkEnd,
    Priority, SharedKey, Space, Thread, Word,
};
use realtime::{level, may_run_in_real_time, me, run_at, until};

/// Where the guest's memory begins.
const BASE: Address = 0x7000;
/// The lock of the tests.
const LOCK: Word = Word::private(BASE + 4);

struct Guest {
    space: Space<Guest>,
    words: [AtomicU32; 4],
    exits: Exits<Bounded>,
    lending: Lending<Bounded>,
}

impl Guest {
    fn new(memory: Bounded) -> (Guest, Engine<Guest>) {
        let (exits, lending) = (Exits::new(memory), Lending::new(memory));
        let guest = Guest { space: Space::new(1, 7, memory), words: Default::default(), exits, lending };
        (guest, Engine::new(Config::small(7), Bounded::new(8)).unwrap())
    }

    fn word(&self, address: Address) -> Result<&AtomicU32, Fault> {
        let offset = address.checked_sub(BASE).ok_or(Fault)?;
        self.words.get(offset as usize / 4).ok_or(Fault)
    }

    /// Ends the calling thread, as far as the guest is concerned.
    fn exit(&self, engine: &Engine<Guest>) -> u32 {
        let _exiting = self.exits.begin(self);
        let handed_on = engine.exit_pi(self);
        self.lending.forget(self);
        handed_on
    }
}

impl Inheritance<Guest> for Guest {
    fn current(&self) -> Thread {
        self.lending.make_room(self);
        Thread { id: u64::from(me()), number: me() }
    }
    fn find(&self, number: u32) -> Owner {
        self.exits.find(self, number)
    }
    fn priority(&self, thread: u64) -> Priority {
        self.lending.priority(self, thread as u32)
    }
    fn lend(&self, thread: u64, priority: Option<Priority>) {
        self.lending.lend(self, thread as u32, priority);
    }
    fn await_exit(&self, number: u32) -> Result<(), Errno> {
        self.exits.await_end(self, number);
        Ok(())
    }
}

impl Host for Guest {
    type Task = Parked;
    type Memory = Bounded;
    type Preemption<'a> = ();

    fn space(&self) -> &Space<Guest> {
        &self.space
    }
    fn threads(&self) -> u32 {
        4
    }
    fn in_range(&self, address: Address) -> bool {
        self.word(address).is_ok()
    }
    fn load(&self, address: Address) -> Result<u32, Fault> {
        Ok(self.word(address)?.load(Ordering::SeqCst))
    }
    fn compare_exchange(&self, address: Address, old: u32, new: u32) -> Result<u32, Fault> {
        let exchanged = self.word(address)?.compare_exchange(old, new, Ordering::SeqCst, Ordering::SeqCst);
        Ok(exchanged.unwrap_or_else(|was| was))
    }
    fn read(&self, address: Address, to: &mut [u8]) -> Result<(), Fault> {
        for (at, bytes) in (address..).step_by(4).zip(to.chunks_mut(4)) {
            bytes.copy_from_slice(&self.load(at)?.to_ne_bytes()[..bytes.len()]);
        }
        Ok(())
    }
    fn fault_in(&self, _: Address, _: Access) -> Result<(), Errno> {
        Err(Errno::EFAULT)
    }
    fn resolve_shared(&self, _: Address, _: Access) -> Result<SharedKey, Errno> {
        Ok(SharedKey::Anonymous)
    }
    fn priority(&self) -> Priority {
        self.lending.own_priority(self)
    }
    fn task(&self, flag: &Flag) -> Parked {
        Parked::with(flag)
    }
    fn park(&self, flag: &Flag, until: Option<Deadline>) -> ParkEnd {
        parking::park(flag, until)
    }
    fn unpark(&self, task: Parked) {
        task.unpark();
    }
    fn now(&self, clock: Clock) -> u64 {
        parking::now(clock)
    }
    fn preempt_off(&self) {}
    fn spin(&self, tries: u32) {
        parking::spin(tries);
    }
    fn inheritance(&self) -> Option<&dyn Inheritance<Guest>> {
        Some(self)
    }
}

/// Takes the free lock without a call.
fn take(guest: &Guest) {
    assert_eq!(guest.words[1].compare_exchange(0, me(), Ordering::SeqCst, Ordering::SeqCst), Ok(0));
}

/// Waits until a thread waits for the lock.
fn until_waited_for(guest: &Guest, engine: &Engine<Guest>) {
    let waiters = || engine.stats(guest).waiters + guest.space.stats(guest).waiters;
    until(|| guest.words[1].load(Ordering::SeqCst) & FUTEX_WAITERS != 0 && waiters() == 1);
}

#[test]
fn a_thread_that_exits_hands_its_lock_on_and_owns_nothing_afterwards() {
    let (guest, engine) = Guest::new(Bounded::new(100));
    let (taken, waited) = (Barrier::new(2), Barrier::new(2));
    std::thread::scope(|threads| {
        let waiter = threads.spawn(|| {
            taken.wait();
            assert_eq!(engine.lock_pi(&guest, LOCK, None), Ok(LockPi::Acquired));
            engine.unlock_pi(&guest, LOCK).unwrap();
        });
        threads.spawn(|| {
            take(&guest);
            taken.wait();
            until_waited_for(&guest, &engine);
            assert_eq!(guest.exit(&engine), 1);
            waited.wait();
        });
        waited.wait();
        waiter.join().unwrap();
    });
    assert_eq!(guest.words[1].load(Ordering::SeqCst), 0);
}

#[test]
fn a_number_names_no_thread_before_it_is_free() {
    let (guest, engine) = Guest::new(Bounded::new(100));
    std::thread::scope(|threads| {
        let told = stayer(threads, || {
            take(&guest);
            let exiting = guest.exits.begin(&guest);
            assert_eq!(guest.exits.find(&guest, me()), Owner::Exiting);
            drop(exiting);
        });
        assert_eq!(guest.exits.find(&guest, told.number), Owner::Nobody);
        assert_eq!(engine.lock_pi(&guest, LOCK, None), Err(Errno::ESRCH));
        // Over: this does not sleep.
        guest.exits.await_end(&guest, told.number);
        let number = told.number;
        told.let_go();
        until(|| matches!(guest.exits.find(&guest, number), Owner::Nobody));
    });
    assert_eq!(guest.exits.find(&guest, me()), Owner::Thread(me().into()));
}

#[test]
fn who_comes_during_an_exit_waits_for_its_end() {
    let (guest, engine) = Guest::new(Bounded::new(100));
    let (over, begun) = (AtomicU32::new(0), Barrier::new(2));
    std::thread::scope(|threads| {
        threads.spawn(|| {
            take(&guest);
            let exiting = guest.exits.begin(&guest);
            begun.wait();
            // As long as it takes a thread to come, mostly; it is told the same before and after.
            std::thread::yield_now();
            over.store(1, Ordering::SeqCst);
            drop(exiting);
        });
        begun.wait();
        assert_eq!(engine.lock_pi(&guest, LOCK, None), Err(Errno::ESRCH));
        assert_eq!(over.load(Ordering::SeqCst), 1);
    });
}

#[test]
fn a_real_time_threads_level_is_lent_and_taken_back() {
    if !may_run_in_real_time() {
        return;
    }
    for (blocks, lent) in [(100, 5), (0, 0)] {
        let (guest, engine) = Guest::new(Bounded::new(blocks));
        take(&guest);
        std::thread::scope(|threads| {
            threads.spawn(|| {
                assert!(run_at(5));
                assert_eq!(engine.lock_pi(&guest, LOCK, None), Ok(LockPi::Acquired));
                engine.unlock_pi(&guest, LOCK).unwrap();
            });
            until_waited_for(&guest, &engine);
            until(|| level(me()) == lent);
            // Without memory for the note, nothing is lent that could not be taken back.
            until(|| guest.lending.refusals() >= u64::from(lent == 0));
            engine.unlock_pi(&guest, LOCK).unwrap();
            assert_eq!(level(me()), 0);
        });
    }
}
