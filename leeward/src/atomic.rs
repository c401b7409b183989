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

#[cfg(all(leeward_loom, feature = "threads"))]
compile_error!(
    "models have no thread-local storage and no worker of their own: build leeward with \
     --no-default-features under --cfg leeward_loom"
);

/// Executes core's fence.
#[cfg(not(any(leeward_loom, all(target_arch = "x86_64", not(miri)))))]
#[inline(always)]
pub(crate) fn fence(order: Ordering) {
    core::sync::atomic::fence(order);
}

/// Executes core's fence. A full one is a locked instruction that changes nothing: `mfence`, which
/// the compiler would take, also orders what no atomic access needs, and takes twice to four times
/// as long (on Zen 5 20 ns, where this takes 5).
#[cfg(all(target_arch = "x86_64", not(any(leeward_loom, miri))))]
#[inline(always)]
pub(crate) fn fence(order: Ordering) {
    if order != Ordering::SeqCst {
        return core::sync::atomic::fence(order);
    }
    // SAFETY: a word of the thread's own stack keeps its value. It is beside the return address, so
    // that the return need not wait for this store.
    unsafe { core::arch::asm!("lock or dword ptr [rsp - 8], 0", options(nostack)) };
}

/// Executes loom's fence, after an access of its own.
///
/// Loom switches threads before accesses only, not before fences. Without the access, a store and
/// the fence after it would be one step, and what happens between the two would not be explored.
/// The access is relaxed, so that it orders nothing that the fence does not.
///
/// Loom does not know a fence that one thread executes in another either: both halves of an
/// asymmetric pair are this fence in a model. That over-approximates: it hides a writer that used a
/// local fence where it needed the remote one, and anything that goes wrong between two light
/// fences. The explicit-state model in `tests/model.rs` has a true remote fence and covers what
/// loom cannot.
#[cfg(leeward_loom)]
pub(crate) fn fence(order: Ordering) {
    loom::lazy_static! { static ref FENCES: AtomicUsize = AtomicUsize::new(0); }
    FENCES.fetch_or(0, Ordering::Relaxed);
    loom::sync::atomic::fence(order);
}

/// Executes `fence(SeqCst)` right after an atomic read-modify-write of the same thread. On x86-64
/// that instruction is a full fence already, so only the compiler is held back.
#[inline(always)]
pub(crate) fn fence_after_update() {
    if cfg!(all(target_arch = "x86_64", not(leeward_loom), not(miri))) {
        compiler_fence(Ordering::SeqCst);
    } else {
        fence(Ordering::SeqCst);
    }
}

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
