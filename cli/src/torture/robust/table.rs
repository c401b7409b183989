//! What the processes share: the locks with their records, who is inside, what each process is doing, and what was found.

use std::io;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use leeward::robust::{LightMutex, Mutex};

use super::finding::Finding;
use super::held::{self, Outcome, Record, is_light};
use super::worker::Way;

pub const PLACES: usize = 3;
/// The first is the parent's.
pub const SEATS: usize = 64;

/// A lock, and what is behind it.
#[repr(C)]
pub struct Place {
    /// Two numbers that are the same whenever nobody is inside. Of the two locks one is used: [`is_light`].
    pub mutex: Mutex<Record>,
    light: LightMutex<Record>,
    /// The life that is inside, 0 if none; not part of what the lock protects, so that two may be found there.
    pub inside: AtomicU64,
    pub taken: AtomicU64,
    pub told: AtomicU64,
}

/// What a process is doing, for who chooses when to kill it.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Doing {
    Other,
    Locking,
    Inside,
    Unlocking,
}

/// A process of the crew. A *life* is its number, never used again: `life % SEATS` is its seat.
#[repr(C)]
pub struct Seat {
    pub life: AtomicU64,
    /// The life that its parent is about to kill here, or has killed.
    pub doomed: AtomicU64,
    doing: AtomicU32,
    /// Which lock.
    place: AtomicU32,
}

#[repr(C)]
pub struct Table {
    pub places: [Place; PLACES],
    seats: [Seat; SEATS],
    /// 1: everybody goes home.
    over: AtomicU32,
    pub finding: Finding,
}

/// Relaxed, all: what a lock does not order is looked at after system calls, or by people.
impl Table {
    /// In memory that children share.
    pub fn map() -> io::Result<&'static Table> {
        use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: memory that nobody has.
        let memory = unsafe { mmap_anonymous(std::ptr::null_mut(), size_of::<Table>(), access, MapFlags::SHARED) }?;
        // SAFETY: zeroed, which is a value of each field; aligned to a page; never unmapped.
        Ok(unsafe { &*memory.cast::<Table>() })
    }

    pub fn seat(&self, life: u64) -> &Seat {
        &self.seats[life as usize % SEATS]
    }

    pub fn ask(&'static self, at: usize, way: Way) -> Outcome {
        let place = &self.places[at];
        if is_light(at) { held::store(&place.light, way) } else { held::exchange(&place.mutex, way) }
    }

    /// The lock word: at the mutex's beginning, as documented.
    pub fn word(&self, at: usize) -> &AtomicU32 {
        let place = &self.places[at];
        let word = if is_light(at) { (&raw const place.light).cast() } else { (&raw const place.mutex).cast() };
        // SAFETY: a word that lives as long as the table.
        unsafe { &*word }
    }

    pub fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed) != 0
    }

    pub fn set_over(&self, whether: bool) {
        self.over.store(u32::from(whether), Ordering::Relaxed);
    }

    /// Whether its parent kills it, or has. A seat is given on when its last life is over.
    pub fn is_doomed(&self, life: u64) -> bool {
        let seat = self.seat(life);
        seat.doomed.load(Ordering::SeqCst) == life || seat.life.load(Ordering::SeqCst) != life
    }

    pub fn sum(&self, count: impl Fn(&Place) -> &AtomicU64) -> u64 {
        self.places.iter().map(|place| count(place).load(Ordering::Relaxed)).sum()
    }
}

/// Relaxed, all: a hint.
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
