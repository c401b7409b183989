//! What the inline code of C's readers calls where it does not suffice: for a thread's first
//! section, sections of a thread that exits, a writer that sleeps, and all of QSBR but the test
//! whether a grace period has begun.
//!
//! Called by `mod.rs`; calls `thread.rs` and the slot.

use super::super::backing::State;
use super::super::local;
use super::super::slot::Slot;
use super::thread;
use crate::fence::{Asymmetric, Full};
use crate::no_unwind::abort;

/// Returns the calling thread's slot, which it takes if it has none. Ends the process where there is
/// no memory: the caller is about to read, and cannot be told.
fn own_slot(domain: &'static State) -> &'static Slot {
    match thread::register(domain) {
        Ok(slot) => slot,
        Err(_) => {
            abort!("there is no memory for a reader's slot; registering the thread beforehand returns that error")
        }
    }
}

/// Opens a section, in whatever state the thread is.
pub(super) fn enter(domain: &'static State) {
    let slot = own_slot(domain);
    if slot.is_inside() {
        slot.enter_nested();
    } else if domain.grace.kind.is_asymmetric() {
        slot.enter_outermost::<Asymmetric>(domain.grace.epoch());
    } else {
        slot.enter_outermost::<Full>(domain.grace.epoch());
    }
}

/// Ends a section, in whatever state the thread is. Returns false if none was open.
pub(super) fn leave(domain: &'static State) -> bool {
    let Some(slot) = thread::slot(domain).filter(|slot| slot.is_inside()) else { return false };
    let is_given_back =
        if domain.grace.kind.is_asymmetric() { slot.leave::<Asymmetric>() } else { slot.leave::<Full>() };
    if is_given_back {
        local::give_back(domain, slot);
    }
    true
}

/// Makes the calling thread an online reader. Registers it, if need be.
pub(super) fn go_online(domain: &'static State) {
    let slot = own_slot(domain);
    if !slot.for_c.is_online() {
        slot.for_c.set_online(true);
        enter(domain);
    }
}

/// Ends the calling thread's being online. Returns true if it was.
pub(super) fn go_offline(domain: &'static State) -> bool {
    let Some(slot) = thread::slot(domain).filter(|slot| slot.for_c.is_online()) else { return false };
    slot.for_c.set_online(false);
    leave(domain)
}

/// Announces a quiescent state, with a full fence, if the thread is online and inside no section of
/// Rust.
pub(super) fn quiesce(domain: &State) {
    if let Some(slot) = thread::slot(domain).filter(|slot| slot.for_c.is_online() && slot.is_outermost()) {
        slot.quiesce::<Full>(domain.grace.epoch());
    }
}

/// The time for which a thread that was online is offline. Its drop brings the thread online again.
pub(super) struct Offline<'a>(&'a RawState, bool);

/// A domain's state, as the guards of this file keep it.
type RawState = &'static State;

impl<'a> Offline<'a> {
    /// Takes the calling thread offline, if it is online.
    pub(super) fn begin(domain: &'a RawState) -> Offline<'a> {
        Offline(domain, domain.grace.kind.is_qsbr() && go_offline(domain))
    }
}

impl Drop for Offline<'_> {
    fn drop(&mut self) {
        if self.1 {
            go_online(self.0);
        }
    }
}
