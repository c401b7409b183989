//! The state word of [`RwLock`](super::RwLock) as questions and changes, and what a waiting reader
//! knows of it. The table of the bits is on the field.

use core::time::Duration;

use crate::atomic::IS_MODEL;
use crate::futex::{Futex, Timeout};
use crate::mutant::{check, mutated};

pub(super) const READER: u32 = 1;
pub(super) const READERS: u32 = (1 << 20) - 1;
pub(super) const WRITER: u32 = READERS;
pub(super) const ONE_BYPASSED: u32 = 1 << 20;
pub(super) const BYPASSED: u32 = 0x1f << 20;
pub(super) const RESERVED: u32 = 1 << 25;
/// The bits that keep a free lock for threads that have slept.
const KEPT: u32 = BYPASSED | RESERVED;
pub(super) const PHASE: u32 = 1 << 26;
pub(super) const PHASES: u32 = 0x7 << 26;
pub(super) const UPGRADABLE: u32 = 1 << 29;
pub(super) const READERS_WAIT: u32 = 1 << 30;
pub(super) const WRITERS_WAIT: u32 = 1 << 31;

pub(super) const fn is_written(state: u32) -> bool {
    state & READERS == WRITER
}

/// Returns true if a writer may take the lock that has slept for it (`has_slept`), or has not.
pub(super) fn is_free(state: u32, has_slept: bool) -> bool {
    let reserved = if has_slept { 0 } else { RESERVED };
    state & (READERS | BYPASSED | reserved | held_for_upgrade()) == 0
}

/// Returns the bit that keeps other writers out of a lock whose upgradable reader becomes a writer.
fn held_for_upgrade() -> u32 {
    if mutated!(rwlock_upgrade_excludes) { 0 } else { UPGRADABLE }
}

/// Returns true if no thread is inside but the upgradable reader, which takes the lock for writing
/// next, and is not counted.
pub(super) const fn is_upgrading(state: u32) -> bool {
    state & (READERS | UPGRADABLE) == UPGRADABLE
}

/// How long a free lock is kept for bypassed readers, or for writers, if none of them comes. Also
/// how often a reader rechecks that waits for room in the count of readers.
const LONG: Duration = Duration::from_millis(1);

/// Returns for whom a free lock is kept (the bits of `BYPASSED`, and `RESERVED`); none if a thread
/// is inside, or becomes a writer.
pub(super) fn kept_for(state: u32) -> Option<u32> {
    if state & (READERS | held_for_upgrade()) == 0 { Some(state & KEPT) } else { None }
}

/// Returns until when a writer may sleep on `state`: a free lock is kept for bypassed readers, or
/// reserved, for [`LONG`]. Threads that are there come at once. In the child of a fork they are not
/// there, nor if their process was killed. (In a model they are, so nothing expires.)
pub(super) fn kept_until<F: Futex>(state: u32) -> Timeout {
    let expires = check!(rwlock_expire, kept_for(state).is_some_and(|kept| kept != 0) && !IS_MODEL);
    if expires { Timeout::after::<F>(LONG) } else { Timeout::Never }
}

/// Returns true if the lock is free, but marked as one that writers wait for: readers stay out
/// until the writer that was woken has come. In the child of a fork it does not come, nor if its
/// process was killed.
pub(super) const fn is_kept_for_writers(state: u32) -> bool {
    state & (READERS | UPGRADABLE | WRITERS_WAIT) == WRITERS_WAIT
}

/// Returns the state without bypassed readers and reservation.
pub(super) const fn after_expiry(state: u32) -> u32 {
    state & !KEPT
}

/// Returns the state with one bypassed reader less, if there is any.
pub(super) fn without_bypassed(state: u32) -> Option<u32> {
    (state & BYPASSED != 0).then(|| state - ONE_BYPASSED)
}

/// Returns true if another reader can be counted and no writer is inside.
pub(super) const fn has_room(state: u32) -> bool {
    state & READERS < WRITER - 1
}

