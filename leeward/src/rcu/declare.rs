//! The macro that declares domains.

/// Declares RCU domains as types that implement [`Domain`](crate::rcu::Domain).
///
/// A declaration takes attributes, a visibility, a name, and optionally the pair of fences:
/// `: Full` makes readers execute full fences, so that writers need no heavy fence. A domain is a
/// `static` and, with `std`, two thread-local variables; declaring it runs nothing.
///
/// ```
/// use leeward::rcu::{Domain, RcuCell};
///
/// leeward::rcu_domain! {
///     /// Readers of the routing table. They execute no fence, and writers issue heavy fences.
///     pub struct Routes;
///     /// Readers that execute full fences, so that writers make no system call.
///     struct Rules: Full;
/// }
///
/// let table = RcuCell::<_, Routes>::new_in(vec![1, 2, 3]);
/// let guard = Routes::read();
/// assert_eq!(table.load(&guard).len(), 3);
/// ```
#[macro_export]
macro_rules! rcu_domain {
    ($($(#[$meta:meta])* $vis:vis struct $name:ident $(: $fence:ident)?;)+) => {$(
        $(#[$meta])*
        #[derive(Debug)]
        $vis enum $name {}

        // SAFETY: one static and one set of thread-local variables, all of this domain's own.
        unsafe impl $crate::rcu::Backing for $name {
            type Fence = $crate::rcu_domain!(@fence $($fence)?);
            #[inline(always)]
            fn state() -> &'static $crate::rcu::hidden::State {
                $crate::__leeward_static! {
                    STATE: $crate::rcu::hidden::State = $crate::rcu::hidden::State::new($crate::rcu::hidden::Kind::new(
                        <<$name as $crate::rcu::Backing>::Fence as $crate::fence::Pair>::IS_REMOTE,
                        $crate::__rcu_domain_place!($name),
                    ));
                }
                &STATE
            }
            $crate::__rcu_domain_local!($name);
        }
    )+};
    (@fence) => { $crate::fence::Asymmetric };
    (@fence $fence:ident) => { $crate::fence::$fence };
}

/// Declares the thread's own slot, where there is thread-local storage.
#[cfg(feature = "std")]
#[doc(hidden)]
#[macro_export]
macro_rules! __rcu_domain_local {
    ($name:ident) => {
        #[inline(always)]
        fn place() -> *mut *const $crate::rcu::hidden::Slot {
            ::std::thread_local! {
                static SLOT: $crate::rcu::hidden::LocalSlot =
                    const { $crate::rcu::hidden::LocalSlot::new() };
            }
            $crate::rcu::hidden::LocalSlot::place(&SLOT)
        }
        fn take_slot(early: bool) -> Result<&'static $crate::rcu::hidden::Slot, $crate::rcu::NoMemory> {
            ::std::thread_local! {
                static EXIT: $crate::rcu::hidden::ThreadExit =
                    const { $crate::rcu::hidden::ThreadExit::new::<$name>() };
            }
            $crate::rcu::hidden::take_slot::<$name>(early, || $crate::rcu::hidden::ThreadExit::arm(&EXIT))
        }
    };
}

/// Expands to nothing: without thread-local storage there are handles only.
#[cfg(not(feature = "std"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __rcu_domain_local {
    ($name:ident) => {};
}

/// Evaluates to the function that finds the thread's variable.
#[cfg(feature = "std")]
#[doc(hidden)]
#[macro_export]
macro_rules! __rcu_domain_place {
    ($name:ident) => {{
        extern "C" fn place() -> *mut *const $crate::rcu::hidden::Slot {
            <$name as $crate::rcu::Backing>::place()
        }
        Some(place)
    }};
}

/// Evaluates to `None`: without thread-local storage there is no such variable.
#[cfg(not(feature = "std"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __rcu_domain_place {
    ($name:ident) => {
        None
    };
}
