//! Unlocking a robust lock in one call, as Linux 7.2 does with `FUTEX_ROBUST_UNLOCK`: the word is
//! freed, the pending entry of the thread's list is cleared, and waiters are woken.
//!
//! # The order
//! The word is freed first. A fault there ends the call with nothing done, and the pending entry
//! still leads the walk at the thread's exit to a lock that the thread owns. After the word the
//! entry is cleared. Until then a walk finds there a lock without an owner, of which it wakes one
//! waiter, or one that another thread owns, which it leaves alone. Then waiters are woken.
//!
//! # Why the waiters bit may stay
//! Linux stores 0 to the word, however many threads wait. The woken thread is expected to set the
//! waiters bit when it takes the lock or waits anew. Where it is killed first, the other waiters
//! are stranded: A and B wait, C comes along, and A is killed before it has looked at the word.
//!
//! ```text
//!    word stored as 0                         waiters bit kept
//!    ----------------                         ----------------
//!    unlock: word = 0, A is woken             unlock: word = WAITERS, A is woken
//!    C exchanges 0 for C                      C exchanges WAITERS for C | WAITERS
//!    A is killed: the walk finds C's lock,    A is killed: as on the left
//!      and leaves it alone
//!    C exchanges C for 0, without a call      C sees the bit, and makes the call
//!    B sleeps forever                         B is woken
//! ```
//!
//! So a host may choose to keep the bit as long as threads wait beyond those that the call wakes
//! ([`RobustUnlock::KeepWaiters`]).

use crate::abi::{
    FUTEX_BITSET_MATCH_ANY, FUTEX_PRIVATE_FLAG, FUTEX_ROBUST_LIST32, FUTEX_ROBUST_UNLOCK, FUTEX_UNLOCK_PI,
    FUTEX_WAITERS, FUTEX_WAKE, FUTEX_WAKE_BITSET,
};
use crate::linux::futex;
use crate::mutant::{check, mutated};
use crate::ops::call::Call;
use crate::robust::walk::TRIES;
use crate::table::key::Key;
use crate::{Access, Address, Arithmetic, Engine, Errno, Fault, RobustHost, RobustUnlock, Scope, Size, Word};

/// The flags of `futex` that say something about robust lists.
pub(super) const UNLOCK_FLAGS: u32 = FUTEX_ROBUST_UNLOCK | FUTEX_ROBUST_LIST32;

impl<H: RobustHost> Engine<H> {
    /// Unlocks a robust lock, and wakes up to `count` waiters with a bit of `bitset` in common:
    /// frees `word`, whatever it holds, then stores 0 to the list's pending entry at `pending`, and
    /// then wakes. Returns how many were woken. The pending entry has the size `entry`, 32 or 64
    /// bits, and may lie at any address.
    ///
    /// The word becomes 0; with [`RobustUnlock::KeepWaiters`] it keeps the waiters bit alone where
    /// threads wait at this word beyond those that the call wakes.
    ///
    /// Memory ordering: as [`wake`](Self::wake). What the thread did before happens before a thread
    /// takes the lock by the word that this wrote; a full fence stands between the stores and the
    /// look for waiters.
    ///
    /// # Panics
    /// Where [`RobustHost::write`] panics, the waiters are woken: the lock is free.
    ///
    /// # Cost
    /// A store, a write by [`RobustHost::write`], and a [`wake`](Self::wake). With
    /// [`RobustUnlock::KeepWaiters`] another lock of a bucket, held for at most one pass over its
    /// waiters.
    ///
    /// # Errors
    /// Those of [`wake`](Self::wake), and:
    /// - `ENOSYS`: the host serves no such call ([`RobustHost::robust_unlock`]).
    /// - `EINVAL`: `word` has not 32 bits, or `entry` neither 32 nor 64.
    /// - `EFAULT`: `word` cannot be written, and nothing has happened. Or `pending` cannot, and the
    ///   lock is free: no waiter was woken, as on Linux; with [`RobustUnlock::KeepWaiters`] they
    ///   were.
    pub fn robust_unlock(
        &self,
        host: &H,
        word: Word,
        count: u32,
        bitset: u32,
        pending: Address,
        entry: Size,
    ) -> Result<u32, Errno> {
        let keep = match host.robust_unlock() {
            RobustUnlock::Absent => return Err(Errno::ENOSYS),
            RobustUnlock::StoreZero => false,
            RobustUnlock::KeepWaiters => true,
        };
        if bitset == 0 || !is_pointer(entry) {
            return Err(Errno::EINVAL);
        }
        let call = Call::new(self, host);
        let key = call.key_of_u32(word, Access::Write)?;
        let early = mutated!(pending_after_word).then(|| self.clear_pending(host, pending, entry));
        call.free(&word, &key, if keep { Some((count, bitset)) } else { None })?;
        let freed = Freed { call, key: &key, count, bitset };
        let cleared = early.unwrap_or_else(|| self.clear_pending(host, pending, entry));
        core::mem::forget(freed);
        if !keep {
            cleared?;
        }
        // The bit promises that waiters are woken: a pending entry that cannot be cleared must not
        // break the promise.
        let woken = call.wake(&key, count, bitset)?;
        cleared.map(|()| woken)
    }

