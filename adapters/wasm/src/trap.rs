//! What an instruction answers: the result of a wait, or a trap. `memory` makes them; the runtime
//! passes them on to its guest.

/// The result of `memory.atomic.wait32` and `memory.atomic.wait64`, numbered as the guest sees it.
///
/// ```
/// use leeward_wasm::Outcome;
///
/// assert_eq!([Outcome::Woken, Outcome::NotEqual, Outcome::TimedOut].map(|end| end as u32), [0, 1, 2]);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum Outcome {
    /// A notify chose this waiter: "ok".
    Woken = 0,
    /// The word did not hold the expected value: "not-equal". The thread did not sleep.
    NotEqual = 1,
    /// The time is up, and no notify chose this waiter: "timed-out".
    TimedOut = 2,
}

/// The reason why an instruction traps. Its `Display` is the message of the specification's tests.
///
/// ```
/// use leeward_wasm::Trap;
///
/// assert_eq!(Trap::Unaligned.to_string(), "unaligned atomic");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Trap {
    /// The effective address is no multiple of the word's size.
    Unaligned,
    /// The word is not within the memory's current length, or the effective address has more than
    /// 64 bits.
    OutOfBounds,
    /// A wait in a memory that is not shared: no other thread could end it.
    Unshared,
    /// The runtime ended the wait: an [`Interrupt`](crate::Interrupt) is raised, or the
    /// [`Parker`](crate::Parker) answered [`ParkEnd::Interrupted`](leeward_engine::ParkEnd). No
    /// notify chose this waiter.
    Interrupted,
}

impl core::fmt::Display for Trap {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Trap::Unaligned => "unaligned atomic",
            Trap::OutOfBounds => "out of bounds memory access",
            Trap::Unshared => "expected shared memory",
            Trap::Interrupted => "interrupt",
        })
    }
}

impl core::error::Error for Trap {}