/// Returns true if as many readers are inside as can be counted.
pub(super) const fn is_full(state: u32) -> bool {
    state & READERS == WRITER - 1
}

/// Returns until when a reader that waits for room in the count of readers sleeps before it
/// rechecks.
pub(super) fn room_may_be_at<F: Futex>(timeout: Timeout) -> Timeout {
    timeout.min(Timeout::after::<F>(LONG))
}

/// Returns true if a reader that has just arrived may enter.
pub(super) const fn admits(state: u32) -> bool {
    has_room(state) && state & WRITERS_WAIT == 0
}

/// Returns the state that a writer leaves: its mark for writers and the bypassed readers stay, and
/// a new phase begins if both sides sleep.
pub(super) const fn after_writer(state: u32) -> u32 {
    let phase = match (state & READERS_WAIT, state & WRITERS_WAIT) {
        (_, 0) => 0,
        (0, _) => state & PHASES,
        _ => (state + PHASE) & PHASES,
    };
    state & (BYPASSED | WRITERS_WAIT) | phase
}

/// Returns the state that a writer leaves by a fair unlock: reserved if threads sleep, and in a new
/// phase if readers do, which enter past the writers that come meanwhile.
pub(super) fn after_fair_writer(state: u32) -> u32 {
    if state & (READERS_WAIT | WRITERS_WAIT) == 0 {
        return after_writer(state);
    }
    let begins = check!(rwlock_fair_phase, state & READERS_WAIT != 0);
    let phase = if begins { state.wrapping_add(PHASE) } else { state } & PHASES;
    state & (BYPASSED | WRITERS_WAIT) | phase | reservation()
}

/// Returns the state that a reader leaves by a fair unlock: reserved if it is the last one and
/// writers sleep. (An upgradable reader comes before these in any case.)
pub(super) fn after_fair_reader(state: u32) -> u32 {
    let left = state.wrapping_sub(READER);
    if is_kept_for_writers(left) { left | reservation() } else { left }
}

/// Returns the state that the upgradable reader leaves by a fair unlock: reserved for a writer if
/// it is the last reader and writers sleep, or for the thread that sleeps for its place, which
/// enters past the writers that come meanwhile.
pub(super) fn after_fair_upgradable(state: u32) -> u32 {
    let left = vacated(state, READER);
    if is_kept_for_writers(left) {
        left | reservation()
    } else if state & (READERS_WAIT | WRITERS_WAIT) == READERS_WAIT {
        left & !PHASES | state.wrapping_add(PHASE) & PHASES | reservation()
    } else {
        left
    }
}

fn reservation() -> u32 {
    if mutated!(rwlock_fair_reserves) { 0 } else { RESERVED }
}

/// The error of a reader that comes when as many are inside as can be counted (1,048,574, which
/// takes locks that were never unlocked).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooManyReaders;

/// Returns the state in which the upgradable reader has become the writer (precondition: no other
/// thread is inside, and the reader is counted, or no longer). Readers that were bypassed still are.
pub(super) const fn upgraded(state: u32) -> u32 {
    state & !(READERS | UPGRADABLE | RESERVED) | WRITER
}

/// Returns the state without upgradable reader and less `readers` readers. Threads may sleep for its
/// place, so the mark of sleeping readers is taken away for the wake that follows; but not while a
/// writer waits, whose unlock begins a new phase for those that have the mark.
pub(super) const fn vacated(state: u32, readers: u32) -> u32 {
    let marks = if state & WRITERS_WAIT == 0 { READERS_WAIT } else { 0 };
    (state & !(UPGRADABLE | marks)).wrapping_sub(readers)
}

/// What a thread asks for that comes to read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Reader {
    Ordinary,
    /// The reader may be inside already: it enters whenever a reader is inside.
    Nested,
    Upgradable,
}

