//! Threads with priorities on made-up memory: the test sees which thread sleeps and what each is
//! lent, and says when a time is up.

// Each test program uses its part.
#![allow(dead_code)]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::Duration;

use leeward_engine::{
    Access, Address, Clock, Config, Deadline, Engine, Errno, Fault, Flag, Heap, Host, Inheritance, Owner, ParkEnd,
    Priority, SharedKey, Space, Thread,
};

/// A deadline that comes when the test says so.
pub const LATER: Option<Deadline> = Some(Deadline { clock: Clock::Monotonic, at: 1 });
/// How long a test waits for what must happen.
const PATIENCE: Duration = Duration::from_secs(10);

/// The ways in which a test ends a thread's sleep.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    Time,
    Signal,
    /// A handler of a signal ran before the sleep.
    Handled,
    /// The time is up, but the thread does not get to run until it is let go.
    HeldTime,
}

#[derive(Default)]
struct States {
    parked: BTreeSet<u32>,
    ends: BTreeMap<u32, End>,
    held: BTreeSet<u32>,
    own: BTreeMap<u32, u32>,
    lent: BTreeMap<u32, u32>,
    owners: BTreeMap<u32, Owner>,
    missing: BTreeSet<Address>,
    gone: BTreeSet<Address>,
    panics: Option<&'static str>,
}

pub struct World {
    space: Space<Member>,
    words: Vec<AtomicU32>,
    states: Mutex<States>,
    /// Signalled when there is something for the test to see.
    changed: Condvar,
    /// Signalled, for each thread, when there is something for it to see.
    told: Vec<Condvar>,
}

/// The host of one thread; any thread may speak for it.
pub struct Member {
    world: Arc<World>,
    number: u32,
    /// How many locks of the engine it holds.
    locks: AtomicI32,
}

#[derive(Clone)]
pub struct Crew {
    pub world: Arc<World>,
    pub engine: Arc<Engine<Member>>,
}

impl Crew {
    pub fn new() -> Crew {
        let words = (0..2048).map(|_| AtomicU32::new(0)).collect();
        let told = (0..2048).map(|_| Condvar::new()).collect();
        let (states, changed) = (Mutex::default(), Condvar::new());
        let world = World { space: Space::new(1, 7, Heap), words, states, changed, told };
        let engine = Engine::new(Config::for_processors(1, 3), Heap).unwrap();
        Crew { world: Arc::new(world), engine: Arc::new(engine) }
    }

    /// Returns another world with the same engine, whose space breaks a rule: it has the same
    /// number.
    pub fn with_another_space(&self) -> Crew {
        Crew { engine: self.engine.clone(), ..Crew::new() }
    }

    /// Returns the same world with another engine, which breaks a rule: its space is the same.
    pub fn with_another_engine(&self) -> Crew {
        Crew { world: self.world.clone(), ..Crew::new() }
    }

    pub fn member(&self, number: u32) -> Member {
        Member { world: self.world.clone(), number, locks: AtomicI32::new(0) }
    }

