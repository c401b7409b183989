//! The strategies of the heavy fence, as users name them, and why one could not be taken.

use core::fmt;

/// The sentence about a process in which no heavy fence is possible.
macro_rules! no_strategy {
    () => {
        "no heavy fence is possible here: membarrier, signals to the own threads and sched_setaffinity are all refused"
    };
}

pub(super) use no_strategy;

/// How the heavy fence reaches the other threads.
///
/// The order is the order in which they are tried. Each keeps the whole promise of the [module](super); they differ in
/// what a call costs and whom it disturbs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
#[non_exhaustive]
pub enum Strategy {
    /// `membarrier(PRIVATE_EXPEDITED)`, Linux 4.14: an interrupt to each processor that runs a thread of this
    /// process. About a microsecond. Registered with `REGISTER_PRIVATE_EXPEDITED`; registered again when a call
    /// answers `EPERM`, since checkpoint and restore lose the registration.
    MembarrierPrivate,
    /// `membarrier(GLOBAL)`, Linux 4.3: waits for a grace period of the scheduler and disturbs nobody. Milliseconds.
    /// Refused by machines that run `nohz_full`.
    MembarrierGlobal,
    /// A signal to each thread of the process (listed from `/proc/self/task`), answered from its
    /// handler. Tens of microseconds a thread; relative sleeps start over (fences that follow each
    /// other faster than a sleep's slack can prolong it without end), and system calls that ignore
    /// `SA_RESTART` return `EINTR`. A thread that blocks the signal for longer than 10 ms is
    /// reached by moving the caller over every processor on which it may run. That the caller has
    /// been there is asked for (`getcpu`, and how often it was switched out): where a sandbox only
    /// pretends, the strategy is refused. Where `/proc` is missing, the threads of the process must
    /// be of one cpuset.
    ///
    /// The signal is `SIGURG`, or a real-time one where the program handles `SIGURG`. A thread that
    /// calls `execve` takes what is pending along into the new program, which `SIGURG` leaves alone
    /// and a real-time signal ends.
    Signal,
    /// No asymmetry: both halves are `fence(SeqCst)`. What platforms other than Linux get, at compile time.
    Symmetric,
}

impl Strategy {
    /// Every strategy of this platform, in the order in which they are tried.
    pub const ALL: &'static [Strategy] = if cfg!(all(target_os = "linux", not(leeward_symmetric), not(leeward_loom))) {
        &[Strategy::MembarrierPrivate, Strategy::MembarrierGlobal, Strategy::Signal]
    } else {
        &[Strategy::Symmetric]
    };

    /// The name that `LEEWARD_FENCE` and the tools know it by.
    pub const fn name(self) -> &'static str {
        match self {
            Strategy::MembarrierPrivate => "membarrier",
            Strategy::MembarrierGlobal => "membarrier-global",
            Strategy::Signal => "signal",
            Strategy::Symmetric => "symmetric",
        }
    }

    /// The strategy of that [`name`](Self::name), if this platform has it.
    pub fn from_name(name: &str) -> Option<Strategy> {
        Self::ALL.iter().copied().find(|known| known.name() == name)
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Why a strategy could not be taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Error {
    /// The kernel, or a sandbox around this process, refuses what this strategy needs.
    Refused(Strategy),
    /// No strategy works here: no membarrier, and neither signals to the own threads nor moving between processors is
    /// allowed.
    NoStrategy,
    /// `LEEWARD_FENCE` holds a name that is none of this platform's strategies. The automatic choice is in use.
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
