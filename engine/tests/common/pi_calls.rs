//! The calls with priority inheritance, and what they find in memory.

// Each test program uses its part.
#![allow(dead_code)]

use leeward_engine::abi::Numbers;
use leeward_engine::{Config, Engine, Heap};

use crate::guest::{self, Guest, Page, gettid};

pub const LOCK: u64 = 6;
pub const UNLOCK: u64 = 7;
pub const TRYLOCK: u64 = 8;
pub const WAIT_REQUEUE: u64 = 11;
pub const CMP_REQUEUE: u64 = 12;
pub const LOCK2: u64 = 13;
pub const PRIVATE: u64 = 128;

pub fn new_engine() -> Engine<Guest> {
    Engine::new(Config::for_processors(1, 11), Heap).unwrap()
}

pub fn ask(engine: &Engine<Guest>, guest: &Guest, call: [u64; 6]) -> i64 {
    engine.syscall(guest, &Numbers::X86_64, Numbers::X86_64.futex, call).unwrap()
}

pub const TIMES: [(i64, i64); 5] = [(0, 0), (1, 0), (0, 999_999_999), (-1, 0), (0, 1_000_000_000)];
pub const TIMES_AT: u64 = 2048;

pub fn time(guest: &Guest, i: usize) -> u64 {
    guest.address(Page::Writable) + TIMES_AT + 16 * i as u64
}

pub fn prepare(guest: &Guest, words: &[u32]) {
    for (i, (seconds, nanos)) in TIMES.into_iter().enumerate() {
        guest::put(guest, time(guest, i), seconds as u64);
        guest::put(guest, time(guest, i) + 8, nanos as u64);
    }
    for page in [Page::Writable, Page::Object] {
        for (i, value) in words.iter().enumerate() {
            guest.store(guest.address(page) + 4 * i as u64, *value);
        }
    }
}

/// Returns the number of a thread that is gone altogether.
pub fn dead() -> u32 {
    let number = std::thread::spawn(gettid).join().unwrap();
    while std::fs::exists(format!("/proc/self/task/{number}")).unwrap() {
        std::thread::yield_now();
    }
    number
}
