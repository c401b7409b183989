//! What the inline code of C's readers calls where it does not suffice: for a thread's first
//! section, sections of a thread that exits, a writer that sleeps, and all of QSBR but the test
//! whether a grace period has begun.

use super::super::backing::State;
use super::super::section::local;
use super::super::section::slot::Slot;
use super::count;
use super::thread::{self, OwnSlot};
use crate::fence::{Asymmetric, Full};
use crate::no_unwind::abort;

/// Returns the calling thread's slot, which it takes if it has none. Ends the process where there is
/// no memory: the caller is about to read, and cannot be told.
fn own_slot(domain: &'static State) -> OwnSlot {
    match thread::register(domain) {
        Ok(own) => own,
        Err(_) => {
            abort!("there is no memory for a reader's slot; registering the thread beforehand returns that error")
        }
    }
}

/// Opens a section, in whatever state the thread is.
pub(super) fn enter(domain: &'static State) {
    match own_slot(domain) {
        OwnSlot::Kept(slot) if slot.is_inside() => slot.enter_nested(),
        OwnSlot::Kept(slot) => thread::enter_outermost(domain, slot),
        // The section is open.
        OwnSlot::ForOneSection(_) => {}
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

/// Returns true if the slot's reader is online: in a domain of QSBR, inside a section that is no
/// guard's.
pub(super) fn is_online(domain: &State, slot: &Slot) -> bool {
    domain.grace.kind.is_qsbr() && slot.sections() > slot.for_c.guards()
}

/// Makes the calling thread an online reader. Registers it, if need be.
///
/// Beside guards, being online is one section more. That is stored as it is to be, not added, so
/// that a signal handler may do the same at any instruction.
pub(super) fn go_online(domain: &'static State) {
    let OwnSlot::Kept(slot) = own_slot(domain) else { return };
    match slot.for_c.guards() {
        0 if slot.is_inside() => {}
        0 => thread::enter_outermost(domain, slot),
        guards => slot.keep(guards + 1),
    }
}

/// Ends the calling thread's being online, by our functions. Returns true if it was.
pub(super) fn go_offline(domain: &'static State) -> bool {
    let Some(slot) = thread::slot(domain).filter(|slot| is_online(domain, slot)) else { return false };
    match slot.for_c.guards() {
        0 => leave(domain),
        guards => {
            slot.keep(guards);
            true
        }
    }
}

/// Announces a quiescent state, with a full fence, if the thread is online and inside no section of
/// Rust.
pub(super) fn quiesce(domain: &State) {
    let Some(slot) = thread::slot(domain) else { return };
    if is_online(domain, slot) && slot.is_outermost() {
        slot.quiesce::<Full>(domain.grace.epoch());
    }
    count::quiesce(domain, slot);
}

/// Ends the calling thread's being online, by inlined code. Returns true if it was.
pub(super) fn go_offline_inlined(domain: &'static State) -> bool {
    thread::slot(domain).is_some_and(|slot| count::go_offline(domain, slot))
}

/// The time for which a thread that was online is offline. Its drop brings the thread online again, by
/// our functions and by inlined code as it was before.
pub(super) struct Offline<'a> {
    domain: &'a RawState,
    ours: bool,
    inlined: bool,
}

/// A domain's state, as the guards of this file keep it.
type RawState = &'static State;

impl<'a> Offline<'a> {
    /// Takes the calling thread offline, if it is online.
    pub(super) fn begin(domain: &'a RawState) -> Offline<'a> {
        let is_qsbr = domain.grace.kind.is_qsbr();
        Offline { domain, ours: is_qsbr && go_offline(domain), inlined: is_qsbr && go_offline_inlined(domain) }
    }
}

impl Drop for Offline<'_> {
    fn drop(&mut self) {
        if self.ours {
            go_online(self.domain);
        }
        if let Some(slot) = thread::slot(self.domain).filter(|_| self.inlined) {
            count::go_online(self.domain, slot);
        }
    }
}
