//! What the child of a fork inherits half changed: values with locks of their own, which no item of
//! the fork registry knows. The first thread of the child that calls `check` repairs them.

use crate::atomic::{AtomicU64, Ordering, const_fn};
use crate::process::fork::{self, Hook, Watched};
use crate::raw::Mutex;

/// The number of forks that lay behind the process when the value was last right.
pub(crate) struct Inherited(AtomicU64);

impl Inherited {
    const_fn! {
        pub(crate) fn new() -> Inherited {
            Inherited(AtomicU64::new(0))
        }
    }

    /// Calls `repair`, once, if the process is the child of a fork that was made since the last
    /// call. Every thread calls this before it takes a lock of the value.
    #[inline(always)]
    pub(crate) fn check(&self, repair: impl FnOnce()) {
        // Acquire: partner of the release in `check_slow`: what was repaired.
        if self.0.load(Ordering::Acquire) != fork::generation() {
            self.check_slow(repair);
        }
    }

    #[cold]
    #[inline(never)]
    fn check_slow(&self, repair: impl FnOnce()) {
        repairing().lock.lock();
        // Relaxed: changed under the lock only.
        if self.0.load(Ordering::Relaxed) != fork::generation() {
            repair();
            // Release: partner of the acquire in `check`.
            self.0.store(fork::generation(), Ordering::Release);
        }
        // SAFETY: locked above.
        unsafe { repairing().lock.unlock() };
    }
}

/// Has children find the values that threads of their parent have locked. To be called before the
/// first lock is taken.
pub(crate) fn watch() {
    fork::watch(repairing());
}

/// Keeps the threads of a child apart that repair.
struct Repairing {
    lock: Mutex,
    hook: Hook,
}

fn repairing() -> &'static Repairing {
    crate::__leeward_static! { REPAIRING: Repairing = Repairing { lock: <Mutex>::new(), hook: Hook::new() }; }
    &REPAIRING
}

impl Watched for Repairing {
    fn hook(&self) -> &Hook {
        &self.hook
    }

    fn in_child(&'static self) {
        self.lock.reset();
    }
}
