//! Objects that are never given back to the allocator and whose words are all atomic: reading one after it was "freed" is defined, and seen.
//!
//! An object is known by a name: its place and a generation that never comes again. While it is alive, its canary words, several in each of its
//! cache lines, are made from the name; freeing overwrites them with poison, and taking it again with another name's words.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use super::violation::{Kind, report};

/// Four cache lines.
const WORDS: usize = 32;
/// The ones that readers look at: two in each line.
const CANARIES: [usize; 8] = [0, 7, 9, 15, 16, 23, 26, 31];
/// Not made from any name, as far as chance goes.
const POISON: u64 = 0xdead_beef_dead_beef;

const FREE: u32 = 0;
const LIVE: u32 = 1;
const RETIRED: u32 = 2;

/// Which object, and which of its lives. Never 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Name(pub u64);

impl Name {
    const PLACES: u64 = 1 << 14;

    fn place(self) -> usize {
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
    /// Last in, first out: what was freed is soon something else.
    free: Mutex<Vec<usize>>,
    generation: AtomicU64,
    pub retired: AtomicU64,
    pub freed: AtomicU64,
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
        }
    }

    fn free_places(&self) -> std::sync::MutexGuard<'_, Vec<usize>> {
        self.free.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// A live object with its words written; whoever publishes it does so with release. None if all are in use.
    pub fn take(&self) -> Option<Name> {
        let place = self.free_places().pop()?;
        // Relaxed: only has to differ from every other.
        let generation = self.generation.fetch_add(1, Ordering::Relaxed);
        let name = Name(generation * Name::PLACES + place as u64);
        self.states[place].store(LIVE, Ordering::Relaxed);
        for (at, word) in self.objects[place].words.iter().enumerate() {
            // Relaxed: published with release by the caller.
            word.store(name.word(at), Ordering::Relaxed);
        }
        Some(name)
    }

    /// The object was unlinked and waits for its grace period.
    pub fn retire(&self, name: Name) {
        self.turn(name, LIVE, RETIRED, Kind::RetiredTwice);
        self.retired.fetch_add(1, Ordering::Relaxed);
    }

    /// Its grace period is over: poison, and somebody else's.
    pub fn free(&self, name: Name) {
        self.turn(name, RETIRED, FREE, Kind::FreedTwice);
        for word in &self.objects[name.place()].words {
            // Relaxed: a reader that sees it is a violation, whatever the order.
            word.store(POISON, Ordering::Relaxed);
        }
        self.freed.fetch_add(1, Ordering::Relaxed);
        self.free_places().push(name.place());
    }

    fn turn(&self, name: Name, from: u32, to: u32, otherwise: Kind) {
        // Relaxed, both: a mark for counting; the grace period orders the rest.
        if self.states[name.place()].compare_exchange(from, to, Ordering::Relaxed, Ordering::Relaxed).is_err() {
            report(otherwise, [name.0, 0]);
        }
    }

    /// What every reader does inside: the object is still what its name says. False if it is not, which is recorded.
    #[inline(always)]
    pub fn check(&self, name: Name) -> bool {
        let words = &self.objects[name.place()].words;
        for at in CANARIES {
            // Relaxed: a plain load; the section alone is what protects it.
            let word = words[at].load(Ordering::Relaxed);
            if word != name.word(at) {
                report(Kind::ReadAfterFree, [name.0, word]);
                return false;
            }
        }
        true
    }
}
