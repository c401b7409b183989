//! Handing a lock off from its owner to its top waiter. Used by `unlock`, `exit`, `requeue` and
//! `waiter`, calls `graph`.

use core::ptr::NonNull;

use crate::mutant::mutated;
use crate::pi::graph::Waits;
use crate::table::key::Key;
use crate::table::locked::LockedBucket;
use crate::waiter::{Decision, Waiter};
use crate::{Host, Inheritance};

/// Hands a lock off to its top waiter, if there is one, on behalf of an owner that cannot write the
/// lock's word. The waiter writes it, in its own call; until then the lock is assigned to it.
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
    // The waiter stays in its list, whose lock the caller need not hold: its thread takes it out
    // when it writes the word.
    if let Some(node) = new.node {
        // SAFETY: its thread needs the graph's lock, which is held, before it can free the node.
        unsafe { node.as_ref() }.assign();
    }
    waits.lend(owner, inheritance);
    waits.lend(new.thread.id, inheritance);
}

/// A guard for a thread that is to be unparked without locks, also where a host callback panics: it
/// is declared before the locks, so that it is dropped after them.
pub(crate) struct Notified<'a, H: Host> {
    host: &'a H,
    pub(crate) handle: Option<H::Task>,
    /// The thread is awake, and sees its flag by itself.
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

/// Wakes a waiter of this bucket; returns true if its thread is awake and sees that by itself. The
/// waiter is not in the graph, its handle was taken, and the graph's lock is held. After the call
/// the node may be freed.
pub(crate) fn wake<H: Host>(locked: &mut LockedBucket<'_, H>, node: NonNull<Waiter<H>>) -> bool {
    locked.remove(node);
    // SAFETY: in no list, but until it is woken its thread needs the graph's lock, which is held,
    // before it can free the node.
    unsafe { node.as_ref() }.decide_to_wake() == Decision::Spinning
}
