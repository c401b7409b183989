//! The seam between this library and what an atomic is: core's, or loom's when built with `--cfg leeward_loom`.
//!
//! Every other module takes its atomics from here, so that the code that ships is the code that loom explores. The
//! only place, beside the backends and `mod` lines, where a `cfg` stands.

#[cfg(not(leeward_loom))]
pub(crate) use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, compiler_fence, fence};

#[cfg(leeward_loom)]
pub(crate) use loom::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize};

pub(crate) use core::sync::atomic::Ordering;

#[cfg(all(leeward_loom, feature = "std"))]
compile_error!(
    "models have no thread-local storage and no worker of their own: build leeward with --no-default-features under --cfg leeward_loom"
);

/// Loom changes threads before accesses only, not before fences: without an access of its own, a store and the fence
/// behind it would be one step, and what happens between the two would not be explored. Relaxed, so that it orders
/// nothing that the fence does not.
///
/// Loom knows no fence that one thread executes in another either: both halves of an asymmetric pair are this one
/// there. That over-approximates (it hides a writer that used a local fence where it needed the remote one, and
/// whatever goes wrong between two light fences); the explicit-state model in `tests/model.rs` has a true remote
/// fence and covers what loom cannot.
#[cfg(leeward_loom)]
pub(crate) fn fence(order: Ordering) {
    loom::lazy_static! { static ref FENCES: AtomicUsize = AtomicUsize::new(0); }
    FENCES.fetch_or(0, Ordering::Relaxed);
    loom::sync::atomic::fence(order);
}

/// Loom's compiler reorders nothing.
#[cfg(leeward_loom)]
pub(crate) fn compiler_fence(_: Ordering) {}

/// A function that is `const` with core's atomics, and plain with loom's, whose constructors are not.
macro_rules! const_fn {
    ($(#[$meta:meta])* $vis:vis fn $($rest:tt)*) => {
        #[cfg(not(leeward_loom))] $(#[$meta])* $vis const fn $($rest)*
        #[cfg(leeward_loom)] $(#[$meta])* $vis fn $($rest)*
    };
}
pub(crate) use const_fn;

/// A static made of atomics.
#[cfg(not(leeward_loom))]
#[doc(hidden)]
#[macro_export]
macro_rules! __leeward_static {
    ($name:ident: $type:ty = $value:expr;) => {
        static $name: $type = $value;
    };
}

/// The same with loom's, which is a new one in each execution.
#[cfg(leeward_loom)]
#[doc(hidden)]
#[macro_export]
macro_rules! __leeward_static {
    ($name:ident: $type:ty = $value:expr;) => {
        ::loom::lazy_static! { static ref $name: $type = $value; }
    };
}

/// How long a loop may recheck before it gives the processor away; loom must be told to run somebody else at once.
#[inline]
pub(crate) fn spin_hint() {
    #[cfg(not(leeward_loom))]
    core::hint::spin_loop();
    #[cfg(leeward_loom)]
    loom::thread::yield_now();
}

/// True where loom explores the code.
pub(crate) const IS_MODEL: bool = cfg!(leeward_loom);

/// Returns `count`, how often to recheck before sleeping; 0 in a model, where a second check is one more schedule and
/// nothing new.
pub(crate) const fn outside_model(count: u32) -> u32 {
    if IS_MODEL { 0 } else { count }
}
