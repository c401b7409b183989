//! Waiting until threads have left a lock, by their slots: pairs H and J, heavy half. Called by
//! `RawRwLock::revoke` and `RawMutex::revoke`.
//!
//! The caller holds the ordinary lock, has closed the way in and issued a heavy fence (pairs G and
//! I). So every thread that is inside is seen, and threads that come later announce themselves for
//! an instant only.

use super::slots::AsymSlot;
use crate::fence;
use crate::futex::{Private, Timeout, Wait};
use crate::mutant::{check, mutated};
use crate::raw::spin_budget::SpinBudget;

/// Waits until no slot holds the lock any more. Returns true then, or false if `timeout` comes
/// first. `slots` gives the same slots each time.
pub(super) fn wait<'a, S: Iterator<Item = &'a AsymSlot>>(slots: impl Fn() -> S, id: u64, timeout: Timeout) -> bool {
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
fn sleep<'a, S: Iterator<Item = &'a AsymSlot>>(slots: impl Fn() -> S, id: u64, timeout: Timeout) -> bool {
    ask(slots().filter(|slot| slot.is_held_for(id)), id);
    for slot in slots() {
        while slot.is_held_for(id) {
            if check!(asym_ask_again, !slot.is_asked(id)) {
                // The request was answered, but the thread checks once more whether it may enter;
                // or the thread came after we asked the others.
                ask(core::iter::once(slot), id);
            }
            if check!(asym_drain_recheck, !slot.is_held_for(id)) {
                break;
            }
            if slot.sleep(id, timeout) == Wait::TimedOut {
                return false;
            }
        }
    }
    true
}

/// Asks the threads of `slots` to wake us, so that each notices the request or is seen to have
/// left.
fn ask<'a>(slots: impl Iterator<Item = &'a AsymSlot>, id: u64) {
    let mut asked = false;
    for slot in slots {
        asked = true;
        slot.ask(id);
    }
    if check!(asym_heavy_before_sleep, asked) {
        // Pairs H and J, heavy half: the request is stored before our next look at the slot.
        // Partner: the light fence in `AsymSlot::leave`.
        // - If the thread's store comes first, our recheck sees that it left.
        // - If this fence comes first, the thread sees the request when it leaves, and wakes us.
        fence::heavy_or_abort();
    }
}
