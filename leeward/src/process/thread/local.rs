//! Ids and numbers in thread-local storage.
//!
//! The id is a count, so that no thread is ever taken for another, and a thread keeps its id in the
//! child of its fork. (The address of the thread's control block is used again.)
//!
//! The number is what lock words that the kernel reads hold. The kernel is asked for it once a
//! thread. In the child of a fork the one thread has another number, so the kept number is
//! forgotten there. Children of `vfork`, `_Fork` and the raw `clone` call forget nothing: the
//! number that they keep is the parent's, and such locks must not be used in them.
//!
//! The words of both have no destructor, so nothing is allocated.

use core::sync::atomic::{AtomicU64, Ordering};

use super::super::fork::{self, Hook, Watched};
use super::super::local::{Word, exit, word};
use super::super::{control_block, thread_number};
use super::{ENDED, FIRST};

/// The next id.
static LAST: AtomicU64 = AtomicU64::new(FIRST);

word! {
    /// The thread's id; 0: none yet.
    static THREAD_ID: u64 = 0
}
word! {
    /// The thread's number; 0: not asked for yet.
    static THREAD_NUMBER: u64 = 0
}
word! {
    /// The number of handles that the thread has taken and not given up.
    static THREAD_HANDLES: usize = 0
}
exit! {
    /// Tells the fork registry that the thread exits with handles; armed when the thread first has
    /// one.
    static THREAD_EXIT = || {
        if THREAD_HANDLES.get() != 0 {
            fork::thread_ends();
        }
    }
}

/// Returns the calling thread's id. Async-signal-safe.
pub(crate) fn current() -> u64 {
    match THREAD_ID.get() {
        0 => {
            // Relaxed: only uniqueness matters. A signal handler that comes between sets an id too;
            // the id that is set last stays.
            THREAD_ID.set(LAST.fetch_add(1, Ordering::Relaxed));
            THREAD_ID.get()
        }
        known => known,
    }
}

/// Returns the address of the calling thread's control block, without a look at thread-local
/// storage. Async-signal-safe.
#[inline]
pub(crate) fn address() -> u64 {
    match control_block() {
        0 => current(),
        block => block.max(FIRST),
    }
}

/// Returns the owner's word of a handle that the calling thread takes. The first call of a thread
/// may allocate.
pub(crate) fn take_handle() -> u64 {
    THREAD_HANDLES.set(THREAD_HANDLES.get() + 1);
    if THREAD_EXIT.arm() { current() } else { current() | ENDED }
}

/// Notes that the calling thread gives a handle up.
pub(crate) fn give_handle() {
    THREAD_HANDLES.set(THREAD_HANDLES.get().saturating_sub(1));
}

/// The id of the thread that forked this process off; 0: none did since `watch_forks`.
static FORKER: AtomicU64 = AtomicU64::new(0);
/// The least id of a thread that was started in this process, since `watch_forks`.
static FIRST_HERE: AtomicU64 = AtomicU64::new(FIRST);

/// Has [`is_here`] know the threads of children from now on. To be called before the first id is kept
/// that is asked about. Async-signal-safe, except for the first call of the process.
#[inline]
pub(crate) fn watch_forks() {
    fork::watch(&KEPT);
}

/// Returns true if the thread with this id is, or was, one of this process; false if a fork has left
/// it in a parent. Children without fork handlers take their parent's threads for their own.
#[inline]
pub(crate) fn is_here(id: u64) -> bool {
    // Relaxed, both: they change only where there is one thread.
    id >= FIRST_HERE.load(Ordering::Relaxed) || id == FORKER.load(Ordering::Relaxed)
}

/// The item that forgets the kept number of a child's one thread, and notes who that is.
struct Kept(Hook);

static KEPT: Kept = Kept(Hook::new());

impl Watched for Kept {
    fn hook(&self) -> &Hook {
        &self.0
    }

    fn in_child(&'static self) {
        THREAD_NUMBER.set(0);
        // Relaxed, all: the child has one thread.
        FORKER.store(current(), Ordering::Relaxed);
        FIRST_HERE.store(LAST.load(Ordering::Relaxed), Ordering::Relaxed);
    }
}

/// Returns the calling thread's number. Async-signal-safe, except for the first call of the
/// process.
#[inline]
pub(crate) fn number() -> u32 {
    match THREAD_NUMBER.get() {
        0 => ask(),
        number => number as u32,
    }
}

/// Asks the kernel for the calling thread's number, and keeps it.
#[cold]
#[inline(never)]
fn ask() -> u32 {
    fork::watch(&KEPT);
    THREAD_NUMBER.set(u64::from(thread_number()));
    THREAD_NUMBER.get() as u32
}
