//! Wake queues: what a host is told of the threads in them, and what a panic leaves.

use std::boxed::Box;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Wake, Waker};
use std::vec::Vec;

use crate::tests::host::{Nowhere, Rationed};
use crate::{Config, Engine, Part, Word};

const WORD: Word = Word::private(0);
const ANY: u32 = u32::MAX;

/// A waker that counts wakes, of which one panics.
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

/// Lets `waiters` futures wait, and wakes all. Returns how many wakers were called, what the host
/// was told, and whether the wake panicked.
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
    // Forgotten: a future that is dropped passes its wake on, perhaps to one that was chosen and
    // not woken.
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
