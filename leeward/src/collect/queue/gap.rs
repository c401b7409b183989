//! A slot that its producer has claimed and not filled, and how the consumer waits for it.
//!
//! That is rare: the producer was preempted between two instructions. So it is the consumer that pays
//! for the meeting, by a heavy fence before it sleeps, and all consumers of the process sleep on one
//! word: a slot may be gone when its producer wakes, and a splice may have moved its block to another
//! queue. Each sleeps there by the futex of its queue (`kinds.rs`).
//!
//! A slot of a [`Bounded`](crate::collect::Bounded) is waited for in the same way, by consumers until it is
//! filled and by producers until it is emptied.

use core::time::Duration;

use super::block::{Block, FILLED, QueueSlot};
use super::kinds::Kinds;
use crate::__leeward_static;
use crate::atomic::{AtomicU32, AtomicU64, Ordering, const_fn};
use crate::fence;
use crate::futex::{ALL, Futex, Timeout, Wait};
use crate::mutant::{check, mutated, order, step};
use crate::process::fork_mark;

/// How long the consumer sleeps where nobody may wake it: in the child of a fork, whose producer may
/// not be there, where no heavy fence is possible, and by a kind of futex that has no place.
const LONG: Duration = Duration::from_millis(1);

/// The words by which producers learn of consumers that wait for them; alone on their cache lines,
/// since each push reads the first.
#[repr(align(128))]
struct Sleepers {
    /// The address of the slot for which a consumer sleeps on `filled`, or is about to; [`NONE`], or
    /// [`MANY`]. An address may be left by a consumer that does not wait any more.
    awaited: AtomicU64,
    /// How often a producer has filled a slot and found its consumer asleep.
    filled: AtomicU32,
    /// The kinds of futex by which consumers sleep on `filled`.
    kinds: Kinds,
}

/// No consumer waits for a slot.
const NONE: u64 = 0;
/// Several slots are awaited; no slot's address.
const MANY: u64 = 1;

impl Sleepers {
    const_fn! {
        fn new() -> Self {
            Sleepers { awaited: AtomicU64::new(NONE), filled: AtomicU32::new(0), kinds: Kinds::new() }
        }
    }
}

__leeward_static! {
    SLEEPERS: Sleepers = Sleepers::new();
}

/// Wakes the threads that wait for the slot at that address, if there are any. Called by a producer that
/// has filled the slot, which may be gone, or by a consumer that has emptied it.
#[inline(always)]
pub(in crate::collect) fn filled<F: Futex>(slot: u64) {
    // Pair P, light half. Partner: the heavy fence in `wait`.
    // - If our store comes first, the consumer's recheck finds the slot filled.
    // - If the heavy fence comes first, we see that the slot is awaited, and wake the consumer.
    step!(queue_gap_light, fence::light());
    // Relaxed: ordered by the fence.
    let awaited = SLEEPERS.awaited.load(Ordering::Relaxed);
    if check!(queue_gap_wake, awaited != NONE) {
        wake::<F>(awaited, slot);
    }
}

#[cold]
#[inline(never)]
fn wake<F: Futex>(awaited: u64, slot: u64) {
    if awaited != slot && awaited != MANY {
        return;
    }
    // Before the count changes, so that a consumer whose mark this exchange takes away has loaded
    // the count before the change, and does not sleep, or is woken.
    // Acquire: partner of the releases in `mark`: the kinds of those whose marks it takes are found.
    let taken = SLEEPERS.awaited.swap(NONE, order!(Acquire, queue_gap_taken_acquire));
    // Release: the exchange above comes first. Partner of the acquire in `wait`.
    SLEEPERS.filled.fetch_add(1, Ordering::Release);
    let word: &AtomicU32 = &SLEEPERS.filled;
    // The slot that is awaited is of a queue of this kind. What was taken is asked, and not what was
    // loaded: meanwhile another consumer may have made it the mark of several.
    let taken = if mutated!(queue_gap_taken) { awaited } else { taken };
    if check!(queue_gap_kinds, taken != slot) {
        SLEEPERS.kinds.wake_others::<F>(word);
    }
    F::wake(word, ALL);
}

/// A slot that its producer has claimed and not filled. The consumer is in its block.
pub(super) struct Gap<T> {
    slot: *const QueueSlot<T>,
    block: *mut Block<T>,
}

