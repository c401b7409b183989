//! What may stand for an open section where something is loaded.

use super::domain::Domain;
use super::guard::Guard;
use super::qsbr;

/// Something that keeps what is loaded from domain `D` alive for as long as it is borrowed: a [`Guard`], or an online
/// [`qsbr::Reader`].
///
/// # Safety
/// For this crate alone to implement: while a shared borrow of the value lives, its slot must announce a section of
/// `D` that began before the borrow.
pub unsafe trait Protects<D: Domain>: sealed::Sealed {}

// SAFETY: the section is open until the guard is dropped, and `refresh` needs the guard whole.
unsafe impl<D: Domain> Protects<D> for Guard<'_, D> {}
// SAFETY: an online reader's slot announces; it changes in `&mut self` functions only.
unsafe impl<D: Domain> Protects<D> for qsbr::Reader<D> {}

mod sealed {
    pub trait Sealed {}
    impl<D: super::Domain> Sealed for super::Guard<'_, D> {}
    impl<D: super::Domain> Sealed for super::qsbr::Reader<D> {}
}
