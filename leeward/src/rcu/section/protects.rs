//! The proofs of an open section that a load accepts: a guard, or an online reader.

use super::super::domain::Domain;
use super::guard::Guard;
use super::qsbr;

/// A proof that the calling thread is inside a section of domain `D`: a [`Guard`], or an online
/// [`qsbr::Reader`]. What is loaded with it stays alive for as long as it is borrowed.
///
/// ```
/// use leeward::rcu::{self, Global, Protects, RcuCell};
/// /// Reads for callers with a guard and for callers with an online reader.
/// fn port<'g>(cell: &'g RcuCell<u16>, proof: &'g impl Protects<Global>) -> &'g u16 {
///     cell.load(proof)
/// }
/// assert_eq!(*port(&RcuCell::new(80), &rcu::read()), 80);
/// ```
///
/// # Safety
/// Only this crate implements it. While a shared borrow of the value lives, its slot must announce
/// a section of `D` that began before the borrow.
#[diagnostic::on_unimplemented(
    message = "`{Self}` protects nothing in cells of the domain `{D}`",
    label = "not a guard of `{D}`, nor an online reader of it",
    note = "open a section of the cell's own domain, `{D}::read()`, or call the cell's `get()`, which opens it"
)]
pub unsafe trait Protects<D: Domain>: sealed::Sealed {}

// SAFETY: the section is open until the guard is dropped, and `refresh` needs the guard whole.
unsafe impl<D: Domain> Protects<D> for Guard<'_, D> {}
// SAFETY: an online reader's slot announces a section, which only `&mut self` functions change.
unsafe impl<D: Domain> Protects<D> for qsbr::Reader<D> {}

mod sealed {
    pub trait Sealed {}
    impl<D: super::Domain> Sealed for super::Guard<'_, D> {}
    impl<D: super::Domain> Sealed for super::qsbr::Reader<D> {}
}
