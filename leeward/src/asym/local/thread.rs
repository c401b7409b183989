//! The calling thread's block, in thread-local storage: registered when a lock first takes a slow
//! path, given back when the thread exits.
//!
//! The block's address lies in a word without a destructor, so that reading it is one load and
//! works until the thread's exit. What is done at the exit is armed at registration only. A thread
//! that locks after its exit has run, or for which there is no memory, has no slots: it takes the
//! ordinary locks underneath.

use core::ptr;

use super::slots::{Block, Left};
use crate::mutant::{check, mutated};
use crate::process::fork::{self, Hook, Watched};
use crate::process::local::{Word, exit, word};
use crate::process::thread;
use crate::registry::Registry;

static BLOCKS: Registry<Block> = Registry::new();
static NO_BLOCK: Block = Block::none();

word! {
    /// The thread's block.
    static ASYM_BLOCK: *const Block = &raw const NO_BLOCK
}
word! {
    /// How many ordinary locks the thread holds for reading without a slot that says so.
    static ASYM_UNTRACKED: u64 = 0
}
word! {
    /// 1 while the thread's block is being made, which may allocate: an allocator that takes such a
    /// lock comes back here.
    static ASYM_REGISTERING: u64 = 0
}
exit! { static ASYM_EXIT = leave_thread }

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

/// Gives the block of the calling thread back, which exits; leaves it to the locks that the thread
/// is inside of, if there are any.
fn leave_thread() {
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

/// Returns the registry of every thread's block.
pub(super) fn blocks() -> &'static Registry<Block> {
    &BLOCKS
}

/// Returns the calling thread's block, or `NO_BLOCK` if it has none.
#[inline(always)]
pub(super) fn mine() -> &'static Block {
    // SAFETY: the word holds addresses of blocks that live forever.
    unsafe { &*ASYM_BLOCK.get() }
}

/// Returns the calling thread's block, and registers one if it has none. Returns none if that is
/// impossible, and when it is called from within itself. May allocate, so the caller may hold no
/// lock.
pub(super) fn registered() -> Option<&'static Block> {
    let block = mine();
    if !ptr::eq(block, &NO_BLOCK) {
        return Some(block);
    }
    if check!(asym_registering, ASYM_REGISTERING.get() != 0) {
        return None;
    }
    ASYM_REGISTERING.set(1);
    let block = register();
    ASYM_REGISTERING.set(0);
    block
}

fn register() -> Option<&'static Block> {
    fork::watch(&SLOTS_IN_CHILD);
    if !ASYM_EXIT.arm() {
        return None;
    }
    let block = BLOCKS.claim(thread::current(), 0).ok()?;
    ASYM_BLOCK.set(block);
    Some(block)
}

/// Gives the block of a thread back that is inside of nothing; the thread has no slots from now on.
fn give_back(block: &'static Block) {
    ASYM_BLOCK.set(&raw const NO_BLOCK);
    BLOCKS.release(block);
}

/// Returns how many ordinary locks the thread holds for reading without a slot that says so.
pub(super) fn untracked() -> u64 {
    ASYM_UNTRACKED.get()
}

pub(super) fn set_untracked(count: u64) {
    ASYM_UNTRACKED.set(count);
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
