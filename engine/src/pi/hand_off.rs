//! A lock goes from its owner to the most urgent thread that waits for it. Used by `unlock`,
//! `exit`, `requeue` and `waiter`.

use core::ptr::NonNull;

use crate::mutant::mutated;
use crate::pi::graph::Waits;
use crate::table::key::Key;
use crate::table::locked::Locked;
use crate::waiter::{Decision, Waiter};
use crate::{Host, Inheritance};

/// Hands a lock off to its top waiter, for an owner that cannot write its word: the waiter will, in
/// its own call. Until then the lock is assigned to it.
pub(crate) fn assign<H: Host>(
    waits: &mut Waits<'_, H>,
    owner: u64,
    key: &Key,
    inheritance: &dyn Inheritance<H>,
    notified: &mut Notified<'_, H>,
) {
    // No thread waits for it any more.
    let Some(top) = waits.top_waiter(owner, key) else { return };
    let new = waits.hand_off(top, mutated!(pi_unsettled));
    notified.handle = new.handle;
    // The waiter stays in its list, whose lock need not be held: its thread takes it out when it
    // writes the word.
    if let Some(node) = new.node {
        // SAFETY: its owner needs the graph's lock to go.
        unsafe { node.as_ref() }.assign();
    }
    waits.lend(owner, inheritance);
    waits.lend(new.thread.id, inheritance);
}

/// Who is to be unparked when the locks were given up, also where the host panics meanwhile:
/// declared before them.
pub(crate) struct Notified<'a, H: Host> {
    host: &'a H,
    pub(crate) handle: Option<H::Task>,
    /// It is awake, and sees it.
    pub(crate) spinning: bool,
}

impl<'a, H: Host> Notified<'a, H> {
    pub(crate) fn none(host: &'a H) -> Notified<'a, H> {
        Notified { host, handle: None, spinning: false }
    }
}

impl<H: Host> Drop for Notified<'_, H> {
    fn drop(&mut self) {
        if let Some(handle) = self.handle.take().filter(|_| !self.spinning) {
            self.host.unpark(handle);
        }
    }
}

/// Wakes a waiter of this bucket, which is not in the graph, and whose handle was taken; the
/// graph's lock is held. It may be gone from now on. Whether it is awake, and sees that.
pub(crate) fn wake<H: Host>(locked: &mut Locked<'_, H>, node: NonNull<Waiter<H>>) -> bool {
    locked.remove(node);
    // SAFETY: in no list, but its owner needs the graph's lock to go, unless it was woken.
    unsafe { node.as_ref() }.decide_to_wake() == Decision::Spinning
}
