//! The seam between this library and what an atomic is: core's, or loom's when built with `--cfg
//! leeward_loom`.
//!
//! Every other module takes its atomics from here, so that the code that ships is the code that
//! loom explores. This is the only place, beside the backends and `mod` lines, where a `cfg`
//! stands.

#[cfg(not(leeward_loom))]
pub(crate) use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, compiler_fence};

#[cfg(leeward_loom)]
pub(crate) use loom::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize};

pub(crate) use core::sync::atomic::Ordering;
pub(crate) use full_fence::{fence, fence_after_update};

mod full_fence;

#[cfg(all(leeward_loom, feature = "threads"))]
compile_error!(
    "models have no thread-local storage and no worker of their own: build leeward with \
     --no-default-features under --cfg leeward_loom"
);

/// Does nothing: loom models no reordering by the compiler.
#[cfg(leeward_loom)]
pub(crate) fn compiler_fence(_: Ordering) {}

/// Declares a function that is `const` with core's atomics, and not with loom's, whose constructors
/// are not `const`.
macro_rules! const_fn {
    ($(#[$meta:meta])* $vis:vis fn $($rest:tt)*) => {
        #[cfg(not(leeward_loom))] $(#[$meta])* $vis const fn $($rest)*
        #[cfg(leeward_loom)] $(#[$meta])* $vis fn $($rest)*
    };
}
pub(crate) use const_fn;

/// Declares a static made of atomics.
#[cfg(not(leeward_loom))]
#[doc(hidden)]
#[macro_export]
macro_rules! __leeward_static {
    ($name:ident: $type:ty = $value:expr;) => {
        static $name: $type = $value;
    };
}

/// Declares a static made of loom's atomics, which is a new one in each execution of the model.
#[cfg(leeward_loom)]
#[doc(hidden)]
#[macro_export]
macro_rules! __leeward_static {
    ($name:ident: $type:ty = $value:expr;) => {
        ::loom::lazy_static! { static ref $name: $type = $value; }
    };
}

/// Executes the pause of a loop that rechecks a word. In a model it yields: loom must be told to
/// run another thread.
#[inline]
pub(crate) fn spin_hint() {
    #[cfg(not(leeward_loom))]
    core::hint::spin_loop();
    #[cfg(leeward_loom)]
    loom::thread::yield_now();
}

/// True if loom explores the code.
pub(crate) const IS_MODEL: bool = cfg!(leeward_loom);

/// Returns `count`, the number of rechecks before a sleep; 0 in a model, where a second check adds
/// schedules and nothing new.
pub(crate) const fn outside_model(count: u32) -> u32 {
    if IS_MODEL { 0 } else { count }
}
