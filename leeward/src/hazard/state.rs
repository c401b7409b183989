//! All that hazard pointers share: the slots, and the list of what was retired.

use core::sync::atomic::AtomicUsize;

use super::list::RetiredList;
use super::slot::HazardSlot;
use crate::atomic::{Ordering, const_fn};
use crate::mutant::step;
use crate::process::fork::{self, Hook, Watched};
use crate::registry::Registry;

/// The state of all hazard pointers of the process, which is a static.
pub(super) struct State {
    pub(super) slots: Registry<HazardSlot>,
    pub(super) list: RetiredList,
    /// The number of retired objects from which on a thread that retires asks for a heavy fence
    /// again, since the last one was refused; 0: it was not. Core's atomic: it orders nothing, so
    /// loom need not explore it.
    patience: AtomicUsize,
    hook: Hook,
}

impl State {
    const_fn! {
        fn new() -> State {
            State {
                slots: Registry::new(),
                list: RetiredList::new(),
                patience: AtomicUsize::new(0),
                hook: Hook::new(),
            }
        }
    }

    /// Returns the number of retired objects below which no heavy fence is asked for; 0: the last one
    /// was not refused.
    pub(super) fn patience(&self) -> usize {
        // Relaxed, as below: a number, which says when a fence is asked for.
        self.patience.load(Ordering::Relaxed)
    }

    /// Notes that a heavy fence was refused: the next one is asked for when twice as many objects
    /// wait. So the refusals cost no more than as many retirements, however many objects there are.
    #[cold]
    pub(super) fn note_refusal(&self) {
        self.patience.store(self.list.count().max(1).saturating_mul(2), Ordering::Relaxed);
    }

    /// Notes that a heavy fence was executed.
    pub(super) fn note_fence(&self) {
        if self.patience() != 0 {
            self.patience.store(0, Ordering::Relaxed);
        }
    }
}

/// Returns the process's state.
#[inline(always)]
pub(super) fn state() -> &'static State {
    crate::__leeward_static! { STATE: State = State::new(); }
    &STATE
}

/// Has the list emptied in children of forks from now on. Must be called before something is
/// retired.
#[inline]
pub(super) fn watch() {
    fork::watch(state());
}

/// The repair in the child of a fork, which has one thread.
///
/// All slots stay: what other threads protected may be in use. What was retired is freed in the
/// parent alone, since a destructor might need a lock that an absent thread holds.
impl Watched for State {
    fn hook(&self) -> &Hook {
        &self.hook
    }

    fn in_child(&'static self) {
        step!(hazard_fork, self.list.forget());
        self.note_fence();
        super::turn::after_fork();
    }
}