    /// Unlocks a robust lock that inherits priorities: does what [`unlock_pi`](Self::unlock_pi)
    /// does, and then stores 0 to the list's pending entry at `pending`, which has the size
    /// `entry`, 32 or 64 bits, and may lie at any address.
    ///
    /// The lock is handed to the most urgent waiter before the entry is cleared. A walk that finds
    /// the entry in between leaves the lock alone: its word names no owner, or the new one.
    ///
    /// # Errors
    /// Those of [`unlock_pi`](Self::unlock_pi), with the pending entry as it was, and:
    /// - `ENOSYS`: the host serves no such call ([`RobustHost::robust_unlock`]).
    /// - `EINVAL`: `entry` is neither 32 nor 64 bits.
    /// - `EFAULT`: `pending` cannot be written; the lock was unlocked all the same, as on Linux.
    pub fn robust_unlock_pi(&self, host: &H, word: Word, pending: Address, entry: Size) -> Result<(), Errno> {
        if host.robust_unlock() == RobustUnlock::Absent {
            return Err(Errno::ENOSYS);
        }
        if !is_pointer(entry) {
            return Err(Errno::EINVAL);
        }
        let early = mutated!(pending_after_word).then(|| self.clear_pending(host, pending, entry));
        self.unlock_pi(host, word)?;
        early.unwrap_or_else(|| self.clear_pending(host, pending, entry))
    }

    /// Serves `futex` with one of [`UNLOCK_FLAGS`], for a host that serves them. As on Linux 7.2,
    /// `FUTEX_ROBUST_LIST32` alone means nothing, and `FUTEX_ROBUST_UNLOCK` with another operation
    /// than the wakes and UNLOCK_PI is `ENOSYS`.
    pub(super) fn futex_robust(&self, host: &H, arguments: [u64; 6]) -> Result<u32, Errno> {
        let [address, operation, count, time, pending, bitset] = arguments;
        let operation = operation as u32;
        if operation & FUTEX_ROBUST_UNLOCK == 0 {
            let operation = u64::from(operation & !FUTEX_ROBUST_LIST32);
            return self.futex(host, [address, operation, count, time, pending, bitset]);
        }
        let entry = if operation & FUTEX_ROBUST_LIST32 != 0 { Size::U32 } else { Size::U64 };
        let scope = if operation & FUTEX_PRIVATE_FLAG != 0 { Scope::Private } else { Scope::Shared };
        let word = futex::word(address, scope);
        let bitset = match operation & !(UNLOCK_FLAGS | FUTEX_PRIVATE_FLAG) {
            FUTEX_WAKE => FUTEX_BITSET_MATCH_ANY,
            FUTEX_WAKE_BITSET => bitset as u32,
            FUTEX_UNLOCK_PI => return self.robust_unlock_pi(host, word, pending, entry).map(|()| 0),
            _ => return Err(Errno::ENOSYS),
        };
        self.robust_unlock(host, word, futex::at_least_one(count as u32), bitset, pending, entry)
    }

    /// Stores 0 to a pending entry.
    fn clear_pending(&self, host: &H, pending: Address, entry: Size) -> Result<(), Errno> {
        self.write_user(host, pending, &[0_u8; 8][..entry.bytes() as usize])
    }
}

impl<H: RobustHost> Call<'_, H> {
    /// Frees the word of a lock, in one access, which [`RobustHost::write`] need not be. With
    /// `keep`, a wake's count and bits, it keeps the waiters bit if threads wait beyond those that
    /// the wake chooses.
    fn free(&self, word: &Word, key: &Key, keep: Option<(u32, u32)>) -> Result<(), Errno> {
        for tries in 0..TRIES {
            // Counted and written under the bucket's lock. A thread that comes to wait compares the
            // word under that lock: if it came before, it is counted; if it comes after, it finds
            // another word.
            let mut held = keep.map(|_| self.lock(key));
            let mut beyond =
                |(count, bits)| held.as_mut().is_some_and(|held| held.locked.list().has_beyond(key, bits, count));
            let free = if keep.is_some_and(|wake| check!(keep_waiters, beyond(wake))) { FUTEX_WAITERS } else { 0 };
            let stored = self.host.fetch_op(word.address, Arithmetic::Set, free);
            drop(held);
            match stored {
                Ok(Some(_)) => return Ok(()),
                Ok(None) => self.host.spin(tries),
                Err(Fault) => self.host.fault_in(word.address, Access::Write)?,
            }
        }
        Err(Errno::EFAULT)
    }
}

/// A guard for the waiters of a lock whose word was freed: wakes them when dropped.
struct Freed<'a, H: RobustHost> {
    call: Call<'a, H>,
    key: &'a Key,
    count: u32,
    bitset: u32,
}

impl<H: RobustHost> Drop for Freed<'_, H> {
    fn drop(&mut self) {
        // Runs only when the host's `write` unwound: the lock is free, and no other thread will
        // wake its waiters. A panic here is a double panic and aborts.
        if !mutated!(freed_wakes) {
            _ = self.call.wake(self.key, self.count, self.bitset);
        }
    }
}

/// Returns true if a pointer of a list can have that size.
const fn is_pointer(entry: Size) -> bool {
    matches!(entry, Size::U32 | Size::U64)
}
