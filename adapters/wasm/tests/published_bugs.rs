//! Bugs that other runtimes published, each a test with its number. `memory_use` has one more.

mod common;

use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::thread;

use common::{Pages, Restless, runtime, until_waiters};
use leeward_wasm::Outcome;

/// Wasmtime 7629: a thread whose sleep ended for no reason took the notification that had chosen
/// another thread. Here all sleeps end for no reason all the time.
#[test]
fn wasmtime_7629_no_thread_eats_the_notification_of_another() {
    let memory = runtime(Restless::default()).memory(Pages::new(1, true));
    for _ in 0..20 {
        let woken = AtomicU64::new(0);
        thread::scope(|threads| {
            for number in 0..4 {
                let (memory, woken) = (&memory, &woken);
                threads.spawn(move || {
                    assert_eq!(memory.wait32(0, 0, 0, -1), Ok(Outcome::Woken));
                    // Those that came first are those that were chosen.
                    woken.fetch_or(1 << number, SeqCst);
                });
                until_waiters(memory, number + 1);
            }
            assert_eq!(memory.notify(0, 0, 2), Ok(2));
            while woken.load(SeqCst).count_ones() < 2 {
                thread::yield_now();
            }
            assert_eq!((woken.load(SeqCst), memory.stats().waiters), (0b11, 2));
            assert_eq!(memory.notify(0, 0, u32::MAX), Ok(2));
        });
    }
}
