//! What stands behind a domain: its static, its threads' slots and its pair of fences, as a trait that everything in
//! `rcu` is generic over. [`Domain`](super::Domain) is what users see of it.

use super::defer::Queue;
use super::grace::Grace;
#[cfg(feature = "std")]
use super::thread_local::Local;
use crate::atomic::{AtomicPtr, const_fn};
use crate::fence::Pair;
use crate::process::fork::Hook;

/// What a [`Domain`](super::Domain) stands on. Made by [`rcu_domain!`](crate::rcu_domain).
///
/// # Safety
/// For the macro alone to implement: `state` must always return the same static, which no other domain returns, and
/// `local` must find one slot for each thread.
pub unsafe trait Backing: Sized + Send + Sync + 'static {
    /// The reader's and the writer's fences: [`Asymmetric`](crate::fence::Asymmetric) or
    /// [`Full`](crate::fence::Full).
    type Fence: Pair;

    #[doc(hidden)]
    fn state() -> &'static State;
    #[doc(hidden)]
    #[cfg(feature = "std")]
    fn local() -> Local;
}

/// What a domain is made of; a `static`.
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
    /// What is done for the domain as a type: a `fn(Task)`. Stored before the hook is listed.
    pub(super) serve: AtomicPtr<()>,
}

impl Fork {
    const_fn! {
        pub(super) fn new() -> Fork {
            Fork { hook: Hook::new(), serve: AtomicPtr::new(core::ptr::null_mut()) }
        }
    }
}
