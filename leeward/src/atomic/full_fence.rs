//! Full fences: core's, or loom's when built with `--cfg leeward_loom`.
//!
//! `leeward` and `leeward-engine` share this file (the engine's is a symbolic link, in whose place
//! cargo packs the file), so that one instruction is the full fence of both, and one model of it.

use core::sync::atomic::Ordering;

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
/// fences. The explicit-state model in `leeward/tests/models/model.rs` has a true remote fence and covers
/// what loom cannot.
#[cfg(leeward_loom)]
pub(crate) fn fence(order: Ordering) {
    use loom::sync::atomic::AtomicUsize;
    loom::lazy_static! { static ref FENCES: AtomicUsize = AtomicUsize::new(0); }
    FENCES.fetch_or(0, Ordering::Relaxed);
    loom::sync::atomic::fence(order);
}

/// Executes `fence(SeqCst)` right after an atomic read-modify-write of the same thread. On x86-64
/// that instruction is a full fence already, so only the compiler is held back.
#[inline(always)]
pub(crate) fn fence_after_update() {
    if cfg!(all(target_arch = "x86_64", not(leeward_loom), not(miri))) {
        // SeqCst: the compiler's half; the locked instruction before it is the processor's.
        core::sync::atomic::compiler_fence(Ordering::SeqCst);
    } else {
        // SeqCst: the caller's half of its pair.
        fence(Ordering::SeqCst);
    }
}
