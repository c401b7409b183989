//! What a domain is made of: its static, its threads' slots and its pair of fences, as a trait that
//! everything in `rcu` is generic over. [`Domain`](super::Domain) is what users see of it.

use super::free::defer::Queue;
use super::grace::Grace;
use super::grace::stats::Stats;
use super::kind::Kind;
#[cfg(all(feature = "c", not(leeward_loom)))]
use super::kind::Place;
#[cfg(feature = "std")]
use super::no_memory::NoMemory;
#[cfg(feature = "std")]
use super::section::slot::Slot;
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

    /// True of the domains that C programs share: their slots count the open guards.
    #[doc(hidden)]
    const IS_OF_C: bool = false;

    #[doc(hidden)]
    fn state() -> &'static State;
    /// Returns the address of the calling thread's variable, which holds its slot's address.
    #[doc(hidden)]
    #[cfg(feature = "std")]
    fn place() -> *mut *const Slot;
    /// Returns the calling thread's slot, which it takes if it has none. If `early`, takes none on a
    /// thread that has run its thread-local destructors, where no section would give it back.
    #[doc(hidden)]
    #[cfg(feature = "std")]
    fn take_slot(early: bool) -> Result<&'static Slot, NoMemory>;
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

    /// Makes the state of a domain of C: an epoch of 1, the kind, and zeros, as C programs define
    /// further ones.
    #[cfg(all(feature = "c", not(leeward_loom)))]
    pub(super) const fn for_c(readers: u32, place: Place) -> State {
        State { grace: Grace::new(Kind::of_c(readers, place)), queue: Queue::for_c(), hook: Hook::new() }
    }

    /// Returns what the domain has done so far, and what it holds.
    pub(super) fn stats(&self) -> Stats {
        let counts = &self.grace.counts;
        Stats {
            grace_periods: counts.grace_periods.get(),
            heavy_fences: counts.heavy_fences.get(),
            sleeps: counts.sleeps.get(),
            stalls: counts.stalls.get(),
            readers: self.grace.readers(),
            leaked: counts.leaked.get(),
            callbacks_run: counts.callbacks_run.get(),
            callback_panics: counts.callback_panics.get(),
            over_limit: counts.over_limit.get(),
            lost: counts.lost.get(),
            unlinked: counts.unlinked.get(),
            ..self.queue.stats()
        }
    }
}
