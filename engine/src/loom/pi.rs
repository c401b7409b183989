//! Locks that inherit priorities, under loom: an owner that unlocks or exits, a thread that waits,
//! and one whose deadline comes as soon as it would sleep.

use std::sync::Arc;
use std::sync::Mutex;
use std::vec::Vec;

use loom::thread;

use crate::atomic::{AtomicU32, Ordering, Tracked};
use crate::linux::abi::FUTEX_TID_MASK;
use crate::loom::host::{SOON, explore};
use crate::{
    Access, Address, Clock, Config, Deadline, Engine, Errno, Fault, Flag, Heap, Host, Inheritance, LockPi, Owner,
    ParkEnd, Priority, Requeue, SharedKey, Space, Thread, WaitPi, Word,
};

struct Shared {
    space: Space<Member>,
    words: Vec<AtomicU32>,
    /// The number of the thread that exits.
    exiting: AtomicU32,
    /// The threads that are lent a priority: changed under the engine's locks only.
    lent: Mutex<Vec<u64>>,
    /// The data that the lock guards.
    data: Tracked,
}

/// A thread of the model, by its number.
#[derive(Clone)]
struct Member {
    shared: Arc<Shared>,
    engine: Arc<Engine<Member>>,
    number: u32,
}

impl Host for Member {
    type Task = thread::Thread;
    type Memory = Heap;
    type Preemption<'a> = ();

    fn space(&self) -> &Space<Member> {
        &self.shared.space
    }
    fn threads(&self) -> u32 {
        1
    }
    fn in_range(&self, _: Address) -> bool {
        true
    }
    fn load(&self, address: Address) -> Result<u32, Fault> {
        // Relaxed: the engine promises no more.
        Ok(self.shared.words[address as usize / 4].load(Ordering::Relaxed))
    }
    fn compare_exchange(&self, address: Address, old: u32, new: u32) -> Result<u32, Fault> {
        // AcqRel: as near as loom comes to full ordering.
        let word = &self.shared.words[address as usize / 4];
        let (Ok(was) | Err(was)) = word.compare_exchange(old, new, Ordering::AcqRel, Ordering::Acquire);
        Ok(was)
    }
    fn read(&self, address: Address, to: &mut [u8]) -> Result<(), Fault> {
        to.copy_from_slice(&self.load(address)?.to_ne_bytes());
        Ok(())
    }
    fn fault_in(&self, _: Address, _: Access) -> Result<(), Errno> {
        Err(Errno::EFAULT)
    }
    fn resolve_shared(&self, address: Address, _: Access) -> Result<SharedKey, Errno> {
        Ok(SharedKey::Object { object: 1, offset: address })
    }
    fn task(&self, _: &Flag) -> thread::Thread {
        thread::current()
    }
    fn park(&self, flag: &Flag, until: Option<Deadline>) -> ParkEnd {
        if until.is_some() {
            return ParkEnd::TimedOut;
        }
        while flag.is_waiting() {
            thread::park();
        }
        ParkEnd::Unparked
    }
    fn unpark(&self, task: thread::Thread) {
        task.unpark();
    }
    fn now(&self, _: Clock) -> u64 {
        0
    }
    fn preempt_off(&self) {}
    fn spin(&self, _: u32) {
        thread::yield_now();
    }
    fn inheritance(&self) -> Option<&dyn Inheritance<Member>> {
        Some(self)
    }
}

impl Inheritance<Member> for Member {
    fn current(&self) -> Thread {
        Thread { id: u64::from(self.number), number: self.number }
    }
    fn find(&self, number: u32) -> Owner {
        // Relaxed: the graph's lock orders it, as the trait says.
        let exiting = self.shared.exiting.load(Ordering::Relaxed);
        if exiting == number { Owner::Exiting } else { Owner::Thread(u64::from(number)) }
    }
    fn priority(&self, _: u64) -> Priority {
        Priority::NORMAL
    }
    fn lend(&self, thread: u64, priority: Option<Priority>) {
        let mut lent = self.shared.lent.lock().unwrap();
        lent.retain(|other| *other != thread);
        if priority.is_some() {
            lent.push(thread);
        }
    }
}

const LOCK: Word = Word::shared(0);
const OTHER: Word = Word::shared(4);

