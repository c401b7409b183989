//! What the tests of the robust readers-writer lock share: a lock that children share, its words,
//! and what came of a call.

#![allow(dead_code, missing_docs)]

use std::sync::atomic::{AtomicU32, Ordering};

use leeward::robust::{AnyBytes, ReadGuard, RwLock, RwLockError, WriteGuard};

use super::robust::{OWNER, shared_memory};

/// Returns a lock in memory that children share.
pub fn shared_rwlock<T: AnyBytes + Sync, const READERS: usize>() -> &'static RwLock<T, READERS> {
    // SAFETY: zeroed, aligned to a page, never unmapped; children are of this pid namespace.
    unsafe { RwLock::at(shared_memory(size_of::<RwLock<T, READERS>>()).cast()) }
}

/// Returns the word of the writers' lock, and those of the slots.
pub fn words<T: AnyBytes, const READERS: usize>(lock: &'static RwLock<T, READERS>) -> Vec<&'static AtomicU32> {
    let word = |at: usize| {
        // SAFETY: the documented layout.
        unsafe { &*core::ptr::from_ref(lock).cast::<u8>().wrapping_add(64 * at).cast::<AtomicU32>() }
    };
    (0..=READERS).map(word).collect()
}

/// Returns the number of the thread that has the writers' lock, and those that have the slots.
pub fn held_by<T: AnyBytes, const READERS: usize>(lock: &'static RwLock<T, READERS>) -> Vec<u32> {
    words(lock).iter().map(|word| word.load(Ordering::SeqCst) & OWNER).collect()
}

/// Returns what came of a call to read, in a word. Repairs what is to be repaired.
pub fn read<T: AnyBytes, const N: usize>(result: Result<ReadGuard<T, N>, RwLockError<T, N>>) -> &'static str {
    result.map_or_else(said, |_| "ok")
}

/// Returns what came of a call to write, in a word. Repairs what is to be repaired.
pub fn write<T: AnyBytes, const N: usize>(result: Result<WriteGuard<T, N>, RwLockError<T, N>>) -> &'static str {
    result.map_or_else(said, |_| "ok")
}

fn said<T: AnyBytes, const N: usize>(error: RwLockError<T, N>) -> &'static str {
    match error {
        RwLockError::OwnerDied(mut guard) => {
            guard.mark_consistent();
            "owner died"
        }
        RwLockError::NotRecoverable => "not recoverable",
        RwLockError::WouldDeadlock => "would deadlock",
        RwLockError::WouldBlock => "would block",
        RwLockError::TimedOut => "timed out",
        RwLockError::OwnerLost(_) => "owner lost",
        RwLockError::NoList(_) => "no list",
        _ => "another",
    }
}
