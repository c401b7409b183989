//! What a scenario is.

use core::fmt;

pub(crate) use crate::verdict::{Outcome, Trouble};
use crate::world::World;

/// What a scenario needs of a kernel beside threads, and what not every kernel has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Need {
    /// Addresses that may not be used as a call says, or that nothing is mapped at, end in `EFAULT`.
    Faults,
    /// Processes: `clone` copies the caller's, or starts one in its memory.
    Fork,
    /// Signals, with handlers or without, and threads that they are sent to.
    Signals,
    /// `ptrace`, which steps a child from instruction to instruction.
    Ptrace,
    /// Two processors, and threads that are told on which one to run.
    Processors,
    /// Pages of 2 MiB: set aside, or made by the kernel of small ones.
    HugePages,
}

impl Need {
    /// All there are.
    pub const ALL: [Need; 6] =
        [Need::Faults, Need::Fork, Need::Signals, Need::Ptrace, Need::Processors, Need::HugePages];

    /// Returns the word for it in lists.
    pub const fn word(self) -> &'static str {
        match self {
            Need::Faults => "faults",
            Need::Fork => "fork",
            Need::Signals => "signals",
            Need::Ptrace => "ptrace",
            Need::Processors => "processors",
            Need::HugePages => "hugepages",
        }
    }
}

/// One question to a kernel, with the answer that Linux gives.
pub struct Scenario {
    /// Its name: the operation, and what is asked of it.
    pub name: &'static str,
    /// The Linux version since which the answer is this one.
    pub since: &'static str,
    /// What is set up, what is asked, and what Linux answers; a line each.
    pub setup: &'static [&'static str],
    /// What a program suffers whose kernel answers otherwise.
    pub harm: &'static str,
    /// The kernels that were found to answer otherwise, if that was published.
    pub seen: Option<&'static str>,
    pub(crate) needs: &'static [Need],
    pub(crate) ask: fn(&World<'_>) -> Outcome,
}

impl Scenario {
    /// Returns the operation that is asked: its name up to the dot.
    pub fn operation(&self) -> &'static str {
        self.name.split_once('.').map_or(self.name, |(operation, _)| operation)
    }

    /// Returns what it needs of a kernel beside threads: where that is not there it is unfit, or it ends the program
    /// where there is neither a fault nor another process.
    pub const fn needs(&self) -> &'static [Need] {
        self.needs
    }
}

impl fmt::Debug for Scenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scenario").field("name", &self.name).field("since", &self.since).finish_non_exhaustive()
    }
}

/// Declares scenarios of one operation. The documentation of each is its setup, and what `harm` says
/// is the price of another answer.
macro_rules! scenarios {
    ($operation:literal; $(
        $(#[doc = $setup:literal])+
        $(#[seen($seen:literal)])?
        $(#[needs($($need:ident),+)])?
        #[since($since:literal)]
        #[harm($harm:literal)]
        fn $name:ident($world:ident) $body:block
    )*) => {
        $(
            $(#[doc = $setup])+
            fn $name($world: &$crate::world::World<'_>) -> $crate::scenario::Outcome $body
        )*

        pub(super) const SCENARIOS: &[$crate::scenario::Scenario] = &[$(
            $crate::scenario::Scenario {
                name: concat!($operation, ".", stringify!($name)),
                since: $since,
                setup: &[$($setup),+],
                harm: $harm,
                seen: $crate::scenario::optional!($($seen)?),
                needs: &[$($($crate::scenario::Need::$need),+)?],
                ask: $name,
            }
        ),*];
    };
}
pub(crate) use scenarios;

macro_rules! optional {
    () => {
        None
    };
    ($value:literal) => {
        Some($value)
    };
}
pub(crate) use optional;
