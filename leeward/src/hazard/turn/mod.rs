//! Whose turn it is to reclaim: a thread that reclaims does not do so again from within a
//! destructor.

#[cfg(leeward_loom)]
#[path = "model.rs"]
mod backend;
#[cfg(all(not(feature = "threads"), not(leeward_loom)))]
#[path = "none.rs"]
mod backend;
#[cfg(all(feature = "threads", not(leeward_loom)))]
#[path = "words.rs"]
mod backend;

pub(super) use backend::after_fork;

/// The right to reclaim, which its drop gives back.
pub(super) struct Turn(());

impl Turn {
    /// Takes the turn; returns `None` if the calling thread has it already. Without thread-local
    /// storage also if any other thread has it.
    pub(super) fn take() -> Option<Turn> {
        backend::take().then_some(Turn(()))
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        backend::give();
    }
}
