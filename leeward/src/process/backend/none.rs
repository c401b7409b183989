//! What stands for [`process`](crate::process) in models and on systems other than Linux: no forks are known of, and
//! threads have no numbers.

/// The registry of what a child of a fork has to mend: nobody forks.
pub(crate) mod fork {
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
}

/// The mark that a fork changes: nobody forks.
pub(crate) mod fork_mark {
    /// Whether nothing was forked since `now` said so.
    pub(crate) fn is_still(_: u32) -> bool {
        true
    }

    /// Whether this process is the child of a fork.
    pub(crate) fn is_child() -> bool {
        false
    }

    /// This process's number; never 0.
    pub(crate) fn now() -> u32 {
        1
    }
}

/// Ends the process; called while a panic unwinds.
pub(crate) fn abort() -> ! {
    // A second panic does, and core has no other way.
    panic!("leeward: this process ends")
}

/// Returns the calling thread's number: 0, which is no thread's.
pub(crate) fn thread_number() -> u32 {
    0
}

/// Returns the address of the calling thread's control block: 0, since none is known.
pub(crate) fn control_block() -> u64 {
    0
}

/// Runs `work` on a new detached thread, as the standard library starts one. Returns false if no thread can be had.
#[cfg(feature = "std")]
pub(crate) fn start(work: fn()) -> bool {
    std::thread::Builder::new().name("leeward-rcu".into()).spawn(work).is_ok()
}

/// Nothing is written here.
pub(crate) fn print_error(_: core::fmt::Arguments<'_>) {}
