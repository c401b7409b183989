//! What the tests that ask scenarios share.

#[macro_use]
pub mod wrong;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex};

use leeward_conform::linux::Linux;
use leeward_conform::{Scenario, Syscalls, numbers, scenarios};

/// How many scenarios are asked at once, by all tests. They sleep most of the time.
const AT_ONCE: usize = 32;

/// Calls `body` while fewer than [`AT_ONCE`] do.
fn with_a_place<R>(body: impl FnOnce() -> R) -> R {
    static TAKEN: Mutex<usize> = Mutex::new(0);
    static FREE: Condvar = Condvar::new();
    struct Place;
    impl Drop for Place {
        fn drop(&mut self) {
            *TAKEN.lock().unwrap() -= 1;
            FREE.notify_one();
        }
    }
    *FREE.wait_while(TAKEN.lock().unwrap(), |taken| *taken == AT_ONCE).unwrap() += 1;
    let _place = Place;
    body()
}

/// Calls `body` with each scenario, on several threads, and panics with all that it complains of.
pub fn each_scenario(body: impl Fn(&'static Scenario) -> Result<(), String> + Sync) {
    let all: Vec<_> = scenarios().collect();
    let next = AtomicUsize::new(0);
    let complaints = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(scenario) = all.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Err(complaint) = with_a_place(|| body(scenario)) {
                        complaints.lock().unwrap().push(format!("{}: {complaint}", scenario.name));
                    }
                }
            });
        }
    });
    let complaints = complaints.into_inner().unwrap();
    assert!(complaints.is_empty(), "{} scenarios:\n{}", complaints.len(), complaints.join("\n"));
}

/// Runs all rows at once, and panics with the names of those that panicked.
pub fn each_row(rows: &[(&str, &(dyn Fn() + Sync))]) {
    let failed: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = rows.iter().map(|(name, row)| (name, scope.spawn(move || with_a_place(row)))).collect();
        threads.into_iter().filter_map(|(name, thread)| thread.join().err().map(|_| name)).collect()
    });
    assert!(failed.is_empty(), "{failed:?}");
}

/// Returns a word that the processes of a scenario share.
pub fn shared_word() -> &'static AtomicUsize {
    const READ_WRITE: usize = 3;
    const SHARED_ANONYMOUS: usize = 0x21;
    // SAFETY: a new mapping.
    let at = unsafe { Linux.call(numbers::MMAP, [0, 4096, READ_WRITE, SHARED_ANONYMOUS, usize::MAX, 0]) };
    assert!(at > 0, "mmap answered {at}");
    // SAFETY: mapped, zeroed, and never unmapped.
    unsafe { &*std::ptr::with_exposed_provenance::<AtomicUsize>(at as usize) }
}
