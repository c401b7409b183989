//! The shards that the calling thread reads and that none of its slots shows: a thread that reads
//! more locks than it has slots. By the list, a write says that it would wait for its own thread.
//!
//! The list is the thread's own, so it needs no lock and is whole in the child of a fork. Each entry
//! is freed with its guard; an entry whose guard was leaked stays, as its lock does.

use alloc::boxed::Box;
use core::ptr;

use crate::process::local::{Word, word};

/// The name of a shard's lock (`RawRwLock::name`), and the next entry. (Not the shard's address, at
/// which another shard may lie once a guard was leaked and its map has ended.)
struct Entry {
    shard: u64,
    next: *mut Entry,
}

word! {
    /// The first entry of the thread's list.
    static SHARDS_READ: *const Entry = 0
}

/// Notes one more read of the shard of this name.
pub(super) fn add(shard: u64) {
    let next = SHARDS_READ.get().cast_mut();
    SHARDS_READ.set(Box::into_raw(Box::new(Entry { shard, next })));
}

/// Takes one note of the shard back, which was made by this thread.
pub(super) fn remove(shard: u64) {
    let mut before: *mut Entry = ptr::null_mut();
    let mut at = SHARDS_READ.get().cast_mut();
    while !at.is_null() {
        // SAFETY: the list has live entries of this thread only.
        let entry = unsafe { &*at };
        let next = entry.next;
        if entry.shard == shard {
            if before.is_null() {
                SHARDS_READ.set(next);
            } else {
                // SAFETY: a live entry of this thread's list, to which no reference is left.
                unsafe { (*before).next = next };
            }
            // SAFETY: made by `add`, and in the list no more.
            drop(unsafe { Box::from_raw(at) });
            return;
        }
        (before, at) = (at, next);
    }
}

/// Returns true if the thread has noted a read of the shard.
pub(super) fn has(shard: u64) -> bool {
    let mut at = SHARDS_READ.get();
    while !at.is_null() {
        // SAFETY: as in `remove`.
        let entry = unsafe { &*at };
        if entry.shard == shard {
            return true;
        }
        at = entry.next;
    }
    false
}
