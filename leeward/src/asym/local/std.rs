//! The calling thread's block, in thread-local storage: registered when a lock first takes a slow path, given back
//! when the thread exits.
//!
//! Its address lies in a variable without a destructor, so that reading it is one load and works to the thread's last
//! instruction. A second variable, touched at registration only, has the destructor. A thread that locks after that
//! has run, or for which there is no memory, has no slots: its locks are the ordinary ones underneath.

use core::cell::Cell;
use core::ptr;

use super::slots::{Block, Left};
use crate::mutant::{check, mutated};
use crate::process::fork::{self, Hook, Mend};
use crate::process::thread;
use crate::registry::Registry;

static BLOCKS: Registry<Block> = Registry::new();
static NO_BLOCK: Block = Block::none();

std::thread_local! {
    static BLOCK: Cell<*const Block> = const { Cell::new(&raw const NO_BLOCK) };
    static EXIT: Exit = const { Exit };
    /// Ordinary locks that the thread holds for reading without a slot that says so.
    static UNTRACKED: Cell<u64> = const { Cell::new(0) };
    /// The thread's block is being made, which may allocate: an allocator that takes such a lock
    /// comes back here.
    static REGISTERING: Cell<bool> = const { Cell::new(false) };
    /// Slow reads.
    static TICKS: Cell<u32> = const { Cell::new(0) };
}

/// The slots in the child of a fork, which has one thread. Readers that were others are not there
/// any more; a mutex that another thread was inside of stays locked, as any mutex does.
struct SlotsInChild(Hook);

static SLOTS_IN_CHILD: SlotsInChild = SlotsInChild(Hook::new());

impl Mend for SlotsInChild {
    fn hook(&self) -> &Hook {
        &self.0
    }

    fn in_child(&'static self) {
        if mutated!(asym_fork) {
            return;
        }
        let me = thread::current();
        let kept = BLOCKS.slots().filter(|block| block.outlives_fork(me)).count();
        BLOCKS.set_claimed(kept);
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

/// Every thread's block.
pub(super) fn blocks() -> &'static Registry<Block> {
    &BLOCKS
}

/// The calling thread's block; `Block::none` if it has none.
#[inline(always)]
pub(super) fn mine() -> &'static Block {
    let block = BLOCK.with(Cell::get);
    // SAFETY: what is stored there are addresses of blocks that live for ever.
    unsafe { &*block }
}

/// The calling thread's block, registered now if it has none; nothing where that is impossible, and
/// within itself. May allocate, so nothing may be locked by the caller.
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

/// The thread is inside of nothing and will have no slots any more.
fn give_back(block: &'static Block) {
    BLOCK.with(|mine| mine.set(&raw const NO_BLOCK));
    BLOCKS.release(block);
}

/// Ordinary locks that the thread holds for reading without a slot that says so.
pub(super) fn untracked() -> u64 {
    UNTRACKED.with(Cell::get)
}

pub(super) fn set_untracked(count: u64) {
    UNTRACKED.with(|untracked| untracked.set(count));
}

/// True once in sixteen calls.
pub(super) fn is_due() -> bool {
    TICKS.with(|ticks| {
        ticks.set(ticks.get().wrapping_add(1));
        ticks.get() % 16 == 0
    })
}

/// Drops a guard of the calling thread; none if the thread is inside of the lock by no slot.
pub(super) fn drop_guard(id: u64) -> Option<Left> {
    let block = mine();
    let left = block.drop_guard(id)?;
    if block.is_gone() && block.is_empty() {
        give_back(block);
    }
    Some(left)
}
