//! Ways to put threads to sleep and to wake them: the engine, the kernel's futex, parking_lot_core,
//! each in a few lines.

use std::sync::atomic::{AtomicU32, Ordering};

use leeward::futex::{Futex, Private};
use leeward_engine::Requeue;
use leeward_engine::parking::ParkingLot;
use parking_lot_core::{DEFAULT_PARK_TOKEN, DEFAULT_UNPARK_TOKEN, RequeueOp};

use crate::error::Error;

pub const ALL: u32 = i32::MAX as u32;

/// The names of the rows.
pub const ENGINE: &str = "leeward-engine";
pub const KERNEL: &str = "the kernel's futex";
pub const CORE: &str = "parking_lot_core";

/// A way to sleep at a word and to wake sleepers.
pub trait Parker: Send + Sync {
    /// Sleeps while the word is `expected`; may return at any time.
    fn wait(&self, word: &AtomicU32, expected: u32);
    /// Wakes `count` sleepers, which is 1 or `ALL`, and returns how many it woke.
    fn wake(&self, word: &AtomicU32, count: u32) -> u32;
    /// Moves all sleepers from one word to the other if the first is `expected`, and returns their
    /// number.
    fn requeue(&self, from: &AtomicU32, expected: u32, to: &AtomicU32) -> u32;
}

/// A function that opens a parker.
pub type Open = fn() -> Result<Box<dyn Parker>, Error>;

/// Opens an engine with its host.
pub fn lot() -> Result<ParkingLot, Error> {
    ParkingLot::new(8).map_err(|error| Error::new(format!("the engine could not be made: {error}")))
}

pub fn engine() -> Result<Box<dyn Parker>, Error> {
    Ok(Box::new(lot()?))
}

pub fn kernel() -> Result<Box<dyn Parker>, Error> {
    Ok(Box::new(Kernel))
}

pub fn core() -> Result<Box<dyn Parker>, Error> {
    Ok(Box::new(Core))
}

impl Parker for ParkingLot {
    fn wait(&self, word: &AtomicU32, expected: u32) {
        ParkingLot::wait(self, word, expected, None);
    }

    fn wake(&self, word: &AtomicU32, count: u32) -> u32 {
        ParkingLot::wake(self, word, count)
    }

    fn requeue(&self, from: &AtomicU32, expected: u32, to: &AtomicU32) -> u32 {
        match ParkingLot::requeue(self, from, expected, 0, to, ALL) {
            Requeue::Done(count) => count,
            Requeue::Changed => 0,
        }
    }
}

struct Kernel;

impl Parker for Kernel {
    fn wait(&self, word: &AtomicU32, expected: u32) {
        Private::wait(word, expected, leeward::futex::Timeout::Never);
    }

    fn wake(&self, word: &AtomicU32, count: u32) -> u32 {
        Private::wake(word, count)
    }

    fn requeue(&self, from: &AtomicU32, expected: u32, to: &AtomicU32) -> u32 {
        // SAFETY: both words are borrowed.
        unsafe { Private::requeue(from, expected, 0, to, ALL) }.unwrap_or(0)
    }
}

pub struct Core;

fn key(word: &AtomicU32) -> usize {
    std::ptr::from_ref(word).addr()
}

impl Parker for Core {
    fn wait(&self, word: &AtomicU32, expected: u32) {
        // Relaxed: the bucket's lock orders the load.
        let validate = || word.load(Ordering::Relaxed) == expected;
        // SAFETY: the key is the address of a word of ours. The closures neither panic nor call
        // into parking_lot_core.
        unsafe { parking_lot_core::park(key(word), validate, || (), |_, _| (), DEFAULT_PARK_TOKEN, None) };
    }

    fn wake(&self, word: &AtomicU32, count: u32) -> u32 {
        if count == 1 {
            // SAFETY: as above.
            return unsafe { parking_lot_core::unpark_one(key(word), |_| DEFAULT_UNPARK_TOKEN) }.unparked_threads
                as u32;
        }
        // SAFETY: as above.
        unsafe { parking_lot_core::unpark_all(key(word), DEFAULT_UNPARK_TOKEN) as u32 }
    }

    fn requeue(&self, from: &AtomicU32, expected: u32, to: &AtomicU32) -> u32 {
        // Relaxed: the bucket's lock orders the load.
        let same = || from.load(Ordering::Relaxed) == expected;
        let validate = || if same() { RequeueOp::RequeueAll } else { RequeueOp::Abort };
        // SAFETY: as above.
        let result =
            unsafe { parking_lot_core::unpark_requeue(key(from), key(to), validate, |_, _| DEFAULT_UNPARK_TOKEN) };
        result.requeued_threads as u32
    }
}
