//! What a domain is made of: its static, its threads' slots and its pair of fences, as a trait that
//! everything in `rcu` is generic over. [`Domain`](super::Domain) is what users see of it.

use super::defer::Queue;
use super::grace::Grace;
#[cfg(feature = "std")]
use super::thread_local::Local;
use crate::atomic::{AtomicPtr, const_fn};
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
    #[doc(hidden)]
    #[cfg(feature = "std")]
    fn local() -> Local;
}

/// The state of a domain, which is a `static`.
#[doc(hidden)]
pub struct State {
    pub(crate) grace: Grace,
    pub(crate) queue: Queue,
    pub(super) fork: Fork,
}

impl State {
    const_fn! {
        #[doc(hidden)]
        #[allow(clippy::new_without_default)]
        pub fn new() -> State {
            State { grace: Grace::new(), queue: Queue::new(), fork: Fork::new() }
        }
    }
}

/// A domain's part in the [registry of forks](crate::process::fork), which `fork.rs` serves.
pub(crate) struct Fork {
    pub(super) hook: Hook,
    /// A `fn(Task)` that does what needs the domain's type. Stored before the hook is listed.
    pub(super) serve: AtomicPtr<()>,
}

impl Fork {
    const_fn! {
        pub(super) fn new() -> Fork {
            Fork { hook: Hook::new(), serve: AtomicPtr::new(core::ptr::null_mut()) }
        }
    }
}
