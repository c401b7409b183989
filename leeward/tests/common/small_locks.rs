//! The small locks: words of 4 bytes on which a thread waits until another lets it go, and which no
//! thread owns. What is tried with each of them in the same way takes the locks from this table: forks
//! beside their calls and beside their waiters, any bytes in their words, layouts, two processes, an
//! interpreter, and how long a waiter yields. `ci/new lock NAME` asks for a new lock's row.

#![allow(dead_code, unused_macros, missing_docs)]
// A new lock for each use is what these constants are for.
#![allow(clippy::declare_interior_mutable_const, clippy::borrow_interior_mutable_const)]

use leeward::futex::{Deadline, Futex};
use leeward::raw;

/// Calls the macro `$each` with the table. A row has:
/// - the lock's name and its type in `leeward::raw`;
/// - how a new one is made for which a thread waits;
/// - the wait, the wait with a deadline, and what lets a thread go;
/// - true if a waiter spins as one that waits for an event, false if for a lock that is free soon;
/// - the word of such a new lock, and that of a lock which was let go once.
macro_rules! for_each_small_lock {
    ($each:ident) => {
        $each! {
            semaphore: Semaphore { new(0), acquire, acquire_until, release(1), false, [0, 1] }
            event: Event { new(), wait, wait_until, set(), true, [0, 5] }
            latch: Latch { new(1), wait, wait_until, count_down(1), true, [1, 0] }
        }
    };
}

/// A small lock, as the table describes it.
pub trait SmallLock: Sized + Sync + 'static {
    /// A new one, for which a thread waits.
    const NEW: Self;
    /// Says whether a waiter spins as one that waits for an event.
    const IS_EVENT: bool;
    /// The word of a new one, and that of one which was let go once.
    const WORDS: [u32; 2];

    fn wait(&self);
    fn wait_until(&self, deadline: Deadline) -> bool;
    /// Lets a waiting thread go. Panics, or does nothing, where none can be let go any more.
    fn let_go(&self);
}

macro_rules! implement {
    ($($name:ident: $lock:ident {
        new($($new:literal)?), $wait:ident, $wait_until:ident, $let_go:ident($($count:literal)?), $is_event:literal,
        $words:expr
    })*) => {$(
        impl<F: Futex> SmallLock for raw::$lock<F> {
            const NEW: Self = raw::$lock::<F>::new_in($($new)?);
            const IS_EVENT: bool = $is_event;
            const WORDS: [u32; 2] = $words;

            fn wait(&self) {
                raw::$lock::<F>::$wait(self);
            }

            fn wait_until(&self, deadline: Deadline) -> bool {
                raw::$lock::<F>::$wait_until(self, deadline)
            }

            fn let_go(&self) {
                raw::$lock::<F>::$let_go(self $(, $count)?);
            }
        }
    )*};
}
for_each_small_lock! { implement }
