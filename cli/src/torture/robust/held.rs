//! One interface to the locks of both kinds: those that are unlocked by an exchange and those by a
//! store.

use leeward::robust::{ByStore, Guard, LightMutex, LockError, Mutex};

use super::worker::Way;

pub type Record = [u64; 2];

/// Returns true if the lock at a place is a `LightMutex`, which the place's number says to every
/// process.
pub fn is_light(at: usize) -> bool {
    at % 2 == 1
}

/// A lock that was taken.
pub enum Held {
    Exchange(Guard<Record>),
    Store(Guard<Record, ByStore>),
}

impl Held {
    pub fn with<R>(&mut self, work: impl FnOnce(&mut Record) -> R) -> R {
        match self {
            Held::Exchange(guard) => guard.with(work),
            Held::Store(guard) => guard.with(work),
        }
    }

    pub fn get(&self) -> Record {
        match self {
            Held::Exchange(guard) => guard.get(),
            Held::Store(guard) => guard.get(),
        }
    }

    pub fn mark_consistent(&mut self) {
        match self {
            Held::Exchange(guard) => guard.mark_consistent(),
            Held::Store(guard) => guard.mark_consistent(),
        }
    }
}

/// The outcome of asking for a lock.
pub enum Outcome {
    Taken(Held, bool),
    /// The lock is held.
    Held,
    Lost(u32),
    /// The error's number.
    Refused(u64),
}

macro_rules! ask {
    ($mutex:expr, $way:expr, $kind:path) => {
        match match $way {
            Way::Wait => $mutex.lock(),
            Way::Try => $mutex.try_lock(),
            Way::For(limit) => $mutex.try_lock_for(limit),
        } {
            Ok(guard) => Outcome::Taken($kind(guard), false),
            Err(LockError::OwnerDied(guard)) => Outcome::Taken($kind(guard), true),
            Err(LockError::WouldBlock | LockError::TimedOut) => Outcome::Held,
            Err(LockError::OwnerLost(owner)) => Outcome::Lost(owner),
            Err(LockError::NotRecoverable) => Outcome::Refused(1),
            Err(LockError::WouldDeadlock) => Outcome::Refused(2),
            Err(LockError::NoList(_)) => Outcome::Refused(3),
            Err(_) => Outcome::Refused(4),
        }
    };
}

pub fn exchange(mutex: &'static Mutex<Record>, way: Way) -> Outcome {
    ask!(mutex, way, Held::Exchange)
}

pub fn store(mutex: &'static LightMutex<Record>, way: Way) -> Outcome {
    ask!(mutex, way, Held::Store)
}
