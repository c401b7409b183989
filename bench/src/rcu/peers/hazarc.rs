//! hazarc: `AtomicArc::load` to read, `store` to write. The last holder of the old value frees it.

use std::sync::Arc;

use hazarc::AtomicArc;

use crate::rcu::scheme::{Node, Scheme};

pub struct Arcs(AtomicArc<Node>);

impl Scheme for Arcs {
    type Reader<'a> = ();
    type Writer<'a> = ();

    fn open() -> Self {
        Arcs(AtomicArc::new(Arc::new(Node::new())))
    }

    fn reader(&self) {}

    fn writer(&self) {}

    #[inline(always)]
    fn section(&self, _: &mut (), look: impl FnOnce(&Node)) {
        look(&self.0.load());
    }

    fn replace(&self, _: &mut ()) {
        self.0.store(Arc::new(Node::new()));
    }
}
