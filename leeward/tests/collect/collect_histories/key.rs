//! A key whose comparisons and hash yield the processor now and then.

use std::cell::Cell;
use std::cmp::Ordering;
use std::hash::{BuildHasher, Hash};
use std::thread;

use super::KEYS;

/// A key of a map; some keys are recorded.
#[derive(Clone, Copy, Debug)]
pub struct Key(pub u32);

/// Lets other threads run, one time in eight.
pub fn pause() {
    thread_local! { static TURN: Cell<u32> = const { Cell::new(0) }; }
    TURN.with(|turn| {
        turn.set(turn.get().wrapping_mul(1_664_525).wrapping_add(1_013_904_223));
        if turn.get() >> 29 == 0 {
            thread::yield_now();
        }
    });
}

impl PartialEq for Key {
    fn eq(&self, other: &Key) -> bool {
        pause();
        self.0 == other.0
    }
}

impl Eq for Key {}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Key) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Key {
    fn cmp(&self, other: &Key) -> Ordering {
        pause();
        self.0.cmp(&other.0)
    }
}

impl Hash for Key {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        pause();
        state.write_u32(self.0);
    }
}

/// How keys are hashed.
#[derive(Clone, Copy)]
pub enum Hasher {
    Spread,
    /// The recorded keys, and some of the others, have one hash.
    Equal,
}

impl BuildHasher for Hasher {
    type Hasher = State;

    fn build_hasher(&self) -> State {
        State { hasher: *self, key: 0 }
    }
}

/// The hasher of one key.
pub struct State {
    hasher: Hasher,
    key: u32,
}

impl std::hash::Hasher for State {
    fn write(&mut self, _: &[u8]) {
        unreachable!("keys are numbers");
    }

    fn write_u32(&mut self, key: u32) {
        self.key = key;
    }

    fn finish(&self) -> u64 {
        let key = match self.hasher {
            Hasher::Equal if self.key < KEYS + 8 => 0,
            _ => self.key,
        };
        u64::from(key + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15)
    }
}
