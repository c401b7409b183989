//! The values that pass between the engine and its [`Host`]: accesses and their faults, clocks and
//! deadlines, how a park ended, priorities, atomic operations, parts of a gathering.

#[cfg(doc)]
use crate::{Flag, Host};

/// An access to user memory that could not be made: the page is not there, or may not be accessed
/// so, or the access would have to sleep.
///
/// [`Access`] has an example.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fault;

/// What an operation is going to do to a word.
///
/// ```
/// # #[cfg(feature = "simulation")] {
/// use leeward_engine::simulation::{Machine, Page, Setup, Spawn, Start};
/// use leeward_engine::{Access, Errno, Fault, Host};
///
/// let mut setup = Setup::new(&[Start::Runs(0)]);
/// setup.spaces = vec![vec![Some(Page::private(0).read_only())]];
/// setup.threads = vec![Spawn::new("reader", 0, |thread| {
///     assert_eq!(thread.compare_exchange(0, 0, 1), Err(Fault));
///     // The fault cannot be served, since the page may only be read.
///     assert_eq!(thread.fault_in(0, Access::Write), Err(Errno::EFAULT));
///     assert_eq!(thread.fault_in(0, Access::Read), Ok(()));
///     thread.load(0).unwrap().into()
/// })];
/// assert_eq!(Machine::new(setup).run(7, 100).results, [Some(0)]);
/// # }
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// The word is read, or its address is only looked up.
    Read,
    /// The word is written.
    Write,
}

/// A clock of the host's, by which deadlines are told.
///
/// ```
/// # #[cfg(feature = "std")] {
/// use leeward_engine::{Clock, parking::now};
///
/// let before = now(Clock::Monotonic);
/// assert!(now(Clock::Monotonic) >= before);
/// // The time of day counts from 1970 on.
/// assert!(now(Clock::Realtime) > 0);
/// # }
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Clock {
    /// A clock that only goes forward.
    Monotonic,
    /// The time of day, which may be set.
    Realtime,
}

/// A point in time at which a wait gives up.
///
/// ```
/// use leeward_engine::{Clock, Deadline, Wait, parking};
/// use std::sync::atomic::AtomicU32;
///
/// let lot = parking::ParkingLot::new(2).unwrap();
/// let at = parking::now(Clock::Monotonic) + 1_000_000;
/// let in_a_millisecond = Deadline { clock: Clock::Monotonic, at };
/// assert_eq!(lot.wait(&AtomicU32::new(0), 0, Some(in_a_millisecond)), Wait::TimedOut);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Deadline {
    /// The clock that tells the time.
    pub clock: Clock,
    /// The time, in nanoseconds since the clock's beginning; `u64::MAX` never comes.
    pub at: u64,
}

/// The reason why [`Host::park`] returned.
///
/// [`Flag`] has an example.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ParkEnd {
    /// The thread was unparked, or woke for no reason. The engine looks at the flag.
    Unparked,
    /// The deadline has passed.
    TimedOut,
    /// A signal is to be handled, or the thread is to exit.
    Interrupted,
    /// The thread is awake, and a signal handler may have run on it since [`Host::task`] was
    /// called for it, or since the last such end. The engine compares the word again before the
    /// thread parks again (see [`Host::park`], "Signals").
    Recheck,
}

/// The urgency of a waiting thread: lower numbers are woken first, equal ones in the order in which
/// they came.
///
/// Linux puts real-time threads first, by their priority, and all other threads after them as
/// equals. A host that does the same gives ordinary threads [`NORMAL`](Self::NORMAL):
///
/// ```
/// use leeward_engine::Priority;
///
/// assert!(Priority(3) < Priority::NORMAL);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Priority(pub u32);

impl Priority {
    /// The priority of an ordinary thread, the least urgent one.
    pub const NORMAL: Priority = Priority(u32::MAX);
}

/// The arithmetic by which WAKE_OP changes a word ([`WakeOp`](crate::WakeOp)).
///
/// ```
/// use leeward_engine::Arithmetic;
///
/// assert_eq!(Arithmetic::AndNot.apply(0b1110, 0b0110), 0b1000);
/// assert_eq!(Arithmetic::Add.apply(u32::MAX, 2), 1);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arithmetic {
    /// Stores the argument.
    Set,
    /// Adds the argument, and wraps around.
    Add,
    /// Sets the argument's bits.
    Or,
    /// Clears the argument's bits.
    AndNot,
    /// Inverts the argument's bits.
    Xor,
}

impl Arithmetic {
    /// Returns the word's new value.
    pub const fn apply(self, old: u32, argument: u32) -> u32 {
        match self {
            Arithmetic::Set => argument,
            Arithmetic::Add => old.wrapping_add(argument),
            Arithmetic::Or => old | argument,
            Arithmetic::AndNot => old & !argument,
            Arithmetic::Xor => old ^ argument,
        }
    }
}

/// How much of what one call of the engine wakes is given to a call of [`Host::unpark_all`].
///
/// ```
/// use leeward_engine::Part;
///
/// /// Makes threads ready; returns true if it is time to interrupt idle processors.
/// fn unpark_all(ready: &mut Vec<u32>, tasks: impl Iterator<Item = u32>, part: Part) -> bool {
///     ready.extend(tasks);
///     // More threads follow those of a `Some`: one interrupt at the end serves all.
///     part != Part::Some
/// }
///
/// let mut ready = Vec::new();
/// assert!(!unpark_all(&mut ready, 1..=16, Part::Some));
/// assert!(unpark_all(&mut ready, 17..=20, Part::Rest));
/// assert_eq!(ready.len(), 20);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// All threads that the call wakes.
    All,
    /// Some of them: more will follow.
    Some,
    /// The last of them, perhaps none. It follows each series of `Some`.
    Rest,
}
