//! The operations of the small locks: each call of a new one, and a wait that another thread ends.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use leeward::futex::{Deadline, Private};

use super::super::case::Beside;
use super::super::small_locks::SmallLock;
use super::Operation;

const PAST: Deadline = Deadline::at(Duration::ZERO);

/// A lock for each of the two times that the operation is walked through, and how many have begun.
struct Both<L>([L; 2], AtomicUsize);

impl<L: SmallLock> Both<L> {
    const fn new() -> Self {
        Both([L::NEW, L::NEW], AtomicUsize::new(0))
    }

    fn lock(&self) -> &L {
        &self.0[self.1.load(Ordering::SeqCst).saturating_sub(1)]
    }

    fn run(&self) {
        let new = L::NEW;
        new.let_go();
        assert!(new.wait_until(PAST));
        self.lock().wait();
    }

    fn lets_go(&self, beside: &Beside<'_>) {
        self.1.fetch_add(1, Ordering::SeqCst);
        beside.until_it_sleeps();
        self.lock().let_go();
    }

    fn is_usable(&self) -> bool {
        let lock = self.lock();
        lock.wait_until(PAST) || {
            lock.let_go();
            lock.wait_until(Deadline::after::<Private>(Duration::from_secs(5)))
        }
    }
}

macro_rules! small {
    ($($name:ident: $lock:ident $row:tt)*) => {
        operations! {
            "small";
            $($name: || $name::BOTH.run()
                => beside(|beside| $name::BOTH.lets_go(beside)).left(|| $name::BOTH.is_usable());)*
        }

        $(
            mod $name {
                pub(super) static BOTH: super::Both<leeward::raw::$lock> = super::Both::new();
            }
        )*
    };
}
for_each_small_lock! { small }
