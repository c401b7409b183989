//! REQUEUE and CMP_REQUEUE: wake some of a word's waiters, and move others to another word. Called
//! by the host and the decoders (`linux`).

use crate::atomic::{Ordering, fence};
use crate::mutant::{check, mutated};
use crate::ops::call::{Call, HeldTwo};
use crate::table::key::Key;
use crate::waiter::wake_queue::WakeQueue;
use crate::{Access, Engine, Errno, Fault, Host, Word};

/// The bitset of a wake that may choose any waiter.
const ANY: u32 = u32::MAX;

/// The outcome of a requeue.
///
/// ```
/// # #[cfg(feature = "std")] {
/// use leeward_engine::{Requeue, parking::ParkingLot};
/// use std::pin::pin;
/// use std::sync::atomic::AtomicU32;
/// use std::task::{Context, Waker};
///
/// let lot = ParkingLot::new(2).unwrap();
/// let (from, to) = (AtomicU32::new(0), AtomicU32::new(0));
/// let mut wait = pin!(lot.wait_async(&from, 0));
/// assert!(wait.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
/// // `from` holds 0 and not 1.
/// assert_eq!(lot.requeue(&from, 1, 0, &to, 1), Requeue::Changed);
/// assert_eq!(lot.requeue(&from, 0, 0, &to, 1), Requeue::Done(1));
/// assert_eq!((lot.wake(&from, 1), lot.wake(&to, 1)), (0, 1));
/// # }
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Requeue {
    /// This many waiters were woken or moved, counted together.
    Done(u32),
    /// The word did not hold the expected value: `EAGAIN`. No waiter was woken or moved.
    Changed,
}

impl<H: Host> Engine<H> {
    /// Wakes up to `wake` of the waiters of `from`, in order, and moves up to `requeue` others to
    /// `to`, behind the waiters there that are as urgent. With `expected`, nothing is done unless
    /// `from` holds that value. Moved waiters keep their bitsets and deadlines. The comparison is
    /// made under the lock of `from`'s bucket, so no waiter comes between it and the move. `to` is
    /// not read. The words may differ in size: the comparison is of `from`'s, and the waiters that
    /// are moved are woken at the address of `to`, whatever its size.
    ///
    /// Memory ordering: what happens before this call happens before the return of the waiters that
    /// it wakes. If waiters were moved, a full fence follows: a caller that then reads `to`'s word
    /// sees a store to it, or the wake after that store finds the moved waiters.
    ///
    /// # Cost
    /// Two locks (one, if the words share a bucket). They are held for at most one pass over the
    /// waiters of each of the two buckets, and two more over those of `from`'s where some are to be
    /// woken. Each 16 that are woken cost another hold.
    ///
    /// # Errors
    /// `EINVAL`: a misaligned word, a size that the host does not [serve](Host::serves), a value
    /// that `from` cannot hold, words of different scope, or a waiter that waits for a lock with
    /// priority inheritance or to be moved to one. `EFAULT`: the word is not accessible, for `from`
    /// with `expected` and for shared words.
    pub fn requeue(
        &self,
        host: &H,
        from: Word,
        to: Word,
        wake: u32,
        requeue: u32,
        expected: Option<u64>,
    ) -> Result<Requeue, Errno> {
        // A private waiter must not be moved to where its space does not keep it.
        if from.scope != to.scope {
            return Err(Errno::EINVAL);
        }
        let call = Call::new(self, host);
        loop {
            let from_key = call.key(from, Access::Read)?;
            let to_key = call.key(to, Access::Read)?;
            if check!(size_holds, expected.is_some_and(|expected| !from.size.holds(expected))) {
                return Err(Errno::EINVAL);
            }
            let outside = if mutated!(compare_inside) { expected.map(|_| call.load(&from)) } else { None };
            let held = call.lock_two(&from_key, &to_key);
            let value = if mutated!(compare_inside) { outside } else { expected.map(|_| call.load(&from)) };
            match value {
                Some(Err(Fault)) => {
                    drop(held);
                    host.fault_in(from.address, Access::Read)?;
                }
                Some(Ok(value)) if Some(value) != expected => return Ok(Requeue::Changed),
                _ => return call.requeue(held, &from_key, &to_key, wake, requeue).map(Requeue::Done),
            }
        }
    }
}

impl<'a, H: Host> Call<'a, H> {
    fn requeue(&self, mut held: HeldTwo<'a, H>, from: &Key, to: &Key, wake: u32, requeue: u32) -> Result<u32, Errno> {
        // Linux counts the woken and the moved together.
        let most = wake.saturating_add(requeue);
        let mut wake_queue = WakeQueue::new(self.host);
        let cutoff = held.cutoff(from);
        let mut woken = 0;
        loop {
            // Those at the head of the list are woken, those after them moved.
            let more = held.first.wake(from, ANY, wake - woken, cutoff.below, |handle| wake_queue.push(handle));
            woken += *more.as_ref().unwrap_or(&0);
            // As many were woken as wanted, or as there are, or a waiter of another kind ended it:
            // the rest moves under the same hold of the locks.
            if more.is_err() || woken == wake || !wake_queue.is_full() {
                let moved =
                    more.and_then(|_| held.first.requeue(held.second.as_mut(), from, to, most - woken, cutoff.below));
                drop(held);
                // Pair W (`wake`), the waiter's half, between the filter bits that the moved
                // waiters got in the lock word of `to` and whatever the caller reads next: perhaps
                // `to`'s word, to decide whether a wake of it is needed.
                // - If our fence comes first, a waker of `to` sees the bits, and finds the waiters
                //   that were moved.
                // - If the waker's fence comes first, the caller sees the waker's store to `to`'s
                //   word.
                if check!(requeue_fence, moved != Ok(0)) {
                    fence(Ordering::SeqCst);
                }
                wake_queue.unpark(false);
                return moved.map(|moved| woken + moved);
            }
            // The wake queue is full: it is emptied without the locks, and the call goes on with
            // the waiters that were there at its beginning.
            drop(held);
            wake_queue.unpark(true);
            held = self.lock_two(from, to);
            // The key is in another table by now: no waiter of the first table is left.
            if !cutoff.goes_on(held.cutoff(from)) {
                drop(held);
                wake_queue.unpark(false);
                return Ok(woken);
            }
        }
    }
}
