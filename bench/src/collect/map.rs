//! A map from number to number as the benchmark sees it, and the loops over it, which are written
//! once. Each peer in `peers` implements [`Map`]; the groups know [`MapLoops`] only.

use std::hint::black_box;
use std::time::Instant;

use super::keys::{Kind, Operation, Random, key};
use crate::crew::Post;
use crate::tails::Tails;

/// A concurrent map from `u64` to `u64`.
pub trait Map: Send + Sync + Sized + 'static {
    /// What a thread keeps for its accesses: the map itself, a handle, or a guard.
    type Thread<'m>;

    /// Returns a map with the keys of the indices below `size`, each its own value. It has grown to
    /// that size by itself where the map can grow.
    fn filled(size: usize) -> Self;

    fn thread(&self) -> Self::Thread<'_>;

    fn get(thread: &Self::Thread<'_>, key: u64) -> Option<u64>;

    fn insert(thread: &mut Self::Thread<'_>, key: u64, value: u64);

    fn remove(thread: &mut Self::Thread<'_>, key: u64);

    /// Renews what the thread keeps. Called after every 256 operations, for guards that are kept.
    #[inline(always)]
    fn renew(_: &mut Self::Thread<'_>) {}
}

/// The loops over one map, of which the measurements know only these methods.
pub trait MapLoops: Send + Sync {
    /// Goes through the sequence again and again until told to stop.
    fn run(&self, post: &Post<'_>, operations: &[Operation]);

    /// Inserts the keys of the indices from `from` to `to`, and notes how long each call took.
    fn grow(&self, from: usize, to: usize) -> Tails;

    /// Gets keys of the indices below `size` until told to stop, and notes how long each call took.
    fn watch(&self, post: &Post<'_>, size: usize) -> Tails;
}

/// The operations between two looks at the stop flag.
const CHUNK: usize = 256;

/// A map that shares its cache lines with nothing.
#[repr(align(128))]
struct Apart<M>(M);

/// Opens a filled map.
pub fn open<M: Map>(size: usize) -> Box<dyn MapLoops> {
    Box::new(Apart(M::filled(size)))
}

impl<M: Map> MapLoops for Apart<M> {
    fn run(&self, post: &Post<'_>, operations: &[Operation]) {
        let mut thread = self.0.thread();
        let mut done = 0;
        post.ready();
        for chunk in operations.chunks(CHUNK).cycle() {
            let mut wrong = 0;
            for &operation in chunk {
                wrong |= step::<M>(&mut thread, operation);
            }
            assert_eq!(black_box(wrong), 0, "a key has another key's value");
            done += chunk.len() as u64;
            // Relaxed: only a count.
            post.tally.store(done, std::sync::atomic::Ordering::Relaxed);
            if post.stopped() {
                return;
            }
            M::renew(&mut thread);
        }
    }

    fn grow(&self, from: usize, to: usize) -> Tails {
        let mut thread = self.0.thread();
        let mut tails = Tails::new();
        for index in from..to {
            let key = key(index as u64);
            let began = Instant::now();
            M::insert(&mut thread, key, key);
            tails.note(began.elapsed());
            M::renew(&mut thread);
        }
        tails
    }

    fn watch(&self, post: &Post<'_>, size: usize) -> Tails {
        let mut thread = self.0.thread();
        let (mut tails, mut random) = (Tails::new(), Random::new(1));
        post.ready();
        post.until_stopped(|| {
            let key = key(random.below(size as u64));
            let began = Instant::now();
            let found = M::get(&thread, key);
            tails.note(began.elapsed());
            assert_eq!(found, Some(key), "a key that stays was not found");
            M::renew(&mut thread);
        });
        tails
    }
}

/// Does one operation. Returns 0 unless a value that was read is not the key's.
#[inline(always)]
fn step<M: Map>(thread: &mut M::Thread<'_>, operation: Operation) -> u64 {
    let key = operation.key();
    match operation.kind() {
        Kind::Get => return M::get(thread, key).map_or(0, |value| value ^ key),
        Kind::Insert => M::insert(thread, key, key),
        Kind::Remove => M::remove(thread, key),
    }
    0
}