    fn states(&self) -> MutexGuard<'_, States> {
        self.world.states.lock().unwrap()
    }

    /// Runs `what` as a thread that falls asleep; returns when it sleeps.
    pub fn sleeper<T: Send + 'static>(
        &self,
        number: u32,
        what: impl FnOnce(&Engine<Member>, &Member) -> T + Send + 'static,
    ) -> JoinHandle<T> {
        let (member, engine) = (self.member(number), self.engine.clone());
        let thread = std::thread::Builder::new().stack_size(128 << 10);
        let thread = thread.spawn(move || what(&engine, &member)).unwrap();
        self.until(|states| states.parked.contains(&number));
        thread
    }

    /// Makes a thread's call that need not sleep: if it does, its time is up.
    pub fn at_once<T>(&self, number: u32, what: impl FnOnce(&Engine<Member>, &Member) -> T) -> T {
        self.states().ends.insert(number, End::Time);
        let answer = what(&self.engine, &self.member(number));
        self.states().ends.remove(&number);
        answer
    }

    /// Waits until `what` holds.
    fn until(&self, what: impl Fn(&States) -> bool) {
        let states = self.states();
        let (_states, late) = self.world.changed.wait_timeout_while(states, PATIENCE, |states| !what(states)).unwrap();
        assert!(!late.timed_out(), "it does not happen");
    }

    pub fn is_asleep(&self, number: u32) -> bool {
        self.states().parked.contains(&number)
    }

    pub fn end(&self, number: u32, end: End) {
        self.states().ends.insert(number, end);
        self.world.told[number as usize].notify_all();
        if end == End::HeldTime {
            self.until(|states| states.held.contains(&number));
        }
    }

    /// Lets a handler run on a thread, which sleeps again afterwards.
    pub fn handle(&self, number: u32) {
        self.end(number, End::Handled);
        self.until(|states| !states.ends.contains_key(&number) && states.parked.contains(&number));
    }

    pub fn let_go(&self, number: u32) {
        self.states().held.remove(&number);
        self.world.told[number as usize].notify_all();
    }

    pub fn set_priority(&self, number: u32, priority: u32) {
        self.states().own.insert(number, priority);
    }

    /// Returns what a thread is lent.
    pub fn lent(&self, number: u32) -> Option<u32> {
        self.states().lent.get(&number).copied()
    }

    /// Makes the next call of the method `what` panic.
    pub fn panic_in(&self, what: &'static str) {
        self.states().panics = Some(what);
    }

    /// Sets what a number names from now on.
    pub fn set_owner(&self, number: u32, owner: Owner) {
        self.states().owners.insert(number, owner);
    }

    pub fn get(&self, address: Address) -> u32 {
        self.world.words[address as usize / 4].load(Ordering::SeqCst)
    }

    pub fn set(&self, address: Address, value: u32) {
        self.world.words[address as usize / 4].store(value, Ordering::SeqCst);
    }

    /// Takes the word's page away until it is asked for, or forever.
    pub fn take_away(&self, address: Address, for_ever: bool) {
        let mut states = self.states();
        states.missing.insert(address);
        if for_ever {
            states.gone.insert(address);
        }
    }

    pub fn is_missing(&self, address: Address) -> bool {
        self.states().missing.contains(&address)
    }

    /// Counts the waiters in the space's own table.
    pub fn own_waiters(&self) -> u64 {
        self.world.space.stats(&self.member(1)).waiters
    }

    pub fn waiters(&self) -> u64 {
        let member = self.member(1);
        self.engine.stats(&member).waiters + self.world.space.stats(&member).waiters
    }
}

impl Member {
    fn states(&self) -> MutexGuard<'_, States> {
        self.world.states.lock().unwrap()
    }

    /// Asserts that no lock is held, where the host may sleep.
    fn may_sleep(&self) {
        assert_eq!(self.locks.load(Ordering::SeqCst), 0, "a lock is held");
    }

    fn may_panic(&self, what: &'static str) {
        let mut states = self.states();
        if states.panics == Some(what) {
            states.panics = None;
            drop(states);
            std::panic::resume_unwind(Box::new(what));
        }
    }

    fn word(&self, address: Address) -> Result<&AtomicU32, Fault> {
        if self.states().missing.contains(&address) {
            return Err(Fault);
        }
        self.world.words.get(address as usize / 4).ok_or(Fault)
    }
}

/// A time in which a lock is held, and the number of those that began before.
pub struct Off<'a>(&'a Member, i32);

impl Drop for Off<'_> {
    fn drop(&mut self) {
        let locks = self.0.locks.fetch_sub(1, Ordering::SeqCst);
        assert!(locks == self.1 + 1 || std::thread::panicking(), "what was made last is dropped first");
    }
}

impl Host for Member {
    type Task = u32;
    type Memory = Heap;
    type Preemption<'a> = Off<'a>;

