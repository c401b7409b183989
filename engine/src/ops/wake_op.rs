//! WAKE_OP: change a second word, wake waiters of the first word, and waiters of the second if its
//! old value meets a condition.
//!
//! After Ingo Molnar and Jakub Jelinek's `FUTEX_WAKE_OP` (Linux 2.6.14, 2005).

use crate::ops::call::{Call, HeldTwo};
use crate::table::key::Key;
use crate::waiter::wake_queue::WakeQueue;
use crate::{Access, Arithmetic, Engine, Errno, Host, Word};

/// The number of attempts at a word that other threads keep changing.
const TRIES: u32 = 10_000;
/// The bitset of a wake that may choose any waiter.
const ANY: u32 = u32::MAX;

/// A comparison of the second word's old value with [`WakeOp::against`], both as signed numbers.
///
/// ```
/// use leeward_engine::{Arithmetic, Comparison, WakeOp};
///
/// let comparison = Some(Comparison::Less);
/// let op = WakeOp { arithmetic: Arithmetic::Add, argument: 1, comparison, against: 0 };
/// // The old value is compared as a signed number: this one is -1.
/// assert_eq!(op.holds(u32::MAX), Ok(true));
/// assert_eq!(op.holds(0), Ok(false));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Comparison {
    /// True if the old value is equal.
    Equal,
    /// True if the old value is not equal.
    NotEqual,
    /// True if the old value is less.
    Less,
    /// True if the old value is less or equal.
    LessOrEqual,
    /// True if the old value is greater.
    Greater,
    /// True if the old value is greater or equal.
    GreaterOrEqual,
}

/// An operation of WAKE_OP on the second word, and a condition on the word's old value.
///
/// ```
/// use leeward_engine::{Arithmetic, Comparison, WakeOp};
/// // Store 0, and wake waiters of the second word too if it held more than 1.
/// let op = WakeOp::decode(0x0400_0001).unwrap();
/// assert_eq!((op.arithmetic, op.argument), (Arithmetic::Set, 0));
/// assert_eq!((op.comparison, op.against), (Some(Comparison::Greater), 1));
/// assert_eq!((op.holds(2), op.holds(1)), (Ok(true), Ok(false)));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WakeOp {
    /// The operation on the word.
    pub arithmetic: Arithmetic,
    /// The operation's argument.
    pub argument: u32,
    /// The comparison of the old value; `None` if the code names none: then the call ends with
    /// `ENOSYS` after the word was changed.
    pub comparison: Option<Comparison>,
    /// The number that the old value is compared with.
    pub against: i32,
}

impl WakeOp {
    /// Decodes the third value of `FUTEX_WAKE_OP`:
    ///
    /// | bits | meaning |
    /// |---|---|
    /// | 31 | the argument is the number of a bit, of which the low five bits count |
    /// | 28-30 | the operation |
    /// | 24-27 | the comparison |
    /// | 12-23 | the argument, with a sign |
    /// | 0-11 | the number to compare with, with a sign |
    ///
    /// # Errors
    /// `ENOSYS`: there is no such operation.
    pub const fn decode(encoded: u32) -> Result<WakeOp, Errno> {
        let argument = (encoded << 8) as i32 >> 20;
        let argument = if encoded >> 31 == 1 { 1 << (argument & 31) } else { argument as u32 };
        let arithmetic = match encoded >> 28 & 7 {
            0 => Arithmetic::Set,
            1 => Arithmetic::Add,
            2 => Arithmetic::Or,
            3 => Arithmetic::AndNot,
            4 => Arithmetic::Xor,
            _ => return Err(Errno::ENOSYS),
        };
        let comparison = match encoded >> 24 & 15 {
            0 => Some(Comparison::Equal),
            1 => Some(Comparison::NotEqual),
            2 => Some(Comparison::Less),
            3 => Some(Comparison::LessOrEqual),
            4 => Some(Comparison::Greater),
            5 => Some(Comparison::GreaterOrEqual),
            _ => None,
        };
        Ok(WakeOp { arithmetic, argument, comparison, against: (encoded << 20) as i32 >> 20 })
    }

    /// Returns true if the old value meets the condition, so that the second word's waiters are
    /// woken too.
    ///
    /// # Errors
    /// `ENOSYS`: there is no such comparison.
    pub const fn holds(&self, old: u32) -> Result<bool, Errno> {
        let (old, against) = (old as i32, self.against);
        match self.comparison {
            Some(Comparison::Equal) => Ok(old == against),
            Some(Comparison::NotEqual) => Ok(old != against),
            Some(Comparison::Less) => Ok(old < against),
            Some(Comparison::LessOrEqual) => Ok(old <= against),
            Some(Comparison::Greater) => Ok(old > against),
            Some(Comparison::GreaterOrEqual) => Ok(old >= against),
            None => Err(Errno::ENOSYS),
        }
    }
}

