//! The library OS's threads: a table of numbers, who has each, its signals and its exit. All fields
//! are atomics, because some are read under the engine's locks, where nothing may sleep. `host.rs`
//! and `system.rs` use it.

use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, AtomicU64, Ordering::SeqCst};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use leeward_engine::{Owner, Priority};

/// How many threads there may be; their numbers are 1 to this.
pub const MOST: usize = 64;

/// What a thread's number names; in this order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum Stage {
    /// No thread: the number may be given to one.
    Free = 0,
    Alive = 1,
    /// A thread whose locks are being handed on.
    Exiting = 2,
    /// A thread that owns nothing any more, and is still there.
    Over = 3,
}

/// A thread, or a number without one. The fields after `id` belong to the thread that has it.
pub struct Slot {
    stage: AtomicU32,
    /// The thread's identity for the engine: the slot's index, and a count above it.
    pub id: AtomicU64,
    /// The number of the thread's process.
    pub process: AtomicU64,
    /// The Linux thread that runs it.
    linux: AtomicI32,
    /// The number of the guest's signals that are pending.
    signals: AtomicU32,
    /// True while the thread may sleep.
    parks: AtomicBool,
    /// The head of the thread's robust list.
    pub robust_head: AtomicU64,
    /// The thread's own priority, and the one that it is lent.
    pub own: AtomicU32,
    pub lent: AtomicU32,
}

impl Slot {
    const fn free() -> Slot {
        Slot {
            stage: AtomicU32::new(Stage::Free as u32),
            id: AtomicU64::new(0),
            process: AtomicU64::new(0),
            linux: AtomicI32::new(0),
            signals: AtomicU32::new(0),
            parks: AtomicBool::new(false),
            robust_head: AtomicU64::new(0),
            own: AtomicU32::new(u32::MAX),
            lent: AtomicU32::new(u32::MAX),
        }
    }

    /// Returns true if a signal is pending. From now until [`park_ends`](Self::park_ends), a thread
    /// that sends one interrupts this one's sleep.
    pub fn park_begins(&self) -> bool {
        // SeqCst, both: either the sender's look at `parks` sees this, or this sees its signal.
        self.parks.store(true, SeqCst);
        self.signals.load(SeqCst) != 0
    }

    /// Ends what [`park_begins`](Self::park_begins) began; returns true if a signal is pending.
    pub fn park_ends(&self) -> bool {
        self.parks.store(false, SeqCst);
        self.signals.load(SeqCst) != 0
    }

    /// Sends a signal of the guest's to the thread.
    pub fn signal(&self) {
        self.signals.fetch_add(1, SeqCst);
        // The signal of the system's may come in the last few instructions before the sleep, where
        // `park` cannot notice it on every system: so it is sent until the thread is out.
        while self.parks.load(SeqCst) && self.signals.load(SeqCst) != 0 {
            let (process, thread) = (std::process::id(), self.linux.load(SeqCst));
            // SAFETY: a signal with a handler, to a thread of this process; or to none.
            unsafe { libc::syscall(libc::SYS_tgkill, process, thread, libc::SIGUSR1) };
            std::thread::sleep(Duration::from_micros(50));
        }
    }

    /// Takes the signals that are pending, for their handlers.
    pub fn take_signals(&self) -> u32 {
        self.signals.swap(0, SeqCst)
    }

    fn stage(&self) -> Stage {
        match self.stage.load(SeqCst) {
            0 => Stage::Free,
            1 => Stage::Alive,
            2 => Stage::Exiting,
            _ => Stage::Over,
        }
    }
}

/// All threads of the library OS.
pub struct Threads {
    slots: [Slot; MOST],
    count: AtomicU64,
    /// For threads that wait for an exit. The engine's locks are not held then.
    exits: (Mutex<()>, Condvar),
}

impl Threads {
    pub fn new() -> Threads {
        let exits = (Mutex::new(()), Condvar::new());
        Threads { slots: [const { Slot::free() }; MOST], count: AtomicU64::new(0), exits }
    }

    /// Returns the slot of a number that names a thread, or did.
    pub fn slot(&self, number: u32) -> Option<&Slot> {
        self.slots.get((number as usize).wrapping_sub(1))
    }

    /// Returns the slot of a thread by its identity, if it is still there.
    pub fn by_id(&self, id: u64) -> Option<&Slot> {
        self.slots.get(id as usize % MOST).filter(|slot| slot.id.load(SeqCst) == id)
    }

    /// Makes the calling Linux thread a thread of a process, and returns its number.
    pub fn enter(&self, process: u64) -> u32 {
        let free = Stage::Free as u32;
        // A slot that is being filled names no thread, as one whose thread is at its end.
        let taken = |slot: &Slot| slot.stage.compare_exchange(free, Stage::Over as u32, SeqCst, SeqCst).is_ok();
        let index = self.slots.iter().position(taken).expect("fewer threads than numbers");
        let slot = &self.slots[index];
        slot.id.store((self.count.fetch_add(1, SeqCst) + 1) * MOST as u64 + index as u64, SeqCst);
        slot.process.store(process, SeqCst);
        // SAFETY: no arguments.
        slot.linux.store(unsafe { libc::gettid() }, SeqCst);
        for field in [&slot.own, &slot.lent] {
            field.store(u32::MAX, SeqCst);
        }
        slot.robust_head.store(0, SeqCst);
        slot.signals.store(0, SeqCst);
        self.set_stage(index as u32 + 1, Stage::Alive);
        index as u32 + 1
    }

    /// Returns true if a thread has that number, and has not begun its exit.
    pub fn is_alive(&self, number: u32) -> bool {
        self.slots[number as usize - 1].stage() == Stage::Alive
    }

    /// Sets what a number names, and wakes the threads that wait for an exit.
    pub fn set_stage(&self, number: u32, stage: Stage) {
        let _exits = self.exits.0.lock().unwrap_or_else(PoisonError::into_inner);
        self.slots[number as usize - 1].stage.store(stage as u32, SeqCst);
        self.exits.1.notify_all();
    }

    /// Returns what a number names, for a thread of that process.
    pub fn find(&self, number: u32, process: u64) -> Owner {
        let Some(slot) = self.slot(number) else { return Owner::Nobody };
        let id = slot.id.load(SeqCst);
        let its = slot.process.load(SeqCst);
        match slot.stage() {
            // Over, too: the thread hands nothing on any more, and its number is not free yet.
            Stage::Free | Stage::Over => Owner::Nobody,
            Stage::Exiting => Owner::Exiting,
            Stage::Alive if its == process => Owner::Thread(id),
            Stage::Alive => Owner::Outside(id),
        }
    }

    /// Sleeps until the exit of a thread is over.
    pub fn await_exit(&self, number: u32) {
        let Some(slot) = self.slot(number) else { return };
        let exits = self.exits.0.lock().unwrap_or_else(PoisonError::into_inner);
        let exits = self.exits.1.wait_while(exits, |()| slot.stage() == Stage::Exiting);
        drop(exits.unwrap_or_else(PoisonError::into_inner));
    }

    /// Returns a thread's own priority.
    pub fn priority(&self, id: u64) -> Priority {
        self.by_id(id).map_or(Priority::NORMAL, |slot| Priority(slot.own.load(SeqCst)))
    }
}
