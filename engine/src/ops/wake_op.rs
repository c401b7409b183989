//! WAKE_OP: change a second word, wake waiters of the first, and of the second if its old value
//! says so.
//!
//! After Ingo Molnar and Jakub Jelinek's `FUTEX_WAKE_OP` (Linux 2.6.14, 2005).

use crate::ops::call::{Call, HeldTwo};
use crate::table::key::Key;
use crate::waiter::wake_queue::WakeQueue;
use crate::{Access, Arithmetic, Engine, Errno, Host, Word};

/// How often the word is tried that others change.
const TRIES: u32 = 10_000;
/// Any waiter, whatever its bitset.
const ANY: u32 = u32::MAX;

/// How the second word's old value is compared, as a signed number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Comparison {
    /// The same.
    Equal,
    /// Another.
    NotEqual,
    /// Less.
    Less,
    /// Less, or the same.
    LessOrEqual,
    /// Greater.
    Greater,
    /// Greater, or the same.
    GreaterOrEqual,
}

/// What WAKE_OP does to the second word, and what it asks of its old value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WakeOp {
    /// What is done.
    pub arithmetic: Arithmetic,
    /// With what.
    pub argument: u32,
    /// How the old value is compared; `None`: it cannot be, which is `ENOSYS` when the word has
    /// changed already.
    pub comparison: Option<Comparison>,
    /// With what.
    pub against: i32,
}

impl WakeOp {
    /// Decodes bits 31-28 the operation (+ 8: the argument is a bit's number, of which the low five
    /// bits count), 27-24 the comparison, 23-12 the argument, 11-0 what is compared with, both with
    /// a sign.
    ///
    /// # Errors
    /// `ENOSYS`: no such operation.
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

    /// Whether the old value says that the second word's waiters are woken too.
    ///
    /// # Errors
    /// `ENOSYS`: no such comparison.
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
    /// of `on` if the old value says so; how many. Under both locks, so no waiter comes between.
    /// `word` is not read.
    ///
    /// # Errors
    /// `EINVAL`: a misaligned word, a waiter that waits with priority inheritance. `EFAULT`: `on`
    /// cannot be written, or a shared word is not there. `ENOSYS`: there is no such comparison;
    /// `on` has changed, and nobody was woken. `EAGAIN`: in 10,000 tries the host found others too
    /// busy with `on`; nothing has happened.
    pub fn wake_op(&self, host: &H, word: Word, wake: u32, on: Word, op: WakeOp, wake_on: u32) -> Result<u32, Errno> {
        let call = Call::new(self, host);
        let mut tries = 0;
        loop {
            let keys = (call.key(word, Access::Read)?, call.key(on, Access::Write)?);
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
    /// Wakes of both keys: as many as a wake queue holds at once, the rest as two wakes of those
    /// that waited by then.
    fn wake_two(&self, mut held: HeldTwo<'_, H>, keys: (Key, Key), wake: u32, wake_on: u32) -> Result<u32, Errno> {
        let mut wake_queue = WakeQueue::new(self.host);
        let cutoff = held.cutoff(&keys.0);
        let first = held.first.wake(&keys.0, ANY, wake, cutoff.below, |handle| wake_queue.push(handle));
        let first_full = wake_queue.is_full();
        let (second, cutoff_on) = held.second(&keys.1);
        let room = if first_full { 0 } else { wake_on };
        // One that inherits priorities ends it, as on Linux.
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
