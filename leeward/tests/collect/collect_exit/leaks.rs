//! Guards and removed entries that are leaked by threads which end.

use super::*;

use std::mem;

leeward::rcu_domain! { struct Guarded; struct Forgotten; }

static GUARDED: AtomicI64 = AtomicI64::new(0);

/// A thread leaks its guard with references to entries, and ends. Writers remove the entries and a
/// thousand others, and go on; the references stay valid.
#[test]
fn a_leaked_guard_keeps_what_it_found() {
    let _dog = Watchdog::new("a_leaked_guard_keeps_what_it_found");
    let containers: &'static Containers<Guarded> = Box::leak(Box::new(Containers::new()));
    for key in 0..100 {
        containers.map.insert(key, Value::new(&GUARDED));
        containers.ordered.insert(key, Value::new(&GUARDED));
    }
    let leak = || {
        let guard: &'static Guard<'static, Guarded> = Box::leak(Box::new(Guarded::read()));
        let hashed = containers.map.iter(guard).map(|(_, value)| value);
        hashed.chain(containers.ordered.iter(guard).map(|(_, value)| value)).collect::<Vec<_>>()
    };
    let found: Vec<&'static Value> = thread::spawn(leak).join().unwrap();
    assert_eq!((found.len(), Guarded::stats().leaked), (200, 1));
    thread::scope(|scope| {
        for thread in 0..2 {
            scope.spawn(move || {
                // The keys of the entries that were found, too; the tables grow and shrink.
                for key in (0..5000).filter(|key| key % 2 == thread) {
                    for _ in 0..2 {
                        drop(containers.map.insert(key, Value::new(&GUARDED)));
                        drop(containers.ordered.insert(key, Value::new(&GUARDED)));
                    }
                    drop(containers.map.remove(&key));
                    drop(containers.ordered.remove(&key));
                }
                containers.map.reclaim();
            });
        }
    });
    containers.assert_empty();
    found.iter().for_each(|value| value.check());
    // All is kept: 100 entries, and two for each key, in each map.
    assert_eq!(GUARDED.load(Relaxed), 2 * (100 + 2 * 5000));
}

static FORGOTTEN: AtomicI64 = AtomicI64::new(0);

/// A removed entry that is forgotten is leaked, and nothing else is.
#[test]
fn forgotten_entries_are_all_that_leaks() {
    let _dog = Watchdog::new("forgotten_entries_are_all_that_leaks");
    let containers = Containers::<Forgotten>::new();
    thread::scope(|scope| {
        for thread in 0..2 {
            let containers = &containers;
            scope.spawn(move || {
                for key in (0..1000).filter(|key| key % 2 == thread) {
                    containers.map.insert(key, Value::new(&FORGOTTEN));
                    containers.ordered.insert(key, Value::new(&FORGOTTEN));
                    let (hashed, ordered) = (containers.map.remove(&key), containers.ordered.remove(&key));
                    if key % 10 < 2 {
                        mem::forget((hashed, ordered));
                    }
                }
            });
        }
    });
    drop(containers);
    assert_eq!(FORGOTTEN.load(Relaxed), 2 * 200);
}
