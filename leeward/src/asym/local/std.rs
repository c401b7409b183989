//! The calling thread's block, in thread-local storage: registered when a lock first takes a slow
//! path, given back when the thread exits. Called by `rwlock` and `mutex`.
//!
//! The block's address lies in a variable without a destructor, so that reading it is one load and
//! works until the thread's exit. A second variable, touched at registration only, has the
//! destructor. A thread that locks after that destructor has run, or for which there is no memory,
//! has no slots: it takes the ordinary locks underneath.

use core::cell::Cell;
use core::ptr;

use super::slots::{Block, Left};
use crate::mutant::{check, mutated};
use crate::process::fork::{self, Hook, Watched};
use crate::process::thread;
use crate::registry::Registry;

static BLOCKS: Registry<Block> = Registry::new();
static NO_BLOCK: Block = Block::none();

std::thread_local! {
    static BLOCK: Cell<*const Block> = const { Cell::new(&raw const NO_BLOCK) };
    static EXIT: Exit = const { Exit };
    /// How many ordinary locks the thread holds for reading without a slot that says so.
    static UNTRACKED: Cell<u64> = const { Cell::new(0) };
    /// True while the thread's block is being made, which may allocate: an allocator that takes
    /// such a lock comes back here.
    static REGISTERING: Cell<bool> = const { Cell::new(false) };
    /// Counts the thread's slow reads, for `is_due`.
    static TICKS: Cell<u32> = const { Cell::new(0) };
}

/// The repair of the slots in the child of a fork, which has one thread. Readers that were other
/// threads are not there any more; a mutex that another thread was inside of stays locked, as any
/// mutex does.
struct SlotsInChild(Hook);

static SLOTS_IN_CHILD: SlotsInChild = SlotsInChild(Hook::new());

impl Watched for SlotsInChild {
    fn hook(&self) -> &Hook {
        &self.0
    }

    fn in_child(&'static self) {
        if mutated!(asym_fork) {
            return;
        }
        let me = thread::current();
        for block in BLOCKS.slots() {
            block.after_fork(me);
        }
        BLOCKS.start_over();
    }
}

struct Exit;

impl Drop for Exit {
    fn drop(&mut self) {
        let block = mine();
        if ptr::eq(block, &NO_BLOCK) {
            return;
        }
        if block.is_empty() || mutated!(asym_exit_drops_live_slots) {
            give_back(block);
        } else {
            block.outlive_thread();
        }
    }
}

/// Returns the registry of every thread's block.
pub(super) fn blocks() -> &'static Registry<Block> {
    &BLOCKS
}

/// Returns the calling thread's block, or `NO_BLOCK` if it has none.
#[inline(always)]
pub(super) fn mine() -> &'static Block {
    let block = BLOCK.with(Cell::get);
    // SAFETY: the variable holds addresses of blocks that live forever.
    unsafe { &*block }
}

/// Returns the calling thread's block, and registers one if it has none. Returns none if that is
/// impossible, and when it is called from within itself. May allocate, so the caller may hold no
/// lock.
pub(super) fn registered() -> Option<&'static Block> {
    let block = mine();
    if !ptr::eq(block, &NO_BLOCK) {
        return Some(block);
    }
    if check!(asym_registering, REGISTERING.replace(true)) {
        return None;
    }
    let block = register();
    REGISTERING.set(false);
    block
}

fn register() -> Option<&'static Block> {
    fork::watch(&SLOTS_IN_CHILD);
    EXIT.try_with(|_| ()).ok()?;
    let block = BLOCKS.claim(thread::current(), 0).ok()?;
    BLOCK.with(|mine| mine.set(block));
    Some(block)
}

/// Gives the block of a thread back that is inside of nothing; the thread has no slots from now on.
fn give_back(block: &'static Block) {
    BLOCK.with(|mine| mine.set(&raw const NO_BLOCK));
    BLOCKS.release(block);
}

/// Returns how many ordinary locks the thread holds for reading without a slot that says so.
pub(super) fn untracked() -> u64 {
    UNTRACKED.with(Cell::get)
}

pub(super) fn set_untracked(count: u64) {
    UNTRACKED.with(|untracked| untracked.set(count));
}

/// Returns true once in sixteen calls.
pub(super) fn is_due() -> bool {
    TICKS.with(|ticks| {
        ticks.set(ticks.get().wrapping_add(1));
        ticks.get() % 16 == 0
    })
}

/// Drops a guard of the calling thread; returns none if the thread is inside of the lock by no
/// slot.
pub(super) fn drop_guard(id: u64) -> Option<Left> {
    let block = mine();
    let left = block.drop_guard(id)?;
    if block.is_gone() && block.is_empty() {
        give_back(block);
    }
    Some(left)
}
