//! The table that the processes share: the locks with their records, which process is inside, what
//! each process does, and what was found.

use std::io;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use leeward::robust::{LightMutex, Mutex, RwLock};

use super::finding::Finding;
use super::held::{self, Access, Kind, Outcome, READERS, Record};
use super::worker::Way;

pub const PLACES: usize = 4;
/// The number of seats. The first is the parent's.
pub const SEATS: usize = 64;

/// A place: a lock and the record that it guards.
#[repr(C)]
pub struct Place {
    /// The record: two numbers that are equal whenever no process is inside. One of the three locks
    /// is used, as [`kind`](held::kind) says.
    pub mutex: Mutex<Record>,
    light: LightMutex<Record>,
    rwlock: RwLock<Record, READERS>,
    /// The life that is inside, 0 if none. The lock does not guard this word, so that two owners
    /// can be detected.
    pub inside: AtomicU64,
    pub taken: AtomicU64,
    pub told: AtomicU64,
}

/// What a process does, for the parent's choice of when to kill it.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Doing {
    Other,
    Locking,
    Inside,
    Unlocking,
}

/// The state of a process of the crew. A *life* is the process's number, which is never used again;
/// `life % SEATS` is its seat.
#[repr(C)]
pub struct Seat {
    pub life: AtomicU64,
    /// The life of this seat that the parent is about to kill, or has killed.
    pub doomed: AtomicU64,
    doing: AtomicU32,
    /// The lock that the process uses.
    place: AtomicU32,
}

#[repr(C)]
pub struct Table {
    pub places: [Place; PLACES],
    seats: [Seat; SEATS],
    /// 1 if the run is over, and every process ends.
    over: AtomicU32,
    pub finding: Finding,
}

/// Relaxed, all: what a lock does not order is read after system calls, or is only printed.
impl Table {
    /// Maps a table in memory that children share.
    pub fn map() -> io::Result<&'static Table> {
        use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: the mapping is new.
        let memory = unsafe { mmap_anonymous(std::ptr::null_mut(), size_of::<Table>(), access, MapFlags::SHARED) }?;
        // SAFETY: the memory is zeroed, which is a value of each field, aligned to a page, and
        // never unmapped.
        Ok(unsafe { &*memory.cast::<Table>() })
    }

    pub fn seat(&self, life: u64) -> &Seat {
        &self.seats[life as usize % SEATS]
    }

    pub fn ask(&'static self, at: usize, way: Way, access: Access) -> Outcome {
        let place = &self.places[at];
        match (held::kind(at), access) {
            (Kind::Exchange, _) => held::exchange(&place.mutex, way),
            (Kind::Store, _) => held::store(&place.light, way),
            (Kind::ReadersAndWriters, Access::Read) => held::read(&place.rwlock, way),
            (Kind::ReadersAndWriters, Access::Write | Access::WriteThenRead) => held::write(&place.rwlock, way),
        }
    }

    /// Returns the lock word, that of writers, which is at the lock's beginning, as documented.
    pub fn word(&self, at: usize) -> &AtomicU32 {
        let place = &self.places[at];
        let word = match held::kind(at) {
            Kind::Exchange => (&raw const place.mutex).cast(),
            Kind::Store => (&raw const place.light).cast(),
            Kind::ReadersAndWriters => (&raw const place.rwlock).cast(),
        };
        // SAFETY: the word lives as long as the table.
        unsafe { &*word }
    }

    pub fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed) != 0
    }

    pub fn set_over(&self, whether: bool) {
        self.over.store(u32::from(whether), Ordering::Relaxed);
    }

    /// Returns true if the parent kills this life, or has killed it, or the seat has a later one.
    pub fn is_doomed(&self, life: u64) -> bool {
        let seat = self.seat(life);
        seat.doomed.load(Ordering::SeqCst) == life || seat.life.load(Ordering::SeqCst) != life
    }

    pub fn sum(&self, count: impl Fn(&Place) -> &AtomicU64) -> u64 {
        self.places.iter().map(|place| count(place).load(Ordering::Relaxed)).sum()
    }
}

/// Relaxed, all: the words are hints.
impl Seat {
    pub fn does(&self, doing: Doing, place: usize) {
        self.place.store(place as u32, Ordering::Relaxed);
        self.doing.store(doing as u32, Ordering::Relaxed);
    }

    pub fn is(&self, doing: Doing) -> bool {
        self.doing.load(Ordering::Relaxed) == doing as u32
    }

    pub fn place(&self) -> usize {
        self.place.load(Ordering::Relaxed) as usize
    }
}
