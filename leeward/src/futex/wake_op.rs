//! WAKE_OP's encoded operation, as a value: what happens to the second word, and when its waiters
//! are woken too.
//!
//! Condition variables build it; it is encoded for the kernel, and carried out by what stands in
//! for the kernel (a model, another platform). After Ingo Molnar and Jakub Jelinek's
//! `FUTEX_WAKE_OP` (Linux 2.6.14, 2005).

use crate::atomic::{AtomicU32, Ordering};

/// The operation that a [`WakeOp`] does to the second word, in one atomic step.
///
/// ```
/// use leeward::futex::{Argument, Comparison, Operation, OutOfRange, WakeOp};
/// let add = WakeOp::new(Operation::Add, Argument::Value(-1), Comparison::Equal, 1)?;
/// assert_eq!(add.apply(1), 0);
/// assert_eq!(add.apply(0), u32::MAX); // wraps around
/// # Ok::<(), OutOfRange>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operation {
    /// Stores the argument.
    Set,
    /// Adds the argument; the sum wraps around.
    Add,
    /// Sets the argument's bits.
    Or,
    /// Clears the argument's bits.
    AndNot,
    /// Inverts the argument's bits.
    Xor,
}

/// The comparison of a [`WakeOp`]: of the second word's old value, as a signed number, with a
/// constant.
///
/// ```
/// use leeward::futex::{Argument, Comparison, Operation, OutOfRange, WakeOp};
/// let op = WakeOp::new(Operation::Set, Argument::Value(0), Comparison::Less, 0)?;
/// assert!(op.holds(1 << 31)); // a negative number
/// assert!(!op.holds(1));
/// # Ok::<(), OutOfRange>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Comparison {
    /// The old value is equal to the constant.
    Equal,
    /// The old value is not equal to the constant.
    NotEqual,
    /// The old value is less than the constant.
    Less,
    /// The old value is less than or equal to the constant.
    LessOrEqual,
    /// The old value is greater than the constant.
    Greater,
    /// The old value is greater than or equal to the constant.
    GreaterOrEqual,
}

/// The argument of a [`WakeOp`]'s operation.
///
/// ```
/// use leeward::futex::{Argument, Comparison, Operation, OutOfRange, WakeOp};
/// let op = WakeOp::new(Operation::Or, Argument::Bit(31), Comparison::NotEqual, 0)?;
/// assert_eq!(op.apply(1), 1 << 31 | 1);
/// # Ok::<(), OutOfRange>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Argument {
    /// A number of 12 bits with its sign: -2048 to 2047.
    Value(i32),
    /// One bit, 0 to 31, by its number.
    Bit(u32),
}

/// The error of [`WakeOp::new`]: a number that the encoding has no room for.
///
/// ```
/// use leeward::futex::{Argument, Comparison, Operation, OutOfRange, WakeOp};
/// let op = WakeOp::new(Operation::Add, Argument::Value(2048), Comparison::Equal, 0);
/// assert_eq!(op, Err(OutOfRange::Value(2048)));
/// ```
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

/// An operation on a word, and a comparison of its old value, for [`Futex::wake_op`].
///
/// [`Futex::wake_op`]: super::Futex::wake_op
///
/// ```
/// use leeward::futex::{Argument, Comparison, Operation, WakeOp};
/// // Store 0; if it was greater than 1, a thread waits there.
/// const TO_0: Argument = Argument::Value(0);
/// const UNLOCK: WakeOp = match WakeOp::new(Operation::Set, TO_0, Comparison::Greater, 1) {
///     Ok(op) => op,
///     Err(_) => panic!("out of range"),
/// };
/// assert_eq!(UNLOCK.apply(2), 0);
/// assert!(UNLOCK.holds(2) && !UNLOCK.holds(1));
/// assert_eq!(UNLOCK.encoded(), 0x0400_0001);
///
/// use leeward::futex::{Futex, Private};
/// let (word, lock) = (std::sync::atomic::AtomicU32::new(0), std::sync::atomic::AtomicU32::new(2));
/// // SAFETY: `lock` is alive, and ours to write.
/// let woken = unsafe { Private::wake_op(&word, 1, &lock, UNLOCK, 1) };
/// assert_eq!((woken, lock.into_inner()), (0, 0)); // no thread sleeps on either word
/// let word = std::sync::atomic::AtomicU32::new(2);
/// assert_eq!(UNLOCK.apply_to(&word), 2);              // without the kernel: atomically, and it wakes no thread
/// assert_eq!(word.into_inner(), 0);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WakeOp {
    operation: Operation,
    argument: Argument,
    comparison: Comparison,
    against: i32,
}

impl WakeOp {
    /// Returns the operation that does `operation` with `argument`, and whose comparison compares
    /// the old value with `against`.
    ///
    /// # Errors
    /// [`OutOfRange`] if a value, or `against`, is not within -2048 to 2047, or a bit not within 0
    /// to 31.
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

    /// Returns the operation as the kernel takes it.
    ///
    /// | bits | meaning |
    /// |---|---|
    /// | 31-28 | the operation; plus 8 if the argument is a bit's number |
    /// | 27-24 | the comparison |
    /// | 23-12 | the argument |
    /// | 11-0 | the constant that the old value is compared with |
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

    /// Returns what the word becomes if it holds `old`.
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

    /// Does the operation to `word`, in one atomic step. Returns what the word held before.
    pub fn apply_to(self, word: &AtomicU32) -> u32 {
        // Relaxed: the exchange decides.
        let mut old = word.load(Ordering::Relaxed);
        // SeqCst: as the kernel does it. Relaxed on failure: tried again.
        while let Err(now) = word.compare_exchange_weak(old, self.apply(old), Ordering::SeqCst, Ordering::Relaxed) {
            old = now;
        }
        old
    }

    /// Returns true if the comparison holds for `old`: then the second word's waiters are woken
    /// too.
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