impl Member {
    /// Makes the first thread, which owns the lock.
    fn owner() -> Member {
        let config = Config { nodes: 1, buckets: 1, most_buckets: 1, private_tables: true, seed: 2 };
        let shared = Shared {
            space: Space::new(1, 2, Heap),
            words: [1, 0].into_iter().map(AtomicU32::new).collect(),
            exiting: AtomicU32::new(0),
            lent: Mutex::default(),
            data: Tracked::new(),
        };
        Member { shared: Arc::new(shared), engine: Arc::new(Engine::new(config, Heap).unwrap()), number: 1 }
    }

    fn spawn<T: 'static>(&self, number: u32, what: impl FnOnce(&Member) -> T + 'static) -> thread::JoinHandle<T> {
        let member = Member { number, ..self.clone() };
        thread::spawn(move || what(&member))
    }

    fn lock(&self, until: Option<Deadline>) -> Result<LockPi, Errno> {
        self.engine.lock_pi(self, LOCK, until)
    }

    /// Runs the critical section, and unlocks.
    fn work(&self) {
        self.shared.data.touch();
        // The word may get its waiters bit between the load and the exchange.
        while let Err(errno) = self.engine.unlock_pi(self, LOCK) {
            assert_eq!(errno, Errno::EAGAIN);
        }
    }

    fn is_over(&self) -> bool {
        self.engine.stats(self).waiters == 0 && self.shared.lent.lock().unwrap().is_empty()
    }
}

#[test]
fn a_hand_off() {
    explore(3, || {
        let owner = Member::owner();
        let waiter = owner.spawn(2, |member| {
            assert_eq!(member.lock(None), Ok(LockPi::Acquired));
            member.work();
        });
        owner.work();
        waiter.join().unwrap();
        assert!(owner.is_over());
        assert_eq!(owner.load(0), Ok(0));
    });
}

#[test]
fn a_hand_off_and_a_time_that_is_up() {
    explore(2, || {
        let owner = Member::owner();
        let waiter = owner.spawn(2, |member| {
            assert_eq!(member.lock(None), Ok(LockPi::Acquired));
            member.work();
        });
        let timed = owner.spawn(3, |member| match member.lock(SOON) {
            Ok(LockPi::Acquired) => member.work(),
            end => assert_eq!(end, Ok(LockPi::TimedOut)),
        });
        owner.work();
        waiter.join().unwrap();
        timed.join().unwrap();
        assert!(owner.is_over());
        assert_eq!(owner.load(0), Ok(0));
    });
}

#[test]
fn an_owner_that_exits_and_a_time_that_is_up() {
    explore(2, || {
        let owner = Member::owner();
        let lock = |until| {
            move |member: &Member| match member.lock(until) {
                Ok(LockPi::Acquired) => {
                    assert_eq!(member.load(0).unwrap() & FUTEX_TID_MASK, member.number);
                    member.work();
                }
                Ok(LockPi::TimedOut) => assert!(until.is_some()),
                // The thread came when the exit had begun.
                end => assert_eq!(end, Err(Errno::EAGAIN)),
            }
        };
        let (waiter, timed) = (owner.spawn(2, lock(None)), owner.spawn(3, lock(SOON)));
        // Relaxed: the graph's lock orders it.
        owner.shared.exiting.store(1, Ordering::Relaxed);
        owner.engine.exit_pi(&owner);
        waiter.join().unwrap();
        timed.join().unwrap();
        assert!(owner.is_over());
    });
}

#[test]
fn a_requeue_and_a_time_that_is_up() {
    explore(2, || {
        let owner = Member::owner();
        let timed = owner.spawn(2, |member| {
            let end = member.engine.wait_requeue_pi(member, OTHER, 0, SOON, LOCK).unwrap();
            match end {
                WaitPi::Acquired => member.work(),
                _ => assert_eq!(end, WaitPi::TimedOut),
            }
        });
        let mover = owner.spawn(3, |member| {
            let moved = member.engine.requeue_pi(member, OTHER, LOCK, 1, 0).unwrap();
            assert!(matches!(moved, Requeue::Done(0 | 1)));
        });
        owner.work();
        timed.join().unwrap();
        mover.join().unwrap();
        assert!(owner.is_over());
        assert_eq!(owner.load(0), Ok(0));
    });
}
