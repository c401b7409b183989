//! The count of an inlined reader (`rcu/section/inlined.rs`): how leaders come to find it, and how it goes.

use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};

use super::super::backing::State;
use super::super::section::inlined::{Count, Served};
use super::super::section::slot::Slot;
use crate::mutant::{check, step};

/// Lets leaders find the calling thread's count; where threads have pointers, sets the thread's.
pub(super) fn attach(served: &'static Served, slot: &'static Slot) {
    let reader = (served.reader)();
    if served.has_pointers() {
        let count = slot.inlined.attach_own().cast_mut();
        pointer(reader.cast()).store(count, Ordering::Relaxed);
    } else {
        // SAFETY: `serve_inlined` is promised that this is the calling thread's count, which lives as
        // long as the thread. `end` is called before that, by the thread's exit or by `leave`.
        unsafe { slot.inlined.attach(reader.cast::<Count>()) };
    }
}

/// Returns the calling thread's pointer to its count. Relaxed accesses suffice: the thread's own word.
fn pointer<'a>(reader: *mut *mut Count) -> &'a AtomicPtr<Count> {
    // SAFETY: `serve_inlined` is promised that this is the calling thread's pointer, which no other
    // thread accesses.
    unsafe { AtomicPtr::from_ptr(reader) }
}

/// Takes the count of the calling thread away from leaders; a section that is open ends.
pub(super) fn end(domain: &'static State, slot: &'static Slot) {
    if !slot.inlined.is_attached() {
        return;
    }
    if let Some(served) = domain.grace.inlined.served().filter(|served| served.has_pointers()) {
        // In this order: a signal handler that comes before the pointer goes uses the count, which leaders
        // still find; one that comes later registers the thread anew, by another slot. (Only threads that
        // exit come here, and what has no pointer does not register in handlers.)
        slot.mark_given_up();
        pointer((served.reader)().cast()).store(ptr::null_mut(), Ordering::Relaxed);
    }
    if let Some(count) = slot.inlined.open().filter(|_| is_quiescent(domain)) {
        count.withdraw();
    }
    step!(inlined_exit, domain.grace.detach(slot));
}

fn is_quiescent(domain: &State) -> bool {
    domain.grace.inlined.served().is_some_and(Served::is_quiescent)
}

/// Announces a quiescent state of the calling thread, if it is online by inlined code.
pub(super) fn quiesce(domain: &State, slot: &Slot) {
    if let Some(count) = slot.inlined.open().filter(|_| is_quiescent(domain)) {
        // Relaxed: as in `Slot::quiesce`.
        step!(inlined_quiesce, count.announce(domain.grace.epoch().load(Ordering::Relaxed)));
    }
}

/// Ends that the calling thread is online by inlined code. Returns false if it was not.
pub(super) fn go_offline(domain: &State, slot: &Slot) -> bool {
    let online = slot.inlined.open().filter(|_| check!(inlined_offline, is_quiescent(domain)));
    online.map(Count::withdraw).is_some()
}

/// Makes the calling thread, which is attached, online as inlined code does.
pub(super) fn go_online(domain: &State, slot: &Slot) {
    // Relaxed: as in `Slot::enter_outermost`.
    slot.inlined.announce(domain.grace.epoch().load(Ordering::Relaxed));
}
