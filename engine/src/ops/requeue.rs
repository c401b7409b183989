//! REQUEUE and CMP_REQUEUE: wake some of a word's waiters, and have others wait on another word.

use crate::atomic::{Ordering, fence};
use crate::mutant::{check, mutated};
use crate::ops::call::{Call, HeldTwo};
use crate::table::key::Key;
use crate::waiter::wake_queue::WakeQueue;
use crate::{Access, Engine, Errno, Fault, Host, Word};

/// Wakes and moves: any waiter, whatever its bitset.
const ANY: u32 = u32::MAX;

/// What a requeue did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Requeue {
    /// So many were woken or moved.
    Done(u32),
    /// The word did not hold the value: `EAGAIN`.
    Changed,
}

impl<H: Host> Engine<H> {
    /// If `from` holds `expected` (or whatever it holds, without): wakes up to `wake` of its
    /// waiters, in order, and has up to `requeue` others wait on `to`, behind those that do. They
    /// keep their bitsets and deadlines. The comparison is made under the lock of `from`'s bucket,
    /// so no waiter comes between it and the move. `to` is not read.
    ///
    /// # Cost
    /// Two locks; they are held for at most one pass over the waiters of each of the two buckets,
    /// and two more over `from`'s where there are some to be woken. Each 16 that are woken cost
    /// another hold.
    ///
    /// # Errors
    /// `EINVAL`: a misaligned word, words of different scope, a waiter that waits for a lock with
    /// priority inheritance or to be moved to one. `EFAULT`: nothing is there, for `from` with
    /// `expected` and for shared words.
    pub fn requeue(
        &self,
        host: &H,
        from: Word,
        to: Word,
        wake: u32,
        requeue: u32,
        expected: Option<u32>,
    ) -> Result<Requeue, Errno> {
        // A private waiter's space must outlive it where it waits.
        if from.scope != to.scope {
            return Err(Errno::EINVAL);
        }
        let call = Call::new(self, host);
        loop {
            let from_key = call.key(from, Access::Read)?;
            let to_key = call.key(to, Access::Read)?;
            let outside = if mutated!(compare_inside) { expected.map(|_| host.load(from.address)) } else { None };
            let held = call.lock_two(&from_key, &to_key);
            let value = if mutated!(compare_inside) { outside } else { expected.map(|_| host.load(from.address)) };
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
        // As on Linux, which counts both together.
        let most = wake.saturating_add(requeue);
        let mut wake_queue = WakeQueue::new(self.host);
        let cutoff = held.cutoff(from);
        let mut woken = 0;
        loop {
            // Those to be woken come first in the list.
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
            // Another table by now: no waiter of the first one is left.
            if !cutoff.goes_on(held.cutoff(from)) {
                drop(held);
                wake_queue.unpark(false);
                return Ok(woken);
            }
        }
    }
}