    fn space(&self) -> &Space<Member> {
        &self.world.space
    }
    fn threads(&self) -> u32 {
        4
    }
    fn in_range(&self, address: Address) -> bool {
        address >> 47 == 0
    }
    fn load(&self, address: Address) -> Result<u32, Fault> {
        Ok(self.word(address)?.load(Ordering::SeqCst))
    }
    fn compare_exchange(&self, address: Address, old: u32, new: u32) -> Result<u32, Fault> {
        let (Ok(was) | Err(was)) = self.word(address)?.compare_exchange(old, new, Ordering::SeqCst, Ordering::SeqCst);
        Ok(was)
    }
    fn read(&self, address: Address, to: &mut [u8]) -> Result<(), Fault> {
        self.may_sleep();
        _ = self.fault_in(address & !3, Access::Read);
        to.copy_from_slice(&self.load(address & !3)?.to_ne_bytes()[..to.len()]);
        Ok(())
    }
    fn fault_in(&self, address: Address, _: Access) -> Result<(), Errno> {
        self.may_sleep();
        let mut states = self.states();
        if states.gone.contains(&address) || address as usize / 4 >= self.world.words.len() {
            return Err(Errno::EFAULT);
        }
        states.missing.remove(&address);
        Ok(())
    }
    fn resolve_shared(&self, address: Address, _: Access) -> Result<SharedKey, Errno> {
        self.may_sleep();
        Ok(SharedKey::Object { object: 1, offset: address })
    }
    fn task(&self, _: &Flag) -> u32 {
        self.number
    }
    fn park(&self, flag: &Flag, _: Option<Deadline>) -> ParkEnd {
        self.may_sleep();
        self.may_panic("park");
        let told = &self.world.told[self.number as usize];
        let mut states = self.states();
        states.parked.insert(self.number);
        self.world.changed.notify_all();
        let end = loop {
            if !flag.is_waiting() {
                break ParkEnd::Unparked;
            }
            match states.ends.remove(&self.number) {
                Some(End::Time) => break ParkEnd::TimedOut,
                Some(End::Signal) => break ParkEnd::Interrupted,
                Some(End::Handled) => break ParkEnd::Recheck,
                Some(End::HeldTime) => {
                    states.held.insert(self.number);
                    self.world.changed.notify_all();
                    let held = |states: &mut States| states.held.contains(&self.number);
                    states = told.wait_while(states, held).unwrap();
                    break ParkEnd::TimedOut;
                }
                None => states = told.wait(states).unwrap(),
            }
        };
        states.parked.remove(&self.number);
        end
    }
    fn unpark(&self, number: u32) {
        self.may_sleep();
        drop(self.states());
        self.world.told[number as usize].notify_all();
    }
    fn now(&self, _: Clock) -> u64 {
        0
    }
    fn preempt_off(&self) -> Off<'_> {
        Off(self, self.locks.fetch_add(1, Ordering::SeqCst))
    }
    fn spin(&self, _: u32) {
        std::thread::yield_now();
    }
    fn inheritance(&self) -> Option<&dyn Inheritance<Member>> {
        Some(self)
    }
}

impl Inheritance<Member> for Member {
    fn current(&self) -> Thread {
        Thread { id: 1000 + u64::from(self.number), number: self.number }
    }
    fn find(&self, number: u32) -> Owner {
        self.may_panic("find");
        let there = Owner::Thread(1000 + u64::from(number));
        self.states().owners.get(&number).copied().unwrap_or(if number < 2000 { there } else { Owner::Nobody })
    }
    fn priority(&self, thread: u64) -> Priority {
        self.may_panic("priority");
        Priority(self.states().own.get(&(thread as u32 - 1000)).copied().unwrap_or(100))
    }
    fn lend(&self, thread: u64, priority: Option<Priority>) {
        self.may_panic("lend");
        let mut states = self.states();
        match priority {
            Some(Priority(priority)) => states.lent.insert(thread as u32 - 1000, priority),
            None => states.lent.remove(&(thread as u32 - 1000)),
        };
    }
}
