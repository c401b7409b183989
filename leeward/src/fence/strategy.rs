//! The strategies of the heavy fence, as users name them, and why one cannot be used.
//!
//! The backend of the platform chooses among them (`backend/linux/choice.rs`).

use core::fmt;

/// Expands to the sentence about a process in which no heavy fence is possible.
macro_rules! no_strategy {
    () => {
        "no heavy fence is possible here: membarrier, signals to the own threads and sched_setaffinity are all refused"
    };
}

pub(super) use no_strategy;

/// A way in which the heavy fence reaches the other threads.
///
/// The order is the order in which they are tried. Each keeps the whole promise of the
/// [module](super#the-promise); they differ in what a call costs and what it disturbs. The light
/// half is the same for the three of Linux.
///
/// ```
/// use leeward::fence::Strategy;
/// for strategy in Strategy::ALL {
///     assert_eq!(Strategy::from_name(strategy.name()), Some(*strategy));
/// }
/// ```
///
/// # Cost
/// | strategy | a heavy fence | which threads notice |
/// |---|---|---|
/// | `MembarrierPrivate` | about 1 µs; more where interrupts are slow | those that run |
/// | `MembarrierGlobal` | milliseconds | none |
/// | `Signal` | tens of µs a thread | all: a signal handler runs |
/// | `Symmetric` | a full fence | none, but each light fence is a full one too |
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
#[non_exhaustive]
pub enum Strategy {
    /// The system call `membarrier(PRIVATE_EXPEDITED)`, Linux 4.14: an interrupt to each processor
    /// that runs a thread of this process.
    ///
    /// The process is registered with `REGISTER_PRIVATE_EXPEDITED`, and registered again when a
    /// call answers `EPERM`, since checkpoint and restore lose the registration.
    MembarrierPrivate,
    /// The system call `membarrier(GLOBAL)`, Linux 4.3: waits for a grace period of the scheduler
    /// and disturbs no thread. Refused by machines that run `nohz_full`.
    MembarrierGlobal,
    /// A signal to each thread of the process, answered from its handler. The threads are listed
    /// from `/proc/self/task`.
    ///
    /// - *The signal* is `SIGURG`, or a real-time signal where the program handles `SIGURG`. A
    ///   signal that is pending for a thread which calls `execve` stays pending in the new program;
    ///   `SIGURG` does nothing there, and a real-time signal ends it.
    /// - *What the program notices:* relative sleeps start over (fences that follow each other
    ///   faster than a sleep's slack can prolong it without end), and system calls that ignore
    ///   `SA_RESTART` return `EINTR`.
    /// - *A thread that blocks the signal* for longer than 10 ms is reached by moving the caller
    ///   over every processor on which the thread may run. The caller verifies that it has been
    ///   there (`getcpu`, and how often it was switched out): where a sandbox only pretends, the
    ///   strategy is refused. Where `/proc` is missing, all threads of the process must be of one
    ///   cpuset.
    Signal,
    /// No asymmetry: both halves are `fence(SeqCst)`. The only strategy of platforms other than
    /// Linux, chosen at compile time.
    Symmetric,
}

impl Strategy {
    /// The strategies of this platform, in the order in which they are tried.
    pub const ALL: &'static [Strategy] =
        if cfg!(all(target_os = "linux", not(any(leeward_symmetric, miri)), not(leeward_loom))) {
            &[Strategy::MembarrierPrivate, Strategy::MembarrierGlobal, Strategy::Signal]
        } else {
            &[Strategy::Symmetric]
        };

    /// Returns the name by which `LEEWARD_FENCE` and the `leeward` command know the strategy.
    pub const fn name(self) -> &'static str {
        match self {
            Strategy::MembarrierPrivate => "membarrier",
            Strategy::MembarrierGlobal => "membarrier-global",
            Strategy::Signal => "signal",
            Strategy::Symmetric => "symmetric",
        }
    }

    /// Returns the strategy whose [`name`](Self::name) is `name`, if this platform has it.
    pub fn from_name(name: &str) -> Option<Strategy> {
        Self::ALL.iter().copied().find(|known| known.name() == name)
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The reason for which a strategy cannot be used.
///
/// ```
/// use leeward::fence::{Error, Strategy};
/// let error = Error::Refused(Strategy::MembarrierGlobal);
/// assert!(error.to_string().contains("`membarrier-global` is refused"));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Error {
    /// The kernel, or a sandbox around this process, refuses what this strategy needs.
    Refused(Strategy),
    /// No strategy works here: no membarrier, and neither signals to the process's own threads nor
    /// moving between processors is allowed.
    NoStrategy,
    /// `LEEWARD_FENCE` holds a name that is none of this platform's strategies. A strategy was
    /// chosen automatically.
    UnknownName,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Refused(strategy) => {
                write!(f, "the fence strategy `{strategy}` is refused here by the kernel or a sandbox")
            }
            Error::NoStrategy => f.write_str(no_strategy!()),
            Error::UnknownName => {
                f.write_str("LEEWARD_FENCE names no fence strategy of this platform; it may be")?;
                Strategy::ALL.iter().try_for_each(|known| write!(f, " `{known}`"))
            }
        }
    }
}

impl core::error::Error for Error {}
