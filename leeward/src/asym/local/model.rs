//! The calling thread's block in a model: a thread has one from its first look on, and keeps it.

use core::cell::Cell;

use super::slots::{Block, Left};
use crate::process::thread;
use crate::registry::Registry;

loom::lazy_static! {
    static ref BLOCKS: Registry<Block> = Registry::new();
}

loom::thread_local! {
    static BLOCK: &'static Block = BLOCKS.claim(thread::current(), 0).expect("a model has few threads");
    static UNTRACKED: Cell<u64> = Cell::new(0);
}

/// Returns the registry of every thread's block.
pub(super) fn blocks() -> &'static Registry<Block> {
    &BLOCKS
}

/// Returns the calling thread's block.
pub(super) fn mine() -> &'static Block {
    BLOCK.with(|block| *block)
}

/// Returns the calling thread's block, which every thread of a model has.
pub(super) fn registered() -> Option<&'static Block> {
    Some(mine())
}

/// Returns how many ordinary locks the thread holds for reading without a slot that says so.
pub(super) fn untracked() -> u64 {
    UNTRACKED.with(Cell::get)
}

pub(super) fn set_untracked(count: u64) {
    UNTRACKED.with(|untracked| untracked.set(count));
}

/// Drops a guard of the calling thread; returns none if the thread is inside of the lock by no
/// slot.
pub(super) fn drop_guard(id: u64) -> Option<Left> {
    mine().drop_guard(id)
}
