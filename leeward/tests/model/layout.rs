//! Where everything lies in the modelled memory.

use super::lang::{At, Loc, Reg};

/// Slots a row has room for; index 0 is "none" in the list.
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
/// Followers' futex words and how many sleep there, by the parity of their ticket.
const ROUND: Loc = 7;
const SLEEPERS: Loc = 9;
/// Head of the list of slots.
pub const HEAD: At = word(11);
/// Set when the updater has finished.
pub const STOP: At = word(12);
/// How many registered readers need a heavy fence.
pub const SECTIONS: At = word(15);
/// Litmus tests' variables.
pub const X: At = word(13);
pub const Y: At = word(14);

const EPOCH: Loc = 16;
const EXTRA: Loc = 20;
const WAITED: Loc = 24;
const NEXT: Loc = 28;
const IN_USE: Loc = 32;
/// What a reader dereferences: not written yet, alive, freed.
const OBJECT: Loc = 36;
/// What a reader may take out of an object, and how often it was dropped.
const PAYLOAD: Loc = 42;
const DROPPED: Loc = 48;

/// Asymmetric locks: what says who may enter by a slot, the ordinary lock underneath, and a
/// thread's slots with the requests to be woken.
const BIAS: Loc = 54;
const ORDINARY: Loc = 56;
const HELD: Loc = 58;
const ASKED: Loc = 61;

pub const LIVE: u8 = 1;
pub const FREED: u8 = 2;

const fn word(base: Loc) -> At {
    At { base, len: 1, index: None }
}

/// Which element of a row.
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

/// Whose way in is open: 0 = everybody takes the ordinary lock. Of lock 0 or 1.
pub fn bias(lock: u8) -> At {
    word(BIAS + lock)
}

/// The ordinary lock under asymmetric lock 0 or 1.
pub fn ordinary(lock: u8) -> At {
    word(ORDINARY + lock)
}

/// The slot of thread 0, 1 or 2: which lock it is inside of.
pub fn held(slot: u8) -> At {
    word(HELD + slot)
}

/// Which lock's writer sleeps on that slot.
pub fn asked(slot: u8) -> At {
    word(ASKED + slot)
}

pub fn round(parity: u8) -> At {
    word(ROUND + parity)
}

pub fn sleepers(parity: u8) -> At {
    word(SLEEPERS + parity)
}

/// A word's name, for schedules.
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
