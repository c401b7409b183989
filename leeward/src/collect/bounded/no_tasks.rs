//! What stands for the tasks that wait, where there are none: without the feature `task`.

/// The tasks that wait at one end: none.
pub(super) struct Tasks;

impl Tasks {
    pub(super) fn new() -> Self {
        Tasks
    }

    /// Does nothing: there are no tasks.
    pub(super) fn wake_one(&self) {}

    /// Does nothing: there are no tasks.
    pub(super) fn wake_all(&self) {}
}
