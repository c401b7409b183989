//! Handles of waiters that were chosen under a bucket's lock, to be unparked behind it.

use core::mem::MaybeUninit;

use crate::waiter::Handle;
use crate::{Host, Part};

/// How many waiters are woken under one hold of a lock: the rest of a wake takes it again.
pub(crate) const BATCH: usize = 16;

/// Dropped by a panic of the host's or an executor's, it unparks those that are left: they were chosen, so nobody else will.
pub(crate) struct Batch<'a, H: Host> {
    host: &'a H,
    /// Those from `next` to `end` are there.
    handles: [MaybeUninit<Handle<H>>; BATCH],
    next: usize,
    end: usize,
    /// The host was told that others follow.
    more: bool,
}

impl<'a, H: Host> Batch<'a, H> {
    #[inline]
    pub(crate) fn new(host: &'a H) -> Batch<'a, H> {
        Batch { host, handles: [const { MaybeUninit::uninit() }; BATCH], next: 0, end: 0, more: false }
    }

    pub(crate) fn is_full(&self) -> bool {
        self.end == BATCH
    }

    /// One more, if there is room; whether there is for another.
    pub(crate) fn push(&mut self, handle: Handle<H>) -> bool {
        self.handles[self.end].write(handle);
        self.end += 1;
        !self.is_full()
    }

    fn pop(&mut self) -> Option<Handle<H>> {
        let handle = self.handles[self.next..self.end].first()?;
        self.next += 1;
        // SAFETY: it is there, and taken once.
        Some(unsafe { handle.assume_init_read() })
    }

    /// Unparks them in order; no lock is held. Whether it was full: perhaps there are more, which the caller wants or not. If it does, it looks, and
    /// calls again whatever it finds.
    pub(crate) fn unpark(&mut self, wanted: bool) -> bool {
        let full = self.is_full();
        if self.end == 1 && !self.more {
            if let Some(handle) = self.pop() {
                handle.unpark(self.host);
            }
        } else if self.end != 0 || self.more {
            self.unpark_all(full && wanted);
        }
        (self.next, self.end) = (0, 0);
        full
    }

    #[cold]
    #[inline(never)]
    fn unpark_all(&mut self, more: bool) {
        let part = match (core::mem::replace(&mut self.more, more), more) {
            (_, true) => Part::Some,
            (true, false) => Part::Rest,
            (false, false) => Part::All,
        };
        self.host.unpark_all(core::iter::from_fn(|| self.pop_task()), part);
    }

    /// The next thread; futures before it are woken.
    fn pop_task(&mut self) -> Option<H::Task> {
        loop {
            match self.pop()? {
                Handle::Task(task) => return Some(task),
                Handle::Waker(waker) => waker.wake(),
            }
        }
    }
}

impl<H: Host> Drop for Batch<'_, H> {
    fn drop(&mut self) {
        if self.next != self.end || self.more {
            self.unpark_all(false);
        }
    }
}

#[cfg(all(test, not(leeward_loom)))]
mod tests {
    use std::boxed::Box;
    use std::future::Future;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::task::{Context, Wake, Waker};
    use std::vec::Vec;

    use crate::test_host::{Nowhere, Rationed};
    use crate::{Config, Engine, Part, Word};

    const WORD: Word = Word::private(0);
    const ANY: u32 = u32::MAX;

    /// Counts wakes, of which one panics.
    struct Wakes {
        count: AtomicU32,
        panics_at: u32,
    }
    impl Wake for Wakes {
        fn wake(self: Arc<Self>) {
            let count = self.count.fetch_add(1, Ordering::Relaxed) + 1;
            assert_ne!(count, self.panics_at, "an executor that panics");
        }
    }

    /// So many futures wait, and all are woken: how many were told, what the host was told, and whether it panicked.
    fn woken(waiters: u32, panics_at: u32) -> (u32, Vec<Part>, bool) {
        let engine = Engine::new(Config::small(1), Rationed::new(9)).unwrap();
        let host = Nowhere::new(1, Rationed::new(9));
        let wakes = Arc::new(Wakes { count: AtomicU32::new(0), panics_at });
        let waker = Waker::from(wakes.clone());
        let mut context = Context::from_waker(&waker);
        let mut futures: Vec<_> = (0..waiters).map(|_| Box::pin(engine.wait_async(&host, WORD, 0, ANY))).collect();
        for future in &mut futures {
            assert!(future.as_mut().poll(&mut context).is_pending());
        }
        let end = catch_unwind(AssertUnwindSafe(|| engine.wake(&host, WORD, ANY, ANY)));
        let told = (wakes.count.load(Ordering::Relaxed), host.parts.take(), end.is_err());
        // Who was chosen and not told would be woken by the drop of who was told, at the latest.
        core::mem::forget(futures);
        told
    }

    #[test]
    fn a_host_is_told_what_is_part_of_one_wake() {
        use Part::{All, Rest, Some};
        let parts = |waiters| woken(waiters, 0).1;
        assert_eq!(parts(1), []);
        assert_eq!(parts(2), [All]);
        assert_eq!(parts(15), [All]);
        assert_eq!(parts(16), [Some, Rest]);
        assert_eq!(parts(40), [Some, Some, Rest]);
    }

    #[test]
    fn a_panic_of_an_executor_loses_nobody_who_was_chosen() {
        for (panics_at, told, parts) in [(1, 16, [Part::Some, Part::Rest]), (16, 16, [Part::Some, Part::Rest])] {
            assert_eq!(woken(20, panics_at), (told, parts.into(), true));
        }
        assert_eq!(woken(3, 2), (3, [Part::All, Part::All].into(), true));
        assert_eq!(woken(20, 18).0, 20);
    }
}
