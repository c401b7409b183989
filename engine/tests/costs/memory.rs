//! What waiters, spaces and tables take: as many bytes as the crate's documentation says.

#![cfg(all(target_os = "linux", target_pointer_width = "64"))]
#![allow(missing_docs)]

use leeward_engine::parking::Process;
use leeward_engine::{Config, Engine, Heap, Host, MOST_BUCKETS, Space, WaitAsync, WaitEntry};

/// The bytes of a bucket with its lock word.
const BUCKET: usize = 128;
/// What a table takes beside its buckets.
const TABLE: usize = 128;

fn process() -> Process {
    // SAFETY: no word is named.
    unsafe { Process::new(1, 7) }
}

#[test]
fn waiters_spaces_and_engines() {
    assert_eq!(size_of::<WaitAsync<'_, Process>>(), 144);
    assert_eq!(size_of::<WaitEntry<Process>>(), 144);
    assert_eq!(size_of::<Space<Process>>(), 64);
    assert_eq!(size_of::<Engine<Process>>(), 608);
}

#[test]
fn the_global_table() {
    for (config, buckets) in [
        (Config::small(1), 16),
        (Config::for_processors(1, 1), 256),
        (Config::for_processors(6, 1), 2048),
        (Config::for_processors(100_000, 1), 65_536),
    ] {
        let (engine, process) = (Engine::new(config, Heap).unwrap(), process());
        let stats = engine.stats(&process);
        assert_eq!((stats.buckets, stats.bytes), (buckets, buckets * BUCKET + TABLE));
    }
}

#[test]
fn a_spaces_tables() {
    let (engine, process) = (Engine::new(Config::for_processors(1, 1), Heap).unwrap(), process());
    let bytes = || process.space().stats(&process).bytes;
    // A space of one thread needs no table; nor does a space without waiters.
    engine.reserve(&process, 1);
    assert_eq!(bytes(), 0);
    let mut all = 0;
    for (threads, buckets) in [(2, 16), (4, 0), (5, 32), (100, 512), (90, 0), (1_000_000, MOST_BUCKETS)] {
        engine.reserve(&process, threads);
        if buckets != 0 {
            all += buckets * BUCKET + TABLE;
        }
        assert_eq!(bytes(), all, "{threads} threads");
        // All of its tables together take at most twice what the last one takes.
        assert!(all <= 2 * (process.space().stats(&process).buckets * BUCKET + TABLE));
    }
}
