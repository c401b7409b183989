//! sdd: `AtomicRaw`, which its documentation calls the fastest of its cells. Writes retire.

use sdd::{AtomicRaw, Guard, Owned, RawPtr};
use std::sync::atomic::Ordering;

use crate::rcu::scheme::{Node, Scheme};

pub struct Sdd(AtomicRaw<Node>);

impl Scheme for Sdd {
    type Reader<'a> = ();
    type Writer<'a> = ();

    fn open() -> Self {
        Sdd(AtomicRaw::new(Owned::new(Node::new()).into_raw()))
    }

    fn reader(&self) {}

    fn writer(&self) {}

    #[inline(always)]
    fn section(&self, _: &mut (), look: impl FnOnce(&Node)) {
        let guard = Guard::new();
        // SAFETY: the cell holds a node that was put there as an `Owned`, and the guard keeps it
        // alive.
        let node = unsafe { self.0.load(Ordering::Acquire, &guard).into_ptr() };
        if let Some(node) = node.as_ref() {
            look(node);
        }
    }

    fn replace(&self, _: &mut ()) {
        let guard = Guard::new();
        let old = self.0.swap(Owned::new(Node::new()).into_raw(), Ordering::AcqRel, &guard);
        // SAFETY: the swap took it out of the cell, which owned it; dropping the `Owned` retires
        // it.
        drop(unsafe { Owned::from_raw(old) });
    }
}

impl Drop for Sdd {
    fn drop(&mut self) {
        let guard = Guard::new();
        let last = self.0.swap(RawPtr::null(), Ordering::AcqRel, &guard);
        // SAFETY: as in `replace`.
        drop(unsafe { Owned::from_raw(last) });
    }
}
