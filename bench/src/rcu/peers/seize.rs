//! seize: one collector for the cell, with its default batch (32). Writes retire.

use seize::{Collector, Guard, reclaim};
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::rcu::scheme::{Node, Scheme};

pub struct Seize {
    cell: AtomicPtr<Node>,
    collector: Collector,
}

impl Scheme for Seize {
    type Reader<'a> = ();
    type Writer<'a> = ();

    fn open() -> Self {
        Seize { cell: AtomicPtr::new(Box::into_raw(Box::new(Node::new()))), collector: Collector::new() }
    }

    fn reader(&self) {}

    fn writer(&self) {}

    #[inline(always)]
    fn section(&self, _: &mut (), look: impl FnOnce(&Node)) {
        let guard = self.collector.enter();
        let node = guard.protect(&self.cell, Ordering::Acquire);
        // SAFETY: the cell is never null, and the guard protects what was loaded.
        look(unsafe { &*node });
    }

    fn replace(&self, _: &mut ()) {
        let new = Box::into_raw(Box::new(Node::new()));
        let old = self.cell.swap(new, Ordering::AcqRel);
        // SAFETY: the swap made it unreachable for new readers, it came from a box, and it is
        // retired here only.
        unsafe { self.collector.retire(old, reclaim::boxed) };
    }
}

impl Drop for Seize {
    fn drop(&mut self) {
        // SAFETY: no thread is left; the cell owns the node that it holds.
        drop(unsafe { Box::from_raw(*self.cell.get_mut()) });
    }
}