impl<H: Host> Engine<H> {
    /// Does `op` to `on`, wakes up to `wake` of the waiters of `word`, and up to `wake_on` of those
    /// of `on` if its old value meets `op`'s condition; returns how many were woken. The change and
    /// the choice of up to 16 waiters are made under the locks of both buckets, so no waiter comes
    /// between. `word` is not read.
    ///
    /// Memory ordering: what happens before this call happens before the woken waiters return.
    ///
    /// # Cost
    /// Two locks (one, if the words share a bucket), held for at most one pass over the waiters of
    /// each word's bucket. More than 16 waiters are woken as by [`wake`](Self::wake): each 16 cost
    /// another lock.
    ///
    /// # Errors
    /// `EINVAL`: a misaligned word, `on` has not 32 bits, `word` has a size that the host does not
    /// [serve](Host::serves), or a waiter waits with priority inheritance. `EFAULT`: `on` cannot be
    /// written, or a shared word is not accessible. `ENOSYS`: there is no such comparison; `on` has
    /// changed, and no thread was woken. `EAGAIN`: in 10,000 attempts the host found `on` too busy;
    /// nothing has happened.
    pub fn wake_op(&self, host: &H, word: Word, wake: u32, on: Word, op: WakeOp, wake_on: u32) -> Result<u32, Errno> {
        let call = Call::new(self, host);
        let mut tries = 0;
        loop {
            let keys = (call.key(word, Access::Read)?, call.key_of_u32(on, Access::Write)?);
            let held = call.lock_two(&keys.0, &keys.1);
            match host.fetch_op(on.address, op.arithmetic, op.argument) {
                Ok(Some(old)) => {
                    let both = op.holds(old)?;
                    return call.wake_two(held, keys, wake, if both { wake_on } else { 0 });
                }
                Ok(None) => {
                    drop(held);
                    host.spin(tries);
                    tries += 1;
                    if tries == TRIES {
                        return Err(Errno::EAGAIN);
                    }
                }
                Err(_) => {
                    drop(held);
                    host.fault_in(on.address, Access::Write)?;
                }
            }
        }
    }
}

impl<H: Host> Call<'_, H> {
    /// Wakes waiters of both keys: as many as a wake queue holds under the locks that are held, and
    /// the rest as two wakes of the waiters that waited by then.
    fn wake_two(&self, mut held: HeldTwo<'_, H>, keys: (Key, Key), wake: u32, wake_on: u32) -> Result<u32, Errno> {
        let mut wake_queue = WakeQueue::new(self.host);
        let cutoff = held.cutoff(&keys.0);
        let first = held.first.wake(&keys.0, ANY, wake, cutoff.below, |handle| wake_queue.push(handle));
        let first_full = wake_queue.is_full();
        let (second, cutoff_on) = held.second(&keys.1);
        let room = if first_full { 0 } else { wake_on };
        // A waiter with priority inheritance ends the call, as on Linux.
        let second =
            first.and_then(|_| second.wake(&keys.1, ANY, room, cutoff_on.below, |handle| wake_queue.push(handle)));
        drop(held);
        let full = wake_queue.unpark(false);
        let (first, second) = (first?, second?);
        if !full {
            return Ok(first + second);
        }
        let first = if first_full { self.wake_some(&keys.0, wake, ANY, Some(cutoff), first)? } else { first };
        Ok(first + self.wake_some(&keys.1, wake_on, ANY, Some(cutoff_on), second)?)
    }
}

#[cfg(all(test, not(leeward_loom)))]
mod tests {
    use super::*;

    #[test]
    fn arguments_have_a_sign_and_shifts_count_five_bits() {
        let op = WakeOp::decode(1 << 28 | 0xfff << 12 | 0x800).unwrap();
        assert_eq!((op.argument as i32, op.against), (-1, -2048));
        let op = WakeOp::decode(10 << 28 | 33 << 12).unwrap();
        assert_eq!((op.arithmetic, op.argument), (Arithmetic::Or, 2));
        let op = WakeOp::decode(8 << 28 | 0xfff << 12).unwrap();
        assert_eq!(op.argument, 1 << 31);
    }

    #[test]
    fn an_unknown_operation_is_refused_at_once_and_an_unknown_comparison_when_it_is_asked() {
        for operation in [5, 6, 7, 13, 15] {
            assert_eq!(WakeOp::decode(operation << 28), Err(Errno::ENOSYS));
        }
        for comparison in 6..16 {
            assert_eq!(WakeOp::decode(comparison << 24).unwrap().holds(0), Err(Errno::ENOSYS));
        }
    }
}
