//! The calls of the futex family, as values.

use core::fmt;

use crate::numbers;

pub(crate) const PRIVATE: u32 = 128;
pub(crate) const REALTIME: u32 = 256;
/// Wakes and counts that take everyone.
pub(crate) const ALL: u32 = i32::MAX as u32;

/// The operations of `futex`.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
#[allow(clippy::enum_variant_names)]
pub(crate) enum Op {
    Wait = 0,
    Wake = 1,
    Requeue = 3,
    CmpRequeue = 4,
    WakeOp = 5,
    LockPi = 6,
    UnlockPi = 7,
    TrylockPi = 8,
    WaitBitset = 9,
    WakeBitset = 10,
    WaitRequeuePi = 11,
    CmpRequeuePi = 12,
    LockPi2 = 13,
}

/// A system call that has not been made yet.
#[derive(Clone, Copy)]
pub(crate) struct Call {
    pub(crate) number: usize,
    pub(crate) arguments: [usize; 6],
}

/// A time as the kernel reads it. It must outlive the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(C)]
pub(crate) struct Time {
    pub(crate) seconds: i64,
    pub(crate) nanoseconds: i64,
}

impl Time {
    pub(crate) const fn milliseconds(milliseconds: i64) -> Time {
        Time { seconds: milliseconds / 1000, nanoseconds: milliseconds % 1000 * 1_000_000 }
    }

    pub(crate) const fn after(self, later: Time) -> Time {
        let nanoseconds = self.nanoseconds + later.nanoseconds;
        Time {
            seconds: self.seconds + later.seconds + nanoseconds / 1_000_000_000,
            nanoseconds: nanoseconds % 1_000_000_000,
        }
    }

    pub(crate) fn address(&self) -> usize {
        (&raw const *self).expose_provenance()
    }
}

/// A call of `futex`: the operation with its flags, and what each argument is.
pub(crate) fn futex(word: usize, operation: u32, value: u32, fourth: usize, second: usize, third: u32) -> Call {
    Call {
        number: numbers::FUTEX,
        arguments: [word, operation as usize, value as usize, fourth, second, third as usize],
    }
}

/// Waits while the word holds the value; `time`: the address of a relative time, or 0.
pub(crate) fn wait(word: usize, flags: u32, value: u32, time: usize) -> Call {
    futex(word, Op::Wait as u32 | flags, value, time, 0, 0)
}

/// Wakes as many as `count` says.
pub(crate) fn wake(word: usize, flags: u32, count: u32) -> Call {
    futex(word, Op::Wake as u32 | flags, count, 0, 0, 0)
}

/// Waits for wakes that have one of these bits; `time`: the address of an absolute time, or 0.
pub(crate) fn wait_bitset(word: usize, flags: u32, value: u32, time: usize, bits: u32) -> Call {
    futex(word, Op::WaitBitset as u32 | flags, value, time, 0, bits)
}

/// Wakes as many as `count` says of those that wait with one of these bits.
pub(crate) fn wake_bitset(word: usize, flags: u32, count: u32, bits: u32) -> Call {
    futex(word, Op::WakeBitset as u32 | flags, count, 0, 0, bits)
}

/// Wakes some, and moves some of the others to another word.
pub(crate) fn requeue(word: usize, flags: u32, wake: u32, to: usize, moved: u32) -> Call {
    futex(word, Op::Requeue as u32 | flags, wake, moved as usize, to, 0)
}

/// As `requeue`, if the word holds the value.
pub(crate) fn cmp_requeue(word: usize, flags: u32, wake: u32, to: usize, moved: u32, value: u32) -> Call {
    futex(word, Op::CmpRequeue as u32 | flags, wake, moved as usize, to, value)
}

/// What `FUTEX_WAKE_OP` does with the second word.
#[derive(Clone, Copy)]
#[repr(u32)]
pub(crate) enum Change {
    Set = 0,
    Add = 1,
    Or = 2,
    AndNot = 3,
    Xor = 4,
}

/// How `FUTEX_WAKE_OP` compares what the second word held.
#[derive(Clone, Copy)]
#[repr(u32)]
pub(crate) enum Compare {
    Equal = 0,
    NotEqual = 1,
    Less = 2,
    LessOrEqual = 3,
    Greater = 4,
    GreaterOrEqual = 5,
}

/// The flag of a `Change`: its operand is a bit's number.
pub(crate) const SHIFT: u32 = 8;

/// Encodes what `FUTEX_WAKE_OP` does: the change and its operand, the comparison and what it compares
/// with. The operands have twelve bits, with a sign.
pub(crate) const fn encode(change: u32, operand: i32, compare: u32, with: i32) -> u32 {
    change << 28 | compare << 24 | (operand as u32 & 0xfff) << 12 | with as u32 & 0xfff
}

/// Changes the second word as `encoded` says, wakes `count` at the first, and `others` at the second
/// if what it held compares so.
pub(crate) fn wake_op(word: usize, flags: u32, count: u32, second: usize, others: u32, encoded: u32) -> Call {
    futex(word, Op::WakeOp as u32 | flags, count, others as usize, second, encoded)
}

impl fmt::Debug for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "call {} of {:x?}", self.number, self.arguments)
    }
}
