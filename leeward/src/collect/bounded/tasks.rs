//! Tasks that wait at an end of a bounded queue, without an allocation: the permits of `task/`, each of
//! which is a chance to look again.

use crate::task::{HasPermits, Permits};

/// The tasks that wait at one end.
pub(super) struct Tasks {
    permits: Permits,
}

impl Tasks {
    pub(super) fn new() -> Self {
        Tasks { permits: Permits::new(0) }
    }

    /// Has the first task that waits look again.
    pub(super) fn wake_one(&self) {
        self.permits.give_to_one_that_waits();
    }

    /// Has all tasks look again, and those that come: the queue is closed.
    pub(super) fn wake_all(&self) {
        self.permits.close();
    }
}

impl HasPermits for Tasks {
    fn permits(&self) -> &Permits {
        &self.permits
    }
}
