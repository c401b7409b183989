//! The calling thread as the engine's host, in the order of the page "Library OS in user space".
//! The engine calls it; it asks `memory.rs` and `threads.rs`, and uses the parts of `parking`.

use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;

use leeward_engine::parking::{Parked, now, park, spin, user_memory};
use leeward_engine::{
    Access, Address, Arithmetic, Clock, Deadline, Errno, Fault, Flag, Heap, Host, Inheritance, Owner, ParkEnd, Part,
    Priority, RobustHost, SharedKey, Space,
};

use crate::memory::{END, START};
use crate::system::Process;
use crate::threads::Slot;

/// A thread of a guest, by its number: the Linux thread that calls with it.
pub struct Thread {
    pub process: Arc<Process>,
    pub number: u32,
}

impl Thread {
    /// Returns the thread's slot.
    pub fn slot(&self) -> &Slot {
        self.process.system.threads.slot(self.number).expect("a thread's number")
    }
}

impl Host for Thread {
    type Task = Parked;
    type Memory = Heap;
    type Preemption<'a> = ();

    // Step 1: user memory. Whatever is at an address, the access answers it.

    fn space(&self) -> &Space<Thread> {
        &self.process.space
    }

    fn threads(&self) -> u32 {
        self.process.threads.load(SeqCst)
    }

    fn in_range(&self, address: Address) -> bool {
        (START..END).contains(&address)
    }

    fn load(&self, address: Address) -> Result<u32, Fault> {
        user_memory::load_u32(self.process.memory.translate(address)?)
    }

    fn compare_exchange(&self, address: Address, old: u32, new: u32) -> Result<u32, Fault> {
        let place = self.process.memory.translate(address)?;
        // SAFETY: `translate` leads to the guest's memory alone, which is accessed by such calls
        // and by atomics.
        unsafe { user_memory::compare_exchange(place, old, new) }
    }

    fn fetch_op(&self, address: Address, op: Arithmetic, argument: u32) -> Result<Option<u32>, Fault> {
        let place = self.process.memory.translate(address)?;
        // SAFETY: as above.
        unsafe { user_memory::fetch_op(place, op, argument) }
    }

    fn read(&self, address: Address, to: &mut [u8]) -> Result<(), Fault> {
        let place = self.process.memory.translate_range(address, to.len())?;
        if user_memory::read(place, to).is_ok() {
            return Ok(());
        }
        // The bytes may lie on two pages that have to come first.
        let last = address + to.len() as u64 - 1;
        for byte in [address, last] {
            self.fault_in(byte, Access::Read).map_err(|_| Fault)?;
        }
        user_memory::read(place, to)
    }

    fn fault_in(&self, address: Address, access: Access) -> Result<(), Errno> {
        self.process.memory.fault_in(address, access)
    }

    // Step 1: sleep. The thread sleeps on its waiter's flag; `park` compares it.

    fn task(&self, flag: &Flag) -> Parked {
        Parked::with(flag)
    }

    fn park(&self, flag: &Flag, until: Option<Deadline>) -> ParkEnd {
        let end = if self.slot().park_begins() { ParkEnd::Interrupted } else { park(flag, until) };
        match (self.slot().park_ends(), end) {
            (true, ParkEnd::Interrupted | ParkEnd::Recheck) => ParkEnd::Interrupted,
            // A signal of the process's own, which the guest is not told of.
            (false, ParkEnd::Interrupted) => ParkEnd::Recheck,
            (_, end) => end,
        }
    }

    fn unpark(&self, task: Parked) {
        task.unpark();
    }

    // Steps 2 and 3.

    fn now(&self, clock: Clock) -> u64 {
        now(clock)
    }

    fn preempt_off(&self) {}

    fn spin(&self, tries: u32) {
        spin(tries);
    }

    // Step 4 is left out: no handler of this system calls the engine.

    // Step 5: what is shared, by the library OS's own table.

    fn resolve_shared(&self, address: Address, _: Access) -> Result<SharedKey, Errno> {
        self.process.memory.resolve(address)
    }

    // Steps 6 and 7.

    fn priority(&self) -> Priority {
        Priority(self.slot().own.load(SeqCst))
    }

    fn unpark_all(&self, tasks: impl Iterator<Item = Parked>, part: Part) {
        self.process.gathering.unpark_all(tasks, part);
    }

    // Step 8.

    fn inheritance(&self) -> Option<&dyn Inheritance<Thread>> {
        Some(self)
    }
}

impl RobustHost for Thread {
    fn thread_id(&self) -> u32 {
        self.number
    }

    fn robust_head(&self, thread: u32) -> Result<Address, Errno> {
        let number = if thread == 0 { self.number } else { thread };
        match self.find(number) {
            Owner::Nobody => Err(Errno::ESRCH),
            Owner::Outside(_) => Err(Errno::EPERM),
            _ => Ok(self.process.system.threads.slot(number).ok_or(Errno::ESRCH)?.robust_head.load(SeqCst)),
        }
    }

    fn set_robust_head(&self, head: Address) {
        self.slot().robust_head.store(head, SeqCst);
    }

    fn write(&self, address: Address, from: &[u8]) -> Result<(), Fault> {
        let place = self.process.memory.translate_range(address, from.len())?;
        // SAFETY: the guest's memory alone.
        unsafe { user_memory::write(place, from) }
    }
}

/// Under the engine's locks `find`, `priority` and `lend` read and write atomics, and no more.
impl Inheritance<Thread> for Thread {
    fn current(&self) -> leeward_engine::Thread {
        leeward_engine::Thread { id: self.slot().id.load(SeqCst), number: self.number }
    }

    fn find(&self, number: u32) -> Owner {
        self.process.system.threads.find(number, self.process.number)
    }

    fn priority(&self, thread: u64) -> Priority {
        self.process.system.threads.priority(thread)
    }

    fn lend(&self, thread: u64, priority: Option<Priority>) {
        // A system whose threads are to run so calls `sched_setscheduler` here; this one notes it.
        if let Some(slot) = self.process.system.threads.by_id(thread) {
            slot.lent.store(priority.map_or(u32::MAX, |lent| lent.0), SeqCst);
        }
    }

    fn await_exit(&self, number: u32) -> Result<(), Errno> {
        self.process.system.threads.await_exit(number);
        Ok(())
    }
}
