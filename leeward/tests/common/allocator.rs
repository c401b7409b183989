//! A global allocator that calls back, as one that contains a lock does, and that notices when it
//! is entered within its own call.
//!
//! Programs that use it say `#[global_allocator] static ALLOCATOR: Calling = Calling;`, and
//! [`calls_back`] in the threads that are to be tried.

#![allow(dead_code, missing_docs)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

pub struct Calling;

/// Counts the calls that came within another call of the same thread.
static NESTED: AtomicU64 = AtomicU64::new(0);
static CALLS: AtomicU64 = AtomicU64::new(0);
/// The depth from which a recursion is taken for endless.
const DEEPEST: u32 = 16;

// Neither variable has a destructor, nor is it allocated.
thread_local! {
    static HOOK: Cell<Option<fn()>> = const { Cell::new(None) };
    static DEPTH: Cell<u32> = const { Cell::new(0) };
    static IS_REFUSED: Cell<bool> = const { Cell::new(false) };
    static IS_ZEROED_REFUSED: Cell<bool> = const { Cell::new(false) };
    static TURN: Cell<Turn> = const { Cell::new(Turn { passes: u64::MAX, refuses: 0, refused: 0 }) };
}

/// Which of the calling thread's allocations are refused.
#[derive(Clone, Copy)]
struct Turn {
    /// How many pass before the first that is refused.
    passes: u64,
    /// How many are refused from there on.
    refuses: u64,
    /// How many were.
    refused: u64,
}

/// Makes every allocation and release of the calling thread call `hook`, from now to the thread's
/// end.
pub fn calls_back(hook: fn()) {
    HOOK.set(Some(hook));
}

/// Ends that for the calling thread.
pub fn is_quiet() {
    HOOK.set(None);
}

pub fn calls() -> u64 {
    CALLS.load(Ordering::SeqCst)
}

pub fn nested() -> u64 {
    NESTED.load(Ordering::SeqCst)
}

/// Refuses the calling thread all memory, or no longer.
pub fn refuses(memory: bool) {
    IS_REFUSED.set(memory);
}

/// Refuses the calling thread memory that is to be zeroed, or no longer: such as a map's tables.
pub fn refuses_zeroed(memory: bool) {
    IS_ZEROED_REFUSED.set(memory);
}

/// Runs `work`, of whose allocations the first `passes` succeed and the next `refuses` do not. Returns
/// its result, and how many were refused.
pub fn refused_after<R>(passes: u64, refuses: u64, work: impl FnOnce() -> R) -> (R, u64) {
    TURN.set(Turn { passes, refuses, refused: 0 });
    let result = work();
    let turn = TURN.replace(Turn { passes: u64::MAX, refuses: 0, refused: 0 });
    (result, turn.refused)
}

/// Returns true if the next allocation is to be refused, and counts it.
fn is_refused() -> bool {
    let mut turn = TURN.get();
    let is_refused = turn.passes == 0 && turn.refuses != 0;
    if is_refused {
        (turn.refuses, turn.refused) = (turn.refuses - 1, turn.refused + 1);
    }
    turn.passes = turn.passes.saturating_sub(1);
    TURN.set(turn);
    is_refused || IS_REFUSED.get()
}

/// Calls the calling thread's hook.
pub fn called() {
    let Some(hook) = HOOK.get() else { return };
    let depth = DEPTH.replace(DEPTH.get() + 1);
    CALLS.fetch_add(1, Ordering::SeqCst);
    if depth != 0 {
        NESTED.fetch_add(1, Ordering::SeqCst);
    }
    if depth == DEEPEST {
        let words = b"the allocator calls itself without end\n";
        // SAFETY: static bytes.
        unsafe { libc::write(2, words.as_ptr().cast(), words.len()) };
        // SAFETY: ends the process.
        unsafe { libc::_exit(102) };
    }
    hook();
    DEPTH.set(depth);
}

// SAFETY: the system's allocator.
unsafe impl GlobalAlloc for Calling {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        called();
        if is_refused() {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        called();
        if is_refused() || IS_ZEROED_REFUSED.get() {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller's promise.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        called();
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(memory, layout) }
    }
}
