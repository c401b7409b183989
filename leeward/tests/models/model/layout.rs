//! Where all words lie in the modelled memory.

use super::lang::{At, Loc, Reg};

/// How many slots a row has; index 0 is "none" in the list.
pub const SLOTS: u8 = 4;
pub const OBJECTS: u8 = 6;

pub const GLOBAL: At = word(0);
pub const STARTED: At = word(1);
pub const DONE: At = word(2);
/// The leader's lock.
pub const LEADER: At = word(3);
/// The published pointers: the number of an object each.
const POINTERS: Loc = 4;
/// Serializes updaters that publish with a plain store.
pub const UPDATE: At = word(6);
/// The first of the followers' futex words, by the parity of their ticket.
const ROUND: Loc = 7;
/// The first of the counts of followers that sleep, by the parity of their ticket.
const SLEEPERS: Loc = 9;
/// Head of the list of slots.
pub const HEAD: At = word(11);
/// Set when the updater has finished.
pub const STOP: At = word(12);
/// How many registered readers need a heavy fence.
pub const SECTIONS: At = word(15);
/// 1 while the reader of slot 1 executes full fences. (A word of the row of links, of which that of
/// "none" is not used.)
pub const FENCED: At = word(NEXT);
/// A variable of litmus tests.
pub const X: At = word(13);
/// Another variable of litmus tests.
pub const Y: At = word(14);

const EPOCH: Loc = 16;
const EXTRA: Loc = 20;
const WAITED: Loc = 24;
const NEXT: Loc = 28;
const IN_USE: Loc = 32;
/// The first object's state: not written yet, alive, freed.
const OBJECT: Loc = 36;
/// What a reader may take out of the first object.
const PAYLOAD: Loc = 42;
/// How often the first object was dropped.
const DROPPED: Loc = 48;

/// The first asymmetric lock's word that says which threads may enter by a slot.
const BIAS: Loc = 54;
/// The first ordinary lock, under an asymmetric one.
const ORDINARY: Loc = 56;
/// The first thread's slot: the lock that the thread is inside of.
const HELD: Loc = 58;
/// The first slot's request: the lock whose writer sleeps there.
const ASKED: Loc = 61;

pub const LIVE: u8 = 1;
pub const FREED: u8 = 2;

const fn word(base: Loc) -> At {
    At { base, len: 1, index: None }
}

/// An element of a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Which {
    Fixed(u8),
    By(Reg),
}
pub use Which::{By, Fixed};

fn element(base: Loc, len: u8, which: Which) -> At {
    match which {
        Fixed(i) => word(base + i),
        By(r) => At { base, len, index: Some(r) },
    }
}

pub fn pointer(i: u8) -> At {
    word(POINTERS + i)
}

pub fn epoch(slot: Which) -> At {
    element(EPOCH, SLOTS, slot)
}

pub fn extra(slot: Which) -> At {
    element(EXTRA, SLOTS, slot)
}

pub fn waited(slot: Which) -> At {
    element(WAITED, SLOTS, slot)
}

pub fn next(slot: Which) -> At {
    element(NEXT, SLOTS, slot)
}

pub fn in_use(slot: Which) -> At {
    element(IN_USE, SLOTS, slot)
}

pub fn object(which: Which) -> At {
    element(OBJECT, OBJECTS, which)
}

pub fn payload(which: Which) -> At {
    element(PAYLOAD, OBJECTS, which)
}

pub fn dropped(which: Which) -> At {
    element(DROPPED, OBJECTS, which)
}

/// Returns the word of lock 0 or 1 that says which threads may enter by a slot; 0: all take the
/// ordinary lock.
pub fn bias(lock: u8) -> At {
    word(BIAS + lock)
}

/// Returns the ordinary lock under asymmetric lock 0 or 1.
pub fn ordinary(lock: u8) -> At {
    word(ORDINARY + lock)
}

/// Returns the slot of thread 0, 1 or 2: the lock that it is inside of.
pub fn held(slot: u8) -> At {
    word(HELD + slot)
}

/// Returns the word that names the lock whose writer sleeps on that slot.
pub fn asked(slot: u8) -> At {
    word(ASKED + slot)
}

pub fn round(parity: u8) -> At {
    word(ROUND + parity)
}

pub fn sleepers(parity: u8) -> At {
    word(SLEEPERS + parity)
}

/// Returns a word's name, for schedules.
pub fn name(word: Loc) -> String {
    let singles = [
        "GLOBAL",
        "started",
        "done",
        "leader",
        "ptr0",
        "ptr1",
        "update",
        "turn0",
        "turn1",
        "sleepers0",
        "sleepers1",
        "head",
        "stop",
        "x",
        "y",
        "sections",
    ];
    let rows = [
        (EPOCH, "epoch"),
        (EXTRA, "extra"),
        (WAITED, "waited"),
        (NEXT, "next"),
        (IN_USE, "in_use"),
        (OBJECT, "obj"),
        (PAYLOAD, "payload"),
        (DROPPED, "dropped"),
        (BIAS, "bias"),
        (ORDINARY, "ordinary"),
        (HELD, "slot"),
        (ASKED, "asked"),
    ];
    match singles.get(usize::from(word)) {
        Some(name) => (*name).to_string(),
        None => rows
            .iter()
            .rev()
            .find(|(base, _)| *base <= word)
            .map_or_else(String::new, |(base, row)| format!("{row}[{}]", word - base)),
    }
}
