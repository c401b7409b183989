//! Objects that are never returned to the allocator and whose words are all atomic: reading one
//! after it was "freed" is defined, and is detected.
//!
//! An object is known by a name: its index and a generation that is never used again. While it is
//! alive, its canary words, two in each of its cache lines, are made from the name. Freeing
//! overwrites them with poison, and taking the object again with another name's words.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use super::violation::{Kind, report};

/// The words of an object: four cache lines.
const WORDS: usize = 32;
/// The words that readers check: two in each line.
const CANARIES: [usize; 8] = [0, 7, 9, 15, 16, 23, 26, 31];
/// The poison, which almost certainly is no name's word.
const POISON: u64 = 0xdead_beef_dead_beef;

const FREE: u32 = 0;
const LIVE: u32 = 1;
const RETIRED: u32 = 2;

/// The name of an object in one of its generations. Never 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Name(pub u64);

impl Name {
    const PLACES: u64 = 1 << 14;

    /// Returns the index of the object.
    pub fn place(self) -> usize {
        (self.0 % Self::PLACES) as usize
    }

    fn word(self, at: usize) -> u64 {
        self.0.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(at as u32) ^ at as u64
    }
}

#[repr(align(128))]
struct Object {
    words: [AtomicU64; WORDS],
}

pub struct Arena {
    objects: Box<[Object]>,
    states: Box<[AtomicU32]>,
    /// Last in, first out, so that a freed object is soon used again.
    free: Mutex<Vec<usize>>,
    generation: AtomicU64,
    pub retired: AtomicU64,
    pub freed: AtomicU64,
    /// The process whose objects they are.
    process: u32,
}

impl Arena {
    pub fn new(objects: usize) -> Arena {
        assert!(objects as u64 <= Name::PLACES);
        Arena {
            objects: (0..objects).map(|_| Object { words: [const { AtomicU64::new(POISON) }; WORDS] }).collect(),
            states: (0..objects).map(|_| AtomicU32::new(FREE)).collect(),
            free: Mutex::new((0..objects).collect()),
            generation: AtomicU64::new(1),
            retired: AtomicU64::new(0),
            freed: AtomicU64::new(0),
            process: std::process::id(),
        }
    }

    /// Returns true in the child of a fork.
    pub fn is_copy(&self) -> bool {
        std::process::id() != self.process
    }

    fn free_places(&self) -> std::sync::MutexGuard<'_, Vec<usize>> {
        self.free.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Returns a live object with its words written, which the caller publishes with release; none
    /// if all are in use.
    pub fn take(&self) -> Option<Name> {
        let place = self.free_places().pop()?;
        // Relaxed: the generation only has to differ from every other.
        let generation = self.generation.fetch_add(1, Ordering::Relaxed);
        let name = Name(generation * Name::PLACES + place as u64);
        self.states[place].store(LIVE, Ordering::Relaxed);
        for (at, word) in self.objects[place].words.iter().enumerate() {
            // Relaxed: the caller publishes with release.
            word.store(name.word(at), Ordering::Relaxed);
        }
        Some(name)
    }

    /// Returns the objects' words, for readers in C.
    #[cfg_attr(not(feature = "c"), allow(dead_code))]
    pub fn words(&self) -> *const u64 {
        self.objects.as_ptr().cast()
    }

    /// Records that the object was unlinked and waits for its grace period.
    pub fn retire(&self, name: Name) {
        self.turn(name, LIVE, RETIRED, Kind::RetiredTwice);
        self.retired.fetch_add(1, Ordering::Relaxed);
    }

    /// Poisons an object whose grace period is over, and offers it for use again.
    pub fn free(&self, name: Name) {
        self.turn(name, RETIRED, FREE, Kind::FreedTwice);
        for word in &self.objects[name.place()].words {
            // Relaxed: a reader that sees the poison is a violation, whatever the order.
            word.store(POISON, Ordering::Relaxed);
        }
        self.freed.fetch_add(1, Ordering::Relaxed);
        self.free_places().push(name.place());
    }

    fn turn(&self, name: Name, from: u32, to: u32, otherwise: Kind) {
        // Relaxed, both: the state is a mark for counting; the grace period orders the rest.
        if self.states[name.place()].compare_exchange(from, to, Ordering::Relaxed, Ordering::Relaxed).is_err() {
            report(otherwise, [name.0, 0]);
        }
    }

    /// Checks, for a reader inside, that the object is still what its name says. Otherwise records
    /// a violation and returns false.
    #[inline(always)]
    pub fn check(&self, name: Name) -> bool {
        let words = &self.objects[name.place()].words;
        for at in CANARIES {
            // Relaxed: a plain load, which the section alone protects.
            let word = words[at].load(Ordering::Relaxed);
            if word != name.word(at) {
                report(Kind::ReadAfterFree, [name.0, word]);
                return false;
            }
        }
        true
    }
}
