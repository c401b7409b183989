//! How the children of forks find the grace periods of collectors, which are values: by a registry of
//! their addresses, whose entries are never freed.
//!
//! An entry has the address from the instant at which the collector is whole until its end begins. In
//! the child, a collector that another thread was making or ending is nobody's.

use core::ptr::{self, NonNull};

use super::super::grace::Grace;
use crate::atomic::{AtomicPtr, AtomicU64, Ordering};
use crate::process::fork::{self, Hook, Watched};
use crate::raw::Mutex;
use crate::registry::{Registry, RegistrySlot};

/// The place of one collector's address: of its grace periods.
pub(super) struct ForkEntry {
    /// 1: taken; 0: free.
    is_taken: AtomicU64,
    grace: AtomicPtr<Grace>,
}

impl RegistrySlot for ForkEntry {
    #[allow(clippy::declare_interior_mutable_const)]
    const NEW: ForkEntry = ForkEntry { is_taken: AtomicU64::new(0), grace: AtomicPtr::new(ptr::null_mut()) };

    fn fresh() -> ForkEntry {
        ForkEntry::NEW
    }

    fn is_free(&self) -> bool {
        // Relaxed: `claim` decides.
        self.is_taken.load(Ordering::Relaxed) == 0
    }

    fn claim(&self, owner: u64, _: u32) -> bool {
        // Acquire: partner of the release in `free`.
        self.is_taken.compare_exchange(0, owner, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    fn free(&self) {
        // Release: partner of the acquire in `claim`.
        self.is_taken.store(0, Ordering::Release);
    }
}

/// All collectors of the process.
struct Collectors {
    hook: Hook,
    entries: Registry<ForkEntry>,
    /// Held by a thread that takes an address away, and by one that goes through them beside others:
    /// no collector ends meanwhile.
    ending: Mutex,
}

static COLLECTORS: Collectors = Collectors { hook: Hook::new(), entries: Registry::new(), ending: <Mutex>::new() };

/// Takes an entry for a collector that is being made. Returns `None` where there is no memory.
pub(super) fn claim() -> Option<&'static ForkEntry> {
    fork::watch(&COLLECTORS);
    COLLECTORS.entries.claim(1, 0).ok()
}

impl ForkEntry {
    /// Has children find the collector, which is whole.
    pub(super) fn set(&self, grace: NonNull<Grace>) {
        // Release: the words, for a thread that goes through the entries. Partner: the acquire in
        // `each`.
        self.grace.store(grace.as_ptr(), Ordering::Release);
    }

    /// Gives the entry back, whose collector ends.
    pub(super) fn clear(&'static self) {
        // Relaxed: a child that finds the address was made before the collector's end began.
        while_none_ends(|| self.grace.store(ptr::null_mut(), Ordering::Relaxed));
        COLLECTORS.entries.release(self);
    }
}

/// Calls `act` while no collector ends.
fn while_none_ends(act: impl FnOnce()) {
    let generation = fork::generation();
    COLLECTORS.ending.lock();
    act();
    if fork::generation() == generation {
        // SAFETY: locked above. (In the child of a fork that a signal handler made meanwhile, the
        // lock was reset.)
        unsafe { COLLECTORS.ending.unlock() };
    }
}

/// Calls `act` with every collector. The caller has the lock, or is a child's one thread.
fn each(act: impl Fn(&Grace)) {
    for entry in COLLECTORS.entries.slots() {
        // Acquire: partner of the release in `set`.
        let grace = entry.grace.load(Ordering::Acquire);
        // SAFETY: null, or a collector's that does not end meanwhile.
        if let Some(grace) = unsafe { grace.as_ref() } {
            act(grace);
        }
    }
}

impl Watched for Collectors {
    fn hook(&self) -> &Hook {
        &self.hook
    }

    fn in_child(&'static self) {
        self.ending.reset();
        each(Grace::after_fork);
    }

    fn resume(&'static self) {
        // Another item may have started a thread already, which ends collectors.
        while_none_ends(|| each(Grace::renumber));
    }

    fn thread_ends(&'static self) {
        while_none_ends(|| each(Grace::thread_ends));
    }
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;

    use super::super::Collector;
    use super::{COLLECTORS, Watched};

    /// Collectors end while another thread goes through all of them, as one that exits with a handle
    /// does. For an interpreter, which sees that no exclusive reference comes in between.
    #[test]
    fn collectors_end_beside_a_thread_that_exits() {
        static STOP: AtomicBool = AtomicBool::new(false);
        let rounds = if cfg!(miri) { 20 } else { 2_000 };
        thread::scope(|scope| {
            scope.spawn(|| {
                while !STOP.load(Ordering::Relaxed) {
                    Watched::thread_ends(&COLLECTORS);
                    thread::yield_now();
                }
            });
            for _ in 0..rounds {
                let collector = Collector::new();
                // A record that the collector ends with.
                collector.enter().defer(|| ());
                drop(collector);
                thread::yield_now();
            }
            STOP.store(true, Ordering::Relaxed);
        });
    }
}
