//! Where no forks are known of: models, and systems other than Linux.

/// What a child of a fork would mend.
pub(crate) trait Mend: Sync + Sized + 'static {
    /// The item's link.
    fn hook(&self) -> &Hook;
    /// In the parent, before the fork.
    fn before(&'static self) {}
    /// In the parent, after the fork.
    fn in_parent(&'static self) {}
    /// In the child.
    fn in_child(&'static self) {}
    /// In the child, after everything was mended.
    fn resume(&'static self) {}
    /// The calling thread ends, and has handles.
    fn thread_ends(&'static self) {}
}

/// An item's place in a list that there is not.
pub(crate) struct Hook;

impl Hook {
    pub(crate) const fn new() -> Hook {
        Hook
    }
}

/// It matters to the child of a fork only.
pub(crate) fn thread_ends() {}

/// No fork ever happened.
pub(crate) fn generation() -> u64 {
    0
}

/// There is nothing to be told of.
pub(crate) fn is_watched<T: Mend>(_: &'static T) -> bool {
    true
}

/// There will be no children to mend the item in.
pub(crate) fn watch<T: Mend>(item: &'static T) {
    // Never: what mends an item is compiled, and so checked, on every system.
    if generation() != 0 {
        let _ = item.hook();
        item.before();
        item.in_parent();
        item.in_child();
        item.resume();
        item.thread_ends();
    }
}
