//! A closure that writes the key about which it decides: its call would find the entry changed each
//! time, and begin anew for ever.
//!
//! While closures of `update`, `compute` or `remove_if` run, their thread knows for each of them the map
//! and the hash of the key: a closure may call others, of other keys. A write of that thread to this
//! hash of this map leaves a mark with each closure that decides about it. If a closure is called once
//! more after it got one, then as a rule because of that; a call that this happens to [`MOST`] times one
//! after the other panics. Where other threads change the entry, there is no mark, and no end to the
//! attempts: each that fails is another thread's success.

use core::cell::Cell;
use core::{iter, ptr};

use crate::mutant::check;
use crate::process::local::{Word, word};

/// How often a closure may change its own key and be called again.
const MOST: u32 = 64;

word! {
    /// The closures that run on this thread, the innermost first.
    static DECIDING: *const Deciding = 0
}

/// A closure that is running. It is on the stack of the call that called it.
struct Deciding {
    map: usize,
    hash: u64,
    /// True if the thread has written the key since the closure began.
    is_written: Cell<bool>,
    /// The closure in which this one was called.
    outer: Cell<*const Deciding>,
}

impl Deciding {
    /// Returns the thread's closures that are running, the innermost first.
    fn all<'a>() -> impl Iterator<Item = &'a Deciding> {
        // SAFETY: each takes itself out before its frame ends, and no other thread has them.
        iter::successors(unsafe { DECIDING.get().as_ref() }, |this| unsafe { this.outer.get().as_ref() })
    }

    /// Notes the closure, until what is returned is dropped.
    fn begin(&self) -> Noted<'_> {
        DECIDING.set(self);
        Noted(self)
    }
}

/// The time in which a closure is noted.
struct Noted<'a>(&'a Deciding);

impl Drop for Noted<'_> {
    /// Takes the closure out, also in a panic. It is the innermost, but where a program runs several
    /// stacks by turns on one thread.
    fn drop(&mut self) {
        if ptr::eq(DECIDING.get(), self.0) {
            DECIDING.set(self.0.outer.get());
        } else if let Some(inner) = Deciding::all().find(|inner| ptr::eq(inner.outer.get(), self.0)) {
            inner.outer.set(self.0.outer.get());
        }
    }
}

/// The key about which a call's closure decides.
pub(super) struct Decision {
    map: usize,
    hash: u64,
    /// True if the thread has written the key when the closure was called last.
    has_written: bool,
    /// How often it has, one time after the other.
    times: u32,
}

impl Decision {
    pub(super) fn new<M>(map: &M, hash: u64) -> Decision {
        Decision { map: ptr::from_ref(map).addr(), hash, has_written: false, times: 0 }
    }

    /// Calls the closure.
    ///
    /// # Panics
    /// If it has changed its own key, and is called again for that, too often.
    #[track_caller]
    pub(super) fn call<R>(&mut self, decide: impl FnOnce() -> R) -> R {
        self.times = if self.has_written { self.times + 1 } else { 0 };
        assert!(
            self.times < MOST,
            "leeward: a closure of a HashMap writes the key about which it decides, each time that it is called"
        );
        let outer = Cell::new(DECIDING.get());
        let deciding = Deciding { map: self.map, hash: self.hash, is_written: Cell::new(false), outer };
        let noted = deciding.begin();
        let result = decide();
        drop(noted);
        self.has_written = deciding.is_written.get();
        result
    }
}

/// Notes that this thread has changed an entry of this hash.
#[inline]
pub(super) fn note_write<M>(map: &M, hash: u64) {
    if !DECIDING.get().is_null() {
        note_write_in_closures(ptr::from_ref(map).addr(), hash);
    }
}

#[cold]
#[inline(never)]
fn note_write_in_closures(map: usize, hash: u64) {
    for (index, deciding) in Deciding::all().enumerate() {
        let is_decided = deciding.map == map && deciding.hash == hash;
        if check!(map_own_write, is_decided) && (index == 0 || check!(map_outer_write, true)) {
            deciding.is_written.set(true);
        }
    }
}
