//! The reader-writer locks of std and parking_lot. A read locks for reading; a write locks for
//! writing, replaces the node and frees the old one.

use crate::rcu::scheme::{Node, Scheme};

pub struct Std(std::sync::RwLock<Box<Node>>);

impl Scheme for Std {
    type Reader<'a> = ();
    type Writer<'a> = ();

    fn open() -> Self {
        Std(std::sync::RwLock::new(Box::new(Node::new())))
    }

    fn reader(&self) {}

    fn writer(&self) {}

    #[inline(always)]
    fn section(&self, _: &mut (), look: impl FnOnce(&Node)) {
        look(&self.0.read().unwrap_or_else(|poisoned| poisoned.into_inner()));
    }

    fn replace(&self, _: &mut ()) {
        let new = Box::new(Node::new());
        let old = std::mem::replace(&mut *self.0.write().unwrap_or_else(|poisoned| poisoned.into_inner()), new);
        drop(old);
    }
}

pub struct ParkingLot(parking_lot::RwLock<Box<Node>>);

impl Scheme for ParkingLot {
    type Reader<'a> = ();
    type Writer<'a> = ();

    fn open() -> Self {
        ParkingLot(parking_lot::RwLock::new(Box::new(Node::new())))
    }

    fn reader(&self) {}

    fn writer(&self) {}

    #[inline(always)]
    fn section(&self, _: &mut (), look: impl FnOnce(&Node)) {
        look(&self.0.read());
    }

    fn replace(&self, _: &mut ()) {
        let new = Box::new(Node::new());
        let old = std::mem::replace(&mut *self.0.write(), new);
        drop(old);
    }
}
