//! RCU by explicit handles, as a kernel, a runtime or a plugin of a C program uses it: no
//! thread-local storage, no worker, nothing but `core` and `alloc`.
//!
//! Everything above `main` would compile in a `no_std` crate (`ci/nostd` builds and runs such a
//! crate); `main` only brings the threads.
//!
//! `cargo run --release -p leeward --example handles`

extern crate alloc;

use alloc::vec::Vec;
use core::sync::atomic::{AtomicBool, Ordering};

use leeward::rcu::{DetachedReader, Domain, RcuCell, Reader};

leeward::rcu_domain! {
    /// The domain that the handles are registered with.
    struct Table;
}

type Counters = RcuCell<Vec<u64>, Table>;

/// Reads until told to stop, through a handle that another thread registered.
fn read_until(stop: &AtomicBool, counters: &Counters, handle: DetachedReader<Table>) -> u64 {
    let reader: Reader<Table> = handle.attach();
    let mut sections = 0;
    while !stop.load(Ordering::Relaxed) {
        let guard = reader.read();
        let now = counters.load(&guard);
        // All elements are of one version: the writer counts every element up by one.
        assert!(now.windows(2).all(|pair| pair[1] == pair[0] + 1), "a torn version");
        sections += 1;
    }
    sections
}

/// Counts up `rounds` times as a writer that waits: the old version comes back as a box, to be
/// freed or used again.
fn count_up(counters: &Counters, rounds: u64) {
    for _ in 0..rounds {
        let next = {
            // The writer reads too, through its own handle.
            let reader = Reader::<Table>::register_in();
            let guard = reader.read();
            counters.load(&guard).iter().map(|n| n + 1).collect()
        };
        drop(counters.replace(next).synchronize());
    }
}

/// Counts up once as a writer that must not wait: it asks, does something else, and asks again.
/// Returns how often it asked.
fn count_up_without_waiting(counters: &Counters) -> u64 {
    let mut retired = counters.replace((100..108).collect());
    let mut asked = 1;
    loop {
        match retired.try_into_box() {
            Ok(_old) => return asked,
            Err(not_yet) => retired = not_yet,
        }
        asked += 1;
        core::hint::spin_loop();
    }
}

fn main() {
    let counters = Counters::new_in((0..8).collect());
    let stop = AtomicBool::new(false);
    let handles: Vec<_> = (0..3).map(|_| Reader::<Table>::register_in().detach()).collect();
    std::thread::scope(|scope| {
        let readers: Vec<_> =
            handles.into_iter().map(|handle| scope.spawn(|| read_until(&stop, &counters, handle))).collect();
        count_up(&counters, 2_000);
        let asked = count_up_without_waiting(&counters);
        stop.store(true, Ordering::Relaxed);
        let sections: u64 = readers.into_iter().map(|reader| reader.join().expect("no version was torn")).sum();
        println!("{sections} sections beside 2000 grace periods; a poll was ready after {asked} questions");
    });
    println!("{:?}", Table::stats());
}
