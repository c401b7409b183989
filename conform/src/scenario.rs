//! What a scenario is.

use core::fmt;

pub(crate) use crate::verdict::{Outcome, Trouble};
use crate::world::World;

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
    pub(crate) ask: fn(&World<'_>) -> Outcome,
}

impl Scenario {
    /// Returns the operation that is asked: its name up to the dot.
    pub fn operation(&self) -> &'static str {
        self.name.split_once('.').map_or(self.name, |(operation, _)| operation)
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
