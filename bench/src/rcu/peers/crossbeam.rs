//! crossbeam-epoch: each thread keeps a `LocalHandle`, which spares `pin` the thread-local look-up.
//! Writes retire.

use crossbeam_epoch::{Atomic, Collector, LocalHandle, Owned};
use std::sync::atomic::Ordering;

use crate::rcu::scheme::{Node, Scheme};

pub struct Epochs {
    cell: Atomic<Node>,
    collector: Collector,
}

impl Scheme for Epochs {
    type Reader<'a> = LocalHandle;
    type Writer<'a> = LocalHandle;

    fn open() -> Self {
        Epochs { cell: Atomic::new(Node::new()), collector: Collector::new() }
    }

    fn reader(&self) -> LocalHandle {
        self.collector.register()
    }

    fn writer(&self) -> LocalHandle {
        self.collector.register()
    }

    #[inline(always)]
    fn section(&self, handle: &mut LocalHandle, look: impl FnOnce(&Node)) {
        let guard = handle.pin();
        let node = self.cell.load(Ordering::Acquire, &guard);
        // SAFETY: the cell is never null, and what it holds is retired through this collector only.
        look(unsafe { node.deref() });
    }

    fn replace(&self, handle: &mut LocalHandle) {
        let guard = handle.pin();
        let old = self.cell.swap(Owned::new(Node::new()), Ordering::AcqRel, &guard);
        // SAFETY: the swap made it unreachable for new readers, and it is retired here only.
        unsafe { guard.defer_destroy(old) };
    }
}

impl Drop for Epochs {
    fn drop(&mut self) {
        let last = std::mem::replace(&mut self.cell, Atomic::null());
        // SAFETY: no thread is left, and the cell owns the node that it holds.
        drop(unsafe { last.into_owned() });
    }
}
