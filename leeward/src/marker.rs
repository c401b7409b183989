//! The marker of what stays with its thread.
//!
//! A raw pointer in a type would do the same, and the compiler would say that "`*mut ()` cannot be sent
//! between threads safely". Here its message says why.

use core::marker::PhantomData;

/// Makes a type that has a `PhantomData` of it neither `Send` nor `Sync`. (A guard through which other
/// threads may look at the value has a `Sync` of its own.)
pub(crate) struct GuardNoSend<T = ()>(PhantomData<*const T>);

/// What no type implements: the bound that is missing where something leaves its thread.
#[diagnostic::on_unimplemented(
    message = "this belongs to the thread that made it, and no other thread may have it",
    label = "belongs to the thread that made it",
    note = "give the other thread a reference to the lock, the cell or the map instead, and let it make its own guard"
)]
pub(crate) trait OfAnyThread {}

// SAFETY: holds for no type, since `OfAnyThread` does.
unsafe impl<T: OfAnyThread> Send for GuardNoSend<T> {}
// SAFETY: as above.
unsafe impl<T: OfAnyThread> Sync for GuardNoSend<T> {}
