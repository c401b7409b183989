//! arc-swap: `ArcSwap::load` to read, `store` to write. The last holder of the old value frees it.

use arc_swap::ArcSwap;
use std::sync::Arc;

use crate::rcu::scheme::{Node, Scheme};

pub struct Arcs(ArcSwap<Node>);

impl Scheme for Arcs {
    type Reader<'a> = ();
    type Writer<'a> = ();

    fn open() -> Self {
        Arcs(ArcSwap::from_pointee(Node::new()))
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
