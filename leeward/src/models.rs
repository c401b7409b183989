//! The common part of the models under loom: how schedules are tried, and how a model's threads
//! run.

use std::vec::Vec;

use loom::thread;

pub(crate) use exploration::explore;

mod exploration;

/// Runs all of `works` at the same time, the last on the calling thread, and waits for their end.
pub(crate) fn together<const N: usize>(works: [fn(); N]) {
    let mut works: Vec<_> = works.into_iter().collect();
    let last = works.pop().unwrap();
    let others: Vec<_> = works.into_iter().map(thread::spawn).collect();
    last();
    others.into_iter().for_each(|other| other.join().unwrap());
}
