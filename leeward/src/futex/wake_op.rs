//! WAKE_OP's encoded operation, as a value: what happens to the second word, and when its waiters are woken too.
//!
//! Built by condition variables; encoded for the kernel, carried out by whoever stands in for it (a model, another
//! platform). After Ingo Molnar and Jakub Jelinek's `FUTEX_WAKE_OP` (Linux 2.6.14, 2005).

use crate::atomic::{AtomicU32, Ordering};

/// What is done to the second word, in one atomic step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operation {
    /// The argument is stored.
    Set,
    /// The argument is added; wraps around.
    Add,
    /// The argument's bits are set.
    Or,
    /// The argument's bits are cleared.
    AndNot,
    /// The argument's bits are turned over.
    Xor,
}

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

/// The operation's argument.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Argument {
    /// A number of 12 bits with its sign: -2048 to 2047.
    Value(i32),
    /// One bit, 0 to 31, by its number.
    Bit(u32),
}

/// An argument that the encoding has no room for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OutOfRange {
    /// A value that is not within -2048 to 2047.
    Value(i32),
    /// A bit that is not within 0 to 31.
    Bit(u32),
}

impl core::fmt::Display for OutOfRange {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            OutOfRange::Value(value) => write!(f, "{value} does not fit into 12 signed bits (-2048 to 2047)"),
            OutOfRange::Bit(bit) => write!(f, "a 32-bit word has no bit {bit} (0 to 31)"),
        }
    }
}

impl core::error::Error for OutOfRange {}

/// An operation on a word and a question about its old value.
///
/// ```
/// use leeward::futex::{Argument, Comparison, Operation, WakeOp};
/// // Store 0; if it was greater than 1, somebody waits there.
/// const UNLOCK: WakeOp = match WakeOp::new(Operation::Set, Argument::Value(0), Comparison::Greater, 1) {
///     Ok(op) => op,
///     Err(_) => panic!("out of range"),
/// };
/// assert_eq!(UNLOCK.apply(2), 0);
/// assert!(UNLOCK.holds(2) && !UNLOCK.holds(1));
/// assert_eq!(UNLOCK.encoded(), 0x0400_0001);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WakeOp {
    operation: Operation,
    argument: Argument,
    comparison: Comparison,
    against: i32,
}

impl WakeOp {
    /// "Do `operation` with `argument`; the answer is whether the old value compares so with `against`."
    ///
    /// # Errors
    /// [`OutOfRange`]: `against`, like a value, is within -2048 to 2047.
    pub const fn new(
        operation: Operation,
        argument: Argument,
        comparison: Comparison,
        against: i32,
    ) -> Result<WakeOp, OutOfRange> {
        match argument {
            Argument::Value(value) if !fits(value) => return Err(OutOfRange::Value(value)),
            Argument::Bit(bit) if bit > 31 => return Err(OutOfRange::Bit(bit)),
            _ => {}
        }
        if !fits(against) {
            return Err(OutOfRange::Value(against));
        }
        Ok(WakeOp { operation, argument, comparison, against })
    }

    /// As the kernel takes it: bits 31-28 the operation (+ 8: the argument is a bit's number), 27-24 the comparison,
    /// 23-12 the argument, 11-0 what is compared with.
    pub const fn encoded(self) -> u32 {
        let operation = match self.operation {
            Operation::Set => 0,
            Operation::Add => 1,
            Operation::Or => 2,
            Operation::AndNot => 3,
            Operation::Xor => 4,
        };
        let comparison = match self.comparison {
            Comparison::Equal => 0,
            Comparison::NotEqual => 1,
            Comparison::Less => 2,
            Comparison::LessOrEqual => 3,
            Comparison::Greater => 4,
            Comparison::GreaterOrEqual => 5,
        };
        let (shift, argument) = match self.argument {
            Argument::Value(value) => (0, value as u32),
            Argument::Bit(bit) => (8, bit),
        };
        (operation + shift) << 28 | comparison << 24 | (argument & 0xfff) << 12 | self.against as u32 & 0xfff
    }

    /// What the word becomes.
    pub const fn apply(self, old: u32) -> u32 {
        let argument = match self.argument {
            Argument::Value(value) => value as u32,
            Argument::Bit(bit) => 1 << bit,
        };
        match self.operation {
            Operation::Set => argument,
            Operation::Add => old.wrapping_add(argument),
            Operation::Or => old | argument,
            Operation::AndNot => old & !argument,
            Operation::Xor => old ^ argument,
        }
    }

    /// Does it to a word, in one atomic step; what it held before.
    pub fn apply_to(self, word: &AtomicU32) -> u32 {
        // Relaxed: the exchange decides.
        let mut old = word.load(Ordering::Relaxed);
        // SeqCst: as the kernel does it. Relaxed on failure: tried again.
        while let Err(now) = word.compare_exchange_weak(old, self.apply(old), Ordering::SeqCst, Ordering::Relaxed) {
            old = now;
        }
        old
    }

    /// Whether the second word's waiters are woken, its value having been `old`.
    pub const fn holds(self, old: u32) -> bool {
        let old = old as i32;
        match self.comparison {
            Comparison::Equal => old == self.against,
            Comparison::NotEqual => old != self.against,
            Comparison::Less => old < self.against,
            Comparison::LessOrEqual => old <= self.against,
            Comparison::Greater => old > self.against,
            Comparison::GreaterOrEqual => old >= self.against,
        }
    }
}

const fn fits(value: i32) -> bool {
    -2048 <= value && value <= 2047
}
