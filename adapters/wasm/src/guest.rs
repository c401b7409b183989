//! The engine's host: one handle on a linear memory, or an interrupt alone. The engine calls it;
//! it calls the runtime's `LinearMemory` and `Parker`.

use alloc::sync::Arc;
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use leeward_engine::{
    Access, Address, Clock, Deadline, Engine, Errno, Fault, Flag, Heap, Host, ParkEnd, Part, SharedKey, Size, Space,
    Word,
};

use crate::{LinearMemory, Parker};

/// The address of an interrupt's word, which no linear memory reaches.
const INTERRUPT: Address = 1 << 63;
/// The number of threads that the table of a memory is sized by at first.
pub(crate) const THREADS: u32 = 4;

/// What all handles of a runtime share.
pub(crate) struct Shared<M: LinearMemory, P: Parker> {
    pub(crate) engine: Engine<Guest<M, P>>,
    pub(crate) parker: P,
    /// The space of handles that only raise an interrupt. Nothing waits in it.
    pub(crate) interrupts: Space<Guest<M, P>>,
    /// The number that the next memory or interrupt gets.
    pub(crate) next: AtomicUsize,
}

/// A linear memory and its wait lists, which all handles on it share.
pub(crate) struct Linear<M: LinearMemory, P: Parker> {
    pub(crate) memory: M,
    pub(crate) space: Space<Guest<M, P>>,
}

/// The word of an interrupt: 1 while it is raised.
pub(crate) struct Raised {
    /// The number by which the word is known in the engine.
    pub(crate) number: u64,
    pub(crate) word: AtomicU32,
}

impl Raised {
    pub(crate) fn is_raised(&self) -> bool {
        // Acquire: what was done before `Interrupt::raise`; partner: the store there.
        self.word.load(Ordering::Acquire) != 0
    }
}

/// A handle as the engine sees it.
pub(crate) struct Guest<M: LinearMemory, P: Parker> {
    pub(crate) runtime: Arc<Shared<M, P>>,
    /// The memory; none for a handle that only raises an interrupt.
    pub(crate) linear: Option<Arc<Linear<M, P>>>,
    pub(crate) interrupt: Option<Arc<Raised>>,
}

impl<M: LinearMemory, P: Parker> Clone for Guest<M, P> {
    fn clone(&self) -> Self {
        Guest { runtime: self.runtime.clone(), linear: self.linear.clone(), interrupt: self.interrupt.clone() }
    }
}

/// Returns the word by which every handle reaches its own interrupt.
pub(crate) const fn interrupt_word() -> Word {
    Word::shared(INTERRUPT)
}

impl<M: LinearMemory, P: Parker> Guest<M, P> {
    /// Returns true if `size` bytes at an address are within the current length.
    pub(crate) fn is_within(&self, address: Address, size: Size) -> bool {
        let length = self.linear.as_ref().map_or(0, |linear| linear.memory.length()).min(INTERRUPT);
        address.checked_add(size.bytes()).is_some_and(|end| end <= length)
    }

    /// Reads from the memory, for the engine.
    fn read_word<T>(&self, load: impl Fn(&M) -> Option<T>) -> Result<T, Fault> {
        self.linear.as_ref().and_then(|linear| load(&linear.memory)).ok_or(Fault)
    }
}

impl<M: LinearMemory, P: Parker> Host for Guest<M, P> {
    type Task = P::Task;
    type Memory = Heap;
    type Preemption<'a>
        = ()
    where
        Self: 'a;

    fn space(&self) -> &Space<Self> {
        self.linear.as_ref().map_or(&self.runtime.interrupts, |linear| &linear.space)
    }

    fn threads(&self) -> u32 {
        THREADS
    }

    fn in_range(&self, _: Address) -> bool {
        // `memory` has checked the address before.
        true
    }

    fn load(&self, address: Address) -> Result<u32, Fault> {
        match &self.interrupt {
            Some(interrupt) if address == INTERRUPT => Ok(u32::from(interrupt.is_raised())),
            _ => self.read_word(|memory| memory.load32(address)),
        }
    }

    fn serves(&self, size: Size) -> bool {
        matches!(size, Size::U32 | Size::U64)
    }

    fn load_sized(&self, address: Address, _: Size) -> Result<u64, Fault> {
        self.read_word(|memory| memory.load64(address))
    }

    fn compare_exchange(&self, _: Address, _: u32, _: u32) -> Result<u32, Fault> {
        // Waits and wakes store nothing.
        Err(Fault)
    }

    fn read(&self, _: Address, _: &mut [u8]) -> Result<(), Fault> {
        Err(Fault)
    }

    fn fault_in(&self, _: Address, _: Access) -> Result<(), Errno> {
        Err(Errno::EFAULT)
    }

    fn resolve_shared(&self, _: Address, _: Access) -> Result<SharedKey, Errno> {
        let interrupt = self.interrupt.as_ref().ok_or(Errno::EFAULT)?;
        Ok(SharedKey::Object { object: interrupt.number, offset: 0 })
    }

    fn task(&self, flag: &Flag) -> P::Task {
        self.runtime.parker.task(flag)
    }

    fn park(&self, flag: &Flag, until: Option<Deadline>) -> ParkEnd {
        match self.runtime.parker.park(flag, until.map(|until| until.at)) {
            ParkEnd::Recheck => ParkEnd::Unparked,
            end => end,
        }
    }

    fn unpark(&self, task: P::Task) {
        self.runtime.parker.unpark(task);
    }

    fn unpark_all(&self, tasks: impl Iterator<Item = P::Task>, part: Part) {
        self.runtime.parker.unpark_all(tasks, part);
    }

    fn now(&self, _: Clock) -> u64 {
        self.runtime.parker.now()
    }

    fn preempt_off(&self) {}

    fn spin(&self, tries: u32) {
        self.runtime.parker.spin(tries);
    }
}
