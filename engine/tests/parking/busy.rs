//! What a parked thread does before it sleeps on a machine where others want the processor: it
//! gives the processor away only where that can gain something.

#![cfg(target_os = "linux")]
#![allow(missing_docs)]

#[path = "../common/busy.rs"]
mod busy;
#[path = "../common/differential.rs"]
mod differential;
#[path = "../common/realtime.rs"]
mod realtime;

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use busy::{yields_of, yields_take};
use differential::sleep_in_a_wait;
use leeward_engine::parking::{ParkingLot, now};
use leeward_engine::{Clock, Deadline, Wait};
use realtime::{may_run_in_real_time, me, run_at, until};

/// Returns how often a new thread yields in a wait that is woken as soon as it sleeps, or whose
/// time `left` is over.
fn first_wait(lot: &ParkingLot, left: Option<Duration>) -> u32 {
    wait_of(lot, left, || ())
}

fn wait_of(lot: &ParkingLot, left: Option<Duration>, before: impl FnOnce() + Send) -> u32 {
    let (word, thread) = (AtomicU32::new(0), AtomicU32::new(0));
    let at = |left: Duration| now(Clock::Monotonic) + left.as_nanos() as u64;
    std::thread::scope(|threads| {
        let waiting = threads.spawn(|| {
            before();
            thread.store(me(), Ordering::SeqCst);
            let end = left.map(|left| Deadline { clock: Clock::Monotonic, at: at(left) });
            yields_of(|| assert!(matches!(lot.wait(&word, 0, end), Wait::Woken | Wait::TimedOut)))
        });
        until(|| {
            let number = thread.load(Ordering::SeqCst);
            waiting.is_finished() || number != 0 && sleep_in_a_wait(number as i32).is_some()
        });
        until(|| waiting.is_finished() || lot.wake(&word, 1) == 1);
        waiting.join().unwrap()
    })
}

fn is_quiet_again(lot: &ParkingLot) {
    yields_take(Duration::ZERO);
    // Where other threads take the processor, it is found out by chance sooner or later that they
    // do not.
    until(|| first_wait(lot, None) >= 12);
}

#[test]
fn a_spin_ends_when_its_yields_took_long() {
    let lot = ParkingLot::new(4).unwrap();
    // A machine may be so busy that the note is out of date when the next thread comes: then again.
    until(|| {
        is_quiet_again(&lot);
        // Longer than any system's tick.
        yields_take(Duration::from_millis(20));
        let start = Instant::now();
        assert_eq!(first_wait(&lot, None), 1);
        // The next new thread knows it.
        let yields = first_wait(&lot, None);
        let in_time = start.elapsed() <= Duration::from_millis(50);
        assert!(yields == 0 || !in_time, "{yields} yields");
        in_time
    });
    is_quiet_again(&lot);
    // No wait ends late for a yield.
    assert_eq!(first_wait(&lot, Some(Duration::from_millis(5))), 0);
    assert_eq!(first_wait(&lot, Some(Duration::from_millis(50))), 0);
    until(|| first_wait(&lot, Some(Duration::from_secs(100))) >= 12);
    // A real-time thread's yield gives nothing to an ordinary thread.
    if may_run_in_real_time() {
        assert_eq!(wait_of(&lot, None, || assert!(run_at(1))), 0);
    }
}
