//! leeward as programs use it: read automatically (`rcu::read`), through a `Reader` handle, or by
//! quiescent states; in the global domain, or in one whose readers execute full fences. The
//! strategy of the heavy fence changes between rows. Last, its hazard pointers.

use leeward::hazard::{Cell, HazardPointer};
use leeward::rcu::{self, Domain, Global, RcuCell, Reader, qsbr};
use leeward::rcu_domain;

use crate::rcu::scheme::{Node, Scheme};

rcu_domain! {
    /// The domain of the `mb` row: full fences in the reader, no system call in the writer.
    pub struct Fenced: Full;
}

/// The scheme of `rcu::read()`, which registers its thread on first use.
pub struct Automatic(RcuCell<Node, Global>);

impl Scheme for Automatic {
    type Reader<'a> = ();
    type Writer<'a> = ();

    fn open() -> Self {
        Automatic(RcuCell::new_in(Node::new()))
    }

    fn reader(&self) {}

    fn writer(&self) {}

    #[inline(always)]
    fn section(&self, _: &mut (), look: impl FnOnce(&Node)) {
        let guard = rcu::read();
        look(self.0.load(&guard));
    }

    fn replace(&self, _: &mut ()) {
        drop(self.0.replace(Node::new()).synchronize());
    }

    fn retire(&self, _: &mut ()) {
        self.0.replace(Node::new()).defer();
    }

    fn synchronize(&self) {
        rcu::synchronize();
    }

    fn barrier(&self) {
        rcu::barrier();
    }
}

/// The scheme of an explicit `Reader` handle.
pub struct Handle<D: Domain>(RcuCell<Node, D>);

impl<D: Domain> Scheme for Handle<D> {
    type Reader<'a> = Reader<D>;
    type Writer<'a> = ();

    fn open() -> Self {
        Handle(RcuCell::new_in(Node::new()))
    }

    fn reader(&self) -> Reader<D> {
        Reader::register_in()
    }

    fn writer(&self) {}

    #[inline(always)]
    fn section(&self, reader: &mut Reader<D>, look: impl FnOnce(&Node)) {
        let guard = reader.read();
        look(self.0.load(&guard));
    }

    fn replace(&self, _: &mut ()) {
        drop(self.0.replace(Node::new()).synchronize());
    }

    fn retire(&self, _: &mut ()) {
        self.0.replace(Node::new()).defer();
    }

    fn synchronize(&self) {
        D::synchronize();
    }

    fn barrier(&self) {
        D::barrier();
    }
}

/// The scheme of quiescent states, announced as often as by liburcu-qsbr's reader.
pub struct Qsbr(RcuCell<Node, Global>);

impl Scheme for Qsbr {
    type Reader<'a> = qsbr::Reader<Global>;
    type Writer<'a> = ();

    fn open() -> Self {
        Qsbr(RcuCell::new_in(Node::new()))
    }

    fn reader(&self) -> qsbr::Reader<Global> {
        qsbr::Reader::register()
    }

    fn writer(&self) {}

    #[inline(always)]
    fn section(&self, reader: &mut qsbr::Reader<Global>, look: impl FnOnce(&Node)) {
        look(self.0.load(reader));
    }

    #[inline(always)]
    fn quiescent(&self, reader: &mut qsbr::Reader<Global>) {
        reader.quiescent();
    }

    fn rest(&self, reader: &mut qsbr::Reader<Global>, during: &mut dyn FnMut()) {
        reader.offline(during);
    }

    fn replace(&self, _: &mut ()) {
        drop(self.0.replace(Node::new()).synchronize());
    }

    fn synchronize(&self) {
        rcu::synchronize();
    }
}

/// The scheme of hazard pointers, one kept by each reader. Writes retire.
pub struct Hazards(Cell<Node>);

impl Scheme for Hazards {
    type Reader<'a> = HazardPointer;
    type Writer<'a> = ();

    fn open() -> Self {
        Hazards(Cell::new(Node::new()))
    }

    fn reader(&self) -> HazardPointer {
        HazardPointer::new()
    }

    fn writer(&self) {}

    #[inline(always)]
    fn section(&self, hazard: &mut HazardPointer, look: impl FnOnce(&Node)) {
        if let Some(node) = hazard.protect(&self.0) {
            look(node);
        }
        hazard.reset_protection();
    }

    fn replace(&self, _: &mut ()) {
        self.0.store(Node::new());
    }
}
