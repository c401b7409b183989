//! What a readers-writer lock asks of the robust locks that it is made of: takings and looks that
//! are ordered with those of other locks.

use super::{FREE, Lock, SETTLING, WAITERS, is_announced, is_free};
use crate::atomic::{AtomicU32, Ordering};
use crate::robust::current::Current;
use crate::robust::unlock::ByExchange;

impl Lock {
    /// Takes it if it is free, in the total order in which [`is_open`](Self::is_open) looks.
    #[inline]
    pub(in crate::robust) fn take_if_free(&'static self, me: Current) -> bool {
        self.take_as_seen(FREE, me)
    }

    /// Takes it if it is free, also where a thread may sleep or an owner died.
    pub(in crate::robust) fn take_in_any_state(&'static self, me: Current) -> bool {
        // Relaxed: the compare-exchange decides.
        let word = self.word.load(Ordering::Relaxed);
        is_free(word) && self.take_as_seen(word, me)
    }

    #[inline]
    fn take_as_seen(&'static self, word: u32, me: Current) -> bool {
        self.announce(me);
        // SeqCst: partner of the fence in `Words::drain`; it includes the acquire of `lock`.
        // Relaxed on failure: nothing was taken.
        let taken = me.id() | word & WAITERS;
        if self.word.compare_exchange(word, taken, Ordering::SeqCst, Ordering::Relaxed).is_err() {
            me.list.end();
            return false;
        }
        self.taken::<ByExchange>(me);
        true
    }

    /// Returns true if no thread holds it and its last owner has not died.
    #[inline]
    pub(in crate::robust) fn is_open(&self) -> bool {
        // SeqCst: partner of the fence in `Words::drain`; it includes the acquire, whose partner is
        // the release in `unlock`.
        self.word.load(Ordering::SeqCst) & !WAITERS == FREE
    }

    /// Returns true if some thread holds it.
    #[inline]
    pub(in crate::robust) fn is_held(&self) -> bool {
        // Acquire: partner of the release in `unlock`: what the last owner did happened before.
        !is_free(self.word.load(Ordering::Acquire))
    }

    /// Returns the lock word, to sleep on.
    pub(in crate::robust) fn word(&self) -> &AtomicU32 {
        &self.word
    }

    /// Marks the word of a held lock, so that its unlock wakes a thread that sleeps while the word
    /// is as it is returned. Returns none if the lock is free, or has changed.
    pub(in crate::robust) fn mark_waiting(&self) -> Option<u32> {
        // Relaxed, all: the sleep compares the word again. A release finds the mark in its own
        // read-modify-write.
        let word = self.word.load(Ordering::Relaxed);
        if is_free(word) {
            return None;
        }
        if is_announced(word) {
            return Some(word);
        }
        let marked = (word | WAITERS) & !SETTLING;
        self.word.compare_exchange(word, marked, Ordering::Relaxed, Ordering::Relaxed).is_ok().then_some(marked)
    }
}
