//! All that hazard pointers share: the slots, and the list of what was retired.

use super::list::List;
use super::slot::Slot;
use crate::atomic::const_fn;
use crate::mutant::step;
use crate::process::fork::{self, Hook, Watched};
use crate::registry::Registry;

/// The state of all hazard pointers of the process, which is a static.
pub(super) struct State {
    pub(super) slots: Registry<Slot>,
    pub(super) list: List,
    hook: Hook,
}

impl State {
    const_fn! {
        fn new() -> State {
            State { slots: Registry::new(), list: List::new(), hook: Hook::new() }
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
        super::turn::after_fork();
    }
}