/// How the wait for a gap's producer ended.
pub(in crate::collect) enum Waited {
    /// The slot may be filled.
    Again,
    /// The time is up.
    Late,
    /// The producer did not come, which a fork may not have copied.
    InVain,
}

impl<T> Gap<T> {
    pub(super) fn new(slot: *const QueueSlot<T>, block: *mut Block<T>) -> Gap<T> {
        Gap { slot, block }
    }

    pub(super) fn block(&self) -> *mut Block<T> {
        self.block
    }

    /// Returns true if the producer may be a thread that a fork did not copy.
    pub(super) fn is_inherited(&self) -> bool {
        // SAFETY: the consumer is in the block.
        let process = unsafe { &*self.block }.process;
        !fork_mark::is_still(process)
    }

    /// Says that the slot is not awaited any more, if it was that one alone.
    fn unmark(&self) {
        let slot = self.slot.addr() as u64;
        // Relaxed, both: the mark publishes nothing.
        let _ = SLEEPERS.awaited.compare_exchange(slot, NONE, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Sleeps until the slot is filled, until `timeout` at most, and a millisecond if its producer
    /// may not be there.
    pub(super) fn wait<F: Futex>(&self, timeout: Timeout) -> Waited {
        // SAFETY: the consumer is in the block.
        let state = unsafe { QueueSlot::state(self.slot) };
        // Relaxed: the next attempt loads it again.
        let is_filled = || state.load(Ordering::Relaxed) == FILLED;
        let waited = wait::<F>(self.slot.addr() as u64, timeout, is_filled, || self.is_inherited());
        // The slot has one consumer, so the mark is this one's, or one that this one took for several.
        self.unmark();
        waited
    }
}

/// Says that the slot is awaited: that one alone, if no other is.
fn mark(slot: u64) {
    // For the slot's own producer the fence that follows is enough. But another one may take the
    // mark away, and has to find the caller's kind.
    // Release, both: partner of the acquire in `wake`. All changes of the word are exchanges, so
    // a producer that takes the newest mark acquires what came before the older ones as well.
    let order = order!(Release, queue_gap_mark_release);
    if SLEEPERS.awaited.compare_exchange(NONE, slot, order, Ordering::Relaxed).is_err() {
        SLEEPERS.awaited.swap(MANY, order);
    }
}

/// Sleeps until the slot at that address is filled, until `timeout` at most, and a millisecond if its
/// producer may not be there. The thread that fills it calls [`filled`] after that. The mark stays, and costs a
/// wake later, unless the caller takes it away, which only one that alone waits for the slot may do.
pub(in crate::collect) fn wait<F: Futex>(
    slot: u64,
    timeout: Timeout,
    is_filled: impl Fn() -> bool,
    is_inherited: impl Fn() -> bool,
) -> Waited {
    // Acquire: the count is loaded before the mark is made; partner of the release in `wake`.
    let count = SLEEPERS.filled.load(Ordering::Acquire);
    let is_known = SLEEPERS.kinds.enter::<F>();
    mark(slot);
    // Pair P, heavy half. Partner: the light fence in `filled`.
    // - If the producer's store comes first, the recheck finds the slot filled.
    // - If this fence comes first, the producer sees the mark, and wakes us.
    let is_fenced = mutated!(queue_gap_heavy) || fence::try_heavy().is_ok();
    if is_filled() && !mutated!(queue_gap_recheck) {
        return Waited::Again;
    }
    let is_inherited = check!(queue_gap_inherited, is_inherited());
    let is_alone = is_inherited || !is_fenced || check!(queue_gap_crowded, !is_known);
    let soon = if is_alone { Timeout::after::<F>(LONG) } else { Timeout::Never };
    let word: &AtomicU32 = &SLEEPERS.filled;
    match F::wait(word, count, timeout.min(soon)) {
        Wait::TimedOut if is_inherited => Waited::InVain,
        Wait::TimedOut if soon < timeout => Waited::Again,
        Wait::TimedOut => Waited::Late,
        _ => Waited::Again,
    }
}

/// Makes the static in a model, before there is a second thread.
#[cfg(all(test, leeward_loom))]
pub(in crate::collect) fn set_up() {
    SLEEPERS.filled.load(Ordering::Relaxed);
}
