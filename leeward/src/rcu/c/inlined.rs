//! Threads that register as inlined readers (`rcu/section/inlined.rs`), and the end of that.
//!
//! A count lies in memory of the program's that the thread's exit frees, so leaders must not find it any
//! more before that: the exit of `thread.rs` sees to it. A thread on which that exit has run may register
//! all the same, in a destructor that comes later. It has a slot of its own then, which only
//! [`leave`] gives back.

use super::super::backing::State;
use super::super::no_memory::NoMemory;
use super::super::section::inlined::Served;
use super::super::section::slot::Slot;
use super::count::{self, attach, end};
use super::thread;
use crate::no_unwind::abort;
use crate::process::thread as identity;

/// Returns the slot by which the calling thread is registered as an inlined reader, and does not end
/// to be one.
fn own_slot(domain: &'static State) -> Option<&'static Slot> {
    let me = identity::current();
    let is_mine = |slot: &&'static Slot| slot.inlined.is_attached() && slot.owner() & !identity::ENDED == me;
    thread::slot(domain).filter(is_mine).or_else(|| domain.grace.registry.slots().find(is_mine))
}

/// Returns true if the slot was taken on a thread whose exit had run.
fn is_late(slot: &Slot) -> bool {
    slot.owner() & identity::ENDED != 0
}

/// Registers the calling thread: see `RawDomain::register_inlined`.
pub(super) fn register(domain: &'static State) -> Result<bool, NoMemory> {
    let Some(served) = domain.grace.inlined.served() else { return thread::register_early(domain).map(|_| true) };
    if let Some(slot) = own_slot(domain) {
        attach(served, slot);
        return Ok(!is_late(slot));
    }
    if let Some(slot) = thread::keep(domain)? {
        attach(served, slot);
        return Ok(true);
    }
    attach(served, thread::claim(domain, identity::current() | identity::ENDED)?);
    Ok(false)
}

/// Ends that the calling thread is an inlined reader. Does nothing where threads have pointers, and the
/// thread's exit is still to come: those need no other end.
pub(super) fn leave(domain: &'static State) {
    let Some(slot) = own_slot(domain) else { return };
    let is_late = is_late(slot);
    if !is_late && domain.grace.inlined.served().is_none_or(Served::has_pointers) {
        return;
    }
    end(domain, slot);
    if is_late {
        domain.grace.release(slot);
    }
}

/// The time in which callbacks run on the calling thread, whose inlined sections grace periods wait for.
///
/// A thread that was not registered is not registered afterwards.
pub(super) struct Callbacks {
    domain: &'static State,
    /// True if the thread is an inlined reader for this time only.
    is_new: bool,
    /// True if the thread is online by inlined code for this time only.
    is_online: bool,
    was_registered: bool,
}

impl Callbacks {
    /// Registers the calling thread as an inlined reader, if callbacks of the domain may open inlined
    /// sections and do not register the thread themselves.
    pub(super) fn begin(domain: &'static State) -> Callbacks {
        let is_served = domain.grace.inlined.served().is_some_and(|served| !served.has_pointers());
        let was_registered = thread::slot(domain).is_some();
        let is_new = is_served && own_slot(domain).is_none();
        if is_new && register(domain).is_err() {
            abort!("there is no memory for a reader's slot of the thread that runs callbacks");
        }
        let offline = own_slot(domain).filter(|slot| domain.grace.kind.is_qsbr() && !slot.inlined.is_inside());
        if let Some(slot) = offline {
            count::go_online(domain, slot);
        }
        Callbacks { domain, is_new, is_online: offline.is_some(), was_registered }
    }
}

impl Drop for Callbacks {
    fn drop(&mut self) {
        if self.is_online {
            own_slot(self.domain).map(|slot| count::go_offline(self.domain, slot));
        }
        if self.is_new {
            leave(self.domain);
            if !self.was_registered {
                thread::unregister(self.domain);
            }
        }
    }
}
