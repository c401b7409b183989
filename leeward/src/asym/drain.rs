//! Waiting until threads have left a lock, by their slots: pairs H and J, heavy half.
//!
//! The caller holds the ordinary lock, has closed the way in and issued a heavy fence (pairs G and I): every thread that
//! is inside is seen, and those that come announce themselves for an instant only.

use super::slots::Slot;
use crate::fence;
use crate::futex::{Private, Timeout, Wait};
use crate::mutant::{check, mutated};
use crate::raw::spin_budget::SpinBudget;

/// Returns true when no slot is the lock's any more; false when `timeout` comes first. `slots` gives the same ones each
/// time.
pub(super) fn wait<'a, S: Iterator<Item = &'a Slot>>(slots: impl Fn() -> S, id: u64, timeout: Timeout) -> bool {
    if mutated!(asym_no_wait) {
        return true;
    }
    let mut budget = SpinBudget::for_lock(timeout);
    while slots().any(|slot| slot.is_held_for(id)) {
        if !budget.pause::<Private>() {
            return sleep(slots, id, timeout);
        }
    }
    true
}

#[cold]
#[inline(never)]
fn sleep<'a, S: Iterator<Item = &'a Slot>>(slots: impl Fn() -> S, id: u64, timeout: Timeout) -> bool {
    ask(slots().filter(|slot| slot.is_held_for(id)), id);
    for slot in slots() {
        while slot.is_held_for(id) {
            if check!(asym_ask_again, !slot.is_asked(id)) {
                // Answered; and the thread looks once more whether it may enter. Or it came after we asked the others.
                ask(core::iter::once(slot), id);
            }
            if !mutated!(asym_drain_recheck) && !slot.is_held_for(id) {
                break;
            }
            if slot.sleep(id, timeout) == Wait::TimedOut {
                return false;
            }
        }
    }
    true
}

/// Asks threads to wake us, and makes sure that they notice or are seen to have left.
fn ask<'a>(slots: impl Iterator<Item = &'a Slot>, id: u64) {
    let mut asked = false;
    for slot in slots {
        asked = true;
        slot.ask(id);
    }
    if check!(asym_heavy_before_sleep, asked) {
        // Pairs H and J, heavy half: the request is before our next look at the slot. Partner: the light fence in
        // `Slot::leave`. Either the thread sees the request and wakes us, or we see that it left.
        fence::heavy_or_abort();
    }
}
