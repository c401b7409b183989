//! A closure that writes the key about which it decides: its call would find the entry changed each
//! time, and begin anew for ever.
//!
//! While a closure of `update`, `compute` or `remove_if` runs, its thread knows the map and the hash of
//! the key. A write of that thread to this hash of this map leaves a mark. If a closure is called once
//! more after it left one, then as a rule because of that; a call that this happens to [`MOST`] times
//! one after the other panics. Where other threads change the entry, there is no mark, and no end to
//! the attempts: each that fails is another thread's success.
//!
//! Of closures inside one another the innermost one's key is known. Called by `update.rs` and
//! `write.rs`.

use crate::mutant::check;
use crate::process::local::{Word, word};

/// How often a closure may change its own key and be called again.
const MOST: u32 = 64;

word! {
    /// The address of the map about whose key the thread's innermost closure decides; 0: none does.
    static DECIDED_MAP: usize = 0
}
word! {
    /// The hash of the key.
    static DECIDED_HASH: u64 = 0
}
word! {
    /// 1 if the thread has written that key since the closure began.
    static DECIDED_IS_WRITTEN: u64 = 0
}

/// The key about which a call's closure decides.
pub(super) struct Decision {
    map: usize,
    hash: u64,
    /// True if the closure has written the key when it was called last.
    has_written: bool,
    /// How often it has, one time after the other.
    times: u32,
}

impl Decision {
    pub(super) fn new<M>(map: &M, hash: u64) -> Decision {
        Decision { map: core::ptr::from_ref(map).addr(), hash, has_written: false, times: 0 }
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
        let _outer = Outer::enter(self.map, self.hash);
        let result = decide();
        self.has_written = DECIDED_IS_WRITTEN.get() != 0;
        result
    }
}

/// What the thread knew before a closure was called; the drop brings it back, also in a panic.
struct Outer(usize, u64, u64);

impl Outer {
    fn enter(map: usize, hash: u64) -> Outer {
        let outer = Outer(DECIDED_MAP.get(), DECIDED_HASH.get(), DECIDED_IS_WRITTEN.get());
        DECIDED_MAP.set(map);
        DECIDED_HASH.set(hash);
        DECIDED_IS_WRITTEN.set(0);
        outer
    }
}

impl Drop for Outer {
    fn drop(&mut self) {
        DECIDED_MAP.set(self.0);
        DECIDED_HASH.set(self.1);
        DECIDED_IS_WRITTEN.set(self.2);
    }
}

/// Notes that this thread has changed an entry of this hash.
#[inline]
pub(super) fn note_write<M>(map: &M, hash: u64) {
    let is_decided = DECIDED_MAP.get() == core::ptr::from_ref(map).addr() && DECIDED_HASH.get() == hash;
    if check!(map_own_write, is_decided) {
        DECIDED_IS_WRITTEN.set(1);
    }
}
