//! The raw locks, unmodified, on the embedded engine instead of the kernel's futexes.
//!
//! A mutex, a condition variable, a readers-writer lock and a barrier share one parking lot; at the
//! end the program prints how many waits the lot queued.
//!
//! `cargo run --release -p leeward --features engine --example hosted_locks`

use leeward::futex::{Hosted, Parking};
use leeward::raw::{self, WakeOp};
use leeward::sync::Condvar;

type Here = Hosted<Parking>;
type Mutex<T> = lock_api::Mutex<raw::Mutex<Here>, T>;
type RwLock<T> = lock_api::RwLock<raw::RwLock<Here>, T>;

const WORKERS: usize = 4;
const EACH: u64 = 5_000;

fn main() {
    let queue = Mutex::new(Vec::new());
    let filled = Condvar::<WakeOp, Here>::with_scheme();
    let sums = RwLock::new(vec![0; WORKERS]);
    let start = raw::Barrier::<Here>::new_in(WORKERS + 1);
    std::thread::scope(|scope| {
        for worker in 0..WORKERS {
            let (queue, filled, sums, start) = (&queue, &filled, &sums, &start);
            scope.spawn(move || {
                start.wait();
                loop {
                    let mut items = queue.lock();
                    filled.wait_while(&mut items, |items| items.is_empty());
                    let Some(item) = items.pop().flatten() else { return };
                    drop(items);
                    sums.write()[worker] += item;
                }
            });
        }
        start.wait();
        for item in 1..=WORKERS as u64 * EACH {
            queue.lock().push(Some(item));
            filled.notify_one();
        }
        // One end mark for each worker, below all other items.
        let mut items = queue.lock();
        items.splice(0..0, (0..WORKERS).map(|_| None));
        filled.notify_all();
    });
    let count = WORKERS as u64 * EACH;
    let sum: u64 = sums.read().iter().sum();
    let (own, global) = (Parking::lot().stats(), Parking::lot().global_stats());
    println!("{WORKERS} workers took {count} items; their sum is {sum}");
    println!(
        "the engine queued {} waits: {} in its own table, {} before it had one",
        own.queued + global.queued,
        own.queued,
        global.queued
    );
    assert_eq!(sum, count * (count + 1) / 2);
}
