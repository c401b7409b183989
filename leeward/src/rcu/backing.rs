//! What a domain is made of: its static, its threads' slots and its pair of fences, as a trait that
//! everything in `rcu` is generic over. [`Domain`](super::Domain) is what users see of it.

use super::defer::Queue;
use super::grace::Grace;
use super::kind::Kind;
#[cfg(feature = "std")]
use super::slot::Slot;
use crate::atomic::const_fn;
use crate::fence::Pair;
use crate::process::fork::Hook;

/// The part of a [`Domain`](super::Domain) that [`rcu_domain!`](crate::rcu_domain) implements.
///
/// Programs meet it as a bound of [`Guard`](super::Guard) only; every `Backing` is a
/// [`Domain`](super::Domain).
///
/// ```
/// use leeward::rcu::{Backing, Guard, Global};
/// /// Keeps a section of any domain open during a call.
/// fn hold<D: Backing, R>(_guard: &Guard<'_, D>, call: impl FnOnce() -> R) -> R {
///     call()
/// }
/// assert_eq!(hold::<Global, _>(&leeward::rcu::read(), || 7), 7);
/// ```
///
/// # Safety
/// Only the macro implements it: `state` must always return the same static, which no other domain
/// returns, and `local` must find one slot for each thread.
pub unsafe trait Backing: Sized + Send + Sync + 'static {
    /// The reader's and the writer's fences: [`Asymmetric`](crate::fence::Asymmetric), or
    /// [`Full`](crate::fence::Full) where the domain is declared so.
    type Fence: Pair;

    #[doc(hidden)]
    fn state() -> &'static State;
    /// Returns the address of the calling thread's variable, which holds its slot's address.
    #[doc(hidden)]
    #[cfg(feature = "std")]
    fn place() -> *mut *const Slot;
    /// Arms what gives the thread's slot back when the thread exits. Returns false on a thread where
    /// that has run already.
    #[doc(hidden)]
    #[cfg(feature = "std")]
    fn arm() -> bool;
}

/// The state of a domain, which is a `static`.
#[doc(hidden)]
#[repr(C)]
pub struct State {
    pub(crate) grace: Grace,
    pub(crate) queue: Queue,
    pub(super) hook: Hook,
}

impl State {
    const_fn! {
        #[doc(hidden)]
        pub fn new(kind: Kind) -> State {
            State { grace: Grace::new(kind), queue: Queue::new(), hook: Hook::new() }
        }
    }
}