/// What a reader that waits knows about itself.
pub(super) struct Waiting {
    is_nested: bool,
    /// The bit that the reader sets as it enters, and that keeps it out while it is set:
    /// `UPGRADABLE`; 0 for an ordinary reader.
    place: u32,
    /// The phase in which the reader first went to sleep.
    pub(super) since: Option<u32>,
    /// A writer's unlock has begun another phase since: the reader enters past waiting writers.
    is_due: bool,
    /// The reader is one of those that `BYPASSED` counts.
    pub(super) is_counted: bool,
    /// The reader has slept, so that a reserved lock is reserved for it.
    pub(super) has_slept: bool,
}

impl Waiting {
    pub(super) const fn new(reader: Reader) -> Waiting {
        let is_nested = matches!(reader, Reader::Nested);
        let place = if matches!(reader, Reader::Upgradable) { UPGRADABLE } else { 0 };
        Waiting { is_nested, place, since: None, is_due: false, is_counted: false, has_slept: false }
    }

    /// Returns true if the reader may enter, and notes whether its phase has come.
    pub(super) fn may_enter(&mut self, state: u32) -> bool {
        self.is_due |= self.since.is_some_and(|phase| phase != state & PHASES);
        let is_shared = self.is_nested && state & READERS != 0;
        let passes_writers = state & WRITERS_WAIT == 0 || self.is_due || is_shared;
        !is_written(state) && state & self.place == 0 && !self.is_place_reserved(state) && passes_writers
    }

    /// Returns true if the reader asks for the place of the upgradable one, and that is reserved for
    /// others. (Ordinary readers keep none from entering for which the lock is reserved.)
    fn is_place_reserved(&self, state: u32) -> bool {
        self.place != 0 && !self.has_slept && state & (RESERVED | UPGRADABLE) == RESERVED && !is_written(state)
    }

    /// Returns true if only a mark keeps the reader out: the lock is kept for writers or reserved.
    pub(super) fn is_kept_out(&self, state: u32) -> bool {
        is_kept_for_writers(state) || self.is_place_reserved(state)
    }

    /// Returns until when the reader may sleep on `state`: it is kept out by a mark for [`LONG`]. A
    /// thread that is there comes at once. (In a model it is, so nothing expires.)
    pub(super) fn kept_out_until<F: Futex>(&self, state: u32) -> Timeout {
        let expires = check!(rwlock_writer_expire, self.is_kept_out(state) && !IS_MODEL);
        if expires { Timeout::after::<F>(LONG) } else { Timeout::Never }
    }

    /// Returns the state with the reader inside, and no longer bypassed (precondition: there is room
    /// for it). If the lock was reserved, it was for this reader among others.
    pub(super) fn entered(&self, state: u32) -> u32 {
        let others = if self.is_counted { without_bypassed(state) } else { None };
        let kept = if self.has_slept { RESERVED } else { 0 };
        (others.unwrap_or(state) & !kept) + READER + self.place
    }

    /// Returns true if the reader is to be counted as bypassed: its phase has come and a writer is
    /// inside all the same. (An upgradable reader is not counted: it may wait for another one, and
    /// a writer that would have to wait for both might be the other one.)
    pub(super) fn is_bypassed(&self, state: u32) -> bool {
        let is_counted = self.is_counted && state & BYPASSED != 0;
        check!(rwlock_bypassed, self.is_due && self.place == 0 && !is_counted && state & BYPASSED != BYPASSED)
    }
}

/// Formats the state for `Debug`.
pub(super) fn show(state: u32, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
    let readers = if is_written(state) { 0 } else { state & READERS };
    f.debug_struct("RwLock")
        .field("is_written", &is_written(state))
        .field("readers", &readers)
        .field("is_upgradable", &(state & UPGRADABLE != 0))
        .field("readers_wait", &(state & READERS_WAIT != 0))
        .field("writers_wait", &(state & WRITERS_WAIT != 0))
        .finish()
}
