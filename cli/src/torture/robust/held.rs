//! One interface to the locks of all kinds: those that are unlocked by an exchange, those by a
//! store, and those that are read and written.

use leeward::robust::{ByStore, Guard, LightMutex, LockError, Mutex, ReadGuard, RwLock, RwLockError, WriteGuard};

use super::worker::Way;

pub type Record = [u64; 2];

/// The kinds of locks.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Exchange,
    Store,
    ReadersAndWriters,
}

/// What a lock is asked for. A mutex knows no difference.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Access {
    Read,
    Write,
    /// To write, and to read on when that is done.
    WriteThenRead,
}

/// Returns the kind of the lock at a place, which the place's number says to every process.
pub fn kind(at: usize) -> Kind {
    [Kind::Exchange, Kind::Store, Kind::ReadersAndWriters][at % 3]
}

/// A lock that was taken.
pub enum Held {
    Exchange(Guard<Record>),
    Store(Guard<Record, ByStore>),
    Write(WriteGuard<Record, READERS>),
    Read(ReadGuard<Record, READERS>),
}

/// The number of slots for readers: few, so that some of the processes wait for one.
pub const READERS: usize = 3;

impl Held {
    /// Lends the record to `work`, unless it may only be read.
    pub fn with(&mut self, work: impl FnOnce(&mut Record)) {
        match self {
            Held::Exchange(guard) => guard.with(work),
            Held::Store(guard) => guard.with(work),
            Held::Write(guard) => guard.with(work),
            Held::Read(_) => {}
        }
    }

    /// Returns the lock as a reader holds it, if it was held by a writer.
    pub fn read_on(self) -> Held {
        match self {
            Held::Write(guard) => WriteGuard::downgrade(guard).map_or_else(Held::Write, Held::Read),
            other => other,
        }
    }

    pub fn is_reading(&self) -> bool {
        matches!(self, Held::Read(_))
    }

    pub fn get(&self) -> Record {
        match self {
            Held::Exchange(guard) => guard.get(),
            Held::Store(guard) => guard.get(),
            Held::Write(guard) => guard.get(),
            Held::Read(guard) => guard.get(),
        }
    }

    pub fn mark_consistent(&mut self) {
        match self {
            Held::Exchange(guard) => guard.mark_consistent(),
            Held::Store(guard) => guard.mark_consistent(),
            Held::Write(guard) => guard.mark_consistent(),
            Held::Read(_) => {}
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
    ($call:expr, $error:ident, $kind:path, $kind_of_the_dead:path) => {
        match $call {
            Ok(guard) => Outcome::Taken($kind(guard), false),
            Err($error::OwnerDied(guard)) => Outcome::Taken($kind_of_the_dead(guard), true),
            Err($error::WouldBlock | $error::TimedOut) => Outcome::Held,
            Err($error::OwnerLost(owner)) => Outcome::Lost(owner),
            Err($error::NotRecoverable) => Outcome::Refused(1),
            Err($error::WouldDeadlock) => Outcome::Refused(2),
            Err($error::NoList(_)) => Outcome::Refused(3),
            Err(_) => Outcome::Refused(4),
        }
    };
}

macro_rules! call {
    ($lock:expr, $way:expr, $wait:ident, $try:ident, $try_for:ident) => {
        match $way {
            Way::Wait => $lock.$wait(),
            Way::Try => $lock.$try(),
            Way::For(limit) => $lock.$try_for(limit),
        }
    };
}

pub fn exchange(mutex: &'static Mutex<Record>, way: Way) -> Outcome {
    ask!(call!(mutex, way, lock, try_lock, try_lock_for), LockError, Held::Exchange, Held::Exchange)
}

pub fn store(mutex: &'static LightMutex<Record>, way: Way) -> Outcome {
    ask!(call!(mutex, way, lock, try_lock, try_lock_for), LockError, Held::Store, Held::Store)
}

pub fn read(lock: &'static RwLock<Record, READERS>, way: Way) -> Outcome {
    ask!(call!(lock, way, read, try_read, try_read_for), RwLockError, Held::Read, Held::Write)
}

pub fn write(lock: &'static RwLock<Record, READERS>, way: Way) -> Outcome {
    ask!(call!(lock, way, write, try_write, try_write_for), RwLockError, Held::Write, Held::Write)
}
