//! Handlers of signals that come at any instruction of a wait or a wake, and change the word, or wake.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![allow(missing_docs)]

#[path = "common/differential.rs"]
mod differential;
#[path = "common/step.rs"]
mod step;

use std::sync::atomic::{AtomicU32, Ordering};

use leeward_engine::Wait;
use leeward_engine::parking::ParkingLot;
use step::{Ended, alone, stepped_or_asleep};

static WORD: AtomicU32 = AtomicU32::new(0);

fn change() {
    WORD.store(1, Ordering::SeqCst);
}

fn lot() -> &'static ParkingLot {
    static LOT: std::sync::OnceLock<ParkingLot> = std::sync::OnceLock::new();
    LOT.get_or_init(|| ParkingLot::new(4).unwrap())
}

/// As the kernel's: a handler that ran when the word had been compared ends the wait.
#[test]
fn a_handler_that_changes_the_word_ends_the_wait() {
    let _alone = alone();
    let mut overslept = Vec::new();
    let mut ends = Vec::new();
    for at in 1.. {
        WORD.store(0, Ordering::SeqCst);
        let rouse = || _ = lot().wake(&WORD, 1);
        let (ended, end) = stepped_or_asleep(at, change, || lot().wait(&WORD, 0, None), rouse);
        match ended {
            Ended::ByItself => assert_eq!(end, Wait::Changed, "before instruction {at}"),
            Ended::Overslept => overslept.push(at),
            Ended::Unreached => break,
        }
        ends.push(ended);
    }
    assert!(ends.len() > 100, "{} instructions were stepped", ends.len());
    assert_eq!(overslept, [], "of {} instructions", ends.len());
}
